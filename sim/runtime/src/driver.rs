//! The way to the driver: `dlopen("libcuda.so.1")`, `dlsym("cuGetProcAddress_v2")`, that one asked for itself, and every entry
//! point through it, once, at first use.

use crate::abi::{
    DriverKernelNodeParams, DriverLaunchConfig, DriverMemcpy2D, DriverMemcpy3D, Error, Handle, HostFn, IpcHandle,
};
use crate::abi::{MemLocation, NodeParams, StreamCallback, code};
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};
use std::sync::OnceLock;

/// Which default stream a runtime function means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The plain name.
    Legacy,
    /// `_ptsz` and `_ptds`.
    PerThread,
}

/// `cuGetProcAddress_v2`.
type GetProcAddress = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, c_ulonglong, *mut c_int) -> c_int;

macro_rules! entries {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $symbol:literal $version:literal ($($kind:ty),*);)* }) => {
        $(#[$doc])*
        pub struct $name { $(pub $field: Option<unsafe extern "C" fn($($kind),*) -> c_int>,)* }

        impl $name {
            fn load(get: GetProcAddress, flags: c_ulonglong) -> Self {
                Self { $($field: {
                    let address = ask(get, $symbol, $version, flags);
                    // SAFETY: the driver promises a function of this type under this name and version; null becomes None.
                    unsafe {
                        std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($kind),*) -> c_int>>(address)
                    }
                },)* }
            }
        }
    };
}

fn ask(get: GetProcAddress, name: &CStr, version: c_int, flags: c_ulonglong) -> *mut c_void {
    let mut address = std::ptr::null_mut();
    let mut status = 0;
    // SAFETY: valid out-pointers, a NUL-ended name.
    unsafe { get(name.as_ptr(), &raw mut address, version, flags, &raw mut status) };
    address
}

