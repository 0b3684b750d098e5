//! The library that `CUDA_INJECTION64_PATH` names is loaded by the first `cuInit`, and told so while that still runs.

use std::ffi::{CString, c_int};
use std::os::unix::ffi::OsStringExt as _;

/// Loads it, if there is one. That it cannot be loaded is nothing to the program.
pub fn load() {
    let Some(path) = std::env::var_os("CUDA_INJECTION64_PATH").filter(|path| !path.is_empty()) else { return };
    let Ok(path) = CString::new(path.into_vec()) else { return };
    // SAFETY: plain calls of the loader; the function has this type by the driver's documentation.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if library.is_null() {
            return;
        }
        let function = libc::dlsym(library, c"InitializeInjection".as_ptr());
        if !function.is_null() {
            let function = std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn() -> c_int>(function);
            function();
        }
    }
}
