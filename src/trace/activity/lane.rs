//! Records of one kind of place, in columns: 25 bytes each, 8 more for the address where a lane has any, and 2 for the devices
//! between which something went.

use super::texts::TextId;
use crate::trace::call::NO_DEVICE;
use crate::trace::ids::ProcessId;
use std::borrow::Cow;
use std::sync::Arc;
use umtui_wire::activity as wire;

/// Rows of a sealed piece of the columns.
const ROWS: usize = 8192;
/// Starts are kept in 48 bits, relative to the first row's, with this added.
const BIAS: u64 = 1 << 47;
/// Column entry that stands for "look into the overflow list".
const LONG: u32 = u32::MAX;
/// Bit of the kind column: the times are not known.
const UNTIMED: u8 = 1 << 7;

/// What a record is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ActivityKind {
    /// A kernel ran.
    #[default]
    Kernel = wire::KIND_KERNEL,
    /// Memory was copied.
    Copy = wire::KIND_COPY,
    /// Memory was set.
    Set = wire::KIND_SET,
    /// The host or a stream waited.
    Wait = wire::KIND_WAIT,
    /// An event was recorded.
    Event = wire::KIND_EVENT,
    /// Time that went elsewhere.
    Overhead = wire::KIND_OVERHEAD,
    /// Unified memory.
    Unified = wire::KIND_UNIFIED,
    /// A whole graph ran.
    Graph = wire::KIND_GRAPH,
    /// Memory was allocated or released, as the driver sees it.
    Memory = wire::KIND_MEMORY,
}

impl ActivityKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Kernel,
        Self::Copy,
        Self::Set,
        Self::Wait,
        Self::Event,
        Self::Overhead,
        Self::Unified,
        Self::Graph,
        Self::Memory,
    ];

    /// Of a record's kind.
    #[must_use]
    pub fn of(kind: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u8 == kind)
    }

    /// Slots of its longest record.
    #[must_use]
    pub const fn slots(self) -> u16 {
        match self {
            Self::Kernel | Self::Copy | Self::Set | Self::Unified | Self::Memory => 2,
            Self::Wait | Self::Event | Self::Overhead | Self::Graph => 1,
        }
    }

    /// Whether it is work of a stream.
    #[must_use]
    pub const fn is_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Set | Self::Graph)
    }
}

/// What a lane is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneOf {
    /// Kernels, copies, sets and graphs of a stream.
    Stream {
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
    },
    /// Likewise of the streams that are too many to be told apart.
    Rest,
    /// Unified memory.
    Unified,
    /// Allocations as the driver sees them.
    Memory,
    /// Waits, events and overheads.
    Host,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// What it is of.
    pub kind: ActivityKind,
    /// Start, ns on the trace's axis.
    pub start_ns: u64,
    /// Duration, ns; zero for moments.
    pub duration_ns: u64,
    /// Whether the driver knew when; if not, `start_ns` is when it was written down, about.
    pub timed: bool,
    /// By kind. Kernel: how it was launched (0 to 3). Copy: its kind, 1 to the device, 2 to the host and so on, with
    /// [`Activity::PAGEABLE`] if either side is pageable and [`Activity::MANAGED`] if either is managed. Set: kind of memory. Wait: what for, 1 to 4. Unified memory:
    /// `UNIFIED_*`, and its flags (cause or access) in the upper four bits. Memory: 1 allocated, 2 released.
    pub detail: u8,
    /// Device, or [`NO_DEVICE`]. Of a migration the device that is not the host, of one between devices that which it
    /// went to.
    pub device: u8,
    /// By kind. Kernel: [`TextId`] of its name. Copy, set, memory, migration: bytes. GPU fault: groups. Graph: CUPTI's
    /// id of it. Wait, event: CUPTI's id of the stream. Overhead: `CUpti_ActivityOverheadKind`. CPU fault: zero, the
    /// instruction is in the record.
    pub value: u64,
    /// Correlation id, zero if there is none.
    pub correlation: u32,
    /// Address, zero if there is none.
    pub address: u64,
    /// Of copies, migrations and mappings between devices: from which one to which one. [`NO_DEVICE`]: none, or not known.
    pub ends: [u8; 2],
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            kind: ActivityKind::default(),
            start_ns: 0,
            duration_ns: 0,
            timed: true,
            detail: 0,
            device: NO_DEVICE,
            value: 0,
            correlation: 0,
            address: 0,
            ends: NO_ENDS,
        }
    }
}

