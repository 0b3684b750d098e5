//! Events that are no calls, in order of start: rows of lanes that are wanted, and ranges.
//!
//! A lane whose rows are all wanted and in order is used as it is. Of the others the wanted rows are listed once, and
//! what comes later is put where it belongs.

use rustc_hash::FxHashSet;
use std::ops::Range;
use std::time::Instant;

use super::view::{EventGroup, EventKinds, EventsWithin};
use crate::graph::WorkOf;
use crate::lens::{Marks, Selected};
use crate::memory::heat::Counted;
use crate::trace::activity::LaneId;
use crate::trace::{Activity, ActivityKind, Lane, LaneOf, Trace, TrackId};
use umtui_wire::activity as wire;

/// Rows looked at before the clock is.
const STEP: usize = 65_536;

/// A cell of what the GPU did: lane, device, kind.
pub(super) type CellKey = (LaneId, u8, WorkOf);

/// Which events other than calls are wanted, and where they are as far as they have been looked for.
#[derive(Debug, Default)]
pub(super) struct Others {
    kinds: EventKinds,
    /// Only these, if there is such a condition.
    cells: Option<FxHashSet<CellKey>>,
    lanes: Vec<Listed>,
}

/// The wanted rows of a lane.
#[derive(Debug, Default)]
struct Listed {
    /// Rows that have been looked at.
    taken: usize,
    /// In order of start; `None`: all that were looked at, as they are.
    rows: Option<Vec<u32>>,
}

impl Others {
    /// Those of these kinds, of these cells only if there are some.
    pub(super) fn new(kinds: EventKinds, cells: Option<FxHashSet<CellKey>>) -> Self {
        Self { kinds, cells, lanes: Vec::new() }
    }

    /// Whether it is of these.
    pub(super) fn is_of(&self, kinds: EventKinds, cells: Option<&FxHashSet<CellKey>>) -> bool {
        self.kinds == kinds && self.cells.as_ref() == cells
    }

    /// Looks at what has come, until `until`, of a lens only at what it selects; true when all has been looked at.
    pub(super) fn update(&mut self, trace: &Trace, sieve: Option<&Selected>, until: Instant) -> bool {
        let lanes = trace.activities.lanes();
        self.lanes.resize_with(lanes.len(), Listed::default);
        let (kinds, cells) = (self.kinds, &self.cells);
        for (id, (lane, listed)) in (0..).map(LaneId).zip(lanes.iter().zip(&mut self.lanes)) {
            let groups = groups(lane.of);
            let within = kinds.within();
            let none = !groups.iter().any(|&group| kinds.has(group));
            let all =
                sieve.is_none() && cells.is_none() && within.is_none() && groups.iter().all(|&group| kinds.has(group));
            if none {
                (listed.taken, listed.rows) = (lane.len(), Some(Vec::new()));
                continue;
            }
            if all && lane.is_sorted() {
                (listed.taken, listed.rows) = (lane.len(), None);
                continue;
            }
            if listed.rows.is_none() {
                *listed = Listed { taken: 0, rows: Some(Vec::new()) };
            }
            // No further than the lens has come.
            let marks = sieve.map(|sieve| sieve.records.get(id.0 as usize));
            let limit = marks.map_or(lane.len(), |marks| marks.map_or(0, Marks::len));
            let wanted = |row: usize, activity: &Activity| {
                let of_cell = |cells: &FxHashSet<CellKey>| {
                    WorkOf::of(activity).is_some_and(|of| cells.contains(&(id, activity.device, of)))
                };
                let selected = marks.flatten().is_none_or(|marks| marks.has(row));
                selected
                    && kinds.has(group_of(activity))
                    && within.is_none_or(|within| lies(trace, lane, activity, within))
                    && cells.as_ref().is_none_or(of_cell)
            };
            while listed.taken < limit {
                if Instant::now() >= until {
                    return false;
                }
                listed.take(lane, limit, wanted);
            }
        }
        true
    }

    fn listed(&self, id: LaneId) -> Option<&Listed> {
        self.lanes.get(id.0 as usize)
    }

    /// Wanted rows of a lane.
    pub(super) fn len(&self, id: LaneId) -> usize {
        self.listed(id).map_or(0, Listed::len)
    }

    /// Those that start before a time.
    pub(super) fn before(&self, trace: &Trace, id: LaneId, ns: u64) -> usize {
        let (Some(lane), Some(listed)) = (trace.activities.lane(id), self.listed(id)) else { return 0 };
        match lane.span() {
            (first, _) if ns <= first => 0,
            (_, last) if ns > last => listed.len(),
            _ => listed.before(lane, ns),
        }
    }

    /// Start, level and number of those at these places.
    pub(super) fn rows(&self, trace: &Trace, id: LaneId, places: Range<usize>) -> Vec<(u64, u8, usize)> {
        let (Some(lane), Some(listed)) = (trace.activities.lane(id), self.listed(id)) else { return Vec::new() };
        let rows = (places.start..places.end.min(listed.len())).filter_map(|place| listed.row(place));
        rows.filter_map(|row| lane.get(row).map(|activity| (activity.start_ns, 0, row))).collect()
    }

