//! Streams: a queue and a worker thread each, the default streams, and who waits for whom.

use crate::abi::{Handle, Result32, STREAM_LEGACY, STREAM_PER_THREAD, code};
use crate::activity;
use crate::capture::{Capturing, Tail};
use crate::context::{self, Current};
use crate::ops::{self, Env, Op};
use crate::slots::Slots;
use crate::sync::{Lock, SignalsBlocked, futex_wait, futex_wake};
use crate::told::sync;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Which default stream a call's 0 means: the call's variant decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The plain name: the legacy default stream.
    Legacy,
    /// `_ptsz` and `_ptds`: the calling thread's own.
    PerThread,
}

/// A worker with nothing to do for so long ends; the next operation starts another.
const IDLE_NS: u64 = 500_000_000;

struct Item {
    waits: Vec<(&'static Stream, u64)>,
    op: Op,
    correlation: u32,
}

/// One stream. Tickets count its operations, also over a reuse of the slot, so that an old wait is always satisfied.
#[derive(Default)]
pub struct Stream {
    pub id: AtomicU32,
    pub handle: AtomicUsize,
    /// Handle of its context.
    pub context: AtomicUsize,
    pub flags: AtomicU32,
    pub priority: AtomicI32,
    /// Waits for, and is waited for by, the legacy default stream.
    blocking: AtomicBool,
    legacy: AtomicBool,
    queue: Queue,
    submitted: AtomicU64,
    completed: AtomicU64,
    /// Futex words: the worker sleeps on `work`, waiting callers on `done`.
    work: AtomicU32,
    done: AtomicU32,
    waiters: AtomicU32,
    worker: AtomicBool,
    doomed: AtomicBool,
    /// Set while `capture` holds something, to spare the lock.
    capturing: AtomicBool,
    capture: Capture,
}

struct Queue(Lock<VecDeque<Item>>);

impl Default for Queue {
    fn default() -> Self {
        Self(Lock::new(VecDeque::new()))
    }
}

struct Capture(Lock<Option<(Arc<Capturing>, Tail)>>);

impl Default for Capture {
    fn default() -> Self {
        Self(Lock::new(None))
    }
}

static STREAMS: Slots<Stream> = Slots::new();
static NEXT_ID: AtomicU32 = AtomicU32::new(7);
/// Captures going on, so that the usual case costs one load.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);

const OWN: usize = 8;

thread_local! {
    /// This thread's default streams, by context.
    static OWN_STREAMS: [Cell<(usize, usize)>; OWN] = const { [const { Cell::new((0, 0)) }; OWN] };
    /// Set on workers, whose callbacks must not wait for streams.
    static ON_WORKER: Cell<bool> = const { Cell::new(false) };
}

impl Stream {
    /// Whether all that was submitted is done.
    #[inline]
    pub fn idle(&self) -> bool {
        self.completed.load(Ordering::Acquire) >= self.submitted.load(Ordering::Acquire)
    }

