//! Initialisation, devices, contexts, errors, profiler.

use crate::abi::{Handle, Result32, Uuid, code};
use crate::{attributes, context, errors, ipc, pool};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `cuProfilerStart`, `cuProfilerStop`: nothing is profiled here.
unsafe fn profiler() -> Result<(), Result32> {
    context::current().map(drop)
}

/// `cuProfilerInitialize`.
unsafe fn profiler_init(_config: *const c_char, _output: *const c_char, _mode: c_int) -> Result<(), Result32> {
    Err(code::NOT_SUPPORTED)
}

/// `cuGetExportTable`: the undocumented tables are not imitated.
unsafe fn export_table(out: *mut *const c_void, id: *const Uuid) -> Result<(), Result32> {
    if out.is_null() || id.is_null() {
        return Err(code::INVALID_VALUE);
    }
    Err(code::INVALID_VALUE)
}

/// `cuFlushGPUDirectRDMAWrites`.
unsafe fn flush_writes(_target: c_int, _scope: c_int) -> Result<(), Result32> {
    context::current().map(drop)
}

/// `cuOccupancyMaxActiveBlocksPerMultiprocessor`.
unsafe fn occupancy(out: *mut c_int, function: Handle, block: c_int, shared: usize) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { attributes::occupancy(out, function, block, shared, 0) }
}

/// `cuCtxDetach`.
unsafe fn detach(handle: Handle) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { context::destroy(handle) }
}

/// `cuCtxResetPersistingL2Cache`.
unsafe fn reset_cache() -> Result<(), Result32> {
    context::current().map(drop)
}

