//! Space in the process's file: pieces that are mapped, and places that chunks are copied to.
//!
//! Where the cap on the file's size is reached, the oldest chunks of events make room for new ones.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use umtui_wire::chunk::{self, ChunkHeader};
use umtui_wire::header::CHUNK_UNIT;

use crate::file::{self, FIRST_BYTES, OpenFile};
use crate::lock::TryLock;
use crate::sys;
use crate::written;

/// End of what is claimed. The header learns of it once the file is as long, so that a process killed in between
/// leaves no file that looks cut.
#[unsafe(link_section = ".data.small")]
static CLAIMED: AtomicU64 = AtomicU64::new(CHUNK_UNIT);
#[unsafe(link_section = ".data.small")]
static MADE: AtomicU64 = AtomicU64::new(0);
#[unsafe(link_section = ".data.small")]
static MAX_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);
/// Where the oldest chunk may lie, once the cap is reached: places are reused in the order of the file.
#[unsafe(link_section = ".data.small")]
static OLDEST: AtomicU64 = AtomicU64::new(CHUNK_UNIT);
#[unsafe(link_section = ".data.small")]
static REUSE: TryLock = TryLock::new();
/// Places looked at for one that can be reused, before it is given up.
const LOOKS: u32 = 256;
#[unsafe(link_section = ".data.small")]
static SEQUENCE: AtomicU64 = AtomicU64::new(0);

/// Where the beginning of the file is mapped, and how much of it: pieces there have their first bytes reserved.
#[unsafe(link_section = ".data.small")]
static START: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
#[unsafe(link_section = ".data.small")]
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A new file: nothing is claimed but its first unit.
///
/// The file is `made` bytes long; of pieces within that only a part need be reserved. The first `mapped` bytes of it are
/// in memory already.
pub fn begin(max_bytes: u64, made: u64, start: *mut u8, mapped: u64) {
    MADE.store(made, Ordering::Relaxed);
    START.store(start, Ordering::Relaxed);
    STARTED.store(mapped, Ordering::Relaxed);
    CLAIMED.store(CHUNK_UNIT, Ordering::Relaxed);
    OLDEST.store(CHUNK_UNIT, Ordering::Relaxed);
    SEQUENCE.store(0, Ordering::Relaxed);
    REUSE.reset();
    MAX_BYTES.store(if max_bytes == 0 { u64::MAX } else { max_bytes }, Ordering::Relaxed);
}

/// Whether the cap leaves so much room that a few windows more, and chunks that are not sealed yet, do not matter.
pub fn is_roomy() -> bool {
    MAX_BYTES.load(Ordering::Relaxed) >= 1024 * CHUNK_UNIT
}

/// Whether there is a chunk.
pub fn is_begun() -> bool {
    SEQUENCE.load(Ordering::Relaxed) > 0
}

/// The number of the next chunk.
pub fn next_sequence() -> u64 {
    SEQUENCE.fetch_add(1, Ordering::Relaxed)
}

/// A piece of the file in memory.
pub struct Piece {
    /// Where it is mapped.
    pub address: *mut u8,
    /// Where it lies in the file.
    pub offset: u64,
    /// How much of it may be written to, from its beginning.
    pub reserved: u64,
}

/// Claims the next [`CHUNK_UNIT`] bytes of the file, all zeros, in memory; the `first` are needed at once. An error
/// stops recording, and the header says why.
pub fn piece(first: u64) -> Option<Piece> {
    if !file::is_open() {
        return None;
    }
    let (offset, reused) = match extend() {
        Some(offset) => (offset, false),
        None => {
            let Some(offset) = OpenFile::again().ok().and_then(|file| reuse(&file, |_| Ok(()))) else {
                file::full();
                return None;
            };
            (offset, true)
        }
    };
    let is_made = offset.saturating_add(CHUNK_UNIT) <= MADE.load(Ordering::Relaxed);
    let reserved = if is_made && !reused && !written::is_on() { first.min(CHUNK_UNIT) } else { CHUNK_UNIT };
    match memory(offset, reserved, reused) {
        Ok(address) => {
            if reused {
                // SAFETY: a fresh mapping of that many bytes; what lies there is the past.
                unsafe { core::ptr::write_bytes(address, 0, CHUNK_UNIT as usize) };
            }
            file::reaches(offset.saturating_add(CHUNK_UNIT));
            Some(Piece { address, offset, reserved })
        }
        Err(errno) => {
            file::failed(errno);
            None
        }
    }
}

