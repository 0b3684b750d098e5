//! What nvcc's generated code registers: fat binaries, kernels and variables; and the libraries of the newer interface.

use crate::abi::{Error, Handle, code, put};
use crate::driver::{Driver, call};
use crate::state::{lock, ready};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::{LazyLock, Mutex, PoisonError, RwLock};

/// The wrapper that nvcc makes round a fat binary.
#[repr(C)]
struct Wrapper {
    magic: c_int,
    version: c_int,
    data: *const c_void,
    unused: *mut c_void,
}

const MAGIC: c_int = 0x4662_43b1;

/// A registered image and, once something of it was used, its library.
struct Image {
    data: usize,
    library: Mutex<usize>,
}

#[derive(Clone)]
struct Symbol {
    image: &'static Image,
    name: CString,
}

#[derive(Default)]
struct Tables {
    functions: HashMap<usize, Symbol>,
    /// Kernel handles found already, by the host function.
    kernels: HashMap<usize, usize>,
    variables: HashMap<usize, Symbol>,
}

static TABLES: LazyLock<RwLock<Tables>> = LazyLock::new(RwLock::default);

fn write(change: impl FnOnce(&mut Tables)) {
    change(&mut TABLES.write().unwrap_or_else(PoisonError::into_inner));
}

fn read<R>(look: impl FnOnce(&Tables) -> R) -> R {
    look(&TABLES.read().unwrap_or_else(PoisonError::into_inner))
}

fn library(driver: &Driver, image: &Image) -> Result<usize, Error> {
    let mut known = lock(&image.library);
    if *known == 0 {
        let mut handle: Handle = std::ptr::null_mut();
        let (none, no_values) = (std::ptr::null_mut(), std::ptr::null_mut());
        let data = image.data as *const c_void;
        // SAFETY: the image was registered and stays valid until it is unregistered.
        unsafe { call!(driver.common, library_load(&raw mut handle, data, none, no_values, 0, none, no_values, 0)) }?;
        *known = handle as usize;
    }
    Ok(*known)
}

/// The kernel of a host function, loading its library at first use.
pub fn kernel(function: *const c_void) -> Result<Handle, Error> {
    let key = function as usize;
    if let Some(known) = read(|tables| tables.kernels.get(&key).copied()) {
        return Ok(known as Handle);
    }
    let driver = ready()?;
    let Some(symbol) = read(|tables| tables.functions.get(&key).cloned()) else {
        // The newer interface passes kernel handles where the older one has host functions.
        let mut name = std::ptr::null();
        // SAFETY: a valid out-pointer; the driver tells a wrong handle from a right one.
        return match unsafe { call!(driver.common, kernel_name(&raw mut name, function.cast_mut())) } {
            Ok(()) => Ok(function.cast_mut()),
            Err(_) => Err(code::INVALID_DEVICE_FUNCTION),
        };
    };
    let library = library(driver, symbol.image)?;
    let mut handle: Handle = std::ptr::null_mut();
    // SAFETY: a library of the driver's, a NUL-ended name.
    unsafe { call!(driver.common, library_kernel(&raw mut handle, library as Handle, symbol.name.as_ptr())) }
        .map_err(|_| code::INVALID_DEVICE_FUNCTION)?;
    write(|tables| {
        tables.kernels.insert(key, handle as usize);
    });
    Ok(handle)
}

/// Device address and size of a registered variable.
pub fn symbol(variable: *const c_void) -> Result<(*mut c_void, usize), Error> {
    let driver = ready()?;
    let found = read(|tables| tables.variables.get(&(variable as usize)).cloned()).ok_or(code::INVALID_SYMBOL)?;
    let library = library(driver, found.image)?;
    let (mut address, mut bytes) = (0u64, 0usize);
    let (out, size) = (&raw mut address, &raw mut bytes);
    // SAFETY: valid out-pointers, a NUL-ended name.
    unsafe { call!(driver.common, library_global(out, size, library as Handle, found.name.as_ptr())) }?;
    Ok((address as usize as *mut c_void, bytes))
}

