//! Allocation, pools, address management, unified memory.

use crate::abi::{AccessDesc, AllocationProp, DevicePtr, Handle, MemLocation, PoolProps};
use crate::{memory, pool, unified, vmm};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

super::plain! { TABLE:
    "cuMemAlloc" 3020 cuMemAlloc_v2(out: *mut DevicePtr, bytes: usize) => memory::alloc;
    "cuMemAllocPitch" 3020 cuMemAllocPitch_v2(out: *mut DevicePtr, pitch: *mut usize, width: usize, height: usize,
        element: c_uint) => memory::alloc_pitch;
    "cuMemFree" 3020 cuMemFree_v2(pointer: DevicePtr) => memory::free;
    "cuMemGetInfo" 3020 cuMemGetInfo_v2(free: *mut usize, total: *mut usize) => memory::info;
    "cuMemGetAddressRange" 3020 cuMemGetAddressRange_v2(base: *mut DevicePtr, bytes: *mut usize, pointer: DevicePtr)
        => memory::address_range;
    "cuMemAllocManaged" 6000 cuMemAllocManaged(out: *mut DevicePtr, bytes: usize, flags: c_uint)
        => memory::alloc_managed;
    "cuMemAllocHost" 3020 cuMemAllocHost_v2(out: *mut *mut c_void, bytes: usize) => memory::alloc_host;
    "cuMemHostAlloc" 2020 cuMemHostAlloc(out: *mut *mut c_void, bytes: usize, flags: c_uint) => memory::host_alloc;
    "cuMemFreeHost" 2000 cuMemFreeHost(pointer: *mut c_void) => memory::free_host;
    "cuMemHostRegister" 4000 cuMemHostRegister(pointer: *mut c_void, bytes: usize, flags: c_uint)
        => memory::host_register;
    "cuMemHostRegister" 6050 cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: c_uint)
        => memory::host_register;
    "cuMemHostUnregister" 4000 cuMemHostUnregister(pointer: *mut c_void) => memory::host_unregister;
    "cuMemHostGetDevicePointer" 3020 cuMemHostGetDevicePointer_v2(out: *mut DevicePtr, pointer: *mut c_void,
        flags: c_uint) => memory::host_device_pointer;
    "cuMemHostGetFlags" 2030 cuMemHostGetFlags(out: *mut c_uint, pointer: *mut c_void) => memory::host_flags;
    "cuPointerGetAttribute" 4000 cuPointerGetAttribute(out: *mut c_void, attribute: c_int, pointer: DevicePtr)
        => memory::pointer_attribute;
    "cuPointerGetAttributes" 7000 cuPointerGetAttributes(count: c_uint, attributes: *const c_int,
        data: *mut *mut c_void, pointer: DevicePtr) => memory::pointer_attributes;
    "cuPointerSetAttribute" 6000 cuPointerSetAttribute(value: *const c_void, attribute: c_int, pointer: DevicePtr)
        => memory::set_pointer_attribute;
    "cuMemPoolCreate" 11020 cuMemPoolCreate(out: *mut Handle, props: *const PoolProps) => pool::create;
    "cuMemPoolDestroy" 11020 cuMemPoolDestroy(handle: Handle) => pool::destroy;
    "cuMemPoolTrimTo" 11020 cuMemPoolTrimTo(handle: Handle, keep: usize) => pool::trim_to;
    "cuMemPoolSetAttribute" 11020 cuMemPoolSetAttribute(handle: Handle, attribute: c_int, value: *mut c_void)
        => pool::set_attribute;
    "cuMemPoolGetAttribute" 11020 cuMemPoolGetAttribute(handle: Handle, attribute: c_int, value: *mut c_void)
        => pool::get_attribute;
    "cuMemPoolSetAccess" 11020 cuMemPoolSetAccess(handle: Handle, map: *const AccessDesc, count: usize)
        => pool::set_access;
    "cuMemPoolGetAccess" 11020 cuMemPoolGetAccess(out: *mut c_int, handle: Handle, location: *mut MemLocation)
        => pool::get_access;
    "cuMemAdvise" 8000 cuMemAdvise(address: DevicePtr, bytes: usize, advice: c_int, device: c_int) => unified::advise;
    "cuMemAdvise" 12020 cuMemAdvise_v2(address: DevicePtr, bytes: usize, advice: c_int, location: MemLocation)
        => unified::advise_v2;
    "cuMemRangeGetAttribute" 8000 cuMemRangeGetAttribute(out: *mut c_void, size: usize, attribute: c_int,
        address: DevicePtr, bytes: usize) => unified::range_attribute;
    "cuMemRangeGetAttributes" 8000 cuMemRangeGetAttributes(data: *mut *mut c_void, sizes: *mut usize,
        attributes: *mut c_int, count: usize, address: DevicePtr, bytes: usize) => unified::range_attributes;
    "cuMemGetAllocationGranularity" 10020 cuMemGetAllocationGranularity(out: *mut usize, prop: *const AllocationProp,
        option: c_int) => vmm::granularity;
    "cuMemAddressReserve" 10020 cuMemAddressReserve(out: *mut DevicePtr, bytes: usize, alignment: usize,
        address: DevicePtr, flags: c_ulonglong) => vmm::reserve;
    "cuMemAddressFree" 10020 cuMemAddressFree(pointer: DevicePtr, bytes: usize) => vmm::release_range;
    "cuMemCreate" 10020 cuMemCreate(out: *mut c_ulonglong, bytes: usize, prop: *const AllocationProp,
        flags: c_ulonglong) => vmm::create;
    "cuMemRelease" 10020 cuMemRelease(handle: c_ulonglong) => vmm::release;
    "cuMemMap" 10020 cuMemMap(pointer: DevicePtr, bytes: usize, offset: usize, handle: c_ulonglong,
        flags: c_ulonglong) => vmm::map;
    "cuMemUnmap" 10020 cuMemUnmap(pointer: DevicePtr, bytes: usize) => vmm::unmap;
    "cuMemSetAccess" 10020 cuMemSetAccess(pointer: DevicePtr, bytes: usize, access: *const AccessDesc, count: usize)
        => vmm::set_access;
    "cuMemGetAccess" 10020 cuMemGetAccess(out: *mut c_ulonglong, location: *const MemLocation, pointer: DevicePtr)
        => vmm::get_access;
    "cuMemRetainAllocationHandle" 11000 cuMemRetainAllocationHandle(out: *mut c_ulonglong, pointer: *mut c_void)
        => vmm::retain;
}

