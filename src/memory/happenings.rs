//! What happens to pages, in order of time: records of unified memory, and what calls say.

use std::sync::Arc;

use umtui_wire::activity as wire;

use super::homes::{PAGE_BYTES, Place, pages};
use super::state::{Advise, Cause, Happening};
use crate::correlate::calls::{Found, Record, Records, Search, bare};
use crate::correlate::{Allocation, AllocationKind, Allocations};
use crate::trace::activity::Lane;
use crate::trace::{Activity, ActivityKind, Api, Argument, Bytes, CallFlags, NO_DEVICE, ProcessId, Trace};

/// Accesses of a fault that write: `CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE` and `..._ATOMIC`.
const WRITES: [u8; 2] = [2, 3];

/// Pages: first, and first after.
pub type Range = (u64, u64);

/// What a record says happened to which pages; `None`: nothing that says where pages are.
#[must_use]
pub fn of_record(activity: &Activity) -> Option<(Range, Happening)> {
    if activity.kind != ActivityKind::Unified {
        return None;
    }
    let (counter, flags) = activity.unified();
    let device = Place::Device(activity.device);
    let cause = Cause::of(activity);
    let page = activity.address / PAGE_BYTES;
    let whole = || pages(activity.address, activity.value);
    let touched = |by| ((page, page + 1), Happening::Touched { by, writes: WRITES.contains(&flags) });
    Some(match counter {
        wire::UNIFIED_TO_DEVICE => (whole(), Happening::Moved { from: Some(Place::Host), to: device, cause }),
        wire::UNIFIED_TO_HOST => (whole(), Happening::Moved { from: Some(device), to: Place::Host, cause }),
        wire::UNIFIED_BETWEEN_DEVICES => (whole(), Happening::Moved { from: None, to: device, cause }),
        wire::UNIFIED_CPU_FAULT => touched(Place::Host),
        wire::UNIFIED_GPU_FAULT => touched(device),
        wire::UNIFIED_REMOTE_MAP if activity.device != NO_DEVICE => (whole(), Happening::Mapped(device)),
        _ => return None,
    })
}

/// Something that calls say of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// When, ns on the trace's axis.
    pub at_ns: u64,
    /// Which pages.
    pub pages: Range,
    /// What.
    pub what: Happening,
    /// The allocation that ends with it: index into [`Allocations::all`].
    pub ends: Option<u32>,
}

/// What the calls of a process say, in order of time: managed memory comes and goes, prefetches, advice.
#[must_use]
pub fn told(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], allocations: &Allocations) -> Vec<Told> {
    let mut telling = Telling::new(process);
    telling.advance(trace, files, &mut || true);
    telling.told(allocations)
}

/// Finds what the calls of a process say in two steps: prefetches and advice, in slices, and then all of it in order, for
/// which the trace is needed no longer. Of a batch only the first piece is recorded.
pub struct Telling(Search<Says, Told>);

impl Telling {
    /// Before the first call.
    #[must_use]
    pub const fn new(process: ProcessId) -> Self {
        Self(Search::new(process))
    }

    /// Goes on with the first step, as long as `more` says so, which is asked now and then; true when all calls have been
    /// looked at. `files` are those of the trace.
    pub fn advance(&mut self, trace: &Trace, files: &[Arc<dyn Bytes>], more: &mut dyn FnMut() -> bool) -> bool {
        self.0.advance(trace, files, says, said, more)
    }

    /// The second step. `allocations` are those of the process.
    #[must_use]
    pub fn told(self, allocations: &Allocations) -> Vec<Told> {
        let mut told = lives(allocations);
        told.extend(self.0.into_found());
        told.sort_by_key(|told| told.at_ns);
        told
    }
}

/// Managed memory that comes, and goes.
pub(super) fn lives(allocations: &Allocations) -> Vec<Told> {
    let mut told = Vec::new();
    let managed = (0..).zip(allocations.all()).filter(|(_, one)| one.kind == AllocationKind::Managed);
    for (index, one) in managed {
        let mut tell = |at_ns, ends| {
            told.push(Told { at_ns, pages: own_pages(allocations, one, at_ns), what: Happening::Fresh, ends });
        };
        tell(one.from_ns, None);
        if one.until_ns != u64::MAX {
            tell(one.until_ns, Some(index));
        }
    }
    told
}

/// Pages of an allocation that no other one shares at that moment, ns.
fn own_pages(allocations: &Allocations, one: &Allocation, at_ns: u64) -> Range {
    let (mut first, mut after) = pages(one.address, one.bytes);
    let lives = |address| allocations.find(address, at_ns).is_some();
    if !one.address.is_multiple_of(PAGE_BYTES) && (lives(one.address - 1) || lives(first * PAGE_BYTES)) {
        first += 1;
    }
    let next = allocations.next_base(one.end() - 1).filter(|next| next / PAGE_BYTES + 1 == after);
    if next.is_some_and(lives) {
        after -= 1;
    }
    (first, after.max(first))
}

