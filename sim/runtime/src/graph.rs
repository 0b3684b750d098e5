//! Graphs.

use crate::abi::{
    DriverKernelNodeParams, DriverMemcpy3D, Error, Extent, Handle, KernelNodeParams, Memcpy3DParms, NodeParams,
    PitchedPtr, Pos, code,
};
use crate::copy;
use crate::driver::call;
use crate::register;
use crate::state::ready;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

const NONE: Handle = std::ptr::null_mut();

/// # Safety
/// As for `cudaGraphAddMemcpyNode`.
unsafe fn add_copy(
    out: *mut Handle,
    graph: Handle,
    list: *const Handle,
    count: usize,
    params: &Memcpy3DParms,
) -> Result<(), Error> {
    let params = copy::volume(params)?;
    // SAFETY: by the caller's contract.
    unsafe { call!(ready()?.common, graph_copy(out, graph, list, count, &raw const params, NONE)) }
}

/// As the driver wants it: with its own handle of the kernel.
fn kernel_params(params: &KernelNodeParams) -> Result<DriverKernelNodeParams, Error> {
    let kernel = register::kernel(params.function)?;
    Ok(DriverKernelNodeParams {
        function: NONE,
        grid: params.grid,
        block: params.block,
        shared: params.shared,
        params: params.params,
        extra: params.extra,
        kernel,
        context: NONE,
    })
}

/// `cudaGraphAddNode`: kernels and copies are told otherwise to the driver, all else is alike.
///
/// # Safety
/// As for `cudaGraphAddNode`.
pub unsafe fn add_any(
    out: *mut Handle,
    graph: Handle,
    list: *const Handle,
    count: usize,
    params: *mut NodeParams,
) -> Result<(), Error> {
    // SAFETY: null, or valid by the caller's contract; the union is as large as the largest type, and aligned for all of them.
    unsafe {
        let params = params.as_mut().ok_or(code::INVALID_VALUE)?;
        let mut told = *params;
        match params.kind {
            0 => {
                let mut kernel = kernel_params(&params.of.as_ptr().cast::<KernelNodeParams>().read())?;
                // Both handles, as the runtime of CUDA 13.0 does.
                call!(ready()?.common, kernel_function(&raw mut kernel.function, kernel.kernel))?;
                told.of.as_mut_ptr().cast::<DriverKernelNodeParams>().write(kernel);
            }
            1 => {
                let copy = copy::volume(&params.of.as_ptr().add(2).cast::<Memcpy3DParms>().read())?;
                told.of.as_mut_ptr().add(2).cast::<DriverMemcpy3D>().write(copy);
            }
            _ => {}
        }
        call!(ready()?.common, graph_any(out, graph, list, count, &raw mut told))?;
        // What the driver has answered: the address of memory.
        if params.kind == 10 {
            params.of = told.of;
        }
    }
    Ok(())
}

exports! {
    cudaGraphAddMemAllocNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize, params: *mut c_void)
        => call!(ready()?.common, graph_alloc(out, graph, list, count, params));
    cudaGraphAddMemFreeNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize, address: *mut c_void)
        => call!(ready()?.common, graph_free(out, graph, list, count, address as u64));
    cudaGraphCreate(out: *mut Handle, flags: c_uint) => call!(ready()?.common, graph_create(out, flags));
    cudaGraphDestroy(graph: Handle) => call!(ready()?.common, graph_destroy(graph));
    cudaGraphClone(out: *mut Handle, graph: Handle) => call!(ready()?.common, graph_clone(out, graph));
    cudaGraphAddKernelNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize,
        params: *const KernelNodeParams) => {
        let params = kernel_params(params.as_ref().ok_or(code::INVALID_VALUE)?)?;
        call!(ready()?.common, graph_kernel(out, graph, list, count, &raw const params))
    };
    cudaGraphAddMemcpyNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize,
        params: *const Memcpy3DParms) => add_copy(out, graph, list, count, params.as_ref().ok_or(code::INVALID_VALUE)?);
    cudaGraphAddMemcpyNode1D(out: *mut Handle, graph: Handle, list: *const Handle, count: usize, dst: *mut c_void,
        src: *const c_void, bytes: usize, kind: c_int) => {
        let side = |ptr: *mut c_void| PitchedPtr { ptr, pitch: bytes, xsize: bytes, ysize: 1 };
        let params = Memcpy3DParms {
            src_array: NONE,
            src_pos: Pos::default(),
            src: side(src.cast_mut()),
            dst_array: NONE,
            dst_pos: Pos::default(),
            dst: side(dst),
            extent: Extent { width: bytes, height: 1, depth: 1 },
            kind,
        };
        add_copy(out, graph, list, count, &params)
    };
    cudaGraphAddMemsetNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize, params: *const c_void)
        => call!(ready()?.common, graph_set(out, graph, list, count, params, NONE));
    cudaGraphAddHostNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize, params: *const c_void)
        => call!(ready()?.common, graph_host(out, graph, list, count, params));
    cudaGraphAddEmptyNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize)
        => call!(ready()?.common, graph_empty(out, graph, list, count));
    cudaGraphAddChildGraphNode(out: *mut Handle, graph: Handle, list: *const Handle, count: usize, child: Handle)
        => call!(ready()?.common, graph_child(out, graph, list, count, child));
    cudaGraphGetNodes(graph: Handle, out: *mut Handle, count: *mut usize)
        => call!(ready()?.common, graph_nodes(graph, out, count));
    cudaGraphGetRootNodes(graph: Handle, out: *mut Handle, count: *mut usize)
        => call!(ready()?.common, graph_roots(graph, out, count));
    cudaGraphNodeGetType(node: Handle, out: *mut c_int) => call!(ready()?.common, graph_node_type(node, out));
    cudaGraphInstantiate(out: *mut Handle, graph: Handle, flags: c_ulonglong)
        => call!(ready()?.common, graph_instantiate(out, graph, flags));
    cudaGraphInstantiateWithFlags(out: *mut Handle, graph: Handle, flags: c_ulonglong)
        => call!(ready()?.common, graph_instantiate(out, graph, flags));
    cudaGraphExecUpdate(exec: Handle, graph: Handle, result: *mut c_int)
        => call!(ready()?.common, graph_exec_update(exec, graph, result));
    cudaGraphExecDestroy(exec: Handle) => call!(ready()?.common, graph_exec_destroy(exec));
}

lanes! {
    cudaGraphLaunch | cudaGraphLaunch_ptsz(exec: Handle, stream: Handle) lane
        => call!(ready()?.lane(lane), graph_launch(exec, stream));
    cudaGraphUpload | cudaGraphUpload_ptsz(exec: Handle, stream: Handle) lane
        => call!(ready()?.lane(lane), graph_upload(exec, stream));
}