/// Reserves a part of a piece that was claimed before. An error stops recording.
pub fn reserve_more(offset: u64, bytes: u64) -> bool {
    if written::is_on() {
        return true;
    }
    let outcome = OpenFile::again().and_then(|file| file.reserve(offset, bytes));
    outcome.map_err(file::failed).is_ok()
}

fn memory(offset: u64, reserved: u64, reused: bool) -> Result<*mut u8, i32> {
    if written::is_on() {
        if reused {
            // Of a chunk of desks only those in use are written; the others must not be what was here before.
            OpenFile::again()?.clear(offset, CHUNK_UNIT)?;
        }
        return sys::map_private(CHUNK_UNIT as usize);
    }
    if offset.saturating_add(CHUNK_UNIT) <= STARTED.load(Ordering::Relaxed) && !reused {
        if reserved > FIRST_BYTES {
            OpenFile::again()?.reserve(offset.saturating_add(FIRST_BYTES), reserved.saturating_sub(FIRST_BYTES))?;
        }
        return Ok(START.load(Ordering::Relaxed).wrapping_add(offset as usize));
    }
    let file = OpenFile::again()?;
    file.reserve(offset, reserved)?;
    sys::map(file.descriptor(), offset, CHUNK_UNIT as usize)
}

/// Gives an opened chunk of events a place and writes its header there. `header.offset` and what lies at the place are
/// set; nothing else may refer to the chunk yet.
///
/// # Errors
/// The errno of what failed; `Ok(false)`: the cap leaves no place.
pub fn place(file: &OpenFile, header: &mut ChunkHeader) -> Result<bool, i32> {
    let mut write = |offset: u64| {
        header.offset = offset;
        file.write(header_bytes(header), offset)
    };
    if let Some(offset) = extend() {
        write(offset)?;
        file::reaches(offset.saturating_add(CHUNK_UNIT));
        return Ok(true);
    }
    let mut outcome = Ok(());
    let found = reuse(file, |offset| {
        outcome = write(offset);
        outcome
    });
    outcome.map(|()| found.is_some())
}

/// The bytes of a chunk's header.
pub fn header_bytes(header: &ChunkHeader) -> &[u8] {
    // SAFETY: plain data without padding, of that many bytes.
    unsafe { core::slice::from_raw_parts((&raw const *header).cast(), chunk::HEADER_BYTES) }
}

fn extend() -> Option<u64> {
    let limit = MAX_BYTES.load(Ordering::Relaxed);
    let longer = |end: u64| end.checked_add(CHUNK_UNIT).filter(|&end| end <= limit);
    CLAIMED.fetch_update(Ordering::AcqRel, Ordering::Relaxed, longer).ok()
}

/// The place of the oldest sealed chunk of events. `take` makes it look taken before another thread looks.
fn reuse(file: &OpenFile, take: impl FnOnce(u64) -> Result<(), i32>) -> Option<u64> {
    let _held = REUSE.try_for_a_while()?;
    let end = CLAIMED.load(Ordering::Relaxed);
    for _ in 0..LOOKS {
        let at = OLDEST.load(Ordering::Relaxed);
        let next = at.saturating_add(CHUNK_UNIT);
        OLDEST.store(if next < end { next } else { CHUNK_UNIT }, Ordering::Relaxed);
        let Some(events) = sealed_events(file, at) else { continue };
        // Nobody may take it for what it was.
        file.write(&[0; 8], at).ok()?;
        file::discarded(u64::from(events));
        take(at).ok()?;
        return Some(at);
    }
    None
}

/// The number of events of a sealed chunk of events; `None` if none lies there.
fn sealed_events(file: &OpenFile, at: u64) -> Option<u32> {
    let mut header = core::mem::MaybeUninit::<ChunkHeader>::zeroed();
    // SAFETY: plain data of that many bytes, all of them set.
    let bytes = unsafe { core::slice::from_raw_parts_mut(header.as_mut_ptr().cast::<u8>(), chunk::HEADER_BYTES) };
    if sys::read_at(file.descriptor(), bytes, at) != bytes.len() as isize {
        return None;
    }
    // SAFETY: any bytes are a header.
    let header = unsafe { header.assume_init() };
    let sealed = header.magic == chunk::MAGIC
        && header.offset == at
        && header.kind == chunk::KIND_EVENTS
        && header.state == chunk::STATE_SEALED
        && u64::from(header.bytes) == CHUNK_UNIT;
    sealed.then_some(header.events())
}
