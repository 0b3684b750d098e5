//! Stream capture: calls on a stream become nodes of a graph instead of work.

use crate::abi::{Handle, Result32, code, put};
use crate::graph::{self, Node};
use crate::ops::Op;
use crate::stream::{self, Lane};
use crate::sync::Lock;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The nodes that a stream's next captured node depends on.
pub type Tail = Vec<usize>;

static NEXT_CAPTURE: AtomicU64 = AtomicU64::new(1);

/// A capture under way.
pub struct Capturing {
    nodes: Lock<Vec<Node>>,
    invalid: AtomicBool,
    mode: c_int,
    id: u64,
    origin: usize,
}

impl Capturing {
    /// Adds an operation behind `tail`; gives its number.
    pub fn add(&self, op: Op, tail: Tail) -> Result<usize, Result32> {
        if self.invalid.load(Ordering::Acquire) {
            return Err(code::STREAM_CAPTURE_INVALIDATED);
        }
        let mut nodes = self.nodes.lock();
        nodes.push(Node::new(op, tail));
        Ok(nodes.len() - 1)
    }

    /// Something forbidden happened: the capture can only be ended.
    pub fn invalidate(&self) {
        self.invalid.store(true, Ordering::Release);
    }

    /// Whether the capture lets other calls be.
    pub fn relaxed(&self) -> bool {
        self.mode == 2
    }
}

/// `cuStreamBeginCapture`.
pub unsafe fn begin(lane: Lane, stream: Handle, mode: c_int) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    if !(0..=2).contains(&mode) {
        return Err(code::INVALID_VALUE);
    }
    // The legacy default stream cannot be captured.
    if matches!(stream as usize, 0 | 1) && (lane == Lane::Legacy || stream as usize == 1) {
        return Err(code::STREAM_CAPTURE_UNSUPPORTED);
    }
    if target.stream.captured().is_some() {
        return Err(code::INVALID_VALUE);
    }
    let origin = target.stream.handle.load(Ordering::Relaxed);
    let id = NEXT_CAPTURE.fetch_add(1, Ordering::Relaxed);
    let nodes = Lock::new(Vec::new());
    let capturing = Arc::new(Capturing { nodes, invalid: AtomicBool::new(false), mode, id, origin });
    target.stream.set_capture(Some((capturing, Tail::new())));
    Ok(())
}

/// `cuStreamBeginCapture` of CUDA 10.0, without a mode.
pub unsafe fn begin_global(lane: Lane, stream: Handle) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { begin(lane, stream, 0) }
}

/// `cuStreamEndCapture`.
pub unsafe fn end(lane: Lane, stream: Handle, out: *mut Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let (capturing, _) = target.stream.captured().ok_or(code::INVALID_VALUE)?;
    if capturing.origin != target.stream.handle.load(Ordering::Relaxed) {
        capturing.invalidate();
        return Err(code::STREAM_CAPTURE_UNMATCHED);
    }
    stream::leave_capture(&capturing);
    // SAFETY: not null.
    unsafe { put(out, std::ptr::null_mut()) };
    if capturing.invalid.load(Ordering::Acquire) {
        return Err(code::STREAM_CAPTURE_INVALIDATED);
    }
    let handle = graph::adopt(std::mem::take(&mut *capturing.nodes.lock()))?;
    // SAFETY: not null.
    unsafe { put(out, handle) };
    Ok(())
}

/// `cuStreamIsCapturing`: 0 no, 1 yes, 2 invalidated.
pub unsafe fn is_capturing(lane: Lane, stream: Handle, out: *mut c_int) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { capture_info(lane, stream, out, std::ptr::null_mut()) }
}

/// `cuStreamGetCaptureInfo`, the first form.
pub unsafe fn capture_info(lane: Lane, stream: Handle, out: *mut c_int, id: *mut u64) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let captured = target.stream.captured();
    let status = captured.as_ref().map_or(0, |(c, _)| if c.invalid.load(Ordering::Acquire) { 2 } else { 1 });
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(out, status);
        if let Some((capturing, _)) = captured {
            put(id, capturing.id);
        }
    }
    Ok(())
}

/// `cuStreamGetCaptureInfo_v2`: the graph under construction and its nodes are not shown.
pub unsafe fn capture_info_v2(
    lane: Lane,
    stream: Handle,
    out: *mut c_int,
    id: *mut u64,
    graph: *mut Handle,
    dependencies: *mut *const Handle,
    count: *mut usize,
) -> Result<(), Result32> {
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(graph, std::ptr::null_mut());
        put(dependencies, std::ptr::null());
        put(count, 0);
        capture_info(lane, stream, out, id)
    }
}

/// `cuStreamGetCaptureInfo_v3`.
#[expect(clippy::too_many_arguments, reason = "the driver's signature")]
pub unsafe fn capture_info_v3(
    lane: Lane,
    stream: Handle,
    out: *mut c_int,
    id: *mut u64,
    graph: *mut Handle,
    dependencies: *mut *const Handle,
    edges: *mut *const c_void,
    count: *mut usize,
) -> Result<(), Result32> {
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(edges, std::ptr::null());
        capture_info_v2(lane, stream, out, id, graph, dependencies, count)
    }
}

/// `cuThreadExchangeStreamCaptureMode`: kept, not obeyed.
pub unsafe fn exchange_mode(mode: *mut c_int) -> Result<(), Result32> {
    thread_local! { static MODE: std::cell::Cell<c_int> = const { std::cell::Cell::new(0) }; }
    if mode.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { *mode = MODE.replace(*mode) };
    Ok(())
}