    /// The ticket of the latest operation.
    pub fn latest(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// Whether the operation of a ticket is done.
    pub fn reached(&self, ticket: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= ticket
    }

    /// Waits for a ticket. Holds nothing meanwhile: a signal handler may `longjmp` out of here.
    pub fn wait(&self, ticket: u64) {
        loop {
            let seen = self.done.load(Ordering::SeqCst);
            if self.reached(ticket) {
                return;
            }
            self.waiters.fetch_add(1, Ordering::SeqCst);
            if !self.reached(ticket) {
                futex_wait(&self.done, seen, None);
            }
            self.waiters.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn complete(&self) {
        self.completed.fetch_add(1, Ordering::SeqCst);
        self.done.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) != 0 {
            futex_wake(&self.done, i32::MAX);
        }
    }

    /// The stream's place in the capture that it takes part in.
    pub fn captured(&self) -> Option<(Arc<Capturing>, Tail)> {
        if !self.capturing.load(Ordering::Acquire) {
            return None;
        }
        self.capture.0.lock().clone()
    }

    /// Joins or leaves a capture, or moves its tail.
    pub fn set_capture(&self, capture: Option<(Arc<Capturing>, Tail)>) {
        let mut held = self.capture.0.lock();
        match (held.is_some(), capture.is_some()) {
            (false, true) => CAPTURES.fetch_add(1, Ordering::AcqRel),
            (true, false) => CAPTURES.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
        self.capturing.store(capture.is_some(), Ordering::Release);
        *held = capture;
    }
}

/// A call's stream with its context.
#[derive(Clone, Copy)]
pub struct Target {
    pub stream: &'static Stream,
    pub now: Current,
}

fn make(now: &Current, blocking: bool, legacy: bool, flags: u32, priority: i32) -> Result<usize, Result32> {
    let (handle, stream) = STREAMS.create().ok_or(code::OUT_OF_MEMORY)?;
    stream.id.store(NEXT_ID.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    stream.handle.store(handle as usize, Ordering::Relaxed);
    stream.context.store(now.handle, Ordering::Relaxed);
    stream.flags.store(flags, Ordering::Relaxed);
    stream.priority.store(priority, Ordering::Relaxed);
    stream.blocking.store(blocking, Ordering::Relaxed);
    stream.legacy.store(legacy, Ordering::Relaxed);
    stream.doomed.store(false, Ordering::Relaxed);
    Ok(handle as usize)
}

/// Creates a stream in the current context.
pub fn create(flags: u32, priority: i32) -> Result<usize, Result32> {
    let now = context::current()?;
    if flags > 1 {
        return Err(code::INVALID_VALUE);
    }
    make(&now, flags & 1 == 0, false, flags, priority.clamp(-5, 0))
}

#[cold]
fn make_legacy(now: &Current) -> Result<&'static Stream, Result32> {
    static MAKING: Lock<()> = Lock::new(());
    let _held = MAKING.lock();
    let known = now.context.legacy.load(Ordering::Acquire);
    let handle = if known != 0 { known } else { make(now, false, true, 0, 0)? };
    now.context.legacy.store(handle, Ordering::Release);
    STREAMS.get(handle as Handle).ok_or(code::INVALID_HANDLE)
}

fn legacy(now: &Current) -> Result<&'static Stream, Result32> {
    match STREAMS.get(now.context.legacy.load(Ordering::Acquire) as Handle) {
        Some(stream) => Ok(stream),
        None => make_legacy(now),
    }
}

fn own(now: &Current) -> Result<&'static Stream, Result32> {
    OWN_STREAMS.with(|own| {
        let known = own.iter().find(|slot| slot.get().0 == now.handle).map(|slot| slot.get().1);
        if let Some(stream) = known.and_then(|handle| STREAMS.get(handle as Handle)) {
            return Ok(stream);
        }
        let handle = make(now, true, false, 0, 0)?;
        let free = own.iter().find(|slot| slot.get().0 == 0 || slot.get().0 == now.handle).or(own.first());
        if let Some(slot) = free {
            slot.set((now.handle, handle));
        }
        STREAMS.get(handle as Handle).ok_or(code::INVALID_HANDLE)
    })
}

/// The stream that a call's handle means.
#[inline]
pub fn resolve(lane: Lane, handle: Handle) -> Result<Target, Result32> {
    let now = context::current()?;
    let stream = match handle as usize {
        0 if lane == Lane::Legacy => legacy(&now)?,
        STREAM_LEGACY => legacy(&now)?,
        0 | STREAM_PER_THREAD => own(&now)?,
        _ => STREAMS.get(handle).ok_or(code::INVALID_HANDLE)?,
    };
    Ok(Target { stream, now })
}

/// What an operation of `stream` must wait for by the rules of the legacy default stream.
fn dependencies(stream: &Stream) -> Vec<(&'static Stream, u64)> {
    let context = stream.context.load(Ordering::Relaxed);
    let mut waits = Vec::new();
    if stream.legacy.load(Ordering::Relaxed) {
        STREAMS.each(|_, other| {
            let bound = other.blocking.load(Ordering::Relaxed) && other.context.load(Ordering::Relaxed) == context;
            if bound && !other.idle() {
                waits.push((other, other.latest()));
            }
        });
    } else if stream.blocking.load(Ordering::Relaxed) {
        let legacy = context::lookup(context).map_or(0, |c| c.legacy.load(Ordering::Acquire));
        if let Some(legacy) = STREAMS.get(legacy as Handle).filter(|legacy| !legacy.idle()) {
            waits.push((legacy, legacy.latest()));
        }
    }
    waits
}

/// Queues an operation, or adds it to the capture that the stream takes part in. Gives its ticket.
pub fn submit(target: Target, op: Op) -> Result<u64, Result32> {
    submit_after(target, op, None)
}

/// As [`submit`], and behind another stream's ticket.
pub fn submit_after(target: Target, op: Op, after: Option<(&'static Stream, u64)>) -> Result<u64, Result32> {
    let stream = target.stream;
    let correlation = activity::correlate();
    if CAPTURES.load(Ordering::Relaxed) != 0 {
        if let Some((capturing, tail)) = stream.captured() {
            let node = capturing.add(op, tail)?;
            stream.set_capture(Some((capturing, vec![node])));
            return Ok(stream.latest());
        }
        if stream.legacy.load(Ordering::Relaxed) {
            refuse_implicit(target.now.handle)?;
        }
    }
    let mut waits = dependencies(stream);
    waits.extend(after);
    let mut queue = stream.queue.0.lock();
    queue.push_back(Item { waits, op, correlation });
    let ticket = stream.submitted.fetch_add(1, Ordering::AcqRel) + 1;
    stream.work.fetch_add(1, Ordering::Release);
    let start = !stream.worker.swap(true, Ordering::AcqRel);
    drop(queue);
    if start {
        start_worker(stream);
    } else {
        futex_wake(&stream.work, 1);
    }
    Ok(ticket)
}

/// Runs an operation on the calling thread once the stream's turn has come, as the driver's synchronous copies do.
/// `asynchronous` says what the call is called, for the record.
pub fn run_now(target: Target, op: &Op, asynchronous: bool) -> Result<(), Result32> {
    let stream = target.stream;
    if CAPTURES.load(Ordering::Relaxed) != 0 {
        refuse_while_capturing(target.now.handle)?;
    }
    for (other, ticket) in dependencies(stream) {
        other.wait(ticket);
    }
    stream.wait(stream.latest());
    let correlation = activity::correlate();
    ops::run(op, &Env { asynchronous, ..Env::of(stream, correlation) });
    context::current().map(drop)
}

fn start_worker(stream: &'static Stream) {
    // The worker inherits the mask: the program's signals are never delivered to it.
    let _signals = SignalsBlocked::new();
    let name = format!("sim stream {}", stream.id.load(Ordering::Relaxed));
    let spawned = std::thread::Builder::new().name(name).stack_size(512 << 10).spawn(move || {
        ON_WORKER.set(true);
        work(stream, true);
    });
    if spawned.is_err() {
        // No thread to be had: the caller does the work, and the stream is as good as synchronous.
        work(stream, false);
    }
}

fn work(stream: &'static Stream, linger: bool) {
    loop {
        let seen = stream.work.load(Ordering::Acquire);
        let item = stream.queue.0.lock().pop_front();
        if let Some(item) = item {
            for (other, ticket) in item.waits {
                other.wait(ticket);
            }
            ops::run(&item.op, &Env::of(stream, item.correlation));
            // Operands first, then the news: whoever waits may free what the operation held.
            drop(item.op);
            stream.complete();
            continue;
        }
        if linger && !stream.doomed.load(Ordering::Acquire) {
            futex_wait(&stream.work, seen, Some(IDLE_NS));
            if stream.work.load(Ordering::Acquire) != seen {
                continue;
            }
        }
        let queue = stream.queue.0.lock();
        if queue.is_empty() {
            stream.worker.store(false, Ordering::Release);
            drop(queue);
            // A doomed stream's slot is free once its last worker has gone.
            if stream.doomed.swap(false, Ordering::AcqRel) {
                STREAMS.recycle(stream.handle.load(Ordering::Relaxed) as Handle);
            }
            return;
        }
    }
}

/// Ends a stream: what is queued still runs, the handle is invalid at once.
pub fn destroy(handle: Handle) -> Result<(), Result32> {
    context::initialized()?;
    let stream = STREAMS.get(handle).ok_or(code::INVALID_HANDLE)?;
    if !STREAMS.retire(handle) {
        return Err(code::INVALID_HANDLE);
    }
    if let Some((capturing, _)) = stream.captured() {
        capturing.invalidate();
        stream.set_capture(None);
    }
    let queue = stream.queue.0.lock();
    if stream.worker.load(Ordering::Acquire) {
        stream.doomed.store(true, Ordering::Release);
        stream.work.fetch_add(1, Ordering::Release);
        drop(queue);
        futex_wake(&stream.work, 1);
    } else {
        drop(queue);
        STREAMS.recycle(handle);
    }
    Ok(())
}

/// `cuStreamQuery`: idle or not.
#[inline]
pub fn query(lane: Lane, handle: Handle) -> Result<(), Result32> {
    let target = resolve(lane, handle)?;
    if CAPTURES.load(Ordering::Relaxed) != 0 {
        refuse_captured(target.stream)?;
    }
    let legacy = target.stream.legacy.load(Ordering::Relaxed);
    if target.stream.idle() && (!legacy || dependencies(target.stream).is_empty()) {
        Ok(())
    } else {
        Err(code::NOT_READY)
    }
}

/// Waits for a stream.
pub fn synchronize(lane: Lane, handle: Handle) -> Result<(), Result32> {
    let target = resolve(lane, handle)?;
    if CAPTURES.load(Ordering::Relaxed) != 0 {
        refuse_captured(target.stream)?;
    }
    not_on_worker()?;
    let start = crate::config::now();
    for (other, ticket) in dependencies(target.stream) {
        other.wait(ticket);
    }
    target.stream.wait(target.stream.latest());
    crate::pool::synchronized();
    activity::tell_wait(Some(target.stream), sync::STREAM, start, None);
    context::current().map(drop)
}

/// A host function that waits would wait for itself: the driver does not permit it either.
pub fn not_on_worker() -> Result<(), Result32> {
    if ON_WORKER.get() { Err(800) } else { Ok(()) }
}

/// A call that is not allowed on a capturing stream breaks the capture.
pub fn refuse_captured(stream: &Stream) -> Result<(), Result32> {
    match stream.captured() {
        Some((capturing, _)) => {
            capturing.invalidate();
            Err(code::STREAM_CAPTURE_UNSUPPORTED)
        }
        None => Ok(()),
    }
}

/// A call that would wait for every stream of a context, while one of them is capturing.
pub fn refuse_while_capturing(context: usize) -> Result<(), Result32> {
    if CAPTURES.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    let mut result = Ok(());
    STREAMS.each(|_, stream| {
        if stream.context.load(Ordering::Relaxed) == context
            && let Some((capturing, _)) = stream.captured()
            && !capturing.relaxed()
        {
            capturing.invalidate();
            result = Err(code::STREAM_CAPTURE_UNSUPPORTED);
        }
    });
    result
}

fn refuse_implicit(context: usize) -> Result<(), Result32> {
    let mut result = Ok(());
    STREAMS.each(|_, stream| {
        let bound = stream.blocking.load(Ordering::Relaxed) && stream.context.load(Ordering::Relaxed) == context;
        if bound && let Some((capturing, _)) = stream.captured() {
            capturing.invalidate();
            result = Err(code::STREAM_CAPTURE_IMPLICIT);
        }
    });
    result
}

/// Waits until a context has nothing left to do.
pub fn drain_context(context: usize) {
    let mut pending = Vec::new();
    STREAMS.each(|_, stream| {
        if stream.context.load(Ordering::Relaxed) == context && !stream.idle() {
            pending.push((stream, stream.latest()));
        }
    });
    if ON_WORKER.get() {
        return;
    }
    for (stream, ticket) in pending {
        stream.wait(ticket);
    }
}

/// The streams that take part in a capture leave it.
pub fn leave_capture(capturing: &Arc<Capturing>) {
    STREAMS.each(|_, stream| {
        if stream.captured().is_some_and(|(other, _)| Arc::ptr_eq(&other, capturing)) {
            stream.set_capture(None);
        }
    });
}

/// The table's lock and every stream's queue lock, for the fork handlers.
pub fn raw(visit: &mut dyn FnMut(&'static crate::sync::RawLock)) {
    visit(STREAMS.raw());
    STREAMS.each(|_, stream| visit(stream.queue.0.raw()));
}

/// In a forked child: the workers are gone, and with them what was queued.
pub fn after_fork() {
    STREAMS.each(|_, stream| {
        stream.queue.0.lock().clear();
        stream.completed.store(stream.latest(), Ordering::Relaxed);
        stream.worker.store(false, Ordering::Relaxed);
        stream.waiters.store(0, Ordering::Relaxed);
    });
}