/// Of a row that went between no devices.
const NO_ENDS: [u8; 2] = [NO_DEVICE; 2];

impl Activity {
    /// Bit of a copy's detail: one side of it is pageable memory.
    pub const PAGEABLE: u8 = 1 << 7;
    /// Bit of a copy's detail: one side of it is managed memory.
    pub const MANAGED: u8 = 1 << 6;
    const COPY_KIND: u8 = !(Self::PAGEABLE | Self::MANAGED);

    /// End, ns on the trace's axis; saturates.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    /// Of a kernel: its name.
    #[must_use]
    pub const fn text(&self) -> TextId {
        TextId(self.value as u32)
    }

    /// Of unified memory: `UNIFIED_*`, and the flags: a migration's cause, a fault's access.
    #[must_use]
    pub const fn unified(&self) -> (u16, u8) {
        (self.detail as u16 & 15, self.detail >> 4)
    }

    /// Of a copy: its kind, and whether one side is pageable.
    #[must_use]
    pub const fn copy(&self) -> (u8, bool) {
        (self.detail & Self::COPY_KIND, self.detail & Self::PAGEABLE != 0)
    }

    /// A copy's detail: its kind, and whether a side is pageable, and managed.
    #[must_use]
    pub const fn copy_detail(kind: u8, pageable: bool, managed: bool) -> u8 {
        let kind = if kind < Self::COPY_KIND { kind } else { Self::COPY_KIND };
        kind | if pageable { Self::PAGEABLE } else { 0 } | if managed { Self::MANAGED } else { 0 }
    }
}

/// A piece of the columns.
#[derive(Debug, Default)]
struct Piece {
    base_ns: u64,
    start_low: Vec<u32>,
    start_high: Vec<u16>,
    duration: Vec<u32>,
    kind: Vec<u8>,
    detail: Vec<u8>,
    device: Vec<u8>,
    value: Vec<u32>,
    correlation: Vec<u32>,
    place: Vec<u32>,
    /// Empty as long as no row has one.
    address: Vec<u64>,
    /// Likewise.
    ends: Vec<[u8; 2]>,
    long: Vec<(u32, u64)>,
    large: Vec<(u32, u64)>,
    /// First start and last end of its rows, ns.
    span: (u64, u64),
}

/// Records of one kind of place.
#[derive(Debug)]
pub struct Lane {
    /// Process.
    pub process: ProcessId,
    /// What it is of.
    pub of: LaneOf,
    sealed: Vec<(usize, Arc<Piece>)>,
    tail: Piece,
    tail_row: usize,
    newest_ns: u64,
    sorted: bool,
    span: (u64, u64),
}

impl Lane {
    pub(super) fn new(process: ProcessId, of: LaneOf) -> Self {
        Self {
            process,
            of,
            sealed: Vec::new(),
            tail: Piece::default(),
            tail_row: 0,
            newest_ns: 0,
            sorted: true,
            span: (u64::MAX, 0),
        }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tail_row + self.tail.kind.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// First start and last end, ns on the trace's axis.
    #[must_use]
    pub const fn span(&self) -> (u64, u64) {
        self.span
    }

    /// Whether the rows are in order of start.
    #[must_use]
    pub const fn is_sorted(&self) -> bool {
        self.sorted
    }

    /// A row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Activity> {
        let (piece, inner) = self.piece(row)?;
        piece.get(inner)
    }

    /// Number of the slot where a row's record begins, see [`super::places`].
    #[must_use]
    pub fn place(&self, row: usize) -> Option<u32> {
        let (piece, inner) = self.piece(row)?;
        piece.place.get(inner).copied()
    }

    /// Calls `each` with rows from `from` on, in order of rows.
    pub fn for_each(&self, from: usize, mut each: impl FnMut(usize, Activity)) {
        for (first, piece) in self.pieces() {
            for inner in from.saturating_sub(first)..piece.kind.len() {
                if let Some(activity) = piece.get(inner) {
                    each(first + inner, activity);
                }
            }
        }
    }

