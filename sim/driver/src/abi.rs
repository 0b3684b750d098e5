//! Types and numbers of the driver's C interface, as far as the stand-in uses them.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

/// `CUresult`.
pub type Result32 = c_int;
/// `CUdeviceptr`.
pub type DevicePtr = c_ulonglong;
/// Any opaque handle: context, stream, event, module, function, graph and so on.
pub type Handle = *mut c_void;
/// `CUhostFn`.
pub type HostFn = unsafe extern "C" fn(*mut c_void);
/// `CUstreamCallback`.
pub type StreamCallback = unsafe extern "C" fn(Handle, Result32, *mut c_void);

/// Error numbers of `CUresult`.
pub mod code {
    use super::Result32;
    pub const INVALID_VALUE: Result32 = 1;
    pub const OUT_OF_MEMORY: Result32 = 2;
    pub const NOT_INITIALIZED: Result32 = 3;
    pub const NO_DEVICE: Result32 = 100;
    pub const INVALID_DEVICE: Result32 = 101;
    pub const INVALID_IMAGE: Result32 = 200;
    pub const INVALID_CONTEXT: Result32 = 201;
    pub const FILE_NOT_FOUND: Result32 = 301;
    pub const INVALID_HANDLE: Result32 = 400;
    pub const NOT_FOUND: Result32 = 500;
    pub const NOT_READY: Result32 = 600;
    pub const ILLEGAL_ADDRESS: Result32 = 700;
    pub const PEER_ACCESS_ALREADY_ENABLED: Result32 = 704;
    pub const PEER_ACCESS_NOT_ENABLED: Result32 = 705;
    pub const HOST_MEMORY_ALREADY_REGISTERED: Result32 = 712;
    pub const HOST_MEMORY_NOT_REGISTERED: Result32 = 713;
    pub const NOT_SUPPORTED: Result32 = 801;
    pub const STREAM_CAPTURE_UNSUPPORTED: Result32 = 900;
    pub const STREAM_CAPTURE_INVALIDATED: Result32 = 901;
    pub const STREAM_CAPTURE_UNMATCHED: Result32 = 903;
    pub const STREAM_CAPTURE_IMPLICIT: Result32 = 906;
}

/// `CU_STREAM_LEGACY`.
pub const STREAM_LEGACY: usize = 1;
/// `CU_STREAM_PER_THREAD`.
pub const STREAM_PER_THREAD: usize = 2;

/// `CUmemLocation`: eight bytes, passed by value in one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MemLocation {
    /// 1 device, 2 host, 3 host NUMA node, 4 current host NUMA node.
    pub kind: c_int,
    /// Device ordinal or NUMA node.
    pub id: c_int,
}

/// `CUuuid`.
#[repr(C)]
pub struct Uuid {
    pub bytes: [u8; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub stream: Handle,
    pub attributes: *mut c_void,
    pub attribute_count: c_uint,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Memcpy2D {
    pub src_x: usize,
    pub src_y: usize,
    pub src_type: c_uint,
    pub src_host: *const c_void,
    pub src_device: DevicePtr,
    pub src_array: Handle,
    pub src_pitch: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_type: c_uint,
    pub dst_host: *mut c_void,
    pub dst_device: DevicePtr,
    pub dst_array: Handle,
    pub dst_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Memcpy3D {
    pub src_x: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_type: c_uint,
    pub src_host: *const c_void,
    pub src_device: DevicePtr,
    pub src_array: Handle,
    pub reserved0: Handle,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_type: c_uint,
    pub dst_host: *mut c_void,
    pub dst_device: DevicePtr,
    pub dst_array: Handle,
    pub reserved1: Handle,
    pub dst_pitch: usize,
    pub dst_height: usize,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `CUmemAllocationProp`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct AllocationProp {
    pub kind: c_int,
    pub handle_types: c_int,
    pub location: MemLocation,
    pub win32: *mut c_void,
    pub flags: [u8; 8],
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct AccessDesc {
    pub location: MemLocation,
    pub flags: c_int,
}

/// `CUmemPoolProps`.
#[repr(C)]
pub struct PoolProps {
    pub alloc_type: c_int,
    pub handle_types: c_int,
    pub location: MemLocation,
    pub security: *mut c_void,
    pub max_size: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

/// `CUDA_KERNEL_NODE_PARAMS` (v2).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct KernelNodeParams {
    pub function: Handle,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub params: *mut *mut c_void,
    pub extra: *mut *mut c_void,
    pub kernel: Handle,
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS` (v1).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct MemsetNodeParams {
    pub dst: DevicePtr,
    pub pitch: usize,
    pub value: c_uint,
    pub element: c_uint,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_HOST_NODE_PARAMS` (v1).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HostNodeParams {
    pub function: Option<HostFn>,
    pub user: *mut c_void,
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
