//! The dynamic loader's real functions, and what they tell of objects and symbols.
//!
//! `dlsym`, `dlvsym`, `dlopen` and `dlclose` are names we export ourselves, so the real ones are looked for in the C
//! library itself.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::objects::Object;
use crate::{symbols, sys};

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Dlclose = unsafe extern "C" fn(*mut c_void) -> c_int;

static DLSYM: AtomicUsize = AtomicUsize::new(0);
static DLVSYM: AtomicUsize = AtomicUsize::new(0);
static DLOPEN: AtomicUsize = AtomicUsize::new(0);
static DLCLOSE: AtomicUsize = AtomicUsize::new(0);

/// Where the tail-jumps of [`crate::interpose`] lead: to the real function, or to that of another tool which is preloaded
/// after us and takes the same name.
pub static NEXT_DLSYM: AtomicUsize = AtomicUsize::new(0);
/// As [`NEXT_DLSYM`].
pub static NEXT_DLVSYM: AtomicUsize = AtomicUsize::new(0);
/// As [`NEXT_DLSYM`].
pub static NEXT_DLOPEN: AtomicUsize = AtomicUsize::new(0);
/// As [`NEXT_DLSYM`].
pub static NEXT_DLCLOSE: AtomicUsize = AtomicUsize::new(0);

/// Where glibc has these functions: since 2.34, and before.
const LIBRARIES: [&[u8]; 2] = [b"libc.so.6", b"libdl.so.2"];

/// Finds the real functions, once.
pub fn prepare() {
    let functions: [(&AtomicUsize, &AtomicUsize, &CStr); 4] = [
        (&DLSYM, &NEXT_DLSYM, c"dlsym"),
        (&DLVSYM, &NEXT_DLVSYM, c"dlvsym"),
        (&DLOPEN, &NEXT_DLOPEN, c"dlopen"),
        (&DLCLOSE, &NEXT_DLCLOSE, c"dlclose"),
    ];
    for (place, next, name) in functions {
        if next.load(Ordering::Relaxed) == 0 {
            let in_glibc = LIBRARIES.iter().find_map(|library| symbols::of_library(library, name.to_bytes()));
            let real = in_glibc.or_else(|| symbols::of_another(name.to_bytes())).unwrap_or(0);
            place.store(real, Ordering::Release);
            next.store(symbols::of_tool(name.to_bytes()).unwrap_or(real), Ordering::Release);
        }
    }
    if sys::wants_clock()
        && let Some(clock) = symbols::of_library(b"libc.so.6", b"clock_gettime")
    {
        // SAFETY: glibc's function, and glibc stays.
        unsafe { sys::use_clock(clock) };
    }
}

/// Whether the C library is glibc.
pub fn is_glibc() -> bool {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    if FOUND.load(Ordering::Relaxed) == 0 {
        let found = symbols::of_library(b"libc.so.6", b"gnu_get_libc_version").is_some();
        FOUND.store(usize::from(found).wrapping_add(1), Ordering::Relaxed);
    }
    FOUND.load(Ordering::Relaxed) == 2
}

