//! Copies from one device to another that a program sends through the host.
//!
//! The rule: a thread copies from device A into memory of the host, and later copies exactly those bytes (the same address, the
//! same size) from there to another device B, with no copy of that thread into any of them in between. The first copy may serve
//! several of the second. What the CPU writes in between is not seen, nor are copies of rows and layers.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::correlate::calls::{Found, Records, bare, choose};
use crate::correlate::{AllocationKind, Allocations};
use crate::trace::{Api, Argument, Bytes, NO_DEVICE, ProcessId, Trace, TrackId};

/// Copies into the host's memory that a thread may still send on: the newest of them.
const PENDING: usize = 256;
/// `cudaMemcpyHostToDevice` and `cudaMemcpyDeviceToHost`.
const KINDS: [u64; 2] = [1, 2];

/// A pair of copies: the second one, and where its bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Thread of both.
    pub track: TrackId,
    /// Row of the first.
    pub first: usize,
    /// Row of the second.
    pub second: usize,
    /// Device from, by its number in the process.
    pub from: u8,
    /// Device to.
    pub to: u8,
    /// Bytes of each of the two.
    pub bytes: u64,
}

struct Copies {
    to: Argument,
    from: Argument,
    bytes: Argument,
    way: Way,
}

enum Way {
    /// As the function's name says.
    Known(bool),
    /// `cudaMemcpyKind`, if there is one.
    Kind(Option<Argument>),
}

/// A copy, as a thread made it. No device: the side is the host's.
#[derive(Clone, Copy, Debug)]
struct Copy {
    row: usize,
    source: Option<u8>,
    target: Option<u8>,
    from: u64,
    to: u64,
    bytes: u64,
}

/// What a thread has copied into the host's memory and may still send on.
#[derive(Debug, Default)]
struct Pending(VecDeque<Copy>);

impl Pending {
    /// Takes the thread's next copy: the one that brought its bytes from another device, if that is so.
    fn take(&mut self, copy: &Copy) -> Option<Copy> {
        if let (None, Some(device)) = (copy.source, copy.target) {
            let sent = self.0.iter().find(|one| (one.to, one.bytes) == (copy.from, copy.bytes));
            return sent.copied().filter(|one| one.source != Some(device));
        }
        if copy.target.is_none() {
            let end = |one: &Copy| one.to.saturating_add(one.bytes);
            self.0.retain(|one| one.to >= end(copy) || copy.to >= end(one));
            if copy.source.is_some() {
                if self.0.len() == PENDING {
                    self.0.pop_front();
                }
                self.0.push_back(*copy);
            }
        }
        None
    }
}

/// Looks for pairs, call by call. It goes on where it stopped.
#[derive(Debug, Default)]
pub struct Staging {
    threads: Vec<Thread>,
}

#[derive(Debug, Default)]
struct Thread {
    /// Its next row.
    next: usize,
    pending: Pending,
}

/// What pairs are looked for in.
pub struct Calls<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its files.
    pub files: &'a [Arc<dyn Bytes>],
    /// The allocations of each process.
    pub allocations: &'a [Arc<Allocations>],
    /// Up to when those are known, by process, ns on the trace's axis.
    pub known_until: &'a dyn Fn(ProcessId) -> u64,
    /// Which second copies are wanted.
    pub wanted: &'a dyn Fn(TrackId, usize) -> bool,
}

impl Staging {
    /// Looks through at most so many further rows, and tells of each pair; whether that were all that can be looked through.
    pub fn advance(&mut self, calls: &Calls<'_>, most: usize, tell: &mut dyn FnMut(ProcessId, Staged)) -> bool {
        let trace = calls.trace;
        let chosen = choose(trace, Copies::of);
        self.threads.resize_with(trace.tracks.len(), Thread::default);
        let mut left = most;
        for ((id, track), thread) in (0..).map(TrackId).zip(&trace.tracks).zip(&mut self.threads) {
            if thread.next >= track.len() {
                continue;
            }
            let mut records = Records::of(trace, track.process, calls.files);
            let known_until = (calls.known_until)(track.process);
            'chunks: for chunk in track.chunks() {
                let (first, end) = (chunk.first_row(), chunk.first_row() + chunk.len());
                if end <= thread.next {
                    continue;
                }
                if !chunk.summary().apis().any(|api| chosen.get(api.index()).is_some_and(Option::is_some)) {
                    thread.next = end;
                    continue;
                }
                for row in thread.next..end {
                    let Some(next) = left.checked_sub(1) else { return false };
                    left = next;
                    let inner = row - first;
                    let api = chunk.apis().get(inner).and_then(|&api| chosen.get(usize::from(api)));
                    if let (Some(Some(what)), Some(call), Some(offset)) = (api, chunk.call(inner), chunk.offset(inner))
                    {
                        if call.start_ns >= known_until {
                            break 'chunks;
                        }
                        let found = Found { track: id, row, call, what, offset };
                        let pair = thread.take(&found, &mut records, calls.allocations.get(track.process.index()));
                        if let Some(pair) = pair.filter(|_| (calls.wanted)(id, row)) {
                            tell(track.process, pair);
                        }
                    }
                    thread.next = row + 1;
                }
            }
        }
        true
    }
}

