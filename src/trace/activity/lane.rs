//! Records of one kind of place, in columns.

use super::piece::{Growing, Packed, Piece};
use super::record::{Activity, LaneOf};
use crate::trace::ids::ProcessId;
use std::borrow::Cow;
use std::sync::Arc;

/// Records of one kind of place. A copy shares all but the newest rows.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Process.
    pub process: ProcessId,
    /// What it is of.
    pub of: LaneOf,
    sealed: Vec<(usize, Arc<Packed>)>,
    tail: Growing,
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
            tail: Growing::default(),
            tail_row: 0,
            newest_ns: 0,
            sorted: true,
            span: (u64::MAX, 0),
        }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tail_row + self.tail.len()
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
        piece.place(inner)
    }

    /// Calls `each` with rows from `from` on, in order of rows.
    pub fn for_each(&self, from: usize, mut each: impl FnMut(usize, Activity)) {
        for (first, piece) in self.pieces() {
            for inner in from.saturating_sub(first)..piece.len() {
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
            for inner in rows.start.saturating_sub(first)..piece.len().min(rows.end - first) {
                if let Some(activity) = piece.get(inner) {
                    each(first + inner, activity);
                }
            }
        }
    }

    /// Some rows in pieces, each with the first start and last end of all rows of its piece, ns.
    pub fn spans(&self, rows: std::ops::Range<usize>) -> impl Iterator<Item = (std::ops::Range<usize>, (u64, u64))> {
        let before = self.sealed.partition_point(|(first, _)| *first <= rows.start).saturating_sub(1);
        let (from, to) = (rows.start, rows.end);
        let pieces = self.pieces().skip(before).take_while(move |(first, _)| *first < to);
        let cut = pieces.map(move |(first, piece)| (first.max(from)..(first + piece.len()).min(to), piece.span()));
        cut.filter(|(rows, _)| !rows.is_empty())
    }

    /// Calls `each` with the rows that overlap a span of time, ns, in order of rows; those that only touch it count too.
    pub fn overlapping(&self, (from, to): (u64, u64), mut each: impl FnMut(usize, Activity)) {
        for (first, piece) in self.pieces().filter(|(_, piece)| piece.span().0 <= to && piece.span().1 >= from) {
            for inner in 0..piece.len() {
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
            self.sealed.push((self.tail_row, Arc::new(Packed::of(&self.tail))));
            self.tail.clear();
            self.tail_row = row;
        }
        self.sorted &= activity.start_ns >= self.newest_ns;
        self.newest_ns = activity.start_ns;
        self.span = (self.span.0.min(activity.start_ns), self.span.1.max(activity.end_ns()));
        self.tail.push(activity, place);
    }

    fn pieces(&self) -> impl Iterator<Item = (usize, Piece<'_>)> {
        let sealed = self.sealed.iter().map(|(first, piece)| (*first, Piece::Packed(piece)));
        sealed.chain(std::iter::once((self.tail_row, Piece::Growing(&self.tail))))
    }

    fn piece(&self, row: usize) -> Option<(Piece<'_>, usize)> {
        if let Some(inner) = row.checked_sub(self.tail_row) {
            return Some((Piece::Growing(&self.tail), inner));
        }
        let at = self.sealed.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        let (first, piece) = self.sealed.get(at)?;
        Some((Piece::Packed(piece), row - first))
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

#[cfg(test)]
mod tests {
    use super::super::piece::{LONG, ROWS};
    use super::super::record::{ActivityKind, NO_ENDS};
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
            let mut next = some.0;
            for (rows, (first, last)) in lane.spans(some.0..some.1) {
                prop_assert!(rows.start == next && !rows.is_empty());
                next = rows.end;
                prop_assert!(all[rows].iter().all(|one| one.start_ns >= first && one.end_ns() <= last));
            }
            prop_assert_eq!(next, some.1.min(all.len()).max(some.0));
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
    fn full_pieces_come_back_and_take_little() {
        let mut lane = Lane::new(ProcessId(0), LaneOf::Unified);
        let fault = |row: u64| Activity {
            kind: ActivityKind::Unified,
            start_ns: (1 << 50) + row * 1_300,
            duration_ns: row * 7_919 % 40_000,
            timed: !row.is_multiple_of(3),
            detail: 2 + (row as u8 % 2) * 16,
            device: 0,
            value: row % 5,
            correlation: 0,
            ends: if row < ROWS as u64 { [0, 1] } else { NO_ENDS },
            address: 0x7f00_0000_0000 + row * 104_729 % (1 << 20) * 4096,
        };
        // The last piece is open, and as wide as any number may be: what a full one takes shows between two moments.
        let rows = ROWS * 20;
        let mut before = 0;
        for row in 0..rows {
            lane.push(&fault(row as u64), row as u32 * 2);
            if row == ROWS * 5 {
                before = lane.heap_bytes();
            }
        }
        lane.push(&Activity { start_ns: 7, ..Activity::default() }, 0);
        assert!(lane.heap_bytes() <= rows * 20, "{}", lane.heap_bytes() / rows);
        let full = lane.heap_bytes() - before;
        assert!(full <= (rows - ROWS * 5) * 17, "{}", full / (rows - ROWS * 5));
        for row in 0..rows {
            assert_eq!((lane.get(row), lane.place(row)), (Some(fault(row as u64)), Some(row as u32 * 2)));
        }
        let end = (0..rows as u64).map(|row| fault(row).end_ns()).max();
        assert_eq!(
            (lane.len(), lane.is_sorted(), lane.get(rows + 1), lane.place(rows + 1)),
            (rows + 1, false, None, None)
        );
        assert_eq!(Some(lane.span().1), end);
    }
}