entries! {
    /// Entry points that know no default stream.
    Common {
        init: c"cuInit" 2000 (c_uint);
        version: c"cuDriverGetVersion" 2020 (*mut c_int);
        device_get: c"cuDeviceGet" 2000 (*mut c_int, c_int);
        device_count: c"cuDeviceGetCount" 2000 (*mut c_int);
        device_name: c"cuDeviceGetName" 2000 (*mut c_char, c_int, c_int);
        device_total: c"cuDeviceTotalMem" 3020 (*mut usize, c_int);
        device_attribute: c"cuDeviceGetAttribute" 2000 (*mut c_int, c_int, c_int);
        device_uuid: c"cuDeviceGetUuid" 9020 (*mut c_void, c_int);
        device_bus_id: c"cuDeviceGetPCIBusId" 4010 (*mut c_char, c_int, c_int);
        can_access_peer: c"cuDeviceCanAccessPeer" 4000 (*mut c_int, c_int, c_int);
        p2p_attribute: c"cuDeviceGetP2PAttribute" 8000 (*mut c_int, c_int, c_int, c_int);
        default_pool: c"cuDeviceGetDefaultMemPool" 11020 (*mut Handle, c_int);
        current_pool: c"cuDeviceGetMemPool" 11020 (*mut Handle, c_int);
        set_pool: c"cuDeviceSetMemPool" 11020 (c_int, Handle);
        primary_retain: c"cuDevicePrimaryCtxRetain" 7000 (*mut Handle, c_int);
        primary_reset: c"cuDevicePrimaryCtxReset" 7000 (c_int);
        primary_set_flags: c"cuDevicePrimaryCtxSetFlags" 11000 (c_int, c_uint);
        set_current: c"cuCtxSetCurrent" 4000 (Handle);
        get_current: c"cuCtxGetCurrent" 4000 (*mut Handle);
        context_device: c"cuCtxGetDevice" 2000 (*mut c_int);
        synchronize: c"cuCtxSynchronize" 2000 ();
        get_limit: c"cuCtxGetLimit" 3010 (*mut usize, c_int);
        set_limit: c"cuCtxSetLimit" 3010 (c_int, usize);
        priority_range: c"cuCtxGetStreamPriorityRange" 5050 (*mut c_int, *mut c_int);
        enable_peer: c"cuCtxEnablePeerAccess" 4000 (Handle, c_uint);
        disable_peer: c"cuCtxDisablePeerAccess" 4000 (Handle);
        export_table: c"cuGetExportTable" 3000 (*mut *const c_void, *const c_void);
        profiler_start: c"cuProfilerStart" 4000 ();
        profiler_stop: c"cuProfilerStop" 4000 ();
        library_load: c"cuLibraryLoadData" 12000 (*mut Handle, *const c_void, *mut c_int, *mut *mut c_void, c_uint,
            *mut c_int, *mut *mut c_void, c_uint);
        library_unload: c"cuLibraryUnload" 12000 (Handle);
        library_kernel: c"cuLibraryGetKernel" 12000 (*mut Handle, Handle, *const c_char);
        library_global: c"cuLibraryGetGlobal" 12000 (*mut u64, *mut usize, Handle, *const c_char);
        kernel_function: c"cuKernelGetFunction" 12000 (*mut Handle, Handle);
        kernel_name: c"cuKernelGetName" 12030 (*mut *const c_char, Handle);
        kernel_param: c"cuKernelGetParamInfo" 12040 (Handle, usize, *mut usize, *mut usize);
        occupancy: c"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" 7000 (*mut c_int, Handle, c_int, usize, c_uint);
        mem_info: c"cuMemGetInfo" 3020 (*mut usize, *mut usize);
        mem_alloc: c"cuMemAlloc" 3020 (*mut u64, usize);
        mem_alloc_pitch: c"cuMemAllocPitch" 3020 (*mut u64, *mut usize, usize, usize, c_uint);
        mem_alloc_managed: c"cuMemAllocManaged" 6000 (*mut u64, usize, c_uint);
        mem_free: c"cuMemFree" 3020 (u64);
        ipc_get: c"cuIpcGetMemHandle" 4010 (*mut c_void, u64);
        ipc_open: c"cuIpcOpenMemHandle" 11000 (*mut u64, IpcHandle, c_uint);
        ipc_close: c"cuIpcCloseMemHandle" 4010 (u64);
        host_alloc: c"cuMemHostAlloc" 2020 (*mut *mut c_void, usize, c_uint);
        free_host: c"cuMemFreeHost" 2000 (*mut c_void);
        host_register: c"cuMemHostRegister" 6050 (*mut c_void, usize, c_uint);
        host_unregister: c"cuMemHostUnregister" 4000 (*mut c_void);
        host_device_pointer: c"cuMemHostGetDevicePointer" 3020 (*mut u64, *mut c_void, c_uint);
        host_flags: c"cuMemHostGetFlags" 2030 (*mut c_uint, *mut c_void);
        pointer_attributes: c"cuPointerGetAttributes" 7000 (c_uint, *const c_int, *mut *mut c_void, u64);
        advise: c"cuMemAdvise" 8000 (u64, usize, c_int, c_int);
        advise_v2: c"cuMemAdvise" 12020 (u64, usize, c_int, MemLocation);
        range_attribute: c"cuMemRangeGetAttribute" 8000 (*mut c_void, usize, c_int, u64, usize);
        range_attributes: c"cuMemRangeGetAttributes" 8000 (*mut *mut c_void, *mut usize, *mut c_int, usize, u64, usize);
        pool_create: c"cuMemPoolCreate" 11020 (*mut Handle, *const c_void);
        pool_destroy: c"cuMemPoolDestroy" 11020 (Handle);
        pool_trim: c"cuMemPoolTrimTo" 11020 (Handle, usize);
        pool_set: c"cuMemPoolSetAttribute" 11020 (Handle, c_int, *mut c_void);
        pool_get: c"cuMemPoolGetAttribute" 11020 (Handle, c_int, *mut c_void);
        pool_set_access: c"cuMemPoolSetAccess" 11020 (Handle, *const c_void, usize);
        pool_get_access: c"cuMemPoolGetAccess" 11020 (*mut c_int, Handle, *mut MemLocation);
        stream_create: c"cuStreamCreate" 2000 (*mut Handle, c_uint);
        stream_create_priority: c"cuStreamCreateWithPriority" 5050 (*mut Handle, c_uint, c_int);
        stream_destroy: c"cuStreamDestroy" 4000 (Handle);
        exchange_mode: c"cuThreadExchangeStreamCaptureMode" 10010 (*mut c_int);
        event_create: c"cuEventCreate" 2000 (*mut Handle, c_uint);
        event_destroy: c"cuEventDestroy" 4000 (Handle);
        event_query: c"cuEventQuery" 2000 (Handle);
        event_synchronize: c"cuEventSynchronize" 2000 (Handle);
        event_elapsed: c"cuEventElapsedTime" 2000 (*mut f32, Handle, Handle);
        graph_create: c"cuGraphCreate" 10000 (*mut Handle, c_uint);
        graph_destroy: c"cuGraphDestroy" 10000 (Handle);
        graph_clone: c"cuGraphClone" 10000 (*mut Handle, Handle);
        graph_kernel: c"cuGraphAddKernelNode" 12000 (*mut Handle, Handle, *const Handle, usize,
            *const DriverKernelNodeParams);
        graph_copy: c"cuGraphAddMemcpyNode" 10000 (*mut Handle, Handle, *const Handle, usize, *const DriverMemcpy3D, Handle);
        graph_set: c"cuGraphAddMemsetNode" 10000 (*mut Handle, Handle, *const Handle, usize, *const c_void, Handle);
        graph_host: c"cuGraphAddHostNode" 10000 (*mut Handle, Handle, *const Handle, usize, *const c_void);
        graph_empty: c"cuGraphAddEmptyNode" 10000 (*mut Handle, Handle, *const Handle, usize);
        graph_child: c"cuGraphAddChildGraphNode" 10000 (*mut Handle, Handle, *const Handle, usize, Handle);
        graph_alloc: c"cuGraphAddMemAllocNode" 11040 (*mut Handle, Handle, *const Handle, usize, *mut c_void);
        graph_free: c"cuGraphAddMemFreeNode" 11040 (*mut Handle, Handle, *const Handle, usize, u64);
        graph_any: c"cuGraphAddNode" 12020 (*mut Handle, Handle, *const Handle, usize, *mut NodeParams);
        graph_nodes: c"cuGraphGetNodes" 10000 (Handle, *mut Handle, *mut usize);
        graph_roots: c"cuGraphGetRootNodes" 10000 (Handle, *mut Handle, *mut usize);
        graph_node_type: c"cuGraphNodeGetType" 10000 (Handle, *mut c_int);
        graph_instantiate: c"cuGraphInstantiate" 12000 (*mut Handle, Handle, c_ulonglong);
        graph_exec_update: c"cuGraphExecUpdate" 12000 (Handle, Handle, *mut c_int);
        graph_exec_destroy: c"cuGraphExecDestroy" 10000 (Handle);
    }
}

