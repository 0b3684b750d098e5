//! Definitions of a spooled file: each kept once, however often it comes, and whole.

use rustc_hash::{FxHashMap, FxHashSet};
use umtui_wire::definition::TEXT_AT;
use umtui_wire::frame::{DEFINITION_SLOTS, DefinitionsPart};
use umtui_wire::record::{Head, KIND_KERNEL, KIND_MODULE, KIND_STRING, SLOT_BYTES};
use zerocopy::FromBytes;

/// Records that are known only in part, at most: a stream that never completes any must not eat memory.
const PARTS: usize = 256;
/// Strings that are known only in part, at most, and records of one.
const STRINGS: usize = 256;
const PIECES: usize = 64;
/// Records that wait for their names, at most; others go without.
const WAITING: usize = 64 * 1024;

/// Sorts definitions out.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Records that have come, by chunk and slot.
    known: FxHashSet<(u64, u32)>,
    /// Records that have come in part.
    parts: FxHashMap<(u64, u32), Parts>,
    /// Strings of several records, not all of which have come: by id, with where each record's text begins.
    strings: FxHashMap<u32, Vec<(u32, Vec<u8>)>>,
    complete: FxHashSet<u32>,
    /// Records that wait for the string they name.
    waiting: FxHashMap<u32, Vec<Vec<u8>>>,
    /// How many these are.
    waiting_count: usize,
    /// Whole records in an order that a reader can take them in.
    pub ready: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Parts {
    bytes: Vec<u8>,
    have: Vec<bool>,
}

impl Definitions {
    /// Takes what a frame holds.
    pub fn take(&mut self, part: &DefinitionsPart, slots: &[u8]) {
        if part.of > 0 {
            self.part(part, slots);
            return;
        }
        let mut slot = part.slot;
        let mut rest = slots;
        while let Some((record, others)) =
            head(rest).and_then(|head| rest.split_at_checked((1 + usize::from(head.extra)) * SLOT_BYTES))
        {
            if self.known.insert((part.chunk, slot)) {
                self.record(record.to_vec());
            }
            slot = slot.saturating_add((record.len() / SLOT_BYTES) as u32);
            rest = others;
        }
    }

    fn part(&mut self, part: &DefinitionsPart, slots: &[u8]) {
        let (of, at) = (part.of as usize, part.part as usize);
        let id = (part.chunk, part.slot);
        let fits = of <= 256 && at + slots.len() / SLOT_BYTES <= of && at.is_multiple_of(DEFINITION_SLOTS);
        if self.known.contains(&id) || !fits || (self.parts.len() >= PARTS && !self.parts.contains_key(&id)) {
            return;
        }
        let whole = self.parts.entry(id).or_insert_with(|| Parts {
            bytes: vec![0; of * SLOT_BYTES],
            have: vec![false; of.div_ceil(DEFINITION_SLOTS)],
        });
        let from = at * SLOT_BYTES;
        if let (Some(place), Some(have)) =
            (whole.bytes.get_mut(from..from + slots.len()), whole.have.get_mut(at / DEFINITION_SLOTS))
        {
            place.copy_from_slice(slots);
            *have = true;
        }
        if whole.have.iter().all(|&have| have)
            && let Some(whole) = self.parts.remove(&id)
        {
            self.known.insert(id);
            self.record(whole.bytes);
        }
    }

    /// A whole record.
    fn record(&mut self, record: Vec<u8>) {
        let Some(head) = head(&record) else { return };
        match head.kind {
            KIND_STRING => self.string(head, record),
            KIND_MODULE | KIND_KERNEL
                if head.b != 0 && !self.complete.contains(&head.b) && self.waiting_count < WAITING =>
            {
                self.waiting_count += 1;
                self.waiting.entry(head.b).or_default().push(record);
            }
            _ => self.ready.push(record),
        }
    }

    fn string(&mut self, head: Head, record: Vec<u8>) {
        let (length, offset) = (word(&record, 8), word(&record, 12));
        if length as usize <= record.len().saturating_sub(TEXT_AT) && offset == 0 {
            self.strings.remove(&head.b);
            self.ready.push(record);
        } else {
            if self.strings.len() >= STRINGS && !self.strings.contains_key(&head.b) {
                return;
            }
            let pieces = self.strings.entry(head.b).or_default();
            if pieces.len() < PIECES && !pieces.iter().any(|(at, _)| *at == offset) {
                pieces.push((offset, record));
            }
            pieces.sort_by_key(|(at, _)| *at);
            let reach = pieces.iter().fold(0u64, |reach, (at, record)| {
                let text = record.len().saturating_sub(TEXT_AT) as u64;
                if u64::from(*at) <= reach { reach.max(u64::from(*at) + text) } else { reach }
            });
            if reach < u64::from(length) {
                return;
            }
            let pieces = self.strings.remove(&head.b).unwrap_or_default();
            self.ready.extend(pieces.into_iter().map(|(_, record)| record));
        }
        self.complete.insert(head.b);
        let waited = self.waiting.remove(&head.b).unwrap_or_default();
        self.waiting_count -= waited.len();
        self.ready.extend(waited);
    }

