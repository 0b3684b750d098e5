//! Slots of events, column by column: records of one kind and function have alike words in alike places.
//!
//! Records are told apart by the low half of their first word (kind, length, function or device). Of each sort the words
//! are taken as halves of 32 bits, each half of all its records one after the other: as differences, as they are, or once
//! if all are equal. Times are differences to where the record before ended, ends are durations. Everything is reversible
//! whatever the slots hold: a record that is none costs more and comes back the same.
//!
//! Stream: slots, sorts, their heads; the sort of each record; the times; the columns of each sort; the slots behind the
//! last whole record. Numbers are LEB128, signed ones folded.

use umtui_wire::activity as wire;
use umtui_wire::record::{Head, KIND_CALL, KIND_GPU_FIRST, KIND_RANGE_FIRST, SLOT_BYTES, Slot};
use zerocopy::{FromBytes, IntoBytes};

/// Sorts of records at most: where there are more, it is no chunk that a recorder wrote.
const SORTS_MAX: usize = 255;
/// Slots at most.
const SLOTS_MAX: usize = 1 << 16;

/// All values are this one.
const ALL_EQUAL: u8 = 0;
/// Differences to the value before.
const DIFFERENCES: u8 = 1;
/// Values as they are.
const VALUES: u8 = 2;

/// Records of one sort.
#[derive(Debug, Default)]
struct Sort {
    head: u32,
    /// First slots of its records.
    at: Vec<u32>,
}

impl Sort {
    const fn kind(&self) -> u8 {
        self.head as u8
    }

    /// Slots of a record.
    const fn slots(&self) -> usize {
        1 + (self.head >> 8 & 0xff) as usize
    }
}

const fn is_gpu(kind: u8) -> bool {
    KIND_GPU_FIRST <= kind && kind < KIND_RANGE_FIRST
}

/// Whether the third word is when it ended, by the clock of the second.
const fn has_end(kind: u8) -> bool {
    is_gpu(kind) && !matches!(kind, wire::KIND_EVENT | wire::KIND_MEMORY)
}

/// When the next record is expected, by the two clocks: times of the recorder are ticks, those of the GPU its own.
#[derive(Default)]
struct Expected {
    ticks: u64,
    driver_ns: u64,
}

impl Expected {
    const fn of(&mut self, kind: u8) -> &mut u64 {
        if is_gpu(kind) { &mut self.driver_ns } else { &mut self.ticks }
    }

    /// The record of this kind began at `time`.
    const fn next(&mut self, kind: u8, time: u64, slot: &Slot) {
        let duration = if kind == KIND_CALL { slot[3] & 0xffff_ffff } else { 0 };
        *self.of(kind) = time.wrapping_add(duration);
    }
}

/// Appends the slots to `out`; false if they are no records, and nothing worth keeping was appended.
#[must_use]
pub fn encode(slots: &[Slot], out: &mut Vec<u8>) -> bool {
    if slots.len() > SLOTS_MAX {
        return false;
    }
    let mut sorts: Vec<Sort> = Vec::new();
    let mut order: Vec<u8> = Vec::with_capacity(slots.len());
    let mut times = Vec::with_capacity(slots.len() * 2);
    let mut expected = Expected::default();
    let mut at = 0;
    while let Some(slot) = slots.get(at) {
        let head = slot[0] as u32;
        let length = 1 + usize::from(Head::from_word(slot[0]).extra);
        if at + length > slots.len() {
            break;
        }
        let sort = match sorts.iter().position(|sort| sort.head == head) {
            Some(sort) => sort,
            None if sorts.len() < SORTS_MAX => {
                sorts.push(Sort { head, at: Vec::new() });
                sorts.len() - 1
            }
            None => return false,
        };
        if let Some(sort) = sorts.get_mut(sort) {
            sort.at.push(at as u32);
        }
        order.push(sort as u8);
        let kind = head as u8;
        put(&mut times, fold(slot[1].wrapping_sub(*expected.of(kind))));
        expected.next(kind, slot[1], slot);
        at += length;
    }
    put(out, slots.len() as u64);
    put(out, order.len() as u64);
    out.push(sorts.len() as u8);
    for sort in &sorts {
        out.extend_from_slice(&sort.head.to_le_bytes());
    }
    out.extend_from_slice(&order);
    out.extend_from_slice(&times);
    let mut column = Vec::new();
    for sort in &sorts {
        for place in places(sort) {
            column.clear();
            match place {
                Place::Half(slot, word, shift) => column.extend(sort.at.iter().map(|&at| {
                    let slot = slots.get(at as usize + slot).unwrap_or(&[0; 6]);
                    slot.get(word).copied().unwrap_or(0) >> shift & 0xffff_ffff
                })),
                Place::End => column.extend(sort.at.iter().map(|&at| {
                    let slot = slots.get(at as usize).unwrap_or(&[0; 6]);
                    fold(slot[2].wrapping_sub(slot[1]))
                })),
            }
            put_column(out, &column);
        }
    }
    out.extend_from_slice(slots.get(at..).unwrap_or(&[]).as_bytes());
    true
}

