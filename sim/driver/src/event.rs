//! Events.

use crate::abi::{Handle, Result32, code, put};
use crate::activity;
use crate::capture::{Capturing, Tail};
use crate::config;
use crate::context;
use crate::ops::{Env, Op};
use crate::slots::Slots;
use crate::stream::{self, Lane, Stream};
use crate::sync::Lock;
use crate::told::{Event as Told, kind, sync};
use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const DISABLE_TIMING: u32 = 2;

/// One recording of an event: where in which stream, and when it was reached.
pub struct Record {
    /// Number of the event, and of this recording among all.
    event: u32,
    number: u64,
    stream: &'static Stream,
    ticket: AtomicU64,
    /// Nanoseconds, 0 until reached.
    time: AtomicU64,
}

impl Record {
    /// The stream's worker came to the recording.
    pub fn reach(&self, env: &Env) {
        let now = config::now().max(1);
        activity::tell(&Told { object: self.event, number: self.number, ..env.record(kind::EVENT, now, now) });
        self.time.store(now, Ordering::Release);
    }

    fn done(&self) -> bool {
        self.time.load(Ordering::Acquire) != 0
    }
}

/// What an event holds: its latest recording, or its place in a capture.
#[derive(Clone, Default)]
enum Content {
    #[default]
    Nothing,
    Recorded(Arc<Record>),
    Captured(Arc<Capturing>, Tail),
}

struct Event {
    number: AtomicU32,
    flags: AtomicU32,
    content: Lock<Content>,
}

impl Default for Event {
    fn default() -> Self {
        Self { number: AtomicU32::new(0), flags: AtomicU32::new(0), content: Lock::new(Content::Nothing) }
    }
}

static EVENTS: Slots<Event> = Slots::new();
/// Number events, and their recordings.
static NEXT: AtomicU32 = AtomicU32::new(1);
static NEXT_RECORD: AtomicU64 = AtomicU64::new(1);

fn get(handle: Handle) -> Result<&'static Event, Result32> {
    EVENTS.get(handle).ok_or(code::INVALID_HANDLE)
}

/// `cuEventCreate`.
pub unsafe fn create(out: *mut Handle, flags: c_uint) -> Result<(), Result32> {
    context::current()?;
    if out.is_null() || flags > 7 {
        return Err(code::INVALID_VALUE);
    }
    let (handle, event) = EVENTS.create().ok_or(code::OUT_OF_MEMORY)?;
    event.flags.store(flags, Ordering::Relaxed);
    event.number.store(NEXT.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    *event.content.lock() = Content::Nothing;
    // SAFETY: not null.
    unsafe { put(out, handle) };
    Ok(())
}

/// `cuEventDestroy`: a recording under way keeps its own state.
pub unsafe fn destroy(handle: Handle) -> Result<(), Result32> {
    context::initialized()?;
    let event = get(handle)?;
    *event.content.lock() = Content::Nothing;
    if !EVENTS.retire(handle) {
        return Err(code::INVALID_HANDLE);
    }
    EVENTS.recycle(handle);
    Ok(())
}

/// `cuEventRecord`.
pub unsafe fn record(lane: Lane, handle: Handle, stream: Handle) -> Result<(), Result32> {
    let event = get(handle)?;
    let target = stream::resolve(lane, stream)?;
    if let Some((capturing, tail)) = target.stream.captured() {
        *event.content.lock() = Content::Captured(capturing, tail);
        return Ok(());
    }
    let record = Arc::new(Record {
        event: event.number.load(Ordering::Relaxed),
        number: NEXT_RECORD.fetch_add(1, Ordering::Relaxed),
        stream: target.stream,
        ticket: AtomicU64::new(u64::MAX),
        time: AtomicU64::new(0),
    });
    let ticket = stream::submit(target, Op::Record(Arc::clone(&record)))?;
    record.ticket.store(ticket, Ordering::Release);
    *event.content.lock() = Content::Recorded(record);
    Ok(())
}

/// `cuEventRecordWithFlags`.
pub unsafe fn record_with_flags(lane: Lane, handle: Handle, stream: Handle, _flags: c_uint) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { record(lane, handle, stream) }
}

