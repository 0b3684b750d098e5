//! A library that is loaded by its name, and numbers passed to its functions.
#![allow(unsafe_code, reason = "the loader's functions, and calls of what it finds")]

use std::ffi::{CStr, CString, c_void};

/// A library; it stays loaded, since what it has begun may go on.
#[derive(Debug)]
pub struct Library(*mut c_void);

impl Library {
    /// Loads it.
    ///
    /// # Errors
    /// With the loader's words.
    pub fn open(name: &CStr) -> Result<Self, String> {
        // SAFETY: a C string; what the library's constructors do is what every program gets that loads it.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() {
            // SAFETY: the loader's last message, null or a C string that lasts until the next call.
            let message = unsafe { libc::dlerror() };
            return Err(if message.is_null() {
                "the loader does not say why".to_owned()
            } else {
                // SAFETY: as above.
                unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
            });
        }
        Ok(Self(handle))
    }

    /// Whether it has a function of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        !self.symbol(name).is_null()
    }

    /// Calls a function with integers and pointers; `None` if there is no such function.
    ///
    /// # Safety
    /// The function takes at most this many arguments, all of them integers or pointers (callers extend each to 64 bits,
    /// as both calling conventions that we are built for pass them), returns a 32-bit integer, and the pointers are
    /// good for what it does with them.
    pub unsafe fn call(&self, name: &str, arguments: [u64; 4]) -> Option<i32> {
        type Function = unsafe extern "C" fn(u64, u64, u64, u64) -> i32;
        let symbol = self.symbol(name);
        if symbol.is_null() {
            return None;
        }
        let [first, second, third, fourth] = arguments;
        // SAFETY: as the caller says; registers that a function does not look at do no harm.
        Some(unsafe { std::mem::transmute::<*mut c_void, Function>(symbol)(first, second, third, fourth) })
    }

    fn symbol(&self, name: &str) -> *mut c_void {
        let Ok(name) = CString::new(name) else { return std::ptr::null_mut() };
        // SAFETY: a handle of the loader's and a C string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }
}

/// The address of a place for a function to fill.
pub fn place<T>(of: &mut T) -> u64 {
    std::ptr::from_mut(of).addr() as u64
}

/// The driver, as far as it is tried.
#[derive(Debug)]
pub struct Driver(Library);

/// Each function gives its status, or `None` where the driver has no such function.
type Status = Option<i32>;

#[allow(missing_docs, reason = "each is the driver's function of that name")]
impl Driver {
    /// Takes a library for the driver.
    pub const fn new(library: Library) -> Self {
        Self(library)
    }

    /// The library.
    pub const fn library(&self) -> &Library {
        &self.0
    }

    pub fn init(&self) -> Status {
        // SAFETY: cuInit(flags).
        unsafe { self.0.call("cuInit", [0; 4]) }
    }

    pub fn version(&self) -> Option<i32> {
        let mut version = 0i32;
        // SAFETY: cuDriverGetVersion(int *).
        let status = unsafe { self.0.call("cuDriverGetVersion", [place(&mut version), 0, 0, 0]) };
        (status == Some(0)).then_some(version)
    }

    pub fn device_count(&self) -> Result<i32, Status> {
        let mut count = 0i32;
        // SAFETY: cuDeviceGetCount(int *).
        match unsafe { self.0.call("cuDeviceGetCount", [place(&mut count), 0, 0, 0]) } {
            Some(0) => Ok(count),
            other => Err(other),
        }
    }