impl Copies {
    fn of(api: &Api, base: &str) -> Option<Self> {
        let argument = |role| api.signature.role(role).cloned();
        let way = match bare(base).trim_end_matches("Async") {
            "Memcpy" => Way::Kind(argument("kind")),
            "MemcpyHtoD" => Way::Known(true),
            "MemcpyDtoH" => Way::Known(false),
            _ => return None,
        };
        Some(Self { to: argument("dst")?, from: argument("src")?, bytes: argument("bytes")?, way })
    }
}

impl Thread {
    /// Takes the thread's next copy: the pair whose second one it is.
    fn take(
        &mut self,
        found: &Found<'_, Copies>,
        records: &mut Records<'_>,
        allocations: Option<&Arc<Allocations>>,
    ) -> Option<Staged> {
        if found.call.depth != 0 || found.call.flags.failed() {
            return None;
        }
        let record = records.read(found)?;
        let number = |argument| record.number(argument);
        let (to, from) = (number(&found.what.to)?, number(&found.what.from)?);
        let bytes = number(&found.what.bytes).filter(|&bytes| bytes > 0)?;
        let held = |address| device(allocations?, address, found.call.start_ns);
        let current = || Some(found.call.device).filter(|&device| device != NO_DEVICE);
        let kind = match &found.what.way {
            Way::Known(to_device) => Some(KINDS[usize::from(!to_device)]),
            Way::Kind(kind) => kind.as_ref().and_then(number),
        };
        // Which device it is says the memory, else the current one.
        let (source, target) = match kind {
            Some(1) => (None, held(to).or_else(current)),
            Some(2) => (held(from).or_else(current), None),
            _ => (held(from), held(to)),
        };
        let one = self.pending.take(&Copy { row: found.row, source, target, from, to, bytes })?;
        let (from, to) = (one.source?, target?);
        Some(Staged { track: found.track, first: one.row, second: found.row, from, to, bytes })
    }
}

/// The device that an address is of, if it is a device's.
fn device(allocations: &Allocations, address: u64, at_ns: u64) -> Option<u8> {
    use AllocationKind::{Device, Mapped, Pool};
    let one = allocations.all().get(allocations.find(address, at_ns)?)?;
    (matches!(one.kind, Device | Mapped | Pool) && one.device != NO_DEVICE).then_some(one.device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn copy(row: usize, source: Option<u8>, target: Option<u8>, from: u64, to: u64, bytes: u64) -> Copy {
        Copy { row, source, target, from, to, bytes }
    }

    #[test]
    fn the_same_bytes_sent_on_to_another_device_are_a_pair() {
        let mut pending = Pending::default();
        let pair = |pending: &mut Pending, copy: Copy| pending.take(&copy).map(|one| one.row);
        assert_eq!(pair(&mut pending, copy(0, Some(1), None, 7000, 100, 50)), None);
        assert_eq!(pair(&mut pending, copy(1, None, Some(0), 100, 9000, 50)), Some(0));
        // To a second device as well, but not back to where they came from, and not a part of them.
        assert_eq!(pair(&mut pending, copy(2, None, Some(2), 100, 9000, 50)), Some(0));
        assert_eq!(pair(&mut pending, copy(3, None, Some(1), 100, 9000, 50)), None);
        assert_eq!(pair(&mut pending, copy(4, None, Some(0), 100, 9000, 49)), None);
        // Once something else was copied into them they are other bytes.
        assert_eq!(pair(&mut pending, copy(5, None, None, 1, 149, 1)), None);
        assert_eq!(pair(&mut pending, copy(6, None, Some(0), 100, 9000, 50)), None);
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_a_look_back(
            all in prop::collection::vec((0u8..4, 0u8..4, 0u64..12, 0u64..12, 1u64..5), 0..60),
        ) {
            let side = |number: u8| number.checked_sub(2);
            let all: Vec<Copy> = (0..).zip(&all)
                .map(|(row, &(source, target, from, to, bytes))| copy(row, side(source), side(target), from, to, bytes))
                .collect();
            let mut pending = Pending::default();
            for (at, one) in all.iter().enumerate() {
                let found = pending.take(one).map(|first| first.row);
                let writes = |earlier: &&Copy| {
                    earlier.target.is_none() && earlier.to < one.from + one.bytes && one.from < earlier.to + earlier.bytes
                };
                let last = all[..at].iter().rev().find(writes);
                let whole = |first: &&Copy| {
                    (first.to, first.bytes) == (one.from, one.bytes) && first.source.is_some() && first.source != one.target
                };
                let sends = one.source.is_none() && one.target.is_some();
                prop_assert_eq!(found, last.filter(|_| sends).filter(whole).map(|first| first.row));
            }
        }
    }
}
