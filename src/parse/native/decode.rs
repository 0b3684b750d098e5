//! Slots to rows: the path that every event takes.

use super::activity::{Into, is_taken};
use super::clock::Reading;
use super::file::{File, Thread};
use super::piece::{Piece, Stall, bytes_of};
use super::stamp::stamp;
use crate::trace::store::note;
use crate::trace::{Call, CallFlags, Damage, Sites, StreamId, Streams, Trace};
use std::ops::Range;
use umtui_wire::clock::ClockTriple;
use umtui_wire::frame::is_event;
use umtui_wire::record::{
    DURATION_AT, FLAG_ENTRY, FLAG_LONG, FLAG_NO_ARGUMENTS, Head, KIND_CALL, KIND_CLOCK, KIND_LOST, KIND_THREAD,
    SLOT_BYTES, Slot, unpack_site,
};

/// How decoding of a piece ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All that was committed, or as far as the horizon lets.
    Done,
    /// The budget is used up.
    Budget,
    /// The buffer is used up.
    Buffer,
}

impl File {
    /// Decodes what `piece.buffer` holds from `piece.decoded` on, up to `horizon` ticks and `budget` calls.
    pub fn decode(&mut self, piece: &mut Piece, trace: &mut Trace, horizon: u64, budget: &mut usize) -> Stop {
        let buffer = std::mem::take(&mut piece.buffer);
        let readable = piece.committed.saturating_sub(piece.buffer_at) as usize;
        let slots = buffer.get(..readable.min(buffer.len())).unwrap_or(&[]);
        let stop = loop {
            let place = self.thread(piece.thread, trace);
            match self.segment(piece, slots, trace, place, horizon, budget) {
                Segment::Stop(stop) => break stop,
                Segment::Undefined(api) => {
                    self.api_id(api, trace);
                }
            }
        };
        piece.buffer = buffer;
        stop
    }

    /// The records of one thread, up to a hand-over.
    fn segment(
        &mut self,
        piece: &mut Piece,
        slots: &[Slot],
        trace: &mut Trace,
        place: usize,
        horizon: u64,
        budget: &mut usize,
    ) -> Segment {
        let Trace { tracks, sites, streams, processes, damage, more_damage, activities, ranges, evidence, .. } = trace;
        let mut list = self.take_threads();
        let mut batch = self.batch.take().unwrap_or_default();
        let Some(thread) = list.get_mut(place) else { return self.give_threads(list, Segment::Stop(Stop::Done)) };
        let Some(track) = tracks.get_mut(thread.track.index()) else {
            return self.give_threads(list, Segment::Stop(Stop::Done));
        };
        let run = Run { slots, plausible: piece.plausible(self.start_ticks), horizon };
        let first_offset = piece.slot_offset(piece.buffer_at);
        let stamp = stamp(piece, self.has_cap);
        let mut reading = piece.reading.unwrap_or_else(|| self.clock.reading(&piece.opened));
        let mut at = (piece.decoded.saturating_sub(piece.buffer_at)) as usize;
        let mut left = *budget;
        piece.stall = Stall::No;
        let result = loop {
            let Some(slot) = slots.get(at) else { break Segment::Stop(Stop::Buffer) };
            let head = Head::from_word(slot[0]);
            let next = at + 1 + usize::from(head.extra);
            if next > slots.len() {
                break Segment::Stop(Stop::Buffer);
            }
            let offset = first_offset + (at * SLOT_BYTES) as u64;
            let event = is_event(head.kind);
            if event && left == 0 {
                break Segment::Stop(Stop::Budget);
            }
            let other = if head.kind == KIND_CALL {
                match self.call(&run, slot, head, at..next, thread, (sites, streams), reading) {
                    Ok(call) => {
                        if batch.is_full() {
                            track.append(&mut batch);
                        }
                        // What is captured has an id too, but does nothing.
                        if let Some(submit) = piece.submit.take().filter(|_| !call.flags.has(CallFlags::CAPTURED)) {
                            self.submitted(submit, slot[1], thread.track, track.len() + batch.len(), activities);
                        }
                        batch.push(&call, offset | stamp);
                        left -= 1;
                        at = next;
                        continue;
                    }
                    Err(other) => other,
                }
            } else if is_taken(head.kind) {
                let strings = processes.get(self.process.index()).map(|process| &process.strings);
                let into = Into::of((activities, ranges, evidence), strings, thread);
                let record = slots.get(at..next).unwrap_or(&[]);
                let other = self.activity(&run, piece, record, piece.buffer_at + at as u32, reading, into);
                left -= usize::from(event && !matches!(other, Other::Later(_)));
                other
            } else {
                self.other(&run, piece, slot, head, &mut reading, track.thread)
            };
            // Only records that follow one another directly may be in one batch.
            track.append(&mut batch);
            match other {
                Other::Skip => {}
                Other::Later(stall) => {
                    piece.stall = stall;
                    break Segment::Stop(Stop::Done);
                }
                Other::Undefined => break Segment::Undefined(head.a),
                Other::Name(name) => {
                    let process = processes.get(self.process.index());
                    if let Some(&name) = process.and_then(|process| process.strings.get(&name)) {
                        track.name = name;
                    }
                }
                Other::Odd => {
                    let why = "a record that cannot be right, left out".to_owned();
                    note(damage, more_damage, Damage { file: self.file, offset, why });
                }
            }
            at = next;
        };
        track.append(&mut batch);
        self.batch = Some(batch);
        piece.decoded = piece.buffer_at + at as u32;
        piece.reading = Some(reading);
        thread.reading = Some(reading);
        *budget = left;
        self.give_threads(list, result)
    }