entries! {
    /// Entry points that know a default stream: loaded once for each.
    Streamed {
        copy: c"cuMemcpy" 7000 (u64, u64, usize);
        copy_async: c"cuMemcpyAsync" 7000 (u64, u64, usize, Handle);
        htod: c"cuMemcpyHtoD" 7000 (u64, *const c_void, usize);
        htod_async: c"cuMemcpyHtoDAsync" 7000 (u64, *const c_void, usize, Handle);
        dtoh: c"cuMemcpyDtoH" 7000 (*mut c_void, u64, usize);
        dtoh_async: c"cuMemcpyDtoHAsync" 7000 (*mut c_void, u64, usize, Handle);
        dtod: c"cuMemcpyDtoD" 7000 (u64, u64, usize);
        dtod_async: c"cuMemcpyDtoDAsync" 7000 (u64, u64, usize, Handle);
        peer: c"cuMemcpyPeer" 7000 (u64, Handle, u64, Handle, usize);
        peer_async: c"cuMemcpyPeerAsync" 7000 (u64, Handle, u64, Handle, usize, Handle);
        planar: c"cuMemcpy2DUnaligned" 7000 (*const DriverMemcpy2D);
        planar_async: c"cuMemcpy2DAsync" 7000 (*const DriverMemcpy2D, Handle);
        volume: c"cuMemcpy3D" 7000 (*const DriverMemcpy3D);
        volume_async: c"cuMemcpy3DAsync" 7000 (*const DriverMemcpy3D, Handle);
        set8: c"cuMemsetD8" 7000 (u64, c_uchar, usize);
        set8_async: c"cuMemsetD8Async" 7000 (u64, c_uchar, usize, Handle);
        set16_async: c"cuMemsetD16Async" 7000 (u64, c_ushort, usize, Handle);
        set2d8: c"cuMemsetD2D8" 7000 (u64, usize, c_uchar, usize, usize);
        set2d8_async: c"cuMemsetD2D8Async" 7000 (u64, usize, c_uchar, usize, usize, Handle);
        alloc_async: c"cuMemAllocAsync" 11020 (*mut u64, usize, Handle);
        alloc_from: c"cuMemAllocFromPoolAsync" 11020 (*mut u64, usize, Handle, Handle);
        free_async: c"cuMemFreeAsync" 11020 (u64, Handle);
        prefetch: c"cuMemPrefetchAsync" 8000 (u64, usize, c_int, Handle);
        prefetch_v2: c"cuMemPrefetchAsync" 12020 (u64, usize, MemLocation, c_uint, Handle);
        prefetch_batch: c"cuMemPrefetchBatchAsync" 13000 (*const u64, *const usize, usize, *const MemLocation, *const usize,
            usize, c_ulonglong, Handle);
        discard_batch: c"cuMemDiscardBatchAsync" 13000 (*const u64, *const usize, usize, c_ulonglong, Handle);
        discard_prefetch_batch: c"cuMemDiscardAndPrefetchBatchAsync" 13000 (*const u64, *const usize, usize,
            *const MemLocation, *const usize, usize, c_ulonglong, Handle);
        synchronize: c"cuStreamSynchronize" 7000 (Handle);
        query: c"cuStreamQuery" 7000 (Handle);
        flags: c"cuStreamGetFlags" 7000 (Handle, *mut c_uint);
        priority: c"cuStreamGetPriority" 7000 (Handle, *mut c_int);
        id: c"cuStreamGetId" 12000 (Handle, *mut u64);
        device: c"cuStreamGetDevice" 12080 (Handle, *mut c_int);
        wait_event: c"cuStreamWaitEvent" 7000 (Handle, Handle, c_uint);
        callback: c"cuStreamAddCallback" 7000 (Handle, Option<StreamCallback>, *mut c_void, c_uint);
        attach: c"cuStreamAttachMemAsync" 7000 (Handle, u64, usize, c_uint);
        record: c"cuEventRecord" 7000 (Handle, Handle);
        record_with_flags: c"cuEventRecordWithFlags" 11010 (Handle, Handle, c_uint);
        launch: c"cuLaunchKernel" 7000 (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
            *mut *mut c_void, *mut *mut c_void);
        launch_ex: c"cuLaunchKernelEx" 11060 (*const DriverLaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);
        cooperative: c"cuLaunchCooperativeKernel" 9000 (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint,
            Handle, *mut *mut c_void);
        host: c"cuLaunchHostFunc" 10000 (Handle, Option<HostFn>, *mut c_void);
        begin_capture: c"cuStreamBeginCapture" 10010 (Handle, c_int);
        end_capture: c"cuStreamEndCapture" 10000 (Handle, *mut Handle);
        is_capturing: c"cuStreamIsCapturing" 10000 (Handle, *mut c_int);
        capture_info: c"cuStreamGetCaptureInfo" 12030 (Handle, *mut c_int, *mut u64, *mut Handle, *mut *const Handle,
            *mut *const c_void, *mut usize);
        graph_launch: c"cuGraphLaunch" 10000 (Handle, Handle);
        graph_upload: c"cuGraphUpload" 11010 (Handle, Handle);
    }
}

