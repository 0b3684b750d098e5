//! Full buffers to records of the calling thread's chunk.

use umtui_wire::activity::KIND_DROPPED;
use umtui_wire::record::{Head, SLOT_BYTES};

use super::clock::Pair;
use super::decode::{Decoded, decode};
use super::library::Functions;
use super::pauses::Pauses;
use super::{buffers, names};
use crate::thread::Thread;
use crate::{append, clock};

/// What is kept from one round to the next.
pub struct Writer {
    functions: Functions,
    /// The newest reading of both clocks.
    pair: Pair,
    /// The chunk that it was last written to.
    told: u64,
    pauses: Pauses,
    /// It was said that nobody knows how many records were dropped.
    unknown_told: bool,
}

impl Writer {
    /// Which has written nothing yet, and knows of pauses from this moment on.
    pub fn new(functions: Functions, moment: u32) -> Self {
        let (pair, pauses) = (Pair { ticks: 0, ns: 0, width: 0 }, Pauses::after(moment));
        Self { functions, pair, told: u64::MAX, pauses, unknown_told: false }
    }

    /// Takes a fresh reading of both clocks, for what comes after it.
    pub fn read_clocks(&mut self) {
        if let Some(pair) = super::clock::pair(&self.functions) {
            self.pair = pair;
            self.told = u64::MAX;
        }
        self.pauses.update(self.pair);
    }

    /// Writes down what full buffers hold.
    pub fn drain(&mut self, thread: &mut Thread) {
        while let Some(full) = buffers::take() {
            // What it holds has begun: so have the pauses that cover it.
            self.pauses.update(self.pair);
            let (buffer, valid) = full.records();
            self.buffer(thread, buffer, valid);
            drop(full);
            self.dropped(thread);
        }
    }

    /// Says that all work is written that had ended when the clocks were last read, if it is, and what was dropped. After
    /// a flush.
    pub fn complete(&mut self, thread: &mut Thread) {
        self.dropped(thread);
        let complete = if buffers::withheld(self.pair.ticks) { 0 } else { self.pair.ns };
        if self.pair.ns != 0 && append::put_other(thread, &self.pair.record(complete)) {
            self.told = append::chunk_sequence(thread);
        }
    }

    /// Says how many records CUPTI had no room for.
    fn dropped(&mut self, thread: &mut Thread) {
        let mut dropped = 0;
        // SAFETY: the function fills a number of ours; context and stream are not looked at.
        let status = unsafe { (self.functions.get_dropped)(core::ptr::null_mut(), 0, &mut dropped) };
        let unknown = status != 0 && buffers::refused() > 0 && !self.unknown_told;
        self.unknown_told |= unknown;
        if status == 0 && dropped > 0 || unknown {
            let head = Head { kind: KIND_DROPPED, extra: 0, a: 0, b: 0 };
            let count = if unknown { u64::MAX } else { dropped as u64 };
            append::put_other(thread, &[head.word(), clock::now(), count, 0, 0, 0]);
        }
    }

    fn buffer(&mut self, thread: &mut Thread, buffer: *mut u8, valid: usize) {
        let end = buffer.wrapping_add(valid);
        let (mut next, mut last) = (core::ptr::null_mut::<u8>(), core::ptr::null_mut::<u8>());
        loop {
            // SAFETY: a buffer that CUPTI has filled, and where its last answer lies in it.
            let status = unsafe { (self.functions.get_next_record)(buffer, valid, &mut next) };
            let until = if status == 0 { next } else { end };
            if !last.is_null() && until > last && until <= end {
                let length = (until as usize).wrapping_sub(last as usize);
                // SAFETY: part of the buffer, which is ours until it is given back.
                self.one(thread, unsafe { core::slice::from_raw_parts(last, length) });
            }
            if status != 0 || next <= last || next < buffer || next >= end {
                return;
            }
            last = next;
        }
    }

    fn one(&mut self, thread: &mut Thread, bytes: &[u8]) {
        let Some(mut decoded) = decode(bytes) else { return };
        if self.pauses.cover(decoded.start()) {
            return;
        }
        match &mut decoded {
            // SAFETY: CUPTI's own strings, which last as long as their module; the collector is one thread.
            Decoded::Kernel(kernel, name) => kernel.name = unsafe { names::name(*name) },
            // SAFETY: likewise.
            Decoded::Memory(memory, name) => memory.name = unsafe { names::rare(*name) },
            _ => {}
        }
        if self.pair.ns == 0 {
            append::put_event(thread, decoded.words());
        } else {
            append::put_event_after(thread, decoded.words(), &self.pair.record(0), &mut self.told);
        }
    }
}

impl Decoded {
    /// The record as it lies in the file, as many words as its head says.
    pub(super) fn words(&self) -> &[u64] {
        const SLOT_WORDS: usize = SLOT_BYTES / 8;
        let (first, slots) = match self {
            Self::Kernel(record, _) => (&raw const *record as *const u64, umtui_wire::activity::Kernel::SLOTS),
            Self::Copied(record) => (&raw const *record as *const u64, slots(record.head)),
            Self::Set(record) => (&raw const *record as *const u64, slots(record.head)),
            Self::Wait(record) => (&raw const *record as *const u64, 1),
            Self::Event(record) => (&raw const *record as *const u64, 1),
            Self::Overhead(record) => (&raw const *record as *const u64, 1),
            Self::Unified(record) => (&raw const *record as *const u64, slots(record.head)),
            Self::Graph(record) => (&raw const *record as *const u64, 1),
            Self::Memory(record, _) => (&raw const *record as *const u64, umtui_wire::activity::Memory::SLOTS),
        };
        // SAFETY: the layouts are whole slots without padding (umtui_wire asserts both), and a head never says more
        // than its layout has.
        unsafe { core::slice::from_raw_parts(first, slots.wrapping_mul(SLOT_WORDS)) }
    }
}

fn slots(head: u64) -> usize {
    if Head::from_word(head).extra == 0 { 1 } else { 2 }
}