/// # Safety
/// `name` is null or a NUL-ended string.
unsafe fn owned(name: *const c_char) -> CString {
    if name.is_null() {
        return CString::default();
    }
    // SAFETY: by the caller's contract.
    unsafe { std::ffi::CStr::from_ptr(name) }.to_owned()
}

/// `__cudaRegisterFatBinary`: called by a constructor of the program, before `main`; nothing is loaded yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    // SAFETY: null, or nvcc's structure.
    let data = match unsafe { wrapper.cast::<Wrapper>().as_ref() } {
        Some(wrapper) if wrapper.magic == MAGIC => wrapper.data,
        _ => wrapper,
    };
    let image = Box::leak(Box::new(Image { data: data as usize, library: Mutex::new(0) }));
    std::ptr::from_mut(image).cast()
}

/// `__cudaRegisterFatBinaryEnd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// `__cudaUnregisterFatBinary`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    // SAFETY: null, or what `__cudaRegisterFatBinary` gave; images are never freed.
    let Some(image) = (unsafe { handle.cast::<Image>().cast_const().as_ref() }) else { return };
    write(|tables| {
        let gone: Vec<usize> =
            tables.functions.iter().filter(|(_, s)| std::ptr::eq(s.image, image)).map(|(key, _)| *key).collect();
        for key in gone {
            tables.functions.remove(&key);
            tables.kernels.remove(&key);
        }
        tables.variables.retain(|_, s| !std::ptr::eq(s.image, image));
    });
    let library = std::mem::take(&mut *lock(&image.library));
    if library != 0
        && let Ok(driver) = crate::driver::get()
    {
        // SAFETY: loaded by `library`, used by nobody any more. A failure at this point interests nobody.
        let _ = unsafe { call!(driver.common, library_unload(library as Handle)) };
    }
}

/// `__cudaRegisterFunction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_char,
    _device: *mut c_char,
    name: *const c_char,
    _limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _warp: *mut c_int,
) {
    // SAFETY: as in `__cudaUnregisterFatBinary`.
    let Some(image) = (unsafe { handle.cast::<Image>().cast_const().as_ref() }) else { return };
    // SAFETY: nvcc passes a constant string.
    let name = unsafe { owned(name) };
    write(|tables| {
        tables.functions.insert(host as usize, Symbol { image, name });
    });
}

/// `__cudaRegisterVar`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _address: *mut c_char,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: as in `__cudaUnregisterFatBinary`.
    let Some(image) = (unsafe { handle.cast::<Image>().cast_const().as_ref() }) else { return };
    // SAFETY: nvcc passes a constant string.
    let name = unsafe { owned(name) };
    write(|tables| {
        tables.variables.insert(host as usize, Symbol { image, name });
    });
}

/// `__cudaInitModule`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaInitModule(_handle: *mut *mut c_void) -> c_char {
    1
}

exports! {
    __cudaGetKernel(out: *mut Handle, function: *const c_void) => { put(out, kernel(function)?); Ok(()) };
    cudaGetKernel(out: *mut Handle, function: *const c_void) => { put(out, kernel(function)?); Ok(()) };
    cudaGetFuncBySymbol(out: *mut Handle, function: *const c_void) => {
        let kernel = kernel(function)?;
        call!(ready()?.common, kernel_function(out, kernel))
    };
    cudaLibraryLoadData(out: *mut Handle, image: *const c_void, jit: *mut c_int, jit_values: *mut *mut c_void,
        jit_count: u32, options: *mut c_int, option_values: *mut *mut c_void, option_count: u32)
        => call!(ready()?.common, library_load(out, image, jit, jit_values, jit_count, options, option_values,
            option_count));
    cudaLibraryUnload(library: Handle) => call!(ready()?.common, library_unload(library));
    cudaLibraryGetKernel(out: *mut Handle, library: Handle, name: *const c_char)
        => call!(ready()?.common, library_kernel(out, library, name));
}
