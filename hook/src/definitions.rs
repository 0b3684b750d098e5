//! What ids and handles in records stand for: strings, functions, modules, kernels, written to chunks of their
//! own before the first record that uses them.
//!
//! One writer at a time, by a lock that is only tried for. Where it cannot be had (a signal has interrupted
//! its holder), the definition is left out and asked for again the next time.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use umtui_wire::chunk::{self, ChunkHeader};
use umtui_wire::definition::{API_DYNAMIC, NO_STRING, TEXT_AT, TEXT_MAX, extra_slots};
use umtui_wire::header::CHUNK_UNIT;
use umtui_wire::record::{Head, KIND_API, KIND_DEVICE, KIND_KERNEL, KIND_MODULE, KIND_STRING, SLOT_BYTES};
use umtui_wire::table::{FUNCTIONS, Layer};

use crate::elf::BuildId;
use crate::lock::TryLock;
use crate::{chunks, clock, file, memory, sys, text};

/// Longest string that is kept; kernel names of templates reach several thousand bytes.
const LONGEST: usize = 64 * 1024;

#[unsafe(link_section = ".data.small")]
static LOCK: TryLock = TryLock::new();

/// Strings by hash: hash, then id. Looked up without the lock; an entry's hash is stored after its id.
static HASHES: Hashes = Hashes([const { AtomicU64::new(0) }; STRINGS]);
static IDS: [AtomicU32; STRINGS] = [const { AtomicU32::new(0) }; STRINGS];
const STRINGS: usize = 32768;

/// Pages of its own, so that it can be made zero by giving them back.
#[repr(align(4096))]
struct Hashes([AtomicU64; STRINGS]);
#[unsafe(link_section = ".data.small")]
static NEXT_ID: AtomicU32 = AtomicU32::new(NO_STRING + 1);

/// Functions outside the table that have been given an id: hash of the name, by id.
static DYNAMIC: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];
/// Their names, to be described in more than one file: where in [`NAMES`] they begin, and above it how long they are.
static NAMED: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];
static NAMES: [AtomicU8; 65536] = [const { AtomicU8::new(0) }; 65536];
#[unsafe(link_section = ".data.small")]
static NAMES_USED: AtomicU32 = AtomicU32::new(0);

struct Place(UnsafeCell<Writer>);
// SAFETY: used only by the holder of LOCK.
unsafe impl Sync for Place {}
#[unsafe(link_section = ".data.small")]
static WRITER: Place = Place(UnsafeCell::new(Writer::new()));

struct Writer {
    chunk: *mut ChunkHeader,
    committed: u32,
    /// Up to where it may be written to.
    limit: u32,
    /// Chunks opened so far.
    opened: u32,
}

impl Writer {
    const fn new() -> Self {
        Self { chunk: core::ptr::null_mut(), committed: 0, limit: 0, opened: 0 }
    }

    /// Opens the next chunk, with room for so many bytes of records.
    fn open(&mut self, bytes: u32) -> bool {
        let first = file::FIRST_BYTES.max(u64::from(bytes.wrapping_add(chunk::HEADER_BYTES as u32)));
        let opened = chunks::open(chunk::KIND_DEFINITIONS, first, sys::thread_id());
        let Some((next, limit)) = opened else { return false };
        if !self.chunk.is_null() {
            // SAFETY: the lock's holder has it alone.
            unsafe { chunks::seal(self.chunk) };
        }
        self.chunk = next;
        self.limit = limit;
        self.committed = chunk::HEADER_BYTES as u32;
        self.opened = self.opened.wrapping_add(1);
        true
    }

    /// Begins with what another chunk holds up to `end`.
    fn copy(&mut self, from: *mut ChunkHeader, end: u32) -> bool {
        let bytes = end.saturating_sub(chunk::HEADER_BYTES as u32);
        if end > CHUNK_UNIT as u32 || !self.open(bytes) {
            return false;
        }
        // SAFETY: both chunks are mapped and longer than that; what is committed in the one is not changed any more.
        unsafe {
            let to = self.chunk.cast::<u8>().add(chunk::HEADER_BYTES);
            core::ptr::copy_nonoverlapping(from.cast::<u8>().add(chunk::HEADER_BYTES), to, bytes as usize);
            chunks::committed(self.chunk).store(end, Ordering::Release);
        }
        self.committed = end;
        true
    }