    pub fn device_name(&self, device: i32) -> String {
        let mut name = [0u8; 256];
        let arguments = [place(&mut name), 255, number(device), 0];
        // SAFETY: cuDeviceGetName(char *, int, CUdevice), and the place is one byte longer.
        let _ = unsafe { self.0.call("cuDeviceGetName", arguments) };
        CStr::from_bytes_until_nul(&name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub fn attribute(&self, device: i32, which: i32) -> Option<i32> {
        let mut value = 0i32;
        let arguments = [place(&mut value), number(which), number(device), 0];
        // SAFETY: cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice).
        let status = unsafe { self.0.call("cuDeviceGetAttribute", arguments) };
        (status == Some(0)).then_some(value)
    }

    pub fn can_access_peer(&self, device: i32, peer: i32) -> Option<bool> {
        let mut can = 0i32;
        let arguments = [place(&mut can), number(device), number(peer), 0];
        // SAFETY: cuDeviceCanAccessPeer(int *, CUdevice, CUdevice).
        let status = unsafe { self.0.call("cuDeviceCanAccessPeer", arguments) };
        (status == Some(0)).then_some(can != 0)
    }

    /// Makes the device's primary context the thread's.
    pub fn use_device(&self, device: i32) -> Status {
        let mut context = 0u64;
        // SAFETY: cuDevicePrimaryCtxRetain(CUcontext *, CUdevice), cuCtxSetCurrent(CUcontext).
        unsafe {
            match self.0.call("cuDevicePrimaryCtxRetain", [place(&mut context), number(device), 0, 0]) {
                Some(0) => self.0.call("cuCtxSetCurrent", [context, 0, 0, 0]),
                other => other,
            }
        }
    }

    pub fn release_device(&self, device: i32) -> Status {
        // SAFETY: cuDevicePrimaryCtxRelease(CUdevice), of a context that was retained.
        unsafe { self.0.call("cuDevicePrimaryCtxRelease_v2", [number(device), 0, 0, 0]) }
    }

    /// Managed memory that everybody may use.
    pub fn alloc_managed(&self, bytes: usize) -> Result<u64, Status> {
        const GLOBAL: u64 = 1;
        let mut address = 0u64;
        // SAFETY: cuMemAllocManaged(CUdeviceptr *, size_t, unsigned).
        match unsafe { self.0.call("cuMemAllocManaged", [place(&mut address), bytes as u64, GLOBAL, 0]) } {
            Some(0) => Ok(address),
            other => Err(other),
        }
    }

    pub fn alloc(&self, bytes: usize) -> Result<u64, Status> {
        let mut address = 0u64;
        // SAFETY: cuMemAlloc(CUdeviceptr *, size_t).
        match unsafe { self.0.call("cuMemAlloc_v2", [place(&mut address), bytes as u64, 0, 0]) } {
            Some(0) => Ok(address),
            other => Err(other),
        }
    }

    pub fn free(&self, address: u64) -> Status {
        // SAFETY: cuMemFree(CUdeviceptr), of memory that was allocated and that nobody uses any more.
        unsafe { self.0.call("cuMemFree_v2", [address, 0, 0, 0]) }
    }

    pub fn prefetch(&self, address: u64, bytes: usize, device: i32) -> Status {
        // SAFETY: cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream), in the default stream.
        unsafe { self.0.call("cuMemPrefetchAsync", [address, bytes as u64, number(device), 0]) }
    }

    pub fn copy_to_device(&self, to: u64, from: &[u8]) -> Status {
        let from_address = from.as_ptr().addr() as u64;
        // SAFETY: cuMemcpyHtoD(CUdeviceptr, const void *, size_t), which has read all of it when it returns.
        unsafe { self.0.call("cuMemcpyHtoD_v2", [to, from_address, from.len() as u64, 0]) }
    }

    pub fn synchronize(&self) -> Status {
        // SAFETY: cuCtxSynchronize().
        unsafe { self.0.call("cuCtxSynchronize", [0; 4]) }
    }
}

/// A C int as an argument.
const fn number(value: i32) -> u64 {
    value.cast_unsigned() as u64
}

/// Writes a byte of each page of managed memory.
///
/// # Safety
/// It is `bytes` long, and the host may write it now.
pub unsafe fn touch(address: u64, bytes: usize) {
    let start = std::ptr::with_exposed_provenance_mut::<u8>(usize::try_from(address).unwrap_or(0));
    for at in (0..bytes).step_by(4096) {
        // SAFETY: as the caller says.
        unsafe { start.add(at).write_volatile(1) };
    }
}

/// `nvmlConfComputeSystemState_t`: environment, feature, mode of developers' tools. `None` where the library or the function
/// is missing.
#[must_use]
pub fn confidential() -> Option<[u32; 3]> {
    let library = Library::open(c"libnvidia-ml.so.1").ok()?;
    let mut state = [0u32; 3];
    // SAFETY: nvmlInit(), nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *), nvmlShutdown().
    unsafe {
        library.call("nvmlInit_v2", [0; 4]).filter(|&status| status == 0)?;
        let status = library.call("nvmlSystemGetConfComputeState", [place(&mut state), 0, 0, 0]);
        library.call("nvmlShutdown", [0; 4]);
        (status == Some(0)).then_some(state)
    }
}
