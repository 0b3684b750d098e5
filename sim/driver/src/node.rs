//! Nodes of graphs that allocate memory and free it, and nodes of any type by one function.

use crate::abi::{DevicePtr, Handle, HostNodeParams, KernelNodeParams, Memcpy3D, MemsetNodeParams, PoolProps};
use crate::abi::{Result32, code, put};
use crate::graph;
use crate::ops::Op;
use crate::pool;
use crate::stream::Lane;
use std::ffi::c_void;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
pub struct AllocNodeParams {
    pub pool: PoolProps,
    pub access: *const c_void,
    pub access_count: usize,
    pub bytes: usize,
    pub address: DevicePtr,
}

/// `CUgraphNodeParams`: what stands behind the first four numbers is of the node's type.
#[repr(C)]
pub struct NodeParams {
    pub kind: u32,
    pub reserved0: [u32; 3],
    pub of: [u64; 29],
    pub reserved2: u64,
}

const _: () = assert!(size_of::<NodeParams>() == 256 && std::mem::offset_of!(AllocNodeParams, address) == 112);

/// `cuGraphAddMemAllocNode`. The memory is there from now on, and stays with the graph.
pub unsafe fn add_alloc(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    params: *mut AllocNodeParams,
) -> Result<(), Result32> {
    // SAFETY: null, or valid by the API's contract.
    let params = unsafe { params.as_mut() }.ok_or(code::INVALID_VALUE)?;
    if params.bytes == 0 || params.pool.location.kind != 1 {
        return Err(code::INVALID_VALUE);
    }
    let mut address = 0;
    // SAFETY: the place is valid; lists are by the API's contract.
    unsafe {
        pool::alloc(Lane::Legacy, &raw mut address, params.bytes, std::ptr::null_mut())?;
        graph::add(out, to, list, count, Op::Allocate(address as usize))?;
    }
    params.address = address;
    Ok(())
}

/// `cuGraphAddMemFreeNode`.
pub unsafe fn add_free(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    address: DevicePtr,
) -> Result<(), Result32> {
    if address == 0 {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: by the API's contract.
    unsafe { graph::add(out, to, list, count, Op::Free) }
}

/// `cuGraphMemAllocNodeGetParams`: the address and the size.
pub unsafe fn get_alloc(handle: Handle, params: *mut AllocNodeParams) -> Result<(), Result32> {
    let Op::Allocate(address) = graph::op(handle)? else { return Err(code::INVALID_VALUE) };
    // SAFETY: null, or valid by the API's contract.
    unsafe {
        if let Some(params) = params.as_mut() {
            put(&raw mut params.address, address as DevicePtr);
            params.bytes = crate::ranges::find(address).map_or(0, |range| range.bytes);
        }
    }
    Ok(())
}

/// `cuGraphAddNode`.
pub unsafe fn add_any(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    params: *mut NodeParams,
) -> Result<(), Result32> {
    // SAFETY: null, or valid by the API's contract; the union is as large as the largest type, and aligned for all of them.
    unsafe {
        let params = params.as_mut().ok_or(code::INVALID_VALUE)?;
        let of = params.of.as_mut_ptr();
        match params.kind {
            0 => graph::add_kernel(out, to, list, count, of.cast::<KernelNodeParams>()),
            // Flags and a context come before it.
            1 => graph::add_copy(out, to, list, count, of.add(2).cast::<Memcpy3D>(), std::ptr::null_mut()),
            2 => graph::add_set(out, to, list, count, of.cast::<MemsetNodeParams>(), std::ptr::null_mut()),
            3 => graph::add_host(out, to, list, count, of.cast::<HostNodeParams>()),
            4 => graph::add_child(out, to, list, count, of.cast::<Handle>().read()),
            5 => graph::add_empty(out, to, list, count),
            10 => add_alloc(out, to, list, count, of.cast::<AllocNodeParams>()),
            11 => add_free(out, to, list, count, of.read()),
            _ => Err(code::NOT_SUPPORTED),
        }
    }
}

/// `cuGraphAddNode_v2`: edge data is ignored.
pub unsafe fn add_any_v2(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    _edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { add_any(out, to, list, count, params) }
}
