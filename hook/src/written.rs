//! Recording where files cannot be mapped for sharing, or had better not be: on network file systems, where a full
//! disk or a lost server would kill the program with SIGBUS.
//!
//! All is as with a mapped file, but what would be mapped is private memory, and from time to time, when a thread takes
//! a clock reading, and at the end, what is new is written to the file. What the file has not got is lost when the
//! process is killed, and counted where the file cannot take it.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use umtui_wire::chunk::{self, ChunkHeader, DESK_BYTES, DESKS_AT, Desk};
use umtui_wire::frame::is_event;
use umtui_wire::header::{CHUNK_UNIT, FileHeader, HEADER_BYTES};
use umtui_wire::record::{Head, SLOT_BYTES};

use crate::file::OpenFile;
use crate::lock::{Held, TryLock};
use crate::thread::Thread;
use crate::{chunks, file, space};

#[unsafe(link_section = ".data.small")]
static ON: AtomicBool = AtomicBool::new(false);
#[unsafe(link_section = ".data.small")]
static FLUSHING: TryLock = TryLock::new();

/// The thread in which the process ends in order, by the address of its state.
#[unsafe(link_section = ".data.small")]
static LAST: AtomicUsize = AtomicUsize::new(0);

/// A chunk in private memory.
struct Entry {
    chunk: AtomicPtr<ChunkHeader>,
    /// Its bytes are being written, or it is being changed for another.
    lock: TryLock,
    sequence: AtomicU64,
    /// Bytes of it that the file has.
    flushed: AtomicU32,
}

/// Chunks beyond these are written when they are full.
static ENTRIES: [Entry; 1024] = [const {
    Entry {
        chunk: AtomicPtr::new(core::ptr::null_mut()),
        lock: TryLock::new(),
        sequence: AtomicU64::new(0),
        flushed: AtomicU32::new(0),
    }
}; 1024];

/// Whether this is how the process records.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Begins a file; whether it is written this way.
pub fn begin(on: bool) {
    let was = ON.swap(on, Ordering::Relaxed);
    if !was {
        return;
    }
    FLUSHING.reset();
    LAST.store(0, Ordering::Relaxed);
    for entry in &ENTRIES {
        entry.chunk.store(core::ptr::null_mut(), Ordering::Relaxed);
        entry.lock.reset();
    }
}

/// The process ends, in this thread: destructors that run after ours may call CUDA, and nothing comes after them.
pub fn ends(thread: &mut Thread) {
    if is_on() {
        LAST.store(core::ptr::from_mut(thread) as usize, Ordering::Relaxed);
        if !thread.is_writing() {
            thread.quick_until = 0;
        }
    }
}

/// Whether what this thread does from now on is written at once.
pub fn is_last(thread: &Thread) -> bool {
    LAST.load(Ordering::Relaxed) == core::ptr::from_ref(thread) as usize
}