    /// Nothing more comes: what waited for names goes without.
    pub fn end(&mut self) {
        let mut left: Vec<_> = std::mem::take(&mut self.waiting).into_iter().collect();
        self.waiting_count = 0;
        left.sort_by_key(|(id, _)| *id);
        self.ready.extend(left.into_iter().flat_map(|(_, records)| records));
    }
}

/// The head of the record that begins here.
pub fn head(record: &[u8]) -> Option<Head> {
    u64::read_from_prefix(record).ok().map(|(word, _)| Head::from_word(word))
}

fn word(record: &[u8], at: usize) -> u32 {
    record.get(at..).and_then(|rest| u32::read_from_prefix(rest).ok()).map_or(0, |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use umtui_wire::definition::TEXT_MAX;
    use umtui_wire::record::KIND_API;

    fn record(kind: u8, id: u32, extra: u8, length: u32, offset: u32) -> Vec<u8> {
        let mut record = vec![7; (1 + usize::from(extra)) * SLOT_BYTES];
        record[..8].copy_from_slice(&Head { kind, extra, a: 0, b: id }.word().to_le_bytes());
        record[8..12].copy_from_slice(&length.to_le_bytes());
        record[12..16].copy_from_slice(&offset.to_le_bytes());
        record
    }

    fn whole(chunk: u64, slot: u32) -> DefinitionsPart {
        DefinitionsPart { chunk, slot, ..DefinitionsPart::default() }
    }

    #[test]
    fn a_definition_counts_once_and_waits_for_its_name() {
        let mut definitions = Definitions::default();
        let module = record(KIND_MODULE, 5, 1, 0, 0);
        definitions.take(&whole(3, 0), &module);
        assert!(definitions.ready.is_empty());
        let two = [record(KIND_API, 0, 0, 4, 0), record(KIND_STRING, 5, 0, 9, 0)].concat();
        definitions.take(&whole(3, 7), &two);
        definitions.take(&whole(3, 7), &two);
        assert_eq!(definitions.ready, [two[..48].to_vec(), two[48..].to_vec(), module]);
    }

    #[test]
    fn a_long_record_comes_in_parts_in_any_order() {
        let mut definitions = Definitions::default();
        let long = record(KIND_STRING, 1, 255, 20_000, 0);
        let rest = record(KIND_STRING, 1, 170, 20_000, TEXT_MAX as u32);
        definitions.take(&whole(1, 500), &rest[..48 * 170]);
        assert!(definitions.ready.is_empty(), "a record that is cut short is none");
        let mut parts: Vec<(u32, &[u8])> = Vec::new();
        for (index, part) in long.chunks(DEFINITION_SLOTS * SLOT_BYTES).enumerate() {
            parts.push(((index * DEFINITION_SLOTS) as u32, part));
        }
        parts.reverse();
        for (at, slots) in parts {
            let part = DefinitionsPart { chunk: 1, slot: 0, of: 256, part: at, reserved: 0 };
            definitions.take(&part, slots);
            definitions.take(&part, slots);
        }
        assert!(definitions.ready.is_empty());
        let mut at = 0;
        for slots in rest.chunks(DEFINITION_SLOTS * SLOT_BYTES) {
            definitions.take(&DefinitionsPart { chunk: 1, slot: 500, of: 171, part: at, reserved: 0 }, slots);
            at += DEFINITION_SLOTS as u32;
        }
        assert_eq!(definitions.ready, [long, rest]);
    }

    #[test]
    fn what_is_never_completed_takes_little_memory() {
        let mut definitions = Definitions::default();
        for id in 1..2000 {
            // A piece of a string whose other pieces never come, and what waits for it.
            for piece in 0..3 {
                let string = record(KIND_STRING, id, 0, 1 << 20, 24 * piece);
                definitions.take(&whole(u64::from(id), piece * 2), &string);
            }
        }
        assert_eq!(definitions.strings.len(), STRINGS);
        for slot in 0..100_000 {
            definitions.take(&whole(5000, slot), &record(KIND_STRING, 1, 0, 1 << 20, 24 * slot));
            definitions.take(&whole(6000, slot), &record(KIND_KERNEL, 1, 0, 0, 0));
        }
        assert_eq!(definitions.strings[&1].len(), PIECES);
        assert_eq!((definitions.waiting_count, definitions.ready.len()), (WAITING, 100_000 - WAITING));
        definitions.end();
        assert_eq!(definitions.ready.len(), 100_000);
    }
}