/// The slots that [`encode`] was given; `None` if that is not what the bytes are.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Vec<Slot>> {
    let rest = &mut &*bytes;
    let count = usize::try_from(get(rest)?).ok().filter(|&count| count <= SLOTS_MAX)?;
    let records = usize::try_from(get(rest)?).ok().filter(|&records| records <= count)?;
    let mut sorts = Vec::new();
    for _ in 0..take(rest, 1)?.first().copied()? {
        let head = u32::from_le_bytes(*take(rest, 4)?.first_chunk()?);
        sorts.push(Sort { head, at: Vec::new() });
    }
    let order = take(rest, records)?;
    let mut at = 0usize;
    for &sort in order {
        let sort = sorts.get_mut(usize::from(sort))?;
        sort.at.push(at as u32);
        at += sort.slots();
    }
    if at > count {
        return None;
    }
    let times = &mut &**rest;
    for _ in 0..records {
        get(rest)?;
    }
    let mut slots = vec![[0u64; 6]; count];
    let mut column = Vec::new();
    for sort in &sorts {
        let head = u64::from(sort.head);
        sort.at.iter().for_each(|&at| {
            if let Some(slot) = slots.get_mut(at as usize) {
                slot[0] = head;
            }
        });
        for place in places(sort) {
            get_column(rest, sort.at.len(), &mut column)?;
            let (slot, word, shift) = match place {
                Place::Half(slot, word, shift) => (slot, word, shift),
                Place::End => (0, 2, 0),
            };
            for (&at, &value) in sort.at.iter().zip(&column) {
                *slots.get_mut(at as usize + slot)?.get_mut(word)? |= value << shift;
            }
        }
    }
    let mut expected = Expected::default();
    let mut at = 0usize;
    for &sort in order {
        let sort = sorts.get(usize::from(sort))?;
        let slot = slots.get_mut(at)?;
        let kind = sort.kind();
        let time = expected.of(kind).wrapping_add(unfold(get(times)?));
        slot[1] = time;
        expected.next(kind, time, slot);
        if has_end(kind) {
            slot[2] = time.wrapping_add(unfold(slot[2]));
        }
        at += sort.slots();
    }
    let tail = slots.get_mut(at..)?;
    let last = take(rest, tail.len() * SLOT_BYTES)?;
    for (slot, bytes) in tail.iter_mut().zip(last.chunks_exact(SLOT_BYTES)) {
        *slot = Slot::read_from_bytes(bytes).ok()?;
    }
    rest.is_empty().then_some(slots)
}

/// What a column has of each record.
#[derive(Clone, Copy)]
enum Place {
    /// Half a word: slot, word, and 0 or 32.
    Half(usize, usize, u32),
    /// How long it took.
    End,
}

/// The columns of a sort: all of its records' words but the low half of the first and the time.
fn places(sort: &Sort) -> impl Iterator<Item = Place> + use<> {
    let end = has_end(sort.kind());
    let halves = (0..sort.slots()).flat_map(|slot| {
        (0..6).flat_map(move |word| [0, 32].into_iter().map(move |shift| Place::Half(slot, word, shift)))
    });
    let halves = halves.filter(move |place| {
        let apart = matches!(place, Place::Half(0, 0, 0) | Place::Half(0, 1, _));
        let is_end = end && matches!(place, Place::Half(0, 2, _));
        !apart && !is_end
    });
    halves.chain(end.then_some(Place::End))
}