super::plain! { TABLE:
    "cuInit" 2000 cuInit(flags: c_uint) => context::init;
    "cuDriverGetVersion" 2020 cuDriverGetVersion(out: *mut c_int) => attributes::driver_version;
    "cuDeviceGet" 2000 cuDeviceGet(out: *mut c_int, ordinal: c_int) => attributes::get;
    "cuDeviceGetCount" 2000 cuDeviceGetCount(out: *mut c_int) => attributes::count;
    "cuDeviceGetName" 2000 cuDeviceGetName(out: *mut c_char, length: c_int, device: c_int) => attributes::name;
    "cuDeviceGetUuid" 9020 cuDeviceGetUuid(out: *mut Uuid, device: c_int) => attributes::uuid;
    "cuDeviceGetUuid" 11040 cuDeviceGetUuid_v2(out: *mut Uuid, device: c_int) => attributes::uuid;
    "cuDeviceTotalMem" 3020 cuDeviceTotalMem_v2(out: *mut usize, device: c_int) => attributes::total_mem;
    "cuDeviceGetAttribute" 2000 cuDeviceGetAttribute(out: *mut c_int, attribute: c_int, device: c_int)
        => attributes::attribute;
    "cuDeviceGetPCIBusId" 4010 cuDeviceGetPCIBusId(out: *mut c_char, length: c_int, device: c_int)
        => attributes::pci_bus_id;
    "cuDeviceComputeCapability" 2000 cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int)
        => attributes::capability;
    "cuDeviceCanAccessPeer" 4000 cuDeviceCanAccessPeer(out: *mut c_int, from: c_int, to: c_int)
        => attributes::can_access_peer;
    "cuDeviceGetP2PAttribute" 8000 cuDeviceGetP2PAttribute(out: *mut c_int, attribute: c_int, from: c_int, to: c_int)
        => attributes::p2p_attribute;
    "cuDeviceGetDefaultMemPool" 11020 cuDeviceGetDefaultMemPool(out: *mut Handle, device: c_int) => pool::default_pool;
    "cuDeviceGetMemPool" 11020 cuDeviceGetMemPool(out: *mut Handle, device: c_int) => pool::current_pool;
    "cuDeviceSetMemPool" 11020 cuDeviceSetMemPool(device: c_int, handle: Handle) => pool::set_pool;
    "cuDeviceGraphMemTrim" 11040 cuDeviceGraphMemTrim(device: c_int) => pool::graph_trim;
    "cuFlushGPUDirectRDMAWrites" 11030 cuFlushGPUDirectRDMAWrites(target: c_int, scope: c_int) => flush_writes;
    "cuDevicePrimaryCtxRetain" 7000 cuDevicePrimaryCtxRetain(out: *mut Handle, device: c_int)
        => context::primary_retain;
    "cuDevicePrimaryCtxRelease" 7000 cuDevicePrimaryCtxRelease(device: c_int) => context::primary_release;
    "cuDevicePrimaryCtxRelease" 11000 cuDevicePrimaryCtxRelease_v2(device: c_int) => context::primary_release;
    "cuDevicePrimaryCtxReset" 7000 cuDevicePrimaryCtxReset(device: c_int) => context::primary_reset;
    "cuDevicePrimaryCtxReset" 11000 cuDevicePrimaryCtxReset_v2(device: c_int) => context::primary_reset;
    "cuDevicePrimaryCtxGetState" 7000 cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int)
        => context::primary_state;
    "cuDevicePrimaryCtxSetFlags" 7000 cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint)
        => context::primary_set_flags;
    "cuDevicePrimaryCtxSetFlags" 11000 cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint)
        => context::primary_set_flags;
    "cuCtxCreate" 2000 cuCtxCreate(out: *mut Handle, flags: c_uint, device: c_int) => context::create;
    "cuCtxCreate" 3020 cuCtxCreate_v2(out: *mut Handle, flags: c_uint, device: c_int) => context::create;
    "cuCtxCreate" 11040 cuCtxCreate_v3(out: *mut Handle, params: *mut c_void, count: c_int, flags: c_uint,
        device: c_int) => context::create_affine;
    "cuCtxCreate" 12050 cuCtxCreate_v4(out: *mut Handle, params: *mut c_void, flags: c_uint, device: c_int)
        => context::create_with;
    "cuCtxDestroy" 2000 cuCtxDestroy(handle: Handle) => context::destroy;
    "cuCtxDestroy" 4000 cuCtxDestroy_v2(handle: Handle) => context::destroy;
    "cuCtxDetach" 2000 cuCtxDetach(handle: Handle) => detach;
    "cuCtxPushCurrent" 2000 cuCtxPushCurrent(handle: Handle) => context::push_current;
    "cuCtxPushCurrent" 4000 cuCtxPushCurrent_v2(handle: Handle) => context::push_current;
    "cuCtxPopCurrent" 2000 cuCtxPopCurrent(out: *mut Handle) => context::pop_current;
    "cuCtxPopCurrent" 4000 cuCtxPopCurrent_v2(out: *mut Handle) => context::pop_current;
    "cuCtxSetCurrent" 4000 cuCtxSetCurrent(handle: Handle) => context::set_current;
    "cuCtxGetCurrent" 4000 cuCtxGetCurrent(out: *mut Handle) => context::get_current;
    "cuCtxGetDevice" 2000 cuCtxGetDevice(out: *mut c_int) => context::get_device;
    "cuCtxGetDevice" 13000 cuCtxGetDevice_v2(out: *mut c_int, handle: Handle) => context::get_device_of;
    "cuCtxGetFlags" 7000 cuCtxGetFlags(out: *mut c_uint) => context::get_flags;
    "cuCtxGetId" 12000 cuCtxGetId(handle: Handle, out: *mut u64) => context::get_id;
    "cuCtxGetApiVersion" 3020 cuCtxGetApiVersion(handle: Handle, out: *mut c_uint) => context::api_version;
    "cuCtxGetStreamPriorityRange" 5050 cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int)
        => context::priority_range;
    "cuCtxGetLimit" 3010 cuCtxGetLimit(out: *mut usize, limit: c_int) => context::get_limit;
    "cuCtxSetLimit" 3010 cuCtxSetLimit(limit: c_int, value: usize) => context::set_limit;
    "cuCtxGetCacheConfig" 3020 cuCtxGetCacheConfig(out: *mut c_int) => context::get_config;
    "cuCtxSetCacheConfig" 3020 cuCtxSetCacheConfig(config: c_int) => context::set_config;
    "cuCtxGetSharedMemConfig" 4020 cuCtxGetSharedMemConfig(out: *mut c_int) => context::get_config;
    "cuCtxSetSharedMemConfig" 4020 cuCtxSetSharedMemConfig(config: c_int) => context::set_config;
    "cuCtxResetPersistingL2Cache" 11000 cuCtxResetPersistingL2Cache() => reset_cache;
    "cuCtxSynchronize" 2000 cuCtxSynchronize() => context::synchronize;
    "cuCtxSynchronize" 13000 cuCtxSynchronize_v2(handle: Handle) => context::synchronize_of;
    "cuCtxEnablePeerAccess" 4000 cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) => context::enable_peer;
    "cuCtxDisablePeerAccess" 4000 cuCtxDisablePeerAccess(peer: Handle) => context::disable_peer;
    "cuGetErrorName" 6000 cuGetErrorName(error: Result32, out: *mut *const c_char) => errors::name;
    "cuGetErrorString" 6000 cuGetErrorString(error: Result32, out: *mut *const c_char) => errors::string;
    "cuGetExportTable" 3000 cuGetExportTable(out: *mut *const c_void, id: *const Uuid) => export_table;
    "cuProfilerStart" 4000 cuProfilerStart() => profiler;
    "cuProfilerStop" 4000 cuProfilerStop() => profiler;
    "cuProfilerInitialize" 4000 cuProfilerInitialize(config: *const c_char, output: *const c_char, mode: c_int)
        => profiler_init;
    "cuOccupancyMaxActiveBlocksPerMultiprocessor" 6050 cuOccupancyMaxActiveBlocksPerMultiprocessor(out: *mut c_int,
        function: Handle, block: c_int, shared: usize) => occupancy;
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" 7000 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: *mut c_int, function: Handle, block: c_int, shared: usize, flags: c_uint) => attributes::occupancy;
    "cuIpcGetMemHandle" 4010 cuIpcGetMemHandle(out: *mut c_void, of: u64) => ipc::get;
    "cuIpcOpenMemHandle" 4010 cuIpcOpenMemHandle(out: *mut u64, handle: ipc::IpcHandle, flags: c_uint)
        => ipc::open;
    "cuIpcOpenMemHandle" 11000 cuIpcOpenMemHandle_v2(out: *mut u64, handle: ipc::IpcHandle, flags: c_uint)
        => ipc::open;
    "cuIpcCloseMemHandle" 4010 cuIpcCloseMemHandle(pointer: u64) => ipc::close;
    "cuIpcGetEventHandle" 4010 cuIpcGetEventHandle(out: *mut c_void, of: u64) => ipc::get_event;
    "cuIpcOpenEventHandle" 4010 cuIpcOpenEventHandle(out: *mut Handle, handle: ipc::IpcHandle)
        => ipc::open_event;
}
