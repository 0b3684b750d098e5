//! The runtime functions that the workloads use. Every wrapper counts its call and turns an error into text.

use crate::calls::Count;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// An opaque handle.
pub type Handle = *mut c_void;

/// `dim3`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Dim3 {
    x: c_uint,
    y: c_uint,
    z: c_uint,
}

/// `cudaMemLocation`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Location {
    kind: c_int,
    id: c_int,
}

/// `cudaMemcpyHostToDevice`.
pub const HOST_TO_DEVICE: c_int = 1;
/// `cudaMemcpyDeviceToHost`.
pub const DEVICE_TO_HOST: c_int = 2;
/// `cudaMemcpyDeviceToDevice`.
pub const DEVICE_TO_DEVICE: c_int = 3;

macro_rules! functions {
    ($($count:ident $safe:ident = $name:ident($($arg:ident: $kind:ty),*);)*) => {
        unsafe extern "C" { $(fn $name($($arg: $kind),*) -> c_int;)* }
        $(
            static $count: Count = Count::new(stringify!($name));
            /// Calls the function of this name.
            ///
            /// # Safety
            /// As CUDA's documentation has it.
            #[inline(always)]
            #[allow(dead_code, reason = "some are only called by the thousand, uncounted")]
            pub unsafe fn $safe($($arg: $kind),*) -> Result<(), String> {
                $count.add(1);
                // SAFETY: by the caller's contract.
                check(stringify!($name), unsafe { $name($($arg),*) })
            }
        )*
        /// Every counter.
        pub static COUNTS: &[&Count] = &[$(&$count,)* &PEEK, &ERROR_STRING, &REGISTER, &REGISTER_END, &FUNCTION, &UNREGISTER];
    };
}

functions! {
    SET_DEVICE set_device = cudaSetDevice(device: c_int);
    GET_DEVICE get_device = cudaGetDevice(out: *mut c_int);
    DEVICE_COUNT device_count = cudaGetDeviceCount(out: *mut c_int);
    CAN_ACCESS_PEER can_access_peer = cudaDeviceCanAccessPeer(out: *mut c_int, device: c_int, peer: c_int);
    ENABLE_PEER enable_peer = cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint);
    DISABLE_PEER disable_peer = cudaDeviceDisablePeerAccess(peer: c_int);
    SYNCHRONIZE synchronize = cudaDeviceSynchronize();
    MEM_INFO mem_info = cudaMemGetInfo(free: *mut usize, total: *mut usize);
    MALLOC malloc = cudaMalloc(out: *mut *mut c_void, bytes: usize);
    MALLOC_MANAGED malloc_managed = cudaMallocManaged(out: *mut *mut c_void, bytes: usize, flags: c_uint);
    MALLOC_HOST malloc_host = cudaMallocHost(out: *mut *mut c_void, bytes: usize);
    MALLOC_ASYNC malloc_async = cudaMallocAsync(out: *mut *mut c_void, bytes: usize, stream: Handle);
    FREE free = cudaFree(pointer: *mut c_void);
    FREE_HOST free_host = cudaFreeHost(pointer: *mut c_void);
    FREE_ASYNC free_async = cudaFreeAsync(pointer: *mut c_void, stream: Handle);
    MEMCPY memcpy = cudaMemcpy(dst: *mut c_void, src: *const c_void, bytes: usize, kind: c_int);
    MEMCPY_PEER memcpy_peer_async = cudaMemcpyPeerAsync(dst: *mut c_void, to: c_int, src: *const c_void, from: c_int,
        bytes: usize, stream: Handle);
    MEMCPY_ASYNC memcpy_async = cudaMemcpyAsync(dst: *mut c_void, src: *const c_void, bytes: usize, kind: c_int,
        stream: Handle);
    MEMSET_ASYNC memset_async = cudaMemsetAsync(dst: *mut c_void, value: c_int, bytes: usize, stream: Handle);
    PREFETCH prefetch_raw = cudaMemPrefetchAsync(pointer: *const c_void, bytes: usize, location: Location, flags: c_uint,
        stream: Handle);
    STREAM_CREATE stream_create = cudaStreamCreateWithFlags(out: *mut Handle, flags: c_uint);
    STREAM_DESTROY stream_destroy = cudaStreamDestroy(stream: Handle);
    STREAM_SYNCHRONIZE stream_synchronize = cudaStreamSynchronize(stream: Handle);
    STREAM_QUERY stream_query = cudaStreamQuery(stream: Handle);
    STREAM_WAIT stream_wait = cudaStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
    EVENT_CREATE event_create = cudaEventCreateWithFlags(out: *mut Handle, flags: c_uint);
    EVENT_RECORD event_record = cudaEventRecord(event: Handle, stream: Handle);
    EVENT_DESTROY event_destroy = cudaEventDestroy(event: Handle);
    LAUNCH launch_raw = cudaLaunchKernel(function: *const c_void, grid: Dim3, block: Dim3, params: *mut *mut c_void,
        shared: usize, stream: Handle);
}

