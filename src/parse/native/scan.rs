//! The first look at a chunk: its checksum, and the calls that other threads' calls depend on.

use super::file::File;
use super::piece::{Piece, bytes_of};
use crate::trace::semantics::{CaptureUse, ContextUse};
use crate::trace::{ArgKind, CallFlags, NO_DEVICE, Semantics, Streams, Value};
use rustc_hash::FxHashMap;
use umtui_wire::record::{
    DURATION_AT, FLAG_ENTRY, FLAG_LONG, FLAG_NO_ARGUMENTS, Head, KIND_CALL, KIND_THREAD, Slot, unpack_site,
};

/// Which device a thread works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Current(pub Option<u8>);

/// Devices of contexts, by handle.
pub type Contexts = FxHashMap<u64, u8>;

/// What a scan keeps from chunk to chunk.
#[derive(Debug, Default)]
pub struct Scan {
    current: FxHashMap<u32, Current>,
}

/// A call record in the middle of a list of slots.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// All its bytes.
    pub bytes: &'a [u8],
    /// First word.
    pub head: Head,
    /// Start, ticks.
    pub start: u64,
    /// End, ticks; saturates.
    pub end: u64,
    /// Nesting.
    pub depth: u8,
    /// Flags as recorded.
    pub flags: u8,
}

fn record_of<'a>(slots: &'a [Slot], first: &Slot, head: Head) -> Record<'a> {
    let (_, depth, flags) = unpack_site(first[2]);
    let last = if flags & FLAG_LONG != 0 && head.extra > 0 { slots.last() } else { None };
    let ticks = last.map_or(first[DURATION_AT / 8] & u64::from(u32::MAX), |slot| slot[5]);
    Record { bytes: bytes_of(slots), head, start: first[1], end: first[1].saturating_add(ticks), depth, flags }
}

impl Scan {
    /// Looks at slots `piece.scanned..`, which `slots` holds. `tell` takes the streams and contexts it finds.
    pub fn look(&mut self, piece: &mut Piece, slots: &[Slot], file: &mut File, streams: &mut Streams) {
        let (mut at, mut begun) = (0, 0);
        while let Some(slot) = slots.get(at) {
            begun = at;
            let head = Head::from_word(slot[0]);
            let next = at + 1 + usize::from(head.extra);
            // Nearly all records are calls that concern nobody else.
            let wanted = if head.kind == KIND_CALL { file.concerns_others(head.a) } else { head.kind == KIND_THREAD };
            if wanted {
                let Some(record) = slots.get(at..next) else { break };
                if head.kind == KIND_THREAD {
                    piece.scan_thread = head.b;
                } else {
                    self.call(piece, record_of(record, slot, head), file, streams);
                }
            }
            at = next;
        }
        // The last record may be longer than what there is of it: it is looked at again when all of it is there.
        if at > slots.len() {
            at = begun;
        }
        piece.scanned += at as u32;
    }

    fn call(&mut self, piece: &Piece, record: Record<'_>, file: &mut File, streams: &mut Streams) {
        let (low, high) = piece.plausible(file.start_ticks);
        let failed = CallFlags::of_record(record.flags, record.head.b).failed();
        let unread = record.flags & (FLAG_NO_ARGUMENTS | FLAG_ENTRY) != 0;
        if record.start < low || record.end > high || unread {
            return;
        }
        let semantics = file.semantics(record.head.a);
        if !matches!(semantics.capture, CaptureUse::None) {
            return super::capture::tell(piece.scan_thread, &semantics, record, failed, file, streams);
        }
        if failed {
            return;
        }
        let number = |at: u16, kind: ArgKind| match kind.read(record.bytes, usize::from(at)) {
            Some(Value::Number(bits)) => Some(bits),
            _ => None,
        };
        if let ContextUse::Gives(context, device) = semantics.context
            && let (Some(handle), Some(device)) = (number(context, ArgKind::Handle), number(device, ArgKind::Device))
        {
            file.contexts.insert(handle, ordinal(device as u32).unwrap_or(NO_DEVICE));
        }
        let current = self.current.entry(piece.scan_thread).or_default();
        current.follow(&semantics, record.bytes, &file.contexts);
        let device = current.0.unwrap_or(file.hot(record.head.a).fallback(record.depth));
        let (process, start, end) = (file.process, record.start, record.end);
        if let Some(handle) = semantics.creates_stream.and_then(|at| number(at, ArgKind::Handle)) {
            if is_created(handle) {
                streams.created(process, handle, start, end, device);
            }
        } else if semantics.destroys_stream
            && let Some(handle) = semantics.stream_at.and_then(|at| number(at, ArgKind::Handle))
            && is_created(handle)
        {
            streams.destroyed(process, handle, start, end);
        }
    }
}

impl Current {
    /// Follows a successful call.
    pub fn follow(&mut self, semantics: &Semantics, record: &[u8], contexts: &Contexts) {
        let number = |at: u16, kind: ArgKind| match kind.read(record, usize::from(at)) {
            Some(Value::Number(bits)) => Some(bits),
            _ => None,
        };
        let told = semantics.sets_device.or(semantics.learns_device);
        if let Some(device) = told.and_then(|at| number(at, ArgKind::Device))
            && let Some(device) = ordinal(device as u32)
        {
            self.0 = Some(device);
        }
        if let ContextUse::Sets(at) = semantics.context
            && let Some(device) = number(at, ArgKind::Handle).and_then(|handle| contexts.get(&handle))
        {
            self.0 = Some(*device).filter(|&device| device != NO_DEVICE);
        }
    }
}

/// Whether a handle is that of a stream the program made: 0, 1 and 2 are the default ones.
#[must_use]
pub const fn is_created(handle: u64) -> bool {
    handle > 2
}

/// A device number that fits.
#[must_use]
pub fn ordinal(device: u32) -> Option<u8> {
    u8::try_from(device).ok().filter(|&device| device != NO_DEVICE)
}