/// A function that says something of pages, by its arguments.
struct Says {
    address: Argument,
    bytes: Argument,
    /// `None`: it is a prefetch.
    advice: Option<Argument>,
    device: Option<Argument>,
    location: Option<Argument>,
}

impl Says {
    /// The place that is named; `None`: none, or one that is not told.
    fn place(&self, record: &Record<'_>) -> Option<Place> {
        if let Some(device) = &self.device {
            return match record.number(device)? as u32 as i32 {
                -1 => Some(Place::Host),
                device => u8::try_from(device).ok().map(Place::Device),
            };
        }
        let bits = record.number(self.location.as_ref()?)?;
        match bits as u32 {
            1 => u8::try_from(bits >> 32).ok().map(Place::Device),
            2..=4 => Some(Place::Host),
            _ => None,
        }
    }

    fn what(&self, record: &Record<'_>) -> Option<Happening> {
        let Some(advice) = &self.advice else { return self.place(record).map(Happening::Asked) };
        Some(Happening::Advised(match record.number(advice)? {
            1 => Advise::ReadMostly(true),
            2 => Advise::ReadMostly(false),
            3 => Advise::Preferred(self.place(record)),
            4 => Advise::Preferred(None),
            5 => Advise::AccessedBy(self.place(record)?, true),
            6 => Advise::AccessedBy(self.place(record)?, false),
            _ => return None,
        }))
    }
}

/// What a function says.
fn says(api: &Api, base: &str) -> Option<Says> {
    let argument = |role| api.signature.role(role).cloned();
    let (size, advice) = match bare(base) {
        "MemAdvise" => ("bytes", Some(argument("advice")?)),
        "MemPrefetchAsync" => ("bytes", None),
        "MemPrefetchBatchAsync" | "MemDiscardAndPrefetchBatchAsync" => ("first", None),
        _ => return None,
    };
    let (device, location) = (argument("device"), argument("location"));
    Some(Says { address: argument("ptr")?, bytes: argument(size)?, advice, device, location })
}

/// What a call says.
fn said(found: &Found<'_, Says>, records: &mut Records<'_>) -> Option<Told> {
    let flags = found.call.flags;
    if found.call.depth != 0 || flags.failed() || flags.has(CallFlags::CAPTURED) {
        return None;
    }
    let record = records.read(found)?;
    let number = |argument| record.number(argument).filter(|&number| number != 0);
    let (address, bytes) = (number(&found.what.address)?, number(&found.what.bytes)?);
    let what = found.what.what(&record)?;
    Some(Told { at_ns: found.call.end_ns(), pages: pages(address, bytes), what, ends: None })
}

/// Pieces of rows that are read at once, and rows of a piece, about.
const AT_ONCE: usize = 8;
const PIECE: usize = 4096;

/// Goes through the rows of a lane and through what calls say, in order of time, by slices and while the lane grows.
///
/// Rows come almost in order. So pieces of them wait until the moment at which their first row began, and only those that
/// overlap it are in memory, in order.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    /// Rows of the lane that are known.
    taken: usize,
    /// Pieces that are not read yet, the earliest last.
    pieces: Vec<Piece>,
    /// Start and number of rows that are to come, in order.
    rows: Vec<(u64, u32)>,
    next_row: usize,
    next_told: usize,
    /// Up to which moment all has been handed out, ns.
    reached_ns: u64,
}

/// Rows one behind the other.
#[derive(Clone, Debug)]
struct Piece {
    /// None of them that is wanted begins earlier, ns.
    start_ns: u64,
    rows: std::ops::Range<usize>,
    /// Only those are wanted that begin at or after this moment, ns.
    from_ns: u64,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Something that calls say: index into the list.
    Told(usize),
    /// A row of the lane.
    Row(usize, Activity),
}

impl Feed {
    /// Takes rows that have come, if all known ones are used up, and reads on; the earliest start of those that are late, ns: all
    /// that happened since then must be undone, and [`Feed::rewind`] called, before going on. To be called whenever
    /// [`Feed::next`] has nothing and there is more.
    pub fn take(&mut self, lane: &Lane) -> Option<u64> {
        let mut late = None;
        if self.next_row >= self.rows.len() && self.pieces.is_empty() && self.taken < lane.len() {
            for (rows, (first_ns, _)) in lane.spans(self.taken..lane.len()) {
                let mut start_ns = first_ns;
                if first_ns < self.reached_ns {
                    // Others of the piece may be meant, which were there before.
                    start_ns = u64::MAX;
                    lane.for_each_in(rows.clone(), |_, activity| start_ns = start_ns.min(activity.start_ns));
                }
                self.pieces.push(Piece { start_ns, rows, from_ns: 0 });
            }
            self.taken = lane.len();
            self.in_order();
            late = self.pieces.last().map(|piece| piece.start_ns).filter(|&start_ns| start_ns < self.reached_ns);
        }
        self.read(lane);
        late
    }