    /// Calls `each` with some rows, in order of rows.
    pub fn for_each_in(&self, rows: std::ops::Range<usize>, mut each: impl FnMut(usize, Activity)) {
        let before = self.sealed.partition_point(|(first, _)| *first <= rows.start).saturating_sub(1);
        for (first, piece) in self.pieces().skip(before).take_while(|(first, _)| *first < rows.end) {
            for inner in rows.start.saturating_sub(first)..piece.kind.len().min(rows.end - first) {
                if let Some(activity) = piece.get(inner) {
                    each(first + inner, activity);
                }
            }
        }
    }

    /// Calls `each` with the rows that overlap a span of time, ns, in order of rows; those that only touch it count too.
    pub fn overlapping(&self, (from, to): (u64, u64), mut each: impl FnMut(usize, Activity)) {
        for (first, piece) in self.pieces().filter(|(_, piece)| piece.span.0 <= to && piece.span.1 >= from) {
            for inner in 0..piece.kind.len() {
                if let Some(activity) = piece.get(inner)
                    && activity.start_ns <= to
                    && activity.end_ns() >= from
                {
                    each(first + inner, activity);
                }
            }
        }
    }

    /// All rows in order of start: nothing is copied where they are in it already.
    #[must_use]
    pub fn in_order(&self) -> Order<'_> {
        if self.sorted {
            return Order { lane: self, rows: None };
        }
        let mut keys = Vec::with_capacity(self.len());
        self.for_each(0, |row, activity| keys.push((activity.start_ns, row as u32)));
        keys.sort_unstable();
        Order { lane: self, rows: Some(keys.into_iter().map(|(_, row)| row).collect()) }
    }

    /// Time during which any of its work ran, ns: what overlaps counts once.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns_of(|_| true)
    }

    /// Likewise with those rows only that are wanted.
    #[must_use]
    pub fn busy_ns_of(&self, wanted: impl Fn(usize) -> bool) -> u64 {
        let (mut busy, mut until) = (0u64, 0);
        let order = self.in_order();
        let rows = (0..self.len()).filter_map(|position| order.row(position)).filter(|&row| wanted(row));
        let work = rows.filter_map(|row| self.get(row)).filter(|activity| activity.kind.is_work() && activity.timed);
        for activity in work {
            let end = activity.end_ns();
            busy = busy.saturating_add(end.saturating_sub(activity.start_ns.max(until)));
            until = until.max(end);
        }
        busy
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.pieces().map(|(_, piece)| piece.heap_bytes()).sum()
    }

    pub(super) fn push(&mut self, activity: &Activity, place: u32) {
        if !self.tail.fits(activity.start_ns) {
            let row = self.len();
            let mut full = std::mem::take(&mut self.tail);
            full.shrink();
            self.sealed.push((self.tail_row, Arc::new(full)));
            self.tail_row = row;
        }
        self.sorted &= activity.start_ns >= self.newest_ns;
        self.newest_ns = activity.start_ns;
        self.span = (self.span.0.min(activity.start_ns), self.span.1.max(activity.end_ns()));
        self.tail.push(activity, place);
    }

    fn pieces(&self) -> impl Iterator<Item = (usize, &Piece)> {
        let sealed = self.sealed.iter().map(|(first, piece)| (*first, &**piece));
        sealed.chain(std::iter::once((self.tail_row, &self.tail)))
    }

    fn piece(&self, row: usize) -> Option<(&Piece, usize)> {
        if let Some(inner) = row.checked_sub(self.tail_row) {
            return Some((&self.tail, inner));
        }
        let at = self.sealed.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        let (first, piece) = self.sealed.get(at)?;
        Some((piece, row - first))
    }
}

/// A lane's rows in order of start.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    lane: &'a Lane,
    /// `None`: as they are.
    rows: Option<Vec<u32>>,
}

impl Order<'_> {
    /// Row at a position.
    #[must_use]
    pub fn row(&self, position: usize) -> Option<usize> {
        match &self.rows {
            Some(rows) => rows.get(position).map(|&row| row as usize),
            None => (position < self.lane.len()).then_some(position),
        }
    }

    /// The rows' contents.
    pub fn iter(&self) -> impl Iterator<Item = Activity> + '_ {
        (0..self.lane.len()).filter_map(|position| self.lane.get(self.row(position)?))
    }

    /// The rows' numbers.
    #[must_use]
    pub fn rows(&self) -> Cow<'_, [u32]> {
        match &self.rows {
            Some(rows) => Cow::Borrowed(rows),
            None => (0..self.lane.len() as u32).collect(),
        }
    }
}

