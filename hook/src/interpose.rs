//! `dlsym`, `dlopen` and `dlclose`, interposed by tail-jumps.
//!
//! glibc looks at the return address to know who calls: `RTLD_NEXT` and the caller's `RUNPATH` depend on it.
//! So these are naked functions that first ask us, then jump to the real function with everything as it was.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::enter;
use crate::loader::{self, Object};
use crate::{arch, elf, sites, slots, sys, text};

/// What the caller gets instead of the real answer.
#[repr(C)]
struct Answer {
    /// Nonzero: `pointer` is the answer.
    decided: usize,
    pointer: *mut c_void,
}

const GO_ON: Answer = Answer { decided: 0, pointer: core::ptr::null_mut() };

/// Our answer to `dlsym(handle, name)`.
unsafe extern "C" fn pick(handle: *mut c_void, name: *const c_char, caller: usize) -> Answer {
    let _errno = sys::Errno::save();
    loader::prepare();
    if name.is_null() {
        return GO_ON;
    }
    // SAFETY: dlsym's argument is a C string.
    let name = unsafe { CStr::from_ptr(name) };
    if !text::looks_like_cuda(name.to_bytes()) || !loader::is_glibc() {
        return GO_ON;
    }
    if handle == libc::RTLD_NEXT {
        return if is_only_ours_after(name, caller) { nothing(name) } else { GO_ON };
    }
    let mut real = if handle == libc::RTLD_DEFAULT { loader::global(name) } else { loader::symbol(handle, name) };
    if !real.is_null() && arch::is_ours(real as usize) {
        // A handle whose scope begins with us, such as dlopen(NULL)'s.
        real = loader::symbol(libc::RTLD_NEXT, name);
    } else if real.is_null() && handle != libc::RTLD_DEFAULT || is_before_us(name, real) {
        return GO_ON;
    }
    if real.is_null() {
        // Not in the global scope after us, where our own export would be found; is it in the caller's?
        match enter::in_scope(name, caller) {
            Some(found) => real = found as *mut c_void,
            None => return nothing(name),
        }
    }
    match enter::api_of(name.to_bytes(), real as usize, caller) {
        Some(api) => swapped(real as usize, api),
        None => GO_ON,
    }
}

/// Whether another tool's library that comes before us in the global scope has taken this name: it will come to us
/// in its turn.
fn is_before_us(name: &CStr, real: *mut c_void) -> bool {
    !real.is_null() && real == loader::global(name) && real != loader::symbol(libc::RTLD_NEXT, name)
}

/// Whether `RTLD_NEXT` would lead a caller to our export, and behind that is nothing.
fn is_only_ours_after(name: &CStr, caller: usize) -> bool {
    loader::symbol(libc::RTLD_NEXT, name).is_null()
        && arch::is_ours(loader::global(name) as usize)
        && Object::at(caller).is_some_and(|object| object.comes_before_us())
}

/// Not found; asked once more for the sake of dlerror's text.
fn nothing(name: &CStr) -> Answer {
    Answer { decided: 1, pointer: loader::symbol(libc::RTLD_NEXT, name) }
}

fn swapped(real: usize, api: u16) -> Answer {
    // A look-up that succeeds clears what dlerror() would say of those before it.
    loader::own(c"dlsym");
    Answer { decided: 1, pointer: slots::stub(real, api) as *mut c_void }
}

unsafe extern "C" fn before_dlopen(path: *const c_char, flags: c_int, caller: usize) -> c_int {
    let _errno = sys::Errno::save();
    loader::prepare();
    sites::objects_changed();
    if flags & libc::RTLD_DEEPBIND == 0 || path.is_null() {
        return flags;
    }
    // With RTLD_DEEPBIND the object would find the driver before us.
    // SAFETY: dlopen's argument is a C string.
    if elf::needs_cuda(unsafe { CStr::from_ptr(path) }, caller) { flags & !libc::RTLD_DEEPBIND } else { flags }
}

unsafe extern "C" fn before_dlclose() {
    let _errno = sys::Errno::save();
    loader::prepare();
    sites::objects_changed();
}

/// `dlsym(handle, name)`.
#[allow(missing_docs)]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi", "push rsi", "sub rsp, 8",
        "mov rdx, [rsp + 24]",
        "call {pick}",
        "add rsp, 8", "pop rsi", "pop rdi",
        "test rax, rax",
        "jz 2f",
        "mov rax, rdx",
        "ret",
        "2:",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        pick = sym pick, real = sym loader::DLSYM
    )
}

/// `dlopen(path, flags)`.
#[allow(missing_docs)]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi", "push rsi", "sub rsp, 8",
        "mov rdx, [rsp + 24]",
        "call {before}",
        "add rsp, 8", "pop rsi", "pop rdi",
        "mov esi, eax",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        before = sym before_dlopen, real = sym loader::DLOPEN
    )
}

/// `dlclose(handle)`.
#[allow(missing_docs)]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi",
        "call {before}",
        "pop rdi",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        before = sym before_dlclose, real = sym loader::DLCLOSE
    )
}
