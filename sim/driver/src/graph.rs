//! Graphs: built node by node (or captured, see `capture`), instantiated into a list of operations, launched into a stream.

use crate::abi::{Handle, HostNodeParams, KernelNodeParams, Memcpy3D, MemsetNodeParams, Result32, code, put};
use crate::context;
use crate::copy;
use crate::kernel::Size;
use crate::launch;
use crate::ops::Op;
use crate::slots::Slots;
use crate::stream::{self, Lane};
use crate::sync::Lock;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A node: an operation and the numbers of those before it.
#[derive(Clone)]
pub struct Node {
    op: Op,
    after: Vec<usize>,
    gone: bool,
}

impl Node {
    /// A node behind others.
    pub fn new(op: Op, after: Vec<usize>) -> Self {
        Self { op, after, gone: false }
    }
}

/// `CUgraphNodeType`.
fn node_type(op: &Op) -> c_int {
    match op {
        Op::Kernel(_) => 0,
        Op::Copy(_) => 1,
        Op::Set(_) => 2,
        Op::Host(..) | Op::Callback(..) => 3,
        Op::Many(_) | Op::Graph(..) => 4,
        Op::Record(_) => 7,
        Op::Allocate(_) => 10,
        Op::Free => 11,
        Op::Write { .. } | Op::Await { .. } => 12,
        Op::Nothing | Op::Prefetch { .. } => 5,
    }
}

struct Graph {
    nodes: Lock<Vec<Node>>,
}

impl Default for Graph {
    fn default() -> Self {
        Self { nodes: Lock::new(Vec::new()) }
    }
}

struct Exec {
    ops: Lock<Arc<Vec<Op>>>,
    number: AtomicU32,
}

impl Default for Exec {
    fn default() -> Self {
        Self { ops: Lock::new(Arc::new(Vec::new())), number: AtomicU32::new(0) }
    }
}

/// What a node's handle stands for.
#[derive(Default)]
struct NodeRef {
    graph: AtomicUsize,
    index: AtomicUsize,
}

static GRAPHS: Slots<Graph> = Slots::new();
static EXECS: Slots<Exec> = Slots::new();
static NODES: Slots<NodeRef> = Slots::new();
/// Numbers instantiated graphs.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Makes a graph of captured nodes.
pub fn adopt(nodes: Vec<Node>) -> Result<Handle, Result32> {
    let (handle, graph) = GRAPHS.create().ok_or(code::OUT_OF_MEMORY)?;
    *graph.nodes.lock() = nodes;
    Ok(handle)
}

fn graph(handle: Handle) -> Result<&'static Graph, Result32> {
    GRAPHS.get(handle).ok_or(code::INVALID_VALUE)
}

fn node_handle(graph: Handle, index: usize) -> Result<Handle, Result32> {
    let mut known = std::ptr::null_mut();
    NODES.each(|handle, node| {
        if node.graph.load(Ordering::Relaxed) == graph as usize && node.index.load(Ordering::Relaxed) == index {
            known = handle;
        }
    });
    if !known.is_null() {
        return Ok(known);
    }
    let (handle, node) = NODES.create().ok_or(code::OUT_OF_MEMORY)?;
    node.graph.store(graph as usize, Ordering::Relaxed);
    node.index.store(index, Ordering::Relaxed);
    Ok(handle)
}

fn node(handle: Handle) -> Result<(Handle, usize), Result32> {
    let node = NODES.get(handle).ok_or(code::INVALID_VALUE)?;
    Ok((node.graph.load(Ordering::Relaxed) as Handle, node.index.load(Ordering::Relaxed)))
}

/// The numbers of a list of nodes of one graph.
///
/// # Safety
/// `list` has `count` handles.
unsafe fn indexes(of: Handle, list: *const Handle, count: usize) -> Result<Vec<usize>, Result32> {
    if count > 0 && list.is_null() {
        return Err(code::INVALID_VALUE);
    }
    (0..count)
        .map(|index| {
            // SAFETY: by the caller's contract.
            let (graph, index) = node(unsafe { *list.add(index) })?;
            (graph == of).then_some(index).ok_or(code::INVALID_VALUE)
        })
        .collect()
}