impl Piece {
    fn fits(&self, start_ns: u64) -> bool {
        let rows = self.kind.len();
        rows == 0 || (rows < ROWS && start_ns.wrapping_sub(self.base_ns).wrapping_add(BIAS) < BIAS * 2)
    }

    fn push(&mut self, activity: &Activity, place: u32) {
        let row = self.kind.len() as u32;
        if row == 0 {
            self.base_ns = activity.start_ns;
            self.span = (u64::MAX, 0);
        }
        let packed = activity.start_ns.wrapping_sub(self.base_ns).wrapping_add(BIAS);
        self.start_low.push(packed as u32);
        self.start_high.push((packed >> 32) as u16);
        self.duration.push(pack(activity.duration_ns, row, &mut self.long));
        self.kind.push(activity.kind as u8 | if activity.timed { 0 } else { UNTIMED });
        self.detail.push(activity.detail);
        self.device.push(activity.device);
        self.value.push(pack(activity.value, row, &mut self.large));
        self.correlation.push(activity.correlation);
        self.place.push(place);
        if activity.address != 0 && self.address.is_empty() {
            self.address.resize(row as usize, 0);
        }
        if activity.address != 0 || !self.address.is_empty() {
            self.address.push(activity.address);
        }
        if activity.ends != NO_ENDS && self.ends.is_empty() {
            self.ends.resize(row as usize, NO_ENDS);
        }
        if activity.ends != NO_ENDS || !self.ends.is_empty() {
            self.ends.push(activity.ends);
        }
        self.span = (self.span.0.min(activity.start_ns), self.span.1.max(activity.end_ns()));
    }

    fn get(&self, row: usize) -> Option<Activity> {
        let kind = *self.kind.get(row)?;
        let packed = u64::from(*self.start_low.get(row)?) | u64::from(*self.start_high.get(row)?) << 32;
        Some(Activity {
            kind: ActivityKind::of(kind & !UNTIMED)?,
            start_ns: packed.wrapping_sub(BIAS).wrapping_add(self.base_ns),
            duration_ns: unpack(*self.duration.get(row)?, row, &self.long),
            timed: kind & UNTIMED == 0,
            detail: *self.detail.get(row)?,
            device: *self.device.get(row)?,
            value: unpack(*self.value.get(row)?, row, &self.large),
            correlation: *self.correlation.get(row)?,
            address: self.address.get(row).copied().unwrap_or(0),
            ends: self.ends.get(row).copied().unwrap_or(NO_ENDS),
        })
    }

    fn shrink(&mut self) {
        self.start_low.shrink_to_fit();
        self.start_high.shrink_to_fit();
        self.duration.shrink_to_fit();
        self.kind.shrink_to_fit();
        self.detail.shrink_to_fit();
        self.device.shrink_to_fit();
        self.value.shrink_to_fit();
        self.correlation.shrink_to_fit();
        self.place.shrink_to_fit();
        self.address.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.long.shrink_to_fit();
        self.large.shrink_to_fit();
    }

    fn heap_bytes(&self) -> usize {
        let words = self.start_low.capacity()
            + self.duration.capacity()
            + self.value.capacity()
            + self.correlation.capacity()
            + self.place.capacity();
        words * 4
            + self.start_high.capacity() * 2
            + self.kind.capacity()
            + self.detail.capacity()
            + self.device.capacity()
            + self.address.capacity() * 8
            + self.ends.capacity() * 2
            + (self.long.capacity() + self.large.capacity()) * size_of::<(u32, u64)>()
    }
}

fn pack(value: u64, row: u32, overflow: &mut Vec<(u32, u64)>) -> u32 {
    match u32::try_from(value) {
        Ok(value) if value != LONG => value,
        _ => {
            overflow.push((row, value));
            LONG
        }
    }
}

