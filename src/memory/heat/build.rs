//! A heat while its trace grows.

use super::profile::Profile;
use super::{Counted, Sums};
use crate::trace::Lane;

/// Rows of a piece.
pub(super) const ROWS: usize = 1024;
/// Nodes, or pieces, below a node.
pub(super) const FAN: usize = 8;
/// Bins of a piece, and of a node above pieces; further up there are twice as many each time.
const BINS: usize = 96;
const NODE_BINS: usize = 384;
/// Bits of the unit in which a piece keeps addresses: no page is smaller.
const UNIT: u32 = 12;

/// Some rows, and what they sum up to.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// First and last start, ns; the other way round if nothing counts.
    pub span: (u64, u64),
    pub profile: Profile,
}

/// What of a piece's rows counts, by address.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// First row.
    pub first: usize,
    /// Rows less `first`, by address.
    pub order: Vec<u16>,
    /// First address of any, in units.
    base: u64,
    /// Of each row in `order` its address less `base`, in units; what is further off stands at the end.
    units: Vec<u32>,
    /// Bytes of its longest record.
    longest: u64,
}

impl Piece {
    fn of(first: usize, records: &[(Counted, u16, u64)]) -> Self {
        let base = records.first().map_or(0, |(counted, ..)| counted.from >> UNIT);
        let unit = |counted: &Counted| u32::try_from((counted.from >> UNIT) - base).unwrap_or(u32::MAX);
        Self {
            first,
            order: records.iter().map(|(_, inner, _)| *inner).collect(),
            base,
            units: records.iter().map(|(counted, ..)| unit(counted)).collect(),
            longest: records.iter().map(|(counted, ..)| counted.to - counted.from).max().unwrap_or(0),
        }
    }

    /// Rows less `first` that may have something in `from..to`, by address.
    pub fn near(&self, from: u64, to: u64) -> &[u16] {
        let unit = |address: u64| u32::try_from((address >> UNIT).saturating_sub(self.base)).unwrap_or(u32::MAX);
        let (first, last) = (unit(from.saturating_sub(self.longest)), unit(to));
        let begin = self.units.partition_point(|&unit| unit < first);
        let end = self.units.partition_point(|&unit| unit <= last);
        self.order.get(begin..end).unwrap_or_default()
    }

    /// A bit for each of its rows that counts.
    pub fn marks(&self) -> [u64; ROWS / 64] {
        let mut marks = [0; ROWS / 64];
        for &inner in &self.order {
            if let Some(word) = marks.get_mut(usize::from(inner) / 64) {
                *word |= 1 << (inner % 64);
            }
        }
        marks
    }
}

/// Activity of unified memory of a lane, by address and time.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    /// Rows that have been taken.
    rows: usize,
    /// First row of the piece that is not full.
    open_first: usize,
    /// What of it counts, with its row less the first, and its start, ns.
    pub(super) open: Vec<(Counted, u16, u64)>,
    pub(super) pieces: Vec<Piece>,
    /// Of pieces, of eight pieces each, and so on.
    pub(super) levels: Vec<Vec<Node>>,
    /// First start and last, ns.
    span: Option<(u64, u64)>,
    total: Sums,
}

impl Heat {
    /// Rows that have been taken.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// First start and last of what counts, ns on the trace's axis; `None`: nothing does.
    #[must_use]
    pub const fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// Sums of all.
    #[must_use]
    pub const fn total(&self) -> &Sums {
        &self.total
    }

    /// Takes rows of the lane up to `to`, those that are wanted. It must always be the same lane, and the same are wanted.
    pub fn take(&mut self, lane: &Lane, to: usize, wanted: impl Fn(usize) -> bool) {
        let to = to.min(lane.len());
        lane.for_each_in(self.rows..to, |row, activity| {
            self.close(row);
            let Some(counted) = Counted::of(&activity).filter(|_| wanted(row)) else { return };
            let (first, last) = self.span.unwrap_or((u64::MAX, 0));
            self.span = Some((first.min(activity.start_ns), last.max(activity.start_ns)));
            self.total.count(counted.measure, counted.to - counted.from);
            self.open.extend(u16::try_from(row - self.open_first).map(|inner| (counted, inner, activity.start_ns)));
        });
        self.rows = self.rows.max(to);
        self.close(self.rows);
    }

    /// Closes the piece if it ends before a row, and the nodes above that have become full.
    fn close(&mut self, row: usize) {
        if row - self.open_first < ROWS {
            return;
        }
        let first = std::mem::replace(&mut self.open_first, row);
        let mut records = std::mem::take(&mut self.open);
        records.sort_unstable_by_key(|(counted, inner, _)| (counted.from, *inner));
        let span = records.iter().fold((u64::MAX, 0), |all, one| (all.0.min(one.2), all.1.max(one.2)));
        let hint = self.levels.first().and_then(|nodes| nodes.last()).map(|node| &node.profile);
        let profile = Profile::of(&records, BINS, hint);
        self.pieces.push(Piece::of(first, &records));
        self.push(0, Node { span, profile });
        records.clear();
        self.open = records;
    }

    fn push(&mut self, level: usize, node: Node) {
        if level >= self.levels.len() {
            self.levels.push(Vec::new());
        }
        let Some(nodes) = self.levels.get_mut(level) else { return };
        nodes.push(node);
        if !nodes.len().is_multiple_of(FAN) {
            return;
        }
        let eight = nodes.get(nodes.len() - FAN..).unwrap_or_default();
        let span = eight.iter().fold((u64::MAX, 0), |all, one| (all.0.min(one.span.0), all.1.max(one.span.1)));
        let most = NODE_BINS << level.min(6);
        let profile = Profile::merged(eight.iter().map(|one| &one.profile), most);
        self.push(level + 1, Node { span, profile });
    }

    /// The nodes that no other is above: level and number, the largest first.
    pub(super) fn tops(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let of = |level: usize| {
            let covered = self.levels.get(level + 1).map_or(0, |above| above.len() * FAN);
            (covered..self.levels.get(level).map_or(0, Vec::len)).map(move |at| (level, at))
        };
        (0..self.levels.len()).rev().flat_map(of)
    }

    /// Pieces of the addresses in which there may be something: first, and first after it, in order; what lies at most
    /// `gap` bytes apart is one. They are as exact as the largest nodes are.
    #[must_use]
    pub fn extents(&self, gap: u64) -> Vec<(u64, u64)> {
        let nodes = self.tops().filter_map(|(level, at)| self.levels.get(level)?.get(at));
        let mut all: Vec<(u64, u64)> = nodes.flat_map(|node| node.profile.extents()).collect();
        all.extend(self.open.iter().map(|(one, ..)| (one.from, one.to)));
        all.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in all {
            match joined.last_mut() {
                Some(last) if from <= last.1.saturating_add(gap) => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        joined
    }

    /// Bytes on the heap that grow with the number of records.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let nodes = self.levels.iter().flatten().map(|node| size_of::<Node>() + node.profile.heap_bytes());
        let of_rows = size_of::<u16>() + size_of::<u32>();
        let pieces = self.pieces.iter().map(|piece| size_of::<Piece>() + piece.order.capacity() * of_rows);
        nodes.sum::<usize>() + pieces.sum::<usize>()
    }
}

// Rows of a piece are counted in 16 bits.
const _: () = assert!(ROWS <= 1 << 16);