fn put_column(out: &mut Vec<u8>, column: &[u64]) {
    let first = column.first().copied().unwrap_or(0);
    if column.iter().all(|&value| value == first) {
        out.push(ALL_EQUAL);
        put(out, first);
        return;
    }
    let mut before = 0;
    let (mut differences, mut values) = (0, 0);
    for &value in column {
        differences += length(difference(before, value));
        values += length(value);
        before = value;
    }
    if differences < values {
        out.push(DIFFERENCES);
        let mut before = 0;
        for &value in column {
            put(out, difference(before, value));
            before = value;
        }
    } else {
        out.push(VALUES);
        column.iter().for_each(|&value| put(out, value));
    }
}

fn get_column(rest: &mut &[u8], count: usize, column: &mut Vec<u64>) -> Option<()> {
    column.clear();
    match take(rest, 1)?.first().copied()? {
        ALL_EQUAL => {
            let value = get(rest)?;
            column.resize(count, value);
        }
        DIFFERENCES => {
            let mut before = 0u64;
            for _ in 0..count {
                before = before.wrapping_add(unfold(get(rest)?));
                column.push(before);
            }
        }
        VALUES => {
            for _ in 0..count {
                column.push(get(rest)?);
            }
        }
        _ => return None,
    }
    Some(())
}

/// What `value` is more than `before`, folded.
const fn difference(before: u64, value: u64) -> u64 {
    fold(value.wrapping_sub(before))
}

/// Small numbers of either sign as small ones.
const fn fold(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64)
}

const fn unfold(value: u64) -> u64 {
    (value >> 1) ^ 0u64.wrapping_sub(value & 1)
}

/// Bytes of a number.
const fn length(value: u64) -> u32 {
    (64 - (value | 1).leading_zeros()).div_ceil(7)
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn get(rest: &mut &[u8]) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7;
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        if shift > 63 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use umtui_wire::record::SITE_MASK;

    fn back(slots: &[Slot]) {
        let mut bytes = Vec::new();
        if encode(slots, &mut bytes) {
            assert_eq!(decode(&bytes).unwrap(), slots);
            assert!(decode(&bytes[..bytes.len() - 1]).is_none());
        }
    }

    #[test]
    fn calls_of_a_loop_become_a_few_bytes_each() {
        let call = |at: u64| {
            let head = Head { kind: KIND_CALL, extra: 0, a: at as u16 % 3, b: 0 }.word();
            [head, (1 << 50) + at * 1000, 0x7fff_1234_5678 & SITE_MASK, 500 + at % 7, 0x7f00_0000_0000 + at * 512, 4096]
        };
        let slots: Vec<Slot> = (0..1300).map(call).collect();
        let mut bytes = Vec::new();
        assert!(encode(&slots, &mut bytes));
        assert!(bytes.len() < slots.len() * 8, "{}", bytes.len());
        assert_eq!(decode(&bytes).unwrap(), slots);
    }

    #[test]
    fn numbers_of_any_size_come_back() {
        for value in [0, 1, 127, 128, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(bytes.len() as u32, length(value));
            assert_eq!(get(&mut &*bytes), Some(value));
            assert_eq!(unfold(fold(value)), value);
        }
        assert_eq!(get(&mut &[0xff; 11][..]), None);
        back(&[]);
    }

    fn slot() -> impl Strategy<Value = Slot> {
        let kind = prop::sample::select(vec![0u8, 1, 2, 5, 6, 32, 33, 36, 38, 40, 64, 255]);
        let head = (kind, 0u8..3, 0u16..4, any::<u32>()).prop_map(|(kind, extra, a, b)| Head { kind, extra, a, b });
        let word = prop_oneof![0u64..1000, any::<u64>()];
        (head, prop::array::uniform5(word)).prop_map(|(head, [a, b, c, d, e])| [head.word(), a, b, c, d, e])
    }

    proptest! {
        #[test]
        fn any_slots_come_back(slots in prop::collection::vec(slot(), 0..60)) {
            back(&slots);
        }

        #[test]
        fn words_of_any_kind_come_back(slots in prop::collection::vec(any::<Slot>(), 0..300)) {
            back(&slots);
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn flipped_bits_are_taken(slots in prop::collection::vec(slot(), 1..40), at in any::<usize>(), bit in 0u8..8) {
            let mut bytes = Vec::new();
            if encode(&slots, &mut bytes) {
                let at = at % bytes.len();
                bytes[at] ^= 1u8 << bit;
                let _ = decode(&bytes);
            }
        }
    }
}