/// The loaded driver.
pub struct Driver {
    get: GetProcAddress,
    pub common: Common,
    legacy: Streamed,
    own: Streamed,
    /// What `cuInit` returned.
    pub ready: Error,
}

impl Driver {
    /// The entry points for a default stream.
    #[inline]
    pub fn lane(&self, lane: Lane) -> &Streamed {
        match lane {
            Lane::Legacy => &self.legacy,
            Lane::PerThread => &self.own,
        }
    }

    /// `cuGetProcAddress_v2`, for `cudaGetDriverEntryPoint`.
    pub unsafe fn proc_address(
        &self,
        name: *const c_char,
        out: *mut *mut c_void,
        version: c_int,
        flags: c_ulonglong,
        status: *mut c_int,
    ) -> Error {
        // SAFETY: passed through.
        unsafe { (self.get)(name, out, version, flags, status) }
    }
}

fn load() -> Option<Driver> {
    // SAFETY: plain loader calls with constant names; the library stays loaded.
    let found = unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return None;
        }
        libc::dlsym(library, c"cuGetProcAddress_v2".as_ptr())
    };
    // SAFETY: the driver exports a function of this type under this name.
    let first = unsafe { std::mem::transmute::<*mut c_void, Option<GetProcAddress>>(found) }?;
    // As the real runtime does: the function is asked for itself, in both versions, and the answer is used from then on.
    ask(first, c"cuGetProcAddress", 11030, 0);
    let second = ask(first, c"cuGetProcAddress", 12000, 0);
    // SAFETY: as above; version 12000 names the form with a status.
    let get = unsafe { std::mem::transmute::<*mut c_void, Option<GetProcAddress>>(second) }?;
    let common = Common::load(get, 0);
    let (legacy, own) = (Streamed::load(get, 0), Streamed::load(get, 2));
    let mut ready = code::INSUFFICIENT_DRIVER;
    if let Some(init) = common.init {
        // SAFETY: the driver's own function.
        ready = unsafe { init(0) };
    }
    if let Some(table) = common.export_table {
        for id in 0..7u8 {
            let mut out = std::ptr::null();
            let uuid = [id; 16];
            // SAFETY: a valid out-pointer and a sixteen-byte id; the answer is not used.
            unsafe { table(&raw mut out, uuid.as_ptr().cast()) };
        }
    }
    Some(Driver { get, common, legacy, own, ready })
}

static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();

/// The driver, loaded at first use.
#[inline]
pub fn get() -> Result<&'static Driver, Error> {
    match DRIVER.get() {
        Some(Some(driver)) if driver.ready == 0 => Ok(driver),
        _ => first(),
    }
}

#[cold]
fn first() -> Result<&'static Driver, Error> {
    match DRIVER.get_or_init(load) {
        Some(driver) if driver.ready == 0 => Ok(driver),
        Some(driver) => Err(driver.ready),
        None => Err(code::INSUFFICIENT_DRIVER),
    }
}

/// Calls an entry point of a table: `call!(driver.common.mem_alloc(out, bytes))` is a `Result`.
macro_rules! call {
    ($table:expr, $field:ident($($arg:expr),*)) => {
        match $table.$field {
            Some(function) => match function($($arg),*) {
                0 => Ok(()),
                error => Err(error),
            },
            None => Err($crate::abi::code::INSUFFICIENT_DRIVER),
        }
    };
}
pub(crate) use call;