/// Takes a chunk in that is to be written.
pub fn add(chunk: *mut ChunkHeader) {
    if !is_on() {
        return;
    }
    for entry in &ENTRIES {
        if entry.chunk.compare_exchange(core::ptr::null_mut(), chunk, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// Nobody writes the chunk's bytes while what this returns lives; `None`: somebody does. A chunk that was never taken
/// in, or a file that is mapped, is always free.
pub fn hold(chunk: *mut ChunkHeader) -> Option<Option<Held<'static>>> {
    if !is_on() {
        return Some(None);
    }
    match ENTRIES.iter().find(|entry| entry.chunk.load(Ordering::Acquire) == chunk) {
        Some(entry) => entry.lock.try_for_a_while().map(Some),
        None => Some(None),
    }
}

/// Writes a chunk's bytes for the last time, before its memory goes.
pub fn remove(chunk: *mut ChunkHeader) {
    let Some(entry) = ENTRIES.iter().find(|entry| is_on() && entry.chunk.load(Ordering::Acquire) == chunk) else {
        return;
    };
    let _held = entry.lock.try_for_a_while();
    if let Ok(file) = OpenFile::again() {
        let _ = entry.flush(&file, chunk);
    }
    entry.chunk.store(core::ptr::null_mut(), Ordering::Release);
}

/// Writes what is new, unless somebody is at it already.
pub fn flush(header: *mut FileHeader) {
    if !is_on() || header.is_null() {
        return;
    }
    let Some(_held) = FLUSHING.try_at_once() else { return };
    let Ok(file) = OpenFile::again() else { return };
    let mut missing = 0u64;
    for entry in &ENTRIES {
        let chunk = entry.chunk.load(Ordering::Acquire);
        if chunk.is_null() {
            continue;
        }
        let Some(_held) = entry.lock.try_at_once() else { continue };
        // It may have gone since.
        if entry.chunk.load(Ordering::Acquire) == chunk
            && let Err(failure) = entry.flush(&file, chunk)
        {
            file::failed(failure.errno);
            missing = missing.saturating_add(failure.missing);
        }
    }
    // SAFETY: the header stays; its live fields may be of different moments, as in a mapped file.
    let page = unsafe { core::slice::from_raw_parts(header.cast::<u8>(), HEADER_BYTES) };
    let written = file.write(page, 0);
    if written.is_ok() && missing > 0 {
        // In the file alone: what cannot be written now may be written the next time.
        // SAFETY: as above.
        let lost = unsafe { (&raw const (*header).lost).read_volatile() }.saturating_add(missing);
        let _ = file.write(&lost.to_ne_bytes(), core::mem::offset_of!(FileHeader, lost) as u64);
    }
}

/// A chunk that could not be written.
struct Failure {
    errno: i32,
    /// Events that the file has neither as records nor in a count.
    missing: u64,
}

impl From<i32> for Failure {
    fn from(errno: i32) -> Self {
        Self { errno, missing: 0 }
    }
}

impl Entry {
    /// The slots first, so that what the header says is there.
    fn flush(&self, file: &OpenFile, chunk: *mut ChunkHeader) -> Result<(), Failure> {
        // SAFETY: the chunk's memory is there while its entry is; the lock keeps its owner from beginning another in it.
        let mut header = unsafe { chunk.read_volatile() };
        if header.magic != chunk::MAGIC {
            return Ok(());
        }
        if header.kind == chunk::KIND_DESKS {
            return Ok(desks(file, chunk, &header)?);
        }
        if self.sequence.swap(header.sequence, Ordering::Relaxed) != header.sequence {
            self.flushed.store(chunk::HEADER_BYTES as u32, Ordering::Relaxed);
        }
        // SAFETY: as above.
        let end = unsafe { chunks::committed(chunk) }.load(Ordering::Acquire).min(CHUNK_UNIT as u32);
        let from = self.flushed.load(Ordering::Relaxed).min(end);
        // SAFETY: what is committed is not changed any more.
        let slots = unsafe {
            core::slice::from_raw_parts(chunk.cast::<u8>().add(from as usize), end.wrapping_sub(from) as usize)
        };
        let written = file.write(slots, header.offset.saturating_add(u64::from(from)));
        // Whatever there is room for: the header has its place as a rule, and counts what was lost since.
        header.committed = if written.is_ok() { end } else { from };
        let counted = file.write(space::header_bytes(&header), header.offset);
        let Some(errno) = written.err().or(counted.err()) else {
            self.flushed.store(end, Ordering::Relaxed);
            return Ok(());
        };
        let missing = match (header.kind, counted) {
            (chunk::KIND_EVENTS, Ok(())) => events(slots),
            // A place that has never taken a header has taken no records.
            (chunk::KIND_EVENTS, Err(_)) => events(slots).saturating_add(header.lost),
            _ => 0,
        };
        Err(Failure { errno, missing })
    }
}

/// How many events whole records tell of.
fn events(slots: &[u8]) -> u64 {
    let (mut events, mut rest) = (0u64, slots);
    while let Some(word) = rest.first_chunk() {
        let head = Head::from_word(u64::from_ne_bytes(*word));
        events = events.saturating_add(u64::from(is_event(head.kind)));
        rest = rest.get(usize::from(head.extra).wrapping_add(1).wrapping_mul(SLOT_BYTES)..).unwrap_or_default();
    }
    events
}

/// Writes the desks as far as they have been used.
fn desks(file: &OpenFile, chunk: *mut ChunkHeader, header: &ChunkHeader) -> Result<(), i32> {
    let mut end = DESKS_AT;
    let mut at = DESKS_AT;
    while at.saturating_add(DESK_BYTES) <= CHUNK_UNIT as usize {
        // SAFETY: the desk lies within the chunk's memory.
        let no_frame = unsafe { (*chunk.byte_add(at).cast::<Desk>()).no_frame };
        at = at.saturating_add(DESK_BYTES);
        if no_frame != 0 {
            end = at;
        }
    }
    // SAFETY: as above; entries that change meanwhile are as they would be in a mapped file.
    let bytes = unsafe { core::slice::from_raw_parts(chunk.cast::<u8>().add(DESKS_AT), end.wrapping_sub(DESKS_AT)) };
    file.write(bytes, header.offset.saturating_add(DESKS_AT as u64))?;
    file.write(space::header_bytes(header), header.offset)
}