/// `cuEventQuery`.
pub unsafe fn query(handle: Handle) -> Result<(), Result32> {
    context::initialized()?;
    match &*get(handle)?.content.lock() {
        Content::Nothing => Ok(()),
        Content::Recorded(record) if record.done() => Ok(()),
        Content::Recorded(_) => Err(code::NOT_READY),
        Content::Captured(..) => Err(code::STREAM_CAPTURE_UNSUPPORTED),
    }
}

/// `cuEventSynchronize`.
pub unsafe fn synchronize(handle: Handle) -> Result<(), Result32> {
    context::initialized()?;
    let content = get(handle)?.content.lock().clone();
    match content {
        Content::Nothing => Ok(()),
        Content::Recorded(record) => {
            let (stream, ticket) = (record.stream, record.ticket.load(Ordering::Acquire));
            let (object, number, start) = (record.event, record.number, config::now());
            // Only the numbers are held while waiting, so that a jump out of the wait leaks nothing that matters.
            drop(record);
            stream.wait(ticket);
            crate::pool::synchronized();
            activity::tell_wait(Some(stream), sync::EVENT, start, Some((object, number)));
            Ok(())
        }
        Content::Captured(capturing, _) => {
            capturing.invalidate();
            Err(code::STREAM_CAPTURE_UNSUPPORTED)
        }
    }
}

/// `cuEventElapsedTime`, in milliseconds as the interface has it.
pub unsafe fn elapsed(out: *mut f32, start: Handle, end: Handle) -> Result<(), Result32> {
    context::initialized()?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let time = |handle: Handle| {
        let event = get(handle)?;
        if event.flags.load(Ordering::Relaxed) & DISABLE_TIMING != 0 {
            return Err(code::INVALID_HANDLE);
        }
        match &*event.content.lock() {
            Content::Recorded(record) if record.done() => Ok(record.time.load(Ordering::Acquire)),
            Content::Recorded(_) => Err(code::NOT_READY),
            Content::Nothing | Content::Captured(..) => Err(code::INVALID_HANDLE),
        }
    };
    let (start, end) = (time(start)?, time(end)?);
    let ns = end as i64 - start as i64;
    // SAFETY: not null.
    unsafe { put(out, ns as f32 / 1e6) };
    Ok(())
}

/// `cuStreamWaitEvent`.
pub unsafe fn wait(lane: Lane, stream: Handle, handle: Handle, _flags: c_uint) -> Result<(), Result32> {
    let event = get(handle)?;
    let target = stream::resolve(lane, stream)?;
    let content = event.content.lock().clone();
    match content {
        Content::Nothing => Ok(()),
        Content::Recorded(record) => {
            if target.stream.captured().is_some() {
                return Ok(());
            }
            let ticket = record.ticket.load(Ordering::Acquire);
            stream::submit_after(target, Op::Nothing, Some((record.stream, ticket)))?;
            let event = Some((record.event, record.number));
            activity::tell_wait(Some(target.stream), sync::STREAM_FOR_EVENT, config::now(), event);
            Ok(())
        }
        Content::Captured(capturing, tail) => {
            // The stream joins the capture behind the event, or adds it to what its next node depends on.
            let joined = match target.stream.captured() {
                Some((own, _)) if !Arc::ptr_eq(&own, &capturing) => return Err(code::STREAM_CAPTURE_UNMATCHED),
                Some((_, mut own)) => {
                    own.extend(tail.iter().filter(|node| !own.contains(node)).copied().collect::<Vec<_>>());
                    own
                }
                None => tail,
            };
            target.stream.set_capture(Some((capturing, joined)));
            Ok(())
        }
    }
}

/// The bare lock, for the fork handlers.
pub fn raw() -> &'static crate::sync::RawLock {
    EVENTS.raw()
}