    /// A call record as a row.
    #[allow(clippy::too_many_arguments, reason = "all of them live in registers of the one loop that calls this")]
    #[inline(always)]
    fn call(
        &mut self,
        run: &Run<'_>,
        slot: &Slot,
        head: Head,
        place: Range<usize>,
        thread: &mut Thread,
        (sites, streams): (&mut Sites, &mut Streams),
        reading: Reading,
    ) -> Result<Call, Other> {
        let (address, depth, flags) = unpack_site(slot[2]);
        let last = if flags & FLAG_LONG != 0 && head.extra > 0 { run.slots.get(place.end - 1) } else { None };
        let ticks = last.map_or(slot[DURATION_AT / 8] & u64::from(u32::MAX), |slot| slot[5]);
        let (start, end) = (slot[1], slot[1].saturating_add(ticks));
        if start < run.plausible.0 || end > run.plausible.1 {
            return Err(Other::Odd);
        }
        if end > run.horizon {
            return Err(Other::Later(Stall::Until(end)));
        }
        let hot = self.hot(head.a);
        let Some(api) = hot.id else { return Err(Other::Undefined) };
        let mut call_flags = CallFlags::of_record(flags, head.b);
        let (stream, device) = if hot.is_plain() {
            (StreamId::NONE, thread.device(hot, depth))
        } else {
            let readable = flags & (FLAG_NO_ARGUMENTS | FLAG_ENTRY) == 0;
            let bytes = place.start * SLOT_BYTES..place.end * SLOT_BYTES;
            let record = bytes_of(run.slots).get(bytes).filter(|_| readable).unwrap_or(&[]);
            if hot.is_followed() && !call_flags.failed() {
                thread.current.follow(&self.semantics(head.a), record, &self.contexts);
            }
            call_flags = self.captured(thread, streams, hot, record, (start, end, depth), call_flags);
            self.place(thread, streams, hot, record, (start, end), depth, call_flags)
        };
        Ok(Call {
            start_ns: self.clock.ns(reading, start),
            duration_ns: if flags & FLAG_ENTRY == 0 { self.clock.duration(reading, start, ticks) } else { 0 },
            api,
            site: self.site(sites, address, end),
            stream,
            device,
            depth,
            flags: call_flags,
            extra: head.extra,
        })
    }

    /// Records other than calls.
    fn other(
        &self,
        run: &Run<'_>,
        piece: &mut Piece,
        slot: &Slot,
        head: Head,
        reading: &mut Reading,
        thread: u32,
    ) -> Other {
        if !matches!(head.kind, KIND_CLOCK | KIND_THREAD | KIND_LOST) {
            return if head.kind == 0 { Other::Odd } else { Other::Skip };
        }
        let ticks = slot[1];
        let plausible = ticks >= run.plausible.0 && ticks <= run.plausible.1;
        if head.kind == KIND_THREAD && head.b != thread {
            // Whatever its moment, what follows is of another thread.
            return Other::Later(Stall::HandOver { ticks: if plausible { ticks } else { 0 }, thread: head.b });
        }
        if !plausible {
            return Other::Odd;
        }
        if ticks > run.horizon {
            return Other::Later(Stall::Until(ticks));
        }
        match head.kind {
            KIND_CLOCK => {
                let triple = ClockTriple { ticks, monotonic_ns: slot[2], realtime_ns: slot[3] };
                let fresh = self.clock.reading_after(*reading, &triple);
                if piece.suspect && !self.clock.agree(*reading, fresh) {
                    return Other::Odd;
                }
                *reading = fresh;
                Other::Skip
            }
            KIND_LOST => {
                piece.lost_records.push((thread, slot[2]));
                Other::Skip
            }
            _ => Other::Name(slot[2] as u32),
        }
    }
}

/// A run of slots, and which of its calls may be rows.
pub(super) struct Run<'a> {
    slots: &'a [Slot],
    /// First and last moment that a record may be of.
    pub plausible: (u64, u64),
    /// Calls that ended later have to wait.
    pub horizon: u64,
}

/// How a segment ended.
pub(super) enum Segment {
    /// For now.
    Stop(Stop),
    /// This function has no place in the trace yet.
    Undefined(u16),
}

/// What a record asks for that is no row.
pub(super) enum Other {
    /// Nothing.
    Skip,
    /// To be read later.
    Later(Stall),
    /// A place for its function.
    Undefined,
    /// A name for the thread.
    Name(u32),
    /// To be noted as damage.
    Odd,
}
