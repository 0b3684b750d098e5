//! Types of the runtime's C interface.

use std::ffi::{c_int, c_uint, c_void};

/// `cudaError_t`; the numbers are the driver's.
pub type Error = c_int;
/// Any opaque handle.
pub type Handle = *mut c_void;
/// `cudaHostFn_t`.
pub type HostFn = unsafe extern "C" fn(*mut c_void);
/// `cudaStreamCallback_t`.
pub type StreamCallback = unsafe extern "C" fn(Handle, Error, *mut c_void);

/// Error numbers.
pub mod code {
    use super::Error;
    pub const INVALID_VALUE: Error = 1;
    pub const INVALID_MEMCPY_DIRECTION: Error = 21;
    pub const INSUFFICIENT_DRIVER: Error = 35;
    pub const INVALID_SYMBOL: Error = 13;
    pub const INVALID_DEVICE_FUNCTION: Error = 98;
    pub const INVALID_DEVICE: Error = 101;
    pub const NO_DEVICE: Error = 100;
    pub const NOT_SUPPORTED: Error = 801;
}

/// `dim3`: twelve bytes, by value in two registers.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct Dim3 {
    pub x: c_uint,
    pub y: c_uint,
    pub z: c_uint,
}

/// `cudaExtent`: by value on the stack.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaIpcMemHandle_t`: by value on the stack.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IpcHandle([u64; 8]);

/// `cudaPos`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct Pos {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `cudaPitchedPtr`: by value on the stack.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PitchedPtr {
    pub ptr: *mut c_void,
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

/// `cudaMemLocation`: eight bytes, by value in one register.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemLocation {
    pub kind: c_int,
    pub id: c_int,
}

/// `cudaMemcpy3DParms`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Memcpy3DParms {
    pub src_array: Handle,
    pub src_pos: Pos,
    pub src: PitchedPtr,
    pub dst_array: Handle,
    pub dst_pos: Pos,
    pub dst: PitchedPtr,
    pub extent: Extent,
    pub kind: c_int,
}

/// `cudaLaunchConfig_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: usize,
    pub stream: Handle,
    pub attributes: *mut c_void,
    pub attribute_count: c_uint,
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct DriverLaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: c_uint,
    pub stream: Handle,
    pub attributes: *mut c_void,
    pub attribute_count: c_uint,
}

/// `cudaKernelNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct KernelNodeParams {
    pub function: *const c_void,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: c_uint,
    pub params: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
pub struct DriverKernelNodeParams {
    pub function: Handle,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: c_uint,
    pub params: *mut *mut c_void,
    pub extra: *mut *mut c_void,
    pub kernel: Handle,
    pub context: Handle,
}

/// `cudaGraphNodeParams`, and `CUgraphNodeParams`: what stands behind the first four numbers is of the node's type.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NodeParams {
    pub kind: c_uint,
    pub reserved0: [c_uint; 3],
    pub of: [u64; 29],
    pub reserved2: u64,
}

/// One side of a `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Side {
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub lod: usize,
    pub kind: c_uint,
    pub host: *mut c_void,
    pub device: u64,
    pub array: Handle,
    pub reserved: Handle,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DriverMemcpy3D {
    pub src: Side,
    pub dst: Side,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// One side of a `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FlatSide {
    pub x: usize,
    pub y: usize,
    pub kind: c_uint,
    pub host: *mut c_void,
    pub device: u64,
    pub array: Handle,
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DriverMemcpy2D {
    pub src: FlatSide,
    pub dst: FlatSide,
    pub width: usize,
    pub height: usize,
}

/// Writes through a caller's out-pointer when there is one.
///
/// # Safety
/// `out` is null or valid for a write of `T`.
pub unsafe fn put<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: not null, and valid by the caller's contract.
        unsafe { out.write_unaligned(value) };
    }
}