    fn in_order(&mut self) {
        self.pieces.sort_by_key(|piece| std::cmp::Reverse((piece.start_ns, piece.rows.start)));
    }

    /// Whether a piece must be read before the next row is known.
    fn must_read(&self) -> bool {
        let head = self.rows.get(self.next_row);
        self.pieces.last().is_some_and(|piece| head.is_none_or(|head| piece.start_ns <= head.0))
    }

    /// Reads the pieces that come next, some at a time.
    fn read(&mut self, lane: &Lane) {
        if !self.must_read() {
            return;
        }
        self.rows.drain(..self.next_row.min(self.rows.len()));
        self.next_row = 0;
        let mut head = self.rows.first().map_or(u64::MAX, |row| row.0);
        // The more overlap the more are read, or those that are in order already would be gone through too often.
        for _ in 0..AT_ONCE.max(self.rows.len() / PIECE) {
            let Some(piece) = self.pieces.pop_if(|piece| piece.start_ns <= head) else { break };
            let before = self.rows.len();
            self.put(lane, &piece, u64::MAX);
            let new = self.rows.get(before..).unwrap_or_default();
            head = new.iter().map(|row| row.0).min().unwrap_or(head).min(head);
        }
        self.rows.sort();
    }

    /// Puts the rows of a piece behind the others that begin before a moment, ns.
    fn put(&mut self, lane: &Lane, piece: &Piece, until_ns: u64) {
        lane.for_each_in(piece.rows.clone(), |row, activity| {
            let is_wanted =
                activity.start_ns >= piece.from_ns && (activity.start_ns < until_ns || until_ns == u64::MAX);
            self.rows.extend(is_wanted.then_some((activity.start_ns, row as u32)));
        });
    }

    /// Goes back: rows and what calls say from a moment on, ns, come again.
    pub fn rewind(&mut self, lane: &Lane, told: &[Told], to_ns: u64) {
        let mut rows: Vec<(u64, u32)> = self.rows.split_off(self.next_row.min(self.rows.len()));
        rows.retain(|row| row.0 < to_ns);
        self.rows = rows;
        self.next_row = 0;
        for piece in std::mem::take(&mut self.pieces).iter().filter(|piece| piece.start_ns < to_ns) {
            self.put(lane, piece, to_ns);
        }
        self.rows.sort();
        let wanted = lane.spans(0..self.taken).filter(|(_, (_, last_ns))| *last_ns >= to_ns);
        self.pieces =
            wanted.map(|(rows, (first_ns, _))| Piece { start_ns: first_ns.max(to_ns), rows, from_ns: to_ns }).collect();
        self.in_order();
        self.next_told = told.partition_point(|told| told.at_ns < to_ns);
        self.reached_ns = to_ns;
    }

    /// What comes next; `None`: nothing that has been read. What calls say comes before rows that begin at the same moment.
    pub fn next(&mut self, lane: &Lane, told: &[Told]) -> Option<Next> {
        if self.must_read() {
            return None;
        }
        let row = self.rows.get(self.next_row).copied();
        let told_ns = told.get(self.next_told).map(|told| told.at_ns);
        match (row, told_ns) {
            (Some((start_ns, row)), told_ns) if told_ns.is_none_or(|at_ns| at_ns > start_ns) => {
                self.next_row += 1;
                self.reached_ns = start_ns;
                lane.get(row as usize).map(|activity| Next::Row(row as usize, activity))
            }
            (Some(_), Some(at_ns)) => Some(self.tell(at_ns)),
            // What comes after all rows is known only when there are no more.
            (None, Some(at_ns)) if self.taken >= lane.len() => Some(self.tell(at_ns)),
            _ => None,
        }
    }

    const fn tell(&mut self, at_ns: u64) -> Next {
        self.next_told += 1;
        self.reached_ns = at_ns;
        Next::Told(self.next_told - 1)
    }

    /// Whether all that is there has been handed out.
    #[must_use]
    pub fn is_done(&self, lane: &Lane, told: &[Told]) -> bool {
        self.next_row >= self.rows.len()
            && self.pieces.is_empty()
            && self.taken >= lane.len()
            && self.next_told >= told.len()
    }

    /// Whether something may have been handed out that is not before a moment, ns.
    #[must_use]
    pub const fn is_past(&self, at_ns: u64) -> bool {
        self.reached_ns >= at_ns
    }
}