/// What a node does.
pub fn op(handle: Handle) -> Result<Op, Result32> {
    let (of, index) = node(handle)?;
    graph(of)?.nodes.lock().get(index).map(|node| node.op.clone()).ok_or(code::INVALID_VALUE)
}

/// Adds a node.
///
/// # Safety
/// `out` is null or valid, `list` has `count` handles.
pub unsafe fn add(out: *mut Handle, to: Handle, list: *const Handle, count: usize, op: Op) -> Result<(), Result32> {
    let graph = graph(to)?;
    // SAFETY: by the caller's contract.
    let after = unsafe { indexes(to, list, count) }?;
    let index = {
        let mut nodes = graph.nodes.lock();
        nodes.push(Node::new(op, after));
        nodes.len() - 1
    };
    let handle = node_handle(to, index)?;
    // SAFETY: by the caller's contract.
    unsafe { put(out, handle) };
    Ok(())
}

/// The operations in an order that the edges allow, or an error where they go in circles.
fn ordered(nodes: &[Node]) -> Result<Vec<Op>, Result32> {
    let mut missing: Vec<usize> = nodes.iter().map(|node| node.after.len()).collect();
    let mut ready: std::collections::VecDeque<usize> =
        missing.iter().enumerate().filter(|(_, count)| **count == 0).map(|(index, _)| index).collect();
    let mut ops = Vec::with_capacity(nodes.len());
    let mut done = 0;
    while let Some(index) = ready.pop_front() {
        done += 1;
        if let Some(node) = nodes.get(index).filter(|node| !node.gone) {
            ops.push(node.op.clone());
        }
        for (next, node) in nodes.iter().enumerate() {
            let edges = node.after.iter().filter(|before| **before == index).count();
            if edges > 0
                && let Some(count) = missing.get_mut(next)
            {
                *count -= edges.min(*count);
                if *count == 0 {
                    ready.push_back(next);
                }
            }
        }
    }
    if done == nodes.len() { Ok(ops) } else { Err(code::INVALID_VALUE) }
}

/// `cuGraphCreate`.
pub unsafe fn create(out: *mut Handle, flags: c_uint) -> Result<(), Result32> {
    context::initialized()?;
    if out.is_null() || flags != 0 {
        return Err(code::INVALID_VALUE);
    }
    let (handle, graph) = GRAPHS.create().ok_or(code::OUT_OF_MEMORY)?;
    graph.nodes.lock().clear();
    // SAFETY: not null.
    unsafe { put(out, handle) };
    Ok(())
}

/// `cuGraphDestroy`.
pub unsafe fn destroy(handle: Handle) -> Result<(), Result32> {
    graph(handle)?.nodes.lock().clear();
    NODES.each(|node_handle, node| {
        if node.graph.load(Ordering::Relaxed) == handle as usize && NODES.retire(node_handle) {
            NODES.recycle(node_handle);
        }
    });
    GRAPHS.retire(handle);
    GRAPHS.recycle(handle);
    Ok(())
}

/// `cuGraphClone`.
pub unsafe fn clone(out: *mut Handle, of: Handle) -> Result<(), Result32> {
    let nodes = graph(of)?.nodes.lock().clone();
    let (handle, graph) = GRAPHS.create().ok_or(code::OUT_OF_MEMORY)?;
    *graph.nodes.lock() = nodes;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, handle) };
    Ok(())
}

/// `cuGraphAddKernelNode` (v2 parameters).
pub unsafe fn add_kernel(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    params: *const KernelNodeParams,
) -> Result<(), Result32> {
    // SAFETY: null, or valid by the API's contract.
    let params = unsafe { params.as_ref() }.ok_or(code::INVALID_VALUE)?;
    let function = if params.function.is_null() { params.kernel } else { params.function };
    // SAFETY: by the API's contract.
    unsafe {
        let (grid, block) = (params.grid, params.block);
        let size = Size { grid, block, shared: params.shared, cooperative: false };
        let op = launch::prepare(function, size, params.params, params.extra)?;
        add(out, to, list, count, op)
    }
}

