//! `dlsym`, `dlvsym`, `dlopen` and `dlclose`, interposed by tail-jumps.
//!
//! glibc looks at the return address to know who calls: `RTLD_NEXT` and the caller's `RUNPATH` depend on it.
//! So the names are exported by assembly ([`arch`]) that first asks us, then jumps to the real function with everything
//! as it was.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::enter;
use crate::loader;
use crate::objects::Object;
use crate::{arch, cupti, elf, sites, slots, symbols, sys, text};

/// What the caller gets instead of the real answer.
#[repr(C)]
pub struct Answer {
    /// Nonzero: `pointer` is the answer.
    decided: usize,
    pointer: *mut c_void,
}

const GO_ON: Answer = Answer { decided: 0, pointer: core::ptr::null_mut() };

/// Our answer to `dlsym(handle, name)`.
///
/// # Safety
/// As `dlsym`.
pub unsafe extern "C" fn pick(handle: *mut c_void, name: *const c_char, caller: usize) -> Answer {
    let _errno = sys::Errno::save();
    loader::prepare();
    if name.is_null() {
        return GO_ON;
    }
    // SAFETY: dlsym's argument is a C string.
    let name = unsafe { CStr::from_ptr(name) };
    if let Some(others) = cupti::instead_of(name, handle) {
        if !others.is_null() {
            // As in swapped().
            loader::own(c"dlsym");
        }
        return Answer { decided: 1, pointer: others };
    }
    if !text::looks_like_cuda(name.to_bytes()) || !loader::is_glibc() || is_tool(caller) {
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
    if handle != libc::RTLD_DEFAULT
        && let Some(tools) = loader::by_tool(handle, name)
    {
        real = tools;
    }
    match enter::api_of(name.to_bytes(), real as usize, caller) {
        Some(api) => swapped(real as usize, api),
        None => GO_ON,
    }
}

/// Whether one of CUDA's own tools asks, which is to have the driver itself.
fn is_tool(caller: usize) -> bool {
    Object::at(caller).is_some_and(|object| object.is_cuda_tool())
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

/// A tool that is preloaded before us and takes `dlsym` asks for the next one by its version, as it must; that is ours,
/// though it has none.
fn next_of(name: &CStr, caller: usize) -> Option<Answer> {
    let own = match name.to_bytes() {
        b"dlsym" => arch::dlsym as *const (),
        b"dlvsym" => arch::dlvsym as *const (),
        b"dlopen" => arch::dlopen as *const (),
        b"dlclose" => arch::dlclose as *const (),
        _ => return None,
    };
    Object::at(caller)?.comes_before_us().then_some(Answer { decided: 1, pointer: own.cast_mut().cast() })
}

/// Our answer to `dlvsym(handle, name, version)`.
///
/// # Safety
/// As `dlvsym`.
pub unsafe extern "C" fn pick_versioned(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> Answer {
    let _errno = sys::Errno::save();
    loader::prepare();
    if name.is_null() || version.is_null() {
        return GO_ON;
    }
    // SAFETY: dlvsym's arguments are C strings.
    let name = unsafe { CStr::from_ptr(name) };
    if handle == libc::RTLD_NEXT {
        return next_of(name, caller).unwrap_or(GO_ON);
    }
    if !text::looks_like_cuda(name.to_bytes()) || is_tool(caller) {
        return GO_ON;
    }
    // SAFETY: as above.
    let real = unsafe { loader::versioned(handle, name, version) } as usize;
    match enter::api_of(name.to_bytes(), real, caller).filter(|_| real != 0) {
        Some(api) => swapped(real, api),
        None => GO_ON,
    }
}

/// The flags for the real `dlopen(path, flags)`.
///
/// # Safety
/// As `dlopen`.
pub unsafe extern "C" fn before_dlopen(path: *const c_char, flags: c_int, caller: usize) -> c_int {
    let _errno = sys::Errno::save();
    loader::prepare();
    sites::objects_changed();
    if flags & (libc::RTLD_DEEPBIND | libc::RTLD_GLOBAL) == 0 || path.is_null() {
        return flags;
    }
    // SAFETY: dlopen's argument is a C string.
    let path = unsafe { CStr::from_ptr(path) };
    if flags & libc::RTLD_GLOBAL != 0 {
        symbols::opened_for_all(path.to_bytes());
    }
    // With RTLD_DEEPBIND the object would find the driver before us.
    if flags & libc::RTLD_DEEPBIND != 0 && elf::needs_cuda(path, caller) { flags & !libc::RTLD_DEEPBIND } else { flags }
}

/// Before the real `dlclose`.
pub extern "C" fn before_dlclose() {
    let _errno = sys::Errno::save();
    loader::prepare();
    sites::objects_changed();
}