fn unpack(value: u32, row: usize, overflow: &[(u32, u64)]) -> u64 {
    if value != LONG {
        return u64::from(value);
    }
    let at = overflow.partition_point(|&(long, _)| (long as usize) < row);
    overflow.get(at).map_or(u64::from(LONG), |&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn activity() -> impl Strategy<Value = Activity> {
        let time = prop_oneof![4 => 0u64..1_000_000, 1 => any::<u64>()];
        let number =
            prop_oneof![4 => 0u64..1_000_000, 1 => any::<u64>(), 1 => u64::from(LONG) - 1..u64::from(LONG) + 2];
        let address = prop_oneof![3 => Just(0u64), 1 => any::<u64>()];
        let ends = prop_oneof![3 => Just(NO_ENDS), 1 => any::<[u8; 2]>()];
        (0usize..9, time, number.clone(), number, any::<(bool, u8, u8, u32)>(), address, ends).prop_map(
            |(kind, start_ns, duration_ns, value, (timed, detail, device, correlation), address, ends)| Activity {
                kind: ActivityKind::ALL[kind],
                start_ns,
                duration_ns,
                timed,
                detail,
                device,
                value,
                correlation,
                address,
                ends,
            },
        )
    }

    proptest! {
        #[test]
        fn rows_come_back_in_both_orders(all in prop::collection::vec(activity(), 0..300), from: u64, length in 0u64..100_000) {
            let mut lane = Lane::new(ProcessId(0), LaneOf::Unified);
            for (place, activity) in (0..).zip(&all) {
                lane.push(activity, place);
            }
            prop_assert_eq!(lane.len(), all.len());
            let mut seen = Vec::new();
            lane.for_each(0, |_, activity| seen.push(activity));
            prop_assert_eq!(&seen, &all);
            let some = (from as usize % 310, (from as usize % 310).saturating_add(length as usize % 310));
            let mut seen = Vec::new();
            lane.for_each_in(some.0..some.1, |row, activity| seen.push((row, activity)));
            let twin: Vec<_> = all.iter().copied().enumerate().skip(some.0).take(some.1 - some.0).collect();
            prop_assert_eq!(seen, twin);
            let mut sorted: Vec<usize> = (0..all.len()).collect();
            sorted.sort_by_key(|&row| (all[row].start_ns, row));
            let rows: Vec<usize> = lane.in_order().rows().iter().map(|&row| row as usize).collect();
            prop_assert_eq!(lane.is_sorted(), sorted.is_sorted());
            prop_assert_eq!(&rows, &sorted);
            for (row, activity) in all.iter().enumerate() {
                prop_assert_eq!((lane.get(row), lane.place(row)), (Some(*activity), Some(row as u32)));
            }
            let span = (from % 1_000_000, (from % 1_000_000).saturating_add(length));
            let mut found = Vec::new();
            lane.overlapping(span, |row, _| found.push(row));
            let twin: Vec<usize> =
                (0..all.len()).filter(|&row| all[row].start_ns <= span.1 && all[row].end_ns() >= span.0).collect();
            prop_assert_eq!(found, twin);
        }

        #[test]
        fn busy_time_counts_each_moment_once(all in prop::collection::vec((0u64..200, 0u64..30, 0usize..9), 0..40)) {
            let mut lane = Lane::new(ProcessId(0), LaneOf::Rest);
            let mut moments = std::collections::BTreeSet::new();
            for &(start_ns, duration_ns, kind) in &all {
                let kind = ActivityKind::ALL[kind];
                lane.push(&Activity { kind, start_ns, duration_ns, ..Activity::default() }, 0);
                if kind.is_work() {
                    moments.extend(start_ns..start_ns + duration_ns);
                }
            }
            prop_assert_eq!(lane.busy_ns(), moments.len() as u64);
        }
    }

    #[test]
    fn rows_take_25_bytes() {
        let mut lane = Lane::new(ProcessId(0), LaneOf::Rest);
        let rows = ROWS * 5;
        for row in 0..rows as u64 {
            lane.push(&Activity { start_ns: row * 10, value: row, ..Activity::default() }, row as u32);
        }
        assert_eq!(lane.heap_bytes(), rows * 25);
        lane.push(&Activity { start_ns: 7, ..Activity::default() }, 0);
        assert_eq!((lane.len(), lane.is_sorted(), lane.span()), (rows + 1, false, (0, rows as u64 * 10 - 10)));
    }
}