static PEEK: Count = Count::new("cudaPeekAtLastError");
static ERROR_STRING: Count = Count::new("cudaGetErrorString");
static REGISTER: Count = Count::new("__cudaRegisterFatBinary");
static REGISTER_END: Count = Count::new("__cudaRegisterFatBinaryEnd");
static FUNCTION: Count = Count::new("__cudaRegisterFunction");
static UNREGISTER: Count = Count::new("__cudaUnregisterFatBinary");

unsafe extern "C" {
    fn cudaGetErrorString(error: c_int) -> *const c_char;
    fn cudaPeekAtLastError() -> c_int;
    fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void;
    fn __cudaRegisterFatBinaryEnd(handle: *mut *mut c_void);
    fn __cudaUnregisterFatBinary(handle: *mut *mut c_void);
    fn __cudaRegisterFunction(
        handle: *mut *mut c_void,
        host: *const c_char,
        device: *const c_char,
        name: *const c_char,
        limit: c_int,
        tid: *mut c_void,
        bid: *mut c_void,
        block: *mut c_void,
        grid: *mut c_void,
        warp: *mut c_int,
    );
}

fn check(name: &str, error: c_int) -> Result<(), String> {
    if error == 0 {
        return Ok(());
    }
    ERROR_STRING.add(1);
    // SAFETY: the runtime returns a static string for every number.
    let text = unsafe { CStr::from_ptr(cudaGetErrorString(error)) };
    Err(format!("{name}: {} ({error})", text.to_string_lossy()))
}

/// The cheap calls of a stress run, uncounted: each thread adds its own number at the end.
pub mod cheap {
    use super::*;

    /// `cudaGetDevice`.
    #[inline(always)]
    pub fn get_device() {
        let mut device = 0;
        // SAFETY: a valid out-pointer.
        unsafe { cudaGetDevice(&raw mut device) };
    }

    /// `cudaPeekAtLastError`.
    #[inline(always)]
    pub fn peek() {
        // SAFETY: no arguments.
        unsafe { cudaPeekAtLastError() };
    }

    /// `cudaStreamQuery`.
    #[inline(always)]
    pub fn query(stream: Handle) {
        // SAFETY: the thread's own stream.
        unsafe { cudaStreamQuery(stream) };
    }

    /// Adds what a thread counted.
    pub fn account(get_device: u64, peek: u64, query: u64) {
        GET_DEVICE.add(get_device);
        PEEK.add(peek);
        STREAM_QUERY.add(query);
    }
}

/// A kernel: the mangled name in the image, and the address that stands for it, as nvcc's stub does.
pub struct Kernel {
    name: &'static CStr,
    stub: u8,
}