    /// Writes a record of `1 + extra` slots: words 1 to 5, then `text` from byte [`TEXT_AT`] on if there is any.
    fn put(&mut self, head: Head, words: [u64; 5], text: &[u8], tail: [u64; 6]) -> bool {
        let bytes = u32::from(head.extra).wrapping_add(1).wrapping_mul(SLOT_BYTES as u32);
        let end = self.committed.wrapping_add(bytes);
        if !self.chunk.is_null() && end > self.limit && end <= CHUNK_UNIT as u32 {
            // SAFETY: the lock's holder has it alone.
            if !unsafe { chunks::reserve_rest(self.chunk, self.limit) } {
                return false;
            }
            self.limit = CHUNK_UNIT as u32;
        }
        if (self.chunk.is_null() || end > self.limit) && !self.open(bytes) {
            return false;
        }
        // SAFETY: the record lies within the mapped chunk: its slots were counted above, and the text fits
        // them since `extra` was computed from its length.
        unsafe {
            let record = self.chunk.cast::<u8>().add(self.committed as usize);
            record.cast::<[u64; 5]>().byte_add(8).write(words);
            if text.is_empty() {
                if head.extra > 0 {
                    record.cast::<[u64; 6]>().byte_add(SLOT_BYTES).write(tail);
                }
            } else {
                core::ptr::copy_nonoverlapping(text.as_ptr(), record.add(TEXT_AT), text.len());
            }
            AtomicU64::from_ptr(record.cast()).store(head.word(), Ordering::Release);
            self.committed = self.committed.wrapping_add(bytes);
            chunks::committed(self.chunk).store(self.committed, Ordering::Release);
        }
        true
    }

    fn text(&mut self, kind: u8, a: u16, b: u32, text: &[u8]) -> bool {
        let mut offset = 0usize;
        loop {
            let rest = text.get(offset..).unwrap_or_default();
            let part = rest.get(..rest.len().min(TEXT_MAX)).unwrap_or_default();
            let head = Head { kind, extra: extra_slots(part.len()), a, b };
            let length = text.len() as u64 | (offset as u64) << 32;
            if !self.put(head, [length, 0, 0, 0, 0], part, [0; 6]) {
                return false;
            }
            offset = offset.wrapping_add(part.len());
            if offset >= text.len() {
                return true;
            }
        }
    }
}

/// Runs `write` as the only writer; `None` if that cannot be.
fn with_writer<R>(write: impl FnOnce(&mut Writer) -> R) -> Option<R> {
    let _held = LOCK.try_for_a_while()?;
    // SAFETY: the lock is held.
    Some(write(unsafe { &mut *WRITER.0.get() }))
}

/// The id of a string, written down if it is new; `NO_STRING` if that failed.
pub fn string(bytes: &[u8]) -> u32 {
    let bytes = bytes.get(..bytes.len().min(LONGEST)).unwrap_or_default();
    if bytes.is_empty() {
        return NO_STRING;
    }
    let hash = text::hash(bytes);
    match find(hash) {
        Ok(id) => id,
        Err(_) => with_writer(|writer| {
            // Another thread may have been quicker.
            let place = match find(hash) {
                Ok(id) => return id,
                Err(place) => place,
            };
            let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
            if !writer.text(KIND_STRING, 0, id, bytes) {
                return NO_STRING;
            }
            if let Some((ids, hashes)) = place.and_then(|place| Some((IDS.get(place)?, HASHES.0.get(place)?))) {
                ids.store(id, Ordering::Relaxed);
                hashes.store(hash, Ordering::Release);
            }
            id
        })
        .unwrap_or(NO_STRING),
    }
}

/// The id of a string that was written down before.
#[inline]
pub fn known(bytes: &[u8]) -> Option<u32> {
    find(text::hash(bytes)).ok()
}

/// Writes a string down that is not to be looked up later; its id, `NO_STRING` if that failed.
pub fn string_anew(bytes: &[u8]) -> u32 {
    with_writer(|writer| {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        if writer.text(KIND_STRING, 0, id, bytes) { id } else { NO_STRING }
    })
    .unwrap_or(NO_STRING)
}

