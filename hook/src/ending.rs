//! `_exit` and `_Exit`, interposed: programs that end so run no exit handlers (workers of Python's `multiprocessing`), and
//! what the GPU did last would be missing.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{cupti, file, loader, spawn, sys};

static EXIT: AtomicUsize = AtomicUsize::new(0);
static EXIT_C99: AtomicUsize = AtomicUsize::new(0);

/// Finds the real functions. When we are loaded: in a child of vfork the loader must not be asked.
pub fn prepare() {
    for (place, name) in [(&EXIT, c"_exit"), (&EXIT_C99, c"_Exit")] {
        let name: &CStr = name;
        place.store(loader::symbol(libc::RTLD_NEXT, name) as usize, Ordering::Release);
    }
    spawn::at_quick_exit(quick);
}

/// As for `_exit`, which `quick_exit` does not call by its name.
unsafe extern "C" fn quick(_: *mut c_void) {
    file::write_at_once();
}

fn end(real: &AtomicUsize, status: c_int) -> ! {
    type Real = unsafe extern "C" fn(c_int) -> !;
    cupti::flush_at_once();
    file::write_at_once();
    match real.load(Ordering::Acquire) {
        0 => sys::exit(status),
        // SAFETY: the C library's function, or another tool's of that name.
        address => unsafe { core::mem::transmute::<usize, Real>(address)(status) },
    }
}

/// The C library's function.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    end(&EXIT, status)
}

/// The C library's function.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    end(&EXIT_C99, status)
}