/// Writes every float.
pub static SCALE: Kernel = Kernel { name: c"_Z5scalePfm", stub: 1 };
/// A layer, forward.
pub static FORWARD: Kernel = Kernel { name: c"_Z7forwardPKfPfm", stub: 2 };
/// A layer, backward.
pub static BACKWARD: Kernel = Kernel { name: c"_Z8backwardPKfPfm", stub: 3 };
/// The optimizer.
pub static OPTIMIZER: Kernel = Kernel { name: c"_Z9optimizerPKfPfm", stub: 4 };
/// Makes one number of the weights.
pub static LOSS: Kernel = Kernel { name: c"_Z12average_lossPKfPfi", stub: 5 };
/// Reads an array for as many nanoseconds as it is told.
pub static BUSY: Kernel = Kernel { name: c"_Z9busy_readPKfPfm", stub: 6 };

static IMAGE: &CStr = c"umsim-image
kernel _Z5scalePfm
kernel _Z7forwardPKfPfm
kernel _Z8backwardPKfPfm
kernel _Z9optimizerPKfPfm
kernel _Z12average_lossPKfPfi
kernel _Z9busy_readPKfPfm
";

#[repr(C)]
struct Wrapper {
    magic: c_int,
    version: c_int,
    data: *const c_void,
    unused: *const c_void,
}

struct Registered(usize);
static REGISTERED: OnceLock<Registered> = OnceLock::new();

/// Registers the kernels, as nvcc's generated code does before `main`.
pub fn register() {
    REGISTERED.get_or_init(|| {
        let wrapper = Box::leak(Box::new(Wrapper {
            magic: 0x4662_43b1,
            version: 1,
            data: IMAGE.as_ptr().cast(),
            unused: std::ptr::null(),
        }));
        REGISTER.add(1);
        // SAFETY: the wrapper and the image live as long as the program.
        let handle = unsafe { __cudaRegisterFatBinary(std::ptr::from_ref(wrapper).cast()) };
        for kernel in [&SCALE, &FORWARD, &BACKWARD, &OPTIMIZER, &LOSS, &BUSY] {
            FUNCTION.add(1);
            let (name, none) = (kernel.name.as_ptr(), std::ptr::null_mut());
            let host = (&raw const kernel.stub).cast();
            // SAFETY: a handle of the runtime's, constant names.
            unsafe { __cudaRegisterFunction(handle, host, name, name, -1, none, none, none, none, none.cast()) };
        }
        REGISTER_END.add(1);
        // SAFETY: a handle of the runtime's.
        unsafe { __cudaRegisterFatBinaryEnd(handle) };
        Registered(handle as usize)
    });
}

/// Takes the registration back.
pub fn unregister() {
    if let Some(Registered(handle)) = REGISTERED.get() {
        UNREGISTER.add(1);
        // SAFETY: given by the runtime in `register`; called once, at the end of a scenario.
        unsafe { __cudaUnregisterFatBinary(*handle as *mut *mut c_void) };
    }
}

/// Launches a kernel over `threads` elements.
///
/// # Safety
/// `params` has an address for each of the kernel's parameters.
#[inline(always)]
pub unsafe fn launch(
    kernel: &'static Kernel,
    threads: usize,
    params: &mut [*mut c_void],
    stream: Handle,
) -> Result<(), String> {
    let blocks = c_uint::try_from(threads.div_ceil(256)).unwrap_or(c_uint::MAX).max(1);
    let (grid, block) = (Dim3 { x: blocks, y: 1, z: 1 }, Dim3 { x: 256, y: 1, z: 1 });
    let stub = (&raw const kernel.stub).cast();
    // SAFETY: by the caller's contract.
    unsafe { launch_raw(stub, grid, block, params.as_mut_ptr(), 0, stream) }
}

/// Prefetches to device 0.
///
/// # Safety
/// As for `cudaMemPrefetchAsync`.
#[inline(always)]
pub unsafe fn prefetch(pointer: *const c_void, bytes: usize, stream: Handle) -> Result<(), String> {
    // SAFETY: by the caller's contract.
    unsafe { prefetch_raw(pointer, bytes, Location { kind: 1, id: 0 }, 0, stream) }
}