/// What another tool that is preloaded after us and takes `dlsym` would answer, if there is one.
pub fn by_tool(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    let next = NEXT_DLSYM.load(Ordering::Acquire);
    if next == 0 || next == DLSYM.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: the address is that of a function that stands for dlsym.
    let found = unsafe { core::mem::transmute::<usize, Dlsym>(next)(handle, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The real `dlsym`, called as ourselves: an explicit handle means what it says, `RTLD_NEXT` means after us.
pub fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let real = DLSYM.load(Ordering::Acquire);
    if real == 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: the address is dlsym's.
    unsafe { core::mem::transmute::<usize, Dlsym>(real)(handle, name.as_ptr()) }
}

/// The real `dlvsym`, called as ourselves. It never finds us, since our names have no versions.
///
/// # Safety
/// `version` is a C string.
pub unsafe fn versioned(handle: *mut c_void, name: &CStr, version: *const c_char) -> *mut c_void {
    let real = DLVSYM.load(Ordering::Acquire);
    if real == 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: the address is dlvsym's.
    unsafe { core::mem::transmute::<usize, Dlvsym>(real)(handle, name.as_ptr(), version) }
}

/// A function of the C library.
pub fn own(name: &CStr) -> *mut c_void {
    symbol(libc::RTLD_DEFAULT, name)
}

/// What a name means in the global scope; null if nothing. Our own `RTLD_DEFAULT` begins with ourselves, since we are
/// linked with `-Bsymbolic`.
pub fn global(name: &CStr) -> *mut c_void {
    Loaded::open(core::ptr::null()).map_or(core::ptr::null_mut(), |program| program.symbol(name))
}

/// A library that stays loaded.
pub struct Library(*mut c_void);

impl Library {
    /// By name or path; `None` if there is none.
    pub fn open(name: &CStr, flags: c_int) -> Option<Self> {
        let real = DLOPEN.load(Ordering::Acquire);
        if real == 0 {
            return None;
        }
        // SAFETY: the address is dlopen's.
        let handle = unsafe { core::mem::transmute::<usize, Dlopen>(real)(name.as_ptr(), flags) };
        if handle.is_null() { None } else { Some(Self(handle)) }
    }

    /// A symbol of the library or of what it depends on; null if there is none.
    pub fn symbol(&self, name: &CStr) -> *mut c_void {
        symbol(self.0, name)
    }
}

/// A library that is loaded already, by soname or path; released when it goes.
struct Loaded(*mut c_void);

impl Loaded {
    /// By name, or the program itself, with the global scope, for null; `None` if it is not loaded.
    fn open(name: *const c_char) -> Option<Self> {
        let real = DLOPEN.load(Ordering::Acquire);
        if real == 0 {
            return None;
        }
        // SAFETY: the address is dlopen's; RTLD_NOLOAD loads nothing.
        let handle = unsafe { core::mem::transmute::<usize, Dlopen>(real)(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() { None } else { Some(Self(handle)) }
    }

    /// A symbol of the library or of what it depends on; null if there is none.
    fn symbol(&self, name: &CStr) -> *mut c_void {
        symbol(self.0, name)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let real = DLCLOSE.load(Ordering::Acquire);
        if real != 0 {
            // SAFETY: the address is dlclose's; the handle was counted up by find().
            unsafe { core::mem::transmute::<usize, Dlclose>(real)(self.0) };
        }
    }
}

impl Object {
    /// Whether it is a library of CUDA's own tools, whose calls are not the program's.
    pub fn is_cuda_tool(&self) -> bool {
        const TOOLS: [&[u8]; 6] =
            [b"libcupti", b"libnvperf_", b"libsanitizer-", b"libToolsInjection", b"libcuinj", b"libpcsampling"];
        TOOLS.iter().any(|tool| self.file_name().starts_with(tool))
    }

    /// The major version if it is a libcudart: `libcudart.so.12`, `libcudart.so.11.0`, and the hashed names of
    /// wheels, `libcudart-1b2c3d.so.11.0.221`.
    pub fn runtime_major(&self) -> Option<u8> {
        runtime_major(self.name())
    }
}

/// See [`Object::runtime_major`].
pub fn runtime_major(name: &[u8]) -> Option<u8> {
    let rest = name.strip_prefix(b"libcudart")?;
    let at = rest.windows(4).position(|window| window == b".so.")?;
    let digits = rest.get(at.wrapping_add(4)..)?;
    crate::text::number(digits).and_then(|major| u8::try_from(major).ok())
}

#[cfg(test)]
mod tests {
    use super::runtime_major;

    #[test]
    fn majors_are_read_from_names() {
        assert_eq!(runtime_major(b"libcudart.so.13"), Some(13));
        assert_eq!(runtime_major(b"libcudart.so.11.0"), Some(11));
        assert_eq!(runtime_major(b"libcudart-d0da41ae.so.11.0.221"), Some(11));
        assert_eq!(runtime_major(b"libcuda.so.1"), None);
        assert_eq!(runtime_major(b"libcudart.so"), None);
    }
}
