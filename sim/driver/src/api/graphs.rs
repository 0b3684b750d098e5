//! Graphs.

use crate::abi::{DevicePtr, Handle, HostNodeParams, KernelNodeParams, Memcpy3D, MemsetNodeParams};
use crate::graph;
use crate::node::{self, AllocNodeParams, NodeParams};
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

super::plain! { TABLE:
    "cuGraphCreate" 10000 cuGraphCreate(out: *mut Handle, flags: c_uint) => graph::create;
    "cuGraphDestroy" 10000 cuGraphDestroy(handle: Handle) => graph::destroy;
    "cuGraphClone" 10000 cuGraphClone(out: *mut Handle, of: Handle) => graph::clone;
    "cuGraphAddKernelNode" 12000 cuGraphAddKernelNode_v2(out: *mut Handle, to: Handle, list: *const Handle,
        count: usize, params: *const KernelNodeParams) => graph::add_kernel;
    "cuGraphAddMemcpyNode" 10000 cuGraphAddMemcpyNode(out: *mut Handle, to: Handle, list: *const Handle, count: usize,
        params: *const Memcpy3D, context: Handle) => graph::add_copy;
    "cuGraphAddMemsetNode" 10000 cuGraphAddMemsetNode(out: *mut Handle, to: Handle, list: *const Handle, count: usize,
        params: *const MemsetNodeParams, context: Handle) => graph::add_set;
    "cuGraphAddHostNode" 10000 cuGraphAddHostNode(out: *mut Handle, to: Handle, list: *const Handle, count: usize,
        params: *const HostNodeParams) => graph::add_host;
    "cuGraphAddEmptyNode" 10000 cuGraphAddEmptyNode(out: *mut Handle, to: Handle, list: *const Handle, count: usize)
        => graph::add_empty;
    "cuGraphAddChildGraphNode" 10000 cuGraphAddChildGraphNode(out: *mut Handle, to: Handle, list: *const Handle,
        count: usize, child: Handle) => graph::add_child;
    "cuGraphAddMemAllocNode" 11040 cuGraphAddMemAllocNode(out: *mut Handle, to: Handle, list: *const Handle,
        count: usize, params: *mut AllocNodeParams) => node::add_alloc;
    "cuGraphAddMemFreeNode" 11040 cuGraphAddMemFreeNode(out: *mut Handle, to: Handle, list: *const Handle,
        count: usize, address: DevicePtr) => node::add_free;
    "cuGraphMemAllocNodeGetParams" 11040 cuGraphMemAllocNodeGetParams(node: Handle, params: *mut AllocNodeParams)
        => node::get_alloc;
    "cuGraphAddNode" 12020 cuGraphAddNode(out: *mut Handle, to: Handle, list: *const Handle, count: usize,
        params: *mut NodeParams) => node::add_any;
    "cuGraphAddNode" 12030 cuGraphAddNode_v2(out: *mut Handle, to: Handle, list: *const Handle, edges: *const c_void,
        count: usize, params: *mut NodeParams) => node::add_any_v2;
    "cuGraphAddDependencies" 10000 cuGraphAddDependencies(to: Handle, from: *const Handle, into: *const Handle,
        count: usize) => graph::add_dependencies;
    "cuGraphAddDependencies" 12030 cuGraphAddDependencies_v2(to: Handle, from: *const Handle, into: *const Handle,
        edges: *const c_void, count: usize) => graph::add_dependencies_v2;
    "cuGraphDestroyNode" 10000 cuGraphDestroyNode(node: Handle) => graph::destroy_node;
    "cuGraphNodeGetType" 10000 cuGraphNodeGetType(node: Handle, out: *mut c_int) => graph::get_type;
    "cuGraphGetNodes" 10000 cuGraphGetNodes(of: Handle, out: *mut Handle, count: *mut usize) => graph::get_nodes;
    "cuGraphGetRootNodes" 10000 cuGraphGetRootNodes(of: Handle, out: *mut Handle, count: *mut usize)
        => graph::get_roots;
    "cuGraphInstantiate" 10000 cuGraphInstantiate(out: *mut Handle, of: Handle, bad: *mut Handle, log: *mut c_char,
        size: usize) => graph::instantiate_log;
    "cuGraphInstantiate" 11000 cuGraphInstantiate_v2(out: *mut Handle, of: Handle, bad: *mut Handle, log: *mut c_char,
        size: usize) => graph::instantiate_log;
    "cuGraphInstantiate" 12000 cuGraphInstantiateWithFlags(out: *mut Handle, of: Handle, flags: c_ulonglong)
        => graph::instantiate;
    "cuGraphExecUpdate" 12000 cuGraphExecUpdate_v2(exec: Handle, of: Handle, result: *mut c_int)
        => graph::exec_update;
    "cuGraphExecDestroy" 10000 cuGraphExecDestroy(handle: Handle) => graph::exec_destroy;
}

/// The forms with a default stream.
pub mod streamed {
    use super::*;

    crate::api::streamed! { TABLE:
        "cuGraphInstantiateWithParams" 12000 cuGraphInstantiateWithParams | 12000 cuGraphInstantiateWithParams_ptsz
            (out: *mut Handle, of: Handle, params: *mut c_void) => graph::instantiate_params;
        "cuGraphUpload" 11010 cuGraphUpload | 11010 cuGraphUpload_ptsz(exec: Handle, stream: Handle) => graph::upload;
        "cuGraphLaunch" 10000 cuGraphLaunch | 10000 cuGraphLaunch_ptsz(exec: Handle, stream: Handle) => graph::launch;
    }
}