/// The id of a C string.
///
/// # Safety
/// `text` is null or a C string.
pub unsafe fn c_string(text: *const core::ffi::c_char) -> u32 {
    if text.is_null() {
        return NO_STRING;
    }
    // SAFETY: as the caller says.
    string(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// The id of the C string at an address that may not be one: read by the kernel, which does not crash.
#[cold]
pub fn string_at(address: u64) -> u32 {
    let mut buffer = [0u8; 256];
    let read = memory::peek(address, &mut buffer);
    match buffer.get(..read).and_then(|bytes| bytes.split(|&byte| byte == 0).next()) {
        Some(text) if text.len() < read => string(text),
        _ => NO_STRING,
    }
}

/// The id of a hash, or the free place for it (`None` when the table is full: such strings are written anew
/// each time).
fn find(hash: u64) -> Result<u32, Option<usize>> {
    let mask = STRINGS.wrapping_sub(1);
    let mut at = hash as usize & mask;
    for _ in 0..64 {
        let Some((hashes, ids)) = HASHES.0.get(at).zip(IDS.get(at)) else { break };
        match hashes.load(Ordering::Acquire) {
            0 => return Err(Some(at)),
            found if found == hash => return Ok(ids.load(Ordering::Relaxed)),
            _ => at = at.wrapping_add(1) & mask,
        }
    }
    Err(None)
}

/// Describes a function of the table, or one that was given an id at run time. False if that could not be.
pub fn api(id: u16) -> bool {
    let function = FUNCTIONS.get(usize::from(id));
    match (function, id.checked_sub(API_DYNAMIC)) {
        (_, Some(index)) => describe_dynamic(id, usize::from(index)),
        (Some(function), None) => {
            let layer = function.layer as u32;
            with_writer(|writer| writer.text(KIND_API, id, layer, function.signature.as_bytes())).unwrap_or(false)
        }
        (None, None) => true,
    }
}

/// An id for a function that the table does not know; `None` when there are none left. It is described as others are,
/// before its first call.
pub fn dynamic_api(name: &[u8]) -> Option<u16> {
    let hash = text::hash(name) as u32 | 1;
    let mut index = 0u16;
    for place in &DYNAMIC {
        let known = place.load(Ordering::Acquire);
        if known == hash {
            return Some(API_DYNAMIC.wrapping_add(index));
        }
        if known == 0 && place.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            keep_name(usize::from(index), name);
            return Some(API_DYNAMIC.wrapping_add(index));
        }
        index = index.wrapping_add(1);
    }
    None
}

fn keep_name(index: usize, name: &[u8]) {
    let length = name.len().min(255);
    let start = NAMES_USED.fetch_add(length as u32, Ordering::Relaxed);
    let Some(place) = NAMES.get(start as usize..) else { return };
    for (to, from) in place.iter().zip(name.iter().take(length)) {
        to.store(*from, Ordering::Relaxed);
    }
    if let Some(named) = NAMED.get(index) {
        named.store(start | (length as u32).wrapping_shl(16), Ordering::Release);
    }
}

fn describe_dynamic(id: u16, index: usize) -> bool {
    let Some(named) = NAMED.get(index).map(|named| named.load(Ordering::Acquire)) else { return true };
    let (start, length) = (named as usize & 0xffff, (named >> 16) as usize);
    let mut signature = text::Path::<260>::new();
    for byte in NAMES.iter().skip(start).take(length) {
        signature.push(&[byte.load(Ordering::Relaxed)]);
    }
    let layer = if signature.as_bytes().starts_with(b"cuda") { Layer::Runtime } else { Layer::Driver };
    signature.push(b"()");
    with_writer(|writer| writer.text(KIND_API, id, layer as u32, signature.as_bytes())).unwrap_or(false)
}

/// Describes a mapped module.
pub fn module(path: &[u8], start: u64, end: u64, file_offset: u64, build_id: Option<BuildId>) {
    let path = string(path);
    let head = Head { kind: KIND_MODULE, extra: 1, a: 0, b: path };
    let (id, length) = build_id.unwrap_or(([0; 40], 0));
    let mut tail = [length as u64, 0, 0, 0, 0, 0];
    for (word, bytes) in tail.iter_mut().skip(1).zip(id.chunks_exact(8)) {
        let mut value = [0; 8];
        value.copy_from_slice(bytes);
        *word = u64::from_le_bytes(value);
    }
    with_writer(|writer| writer.put(head, [start, end, file_offset, clock::now(), 0], b"", tail));
}

/// Describes a device; words 1 to 5 and the UUID as they lie in the record.
pub fn device(ordinal: u16, name: u32, words: [u64; 5], uuid: [u64; 2]) {
    let head = Head { kind: KIND_DEVICE, extra: 1, a: ordinal, b: name };
    let [first, second] = uuid;
    with_writer(|writer| writer.put(head, words, b"", [first, second, 0, 0, 0, 0]));
}

/// Says what a kernel handle stands for from now on.
pub fn kernel(handle: u64, name: u32) -> bool {
    let head = Head { kind: KIND_KERNEL, extra: 0, a: 0, b: name };
    with_writer(|writer| writer.put(head, [handle, clock::now(), 0, 0, 0], b"", [0; 6])).unwrap_or(false)
}

/// The calling thread has jumped out of what it was writing down.
pub fn left() {
    LOCK.let_go();
}

/// Which set of tables this is: what was described as of another must be described anew.
#[unsafe(link_section = ".data.small")]
static GENERATION: AtomicU16 = AtomicU16::new(1);

/// See [`GENERATION`].
pub fn generation() -> u16 {
    GENERATION.load(Ordering::Acquire)
}

/// In a child after fork, which has a file of its own: what the parent wrote down is taken over, as far as it lies in one
/// chunk that is still mapped, so that the tables stay as they are and cost no pages. Otherwise all is forgotten. Whether
/// it was taken over.
pub fn take_over() -> bool {
    let taken = with_writer(|writer| {
        let (old, end, opened) = (writer.chunk, writer.committed, writer.opened);
        *writer = Writer::new();
        opened == 1 && !old.is_null() && writer.copy(old, end)
    });
    if taken == Some(true) {
        return true;
    }
    forget();
    false
}

/// The tables are those of no file.
fn forget() {
    // Most of it has never been touched: storing zeros would cost a page fault for each page.
    let table = (&raw const HASHES).cast_mut().cast::<u8>();
    // SAFETY: the child has one thread, which is here.
    if !unsafe { sys::make_zero(table, size_of::<Hashes>()) } {
        for hash in &HASHES.0 {
            hash.store(0, Ordering::Relaxed);
        }
    }
    NEXT_ID.store(NO_STRING.wrapping_add(1), Ordering::Relaxed);
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// In a child after fork: whoever held the lock is not here.
pub fn after_fork() {
    LOCK.reset();
}