/// The forms with a default stream.
pub mod streamed {
    use super::*;

    crate::api::streamed! { TABLE:
        "cuMemAllocAsync" 11020 cuMemAllocAsync | 11020 cuMemAllocAsync_ptsz
            (out: *mut DevicePtr, bytes: usize, stream: Handle) => pool::alloc;
        "cuMemAllocFromPoolAsync" 11020 cuMemAllocFromPoolAsync | 11020 cuMemAllocFromPoolAsync_ptsz
            (out: *mut DevicePtr, bytes: usize, pool: Handle, stream: Handle) => pool::alloc_from;
        "cuMemFreeAsync" 11020 cuMemFreeAsync | 11020 cuMemFreeAsync_ptsz
            (pointer: DevicePtr, stream: Handle) => pool::free;
        "cuMemPrefetchAsync" 8000 cuMemPrefetchAsync | 8000 cuMemPrefetchAsync_ptsz
            (address: DevicePtr, bytes: usize, device: c_int, stream: Handle) => unified::prefetch;
        "cuMemPrefetchAsync" 12020 cuMemPrefetchAsync_v2 | 12020 cuMemPrefetchAsync_v2_ptsz
            (address: DevicePtr, bytes: usize, location: MemLocation, flags: c_uint, stream: Handle)
            => unified::prefetch_v2;
        "cuMemPrefetchBatchAsync" 13000 cuMemPrefetchBatchAsync | 13000 cuMemPrefetchBatchAsync_ptsz
            (addresses: *const DevicePtr, sizes: *const usize, count: usize, locations: *const MemLocation,
             indexes: *const usize, location_count: usize, flags: c_ulonglong, stream: Handle)
            => unified::prefetch_batch;
        "cuMemDiscardBatchAsync" 13000 cuMemDiscardBatchAsync | 13000 cuMemDiscardBatchAsync_ptsz
            (addresses: *const DevicePtr, sizes: *const usize, count: usize, flags: c_ulonglong, stream: Handle)
            => unified::discard_batch;
        "cuMemDiscardAndPrefetchBatchAsync" 13000 cuMemDiscardAndPrefetchBatchAsync
            | 13000 cuMemDiscardAndPrefetchBatchAsync_ptsz
            (addresses: *const DevicePtr, sizes: *const usize, count: usize, locations: *const MemLocation,
             indexes: *const usize, location_count: usize, flags: c_ulonglong, stream: Handle)
            => unified::prefetch_batch;
    }
}