/// `cuGraphAddMemcpyNode`.
pub unsafe fn add_copy(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    params: *const Memcpy3D,
    _context: Handle,
) -> Result<(), Result32> {
    // SAFETY: null, or valid by the API's contract.
    let copy = copy::volume(unsafe { params.as_ref() }.ok_or(code::INVALID_VALUE)?)?;
    // SAFETY: by the API's contract.
    unsafe { add(out, to, list, count, Op::Copy(copy)) }
}

/// `cuGraphAddMemsetNode`.
pub unsafe fn add_set(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    params: *const MemsetNodeParams,
    _context: Handle,
) -> Result<(), Result32> {
    // SAFETY: null, or valid by the API's contract.
    let p = unsafe { params.as_ref() }.ok_or(code::INVALID_VALUE)?;
    if !matches!(p.element, 1 | 2 | 4) {
        return Err(code::INVALID_VALUE);
    }
    let op = copy::fill(p.dst, p.pitch, p.value, p.element as usize, p.width, p.height)?;
    // SAFETY: by the API's contract.
    unsafe { add(out, to, list, count, op) }
}

/// `cuGraphAddHostNode`.
pub unsafe fn add_host(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    params: *const HostNodeParams,
) -> Result<(), Result32> {
    // SAFETY: null, or valid by the API's contract.
    let params = unsafe { params.as_ref() }.ok_or(code::INVALID_VALUE)?;
    let function = params.function.ok_or(code::INVALID_VALUE)?;
    // SAFETY: by the API's contract.
    unsafe { add(out, to, list, count, Op::Host(function, params.user as usize)) }
}

/// `cuGraphAddEmptyNode`.
pub unsafe fn add_empty(out: *mut Handle, to: Handle, list: *const Handle, count: usize) -> Result<(), Result32> {
    // SAFETY: by the API's contract.
    unsafe { add(out, to, list, count, Op::Nothing) }
}

/// `cuGraphAddChildGraphNode`.
pub unsafe fn add_child(
    out: *mut Handle,
    to: Handle,
    list: *const Handle,
    count: usize,
    child: Handle,
) -> Result<(), Result32> {
    let ops = ordered(&graph(child)?.nodes.lock())?;
    // SAFETY: by the API's contract.
    unsafe { add(out, to, list, count, Op::Many(Arc::new(ops))) }
}

/// `cuGraphAddDependencies`.
pub unsafe fn add_dependencies(
    to: Handle,
    from: *const Handle,
    into: *const Handle,
    count: usize,
) -> Result<(), Result32> {
    // SAFETY: by the API's contract.
    let (from, into) = unsafe { (indexes(to, from, count)?, indexes(to, into, count)?) };
    let mut nodes = graph(to)?.nodes.lock();
    for (from, into) in from.into_iter().zip(into) {
        nodes.get_mut(into).ok_or(code::INVALID_VALUE)?.after.push(from);
    }
    Ok(())
}

/// `cuGraphAddDependencies_v2`: edge data is ignored.
pub unsafe fn add_dependencies_v2(
    to: Handle,
    from: *const Handle,
    into: *const Handle,
    _edges: *const c_void,
    count: usize,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { add_dependencies(to, from, into, count) }
}

/// `cuGraphDestroyNode`.
pub unsafe fn destroy_node(handle: Handle) -> Result<(), Result32> {
    let (of, index) = node(handle)?;
    if let Some(node) = graph(of)?.nodes.lock().get_mut(index) {
        node.gone = true;
    }
    NODES.retire(handle);
    Ok(())
}

/// `cuGraphNodeGetType`.
pub unsafe fn get_type(handle: Handle, out: *mut c_int) -> Result<(), Result32> {
    let (of, index) = node(handle)?;
    let kind = graph(of)?.nodes.lock().get(index).map(|node| node_type(&node.op)).ok_or(code::INVALID_VALUE)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, kind) };
    Ok(())
}