    /// Whether ranges and marks are wanted.
    fn has_ranges(&self) -> bool {
        self.cells.is_none() && self.kinds.has(EventGroup::Ranges)
    }

    /// Wanted ranges of a thread.
    pub(super) fn ranges(&self, trace: &Trace, sieve: Option<&Selected>, track: TrackId) -> usize {
        match sieve {
            _ if !self.has_ranges() => 0,
            Some(sieve) => sieve.ranges.get(track.index()).map_or(0, Marks::ones),
            None => trace.ranges.of(track).len(),
        }
    }

    /// Those that start before a time.
    pub(super) fn ranges_before(&self, trace: &Trace, sieve: Option<&Selected>, track: TrackId, ns: u64) -> usize {
        if !self.has_ranges() {
            return 0;
        }
        let before = trace.ranges.of(track).partition_point(|range| range.start_ns < ns);
        match sieve {
            Some(sieve) => sieve.ranges.get(track.index()).map_or(0, |marks| marks.rank(before)),
            None => before,
        }
    }

    /// Start, level and number of those at these places.
    pub(super) fn range_rows(
        &self,
        trace: &Trace,
        sieve: Option<&Selected>,
        track: TrackId,
        places: Range<usize>,
    ) -> Vec<(u64, u8, usize)> {
        let ranges = trace.ranges.of(track);
        let places = places.start..places.end.min(self.ranges(trace, sieve, track));
        let row = |place: usize| match sieve {
            Some(sieve) => sieve.ranges.get(track.index())?.select(place),
            None => Some(place),
        };
        let rows = places.filter_map(row);
        rows.filter_map(|row| ranges.get(row).map(|range| (range.start_ns, range.level, row))).collect()
    }
}

impl Listed {
    fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.taken, Vec::len)
    }

    fn row(&self, place: usize) -> Option<usize> {
        match &self.rows {
            Some(rows) => rows.get(place).map(|&row| row as usize),
            None => (place < self.taken).then_some(place),
        }
    }

    fn before(&self, lane: &Lane, ns: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let start = self.row(middle).and_then(|row| lane.get(row)).map_or(u64::MAX, |activity| activity.start_ns);
            if start < ns {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Looks at some more rows.
    fn take(&mut self, lane: &Lane, limit: usize, wanted: impl Fn(usize, &Activity) -> bool) {
        let mut fresh: Vec<(u64, u32)> = Vec::new();
        let end = limit.min(self.taken.saturating_add(STEP));
        for row in self.taken..end {
            if let (Some(activity), Ok(number)) = (lane.get(row), u32::try_from(row))
                && wanted(row, &activity)
            {
                fresh.push((activity.start_ns, number));
            }
        }
        self.taken = end;
        fresh.sort_unstable();
        let (Some(rows), Some(&first)) = (&mut self.rows, fresh.first()) else { return };
        let key = |row: u32| (lane.get(row as usize).map_or(0, |activity| activity.start_ns), row);
        // Most of what is late is late by little.
        let mut displaced = rows.split_off(rows.partition_point(|&row| key(row) < first)).into_iter().peekable();
        for (start, row) in fresh {
            while let Some(other) = displaced.next_if(|&other| key(other) < (start, row)) {
                rows.push(other);
            }
            rows.push(row);
        }
        rows.extend(displaced);
    }
}

/// Whether a record lies in a rectangle.
fn lies(trace: &Trace, lane: &Lane, activity: &Activity, within: EventsWithin) -> bool {
    let (from, to) = within.ns;
    let since = activity.start_ns.saturating_sub(trace.start_ns());
    let inside = |counted: Counted| counted.within(within.addresses.0, within.addresses.1) > 0;
    lane.process.0 == within.process && (from..to).contains(&since) && Counted::of(activity).is_some_and(inside)
}

/// What a lane may hold.
const fn groups(of: LaneOf) -> &'static [EventGroup] {
    match of {
        LaneOf::Stream { .. } | LaneOf::Rest => &[EventGroup::Kernels, EventGroup::Copies],
        LaneOf::Unified => &[EventGroup::Migrations, EventGroup::Faults],
        LaneOf::Memory => &[EventGroup::Allocations],
        LaneOf::Host => &[EventGroup::Waits, EventGroup::Overheads],
    }
}

/// The group of a record.
pub(super) const fn group_of(activity: &Activity) -> EventGroup {
    match activity.kind {
        ActivityKind::Kernel | ActivityKind::Graph => EventGroup::Kernels,
        ActivityKind::Copy | ActivityKind::Set => EventGroup::Copies,
        ActivityKind::Wait | ActivityKind::Event => EventGroup::Waits,
        ActivityKind::Overhead => EventGroup::Overheads,
        ActivityKind::Memory => EventGroup::Allocations,
        ActivityKind::Unified => match activity.unified().0 {
            wire::UNIFIED_TO_DEVICE | wire::UNIFIED_TO_HOST | wire::UNIFIED_BETWEEN_DEVICES => EventGroup::Migrations,
            _ => EventGroup::Faults,
        },
    }
}