/// # Safety
/// `count` is valid; `out` is null or has room for `*count` handles.
unsafe fn list(
    of: Handle,
    out: *mut Handle,
    count: *mut usize,
    wanted: impl Fn(&Node) -> bool,
) -> Result<(), Result32> {
    let found: Vec<usize> = {
        let nodes = graph(of)?.nodes.lock();
        nodes.iter().enumerate().filter(|(_, n)| !n.gone && wanted(n)).map(|(index, _)| index).collect()
    };
    if count.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: by the caller's contract.
    unsafe {
        if !out.is_null() {
            for slot in 0..*count {
                let handle = match found.get(slot) {
                    Some(index) => node_handle(of, *index)?,
                    None => std::ptr::null_mut(),
                };
                out.add(slot).write(handle);
            }
        }
        *count = found.len();
    }
    Ok(())
}

/// `cuGraphGetNodes`.
pub unsafe fn get_nodes(of: Handle, out: *mut Handle, count: *mut usize) -> Result<(), Result32> {
    // SAFETY: by the API's contract.
    unsafe { list(of, out, count, |_| true) }
}

/// `cuGraphGetRootNodes`.
pub unsafe fn get_roots(of: Handle, out: *mut Handle, count: *mut usize) -> Result<(), Result32> {
    // SAFETY: by the API's contract.
    unsafe { list(of, out, count, |node| node.after.is_empty()) }
}

/// `cuGraphInstantiateWithFlags`.
pub unsafe fn instantiate(out: *mut Handle, of: Handle, _flags: c_ulonglong) -> Result<(), Result32> {
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let ops = ordered(&graph(of)?.nodes.lock())?;
    let (handle, exec) = EXECS.create().ok_or(code::OUT_OF_MEMORY)?;
    *exec.ops.lock() = Arc::new(ops);
    exec.number.store(NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    // SAFETY: not null.
    unsafe { put(out, handle) };
    Ok(())
}

/// `cuGraphInstantiate` of CUDA 10 and 11.
pub unsafe fn instantiate_log(
    out: *mut Handle,
    of: Handle,
    bad: *mut Handle,
    log: *mut std::ffi::c_char,
    size: usize,
) -> Result<(), Result32> {
    // SAFETY: by the API's contract.
    unsafe {
        put(bad, std::ptr::null_mut());
        if size > 0 {
            put(log, 0);
        }
        instantiate(out, of, 0)
    }
}

/// `cuGraphInstantiateWithParams`: the first field of the parameters is the flags; the last two are results.
pub unsafe fn instantiate_params(
    _lane: Lane,
    out: *mut Handle,
    of: Handle,
    _params: *mut c_void,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { instantiate(out, of, 0) }
}

/// `cuGraphExecUpdate_v2`.
pub unsafe fn exec_update(exec: Handle, of: Handle, result: *mut c_int) -> Result<(), Result32> {
    let exec = EXECS.get(exec).ok_or(code::INVALID_VALUE)?;
    *exec.ops.lock() = Arc::new(ordered(&graph(of)?.nodes.lock())?);
    // SAFETY: the result's first field is the outcome; 0 is success.
    unsafe { put(result, 0) };
    Ok(())
}

/// `cuGraphExecDestroy`.
pub unsafe fn exec_destroy(handle: Handle) -> Result<(), Result32> {
    let exec = EXECS.get(handle).ok_or(code::INVALID_VALUE)?;
    *exec.ops.lock() = Arc::new(Vec::new());
    EXECS.retire(handle);
    EXECS.recycle(handle);
    Ok(())
}

/// `cuGraphUpload`.
pub unsafe fn upload(lane: Lane, exec: Handle, stream: Handle) -> Result<(), Result32> {
    stream::resolve(lane, stream)?;
    EXECS.get(exec).map(drop).ok_or(code::INVALID_VALUE)
}

/// `cuGraphLaunch`.
pub unsafe fn launch(lane: Lane, exec: Handle, stream: Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let exec = EXECS.get(exec).ok_or(code::INVALID_VALUE)?;
    let ops = Arc::clone(&exec.ops.lock());
    stream::submit(target, Op::Graph(ops, exec.number.load(Ordering::Relaxed))).map(drop)
}

/// The bare locks, for the fork handlers.
pub fn raw() -> [&'static crate::sync::RawLock; 3] {
    [GRAPHS.raw(), EXECS.raw(), NODES.raw()]
}
