//! Ranges and marks: what a program says of itself (NVTX).

use super::activity::TextId;
use super::ids::{ProcessId, TrackId};
use rustc_hash::FxHashMap;

/// Ends that are kept while their beginnings have not been read.
const EARLY: usize = 1 << 16;
/// End of a range that has none yet.
const OPEN: u64 = u64::MAX;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RangeKind {
    /// Pushed on the thread's stack.
    Pushed,
    /// Begun by this thread; any may end it.
    Started,
    /// A moment.
    Mark,
}

/// A range or a mark of a thread, 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Start, ns on the trace's axis.
    pub start_ns: u64,
    end_ns: u64,
    /// Name.
    pub name: TextId,
    /// 0xAARRGGBB, zero if none was given.
    pub color: u32,
    /// Number of its record's slot, see [`super::activity::places`].
    pub place: u32,
    domain: u16,
    /// How many of its thread's ranges were open around it, as the recorder counted; 255 stands for more, too.
    pub level: u8,
    /// What it is.
    pub kind: RangeKind,
}

impl Range {
    /// End, ns on the trace's axis; `None` while it is open. A mark ends as it starts.
    #[must_use]
    pub const fn end_ns(&self) -> Option<u64> {
        if self.end_ns == OPEN { None } else { Some(self.end_ns) }
    }
}

/// What a record says that begins a range, or is a mark.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// When, ns on the trace's axis.
    pub ns: u64,
    /// Name.
    pub name: TextId,
    /// Domain.
    pub domain: TextId,
    /// 0xAARRGGBB.
    pub color: u32,
    /// Level.
    pub level: u16,
    /// Id, of ranges that any thread may end.
    pub id: u64,
    /// Number of the slot.
    pub place: u32,
}

/// All ranges, by thread.
#[derive(Debug, Default)]
pub struct Ranges {
    tracks: Vec<OfTrack>,
    domains: Vec<TextId>,
    domain_ids: FxHashMap<TextId, u16>,
    /// Ranges that any thread may end, by their ids: thread and row.
    started: FxHashMap<(ProcessId, u64), (TrackId, u32)>,
    /// Ends that were read before their beginnings.
    early: FxHashMap<(ProcessId, u64), u64>,
    unmatched: u64,
    records: u64,
    span: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
struct OfTrack {
    rows: Vec<Range>,
    /// Rows of the open ranges of a domain, innermost last.
    open: FxHashMap<u16, Vec<u32>>,
}

impl Ranges {
    /// Ranges and marks of a thread, in order of start.
    #[must_use]
    pub fn of(&self, track: TrackId) -> &[Range] {
        self.tracks.get(track.index()).map_or(&[], |of| &of.rows)
    }

    /// Domain of a range; [`TextId`] zero is the default one.
    #[must_use]
    pub fn domain(&self, range: &Range) -> TextId {
        self.domains.get(usize::from(range.domain)).copied().unwrap_or_default()
    }

    /// Ends of ranges whose beginnings were not recorded.
    #[must_use]
    pub fn unmatched(&self) -> u64 {
        self.unmatched + self.early.len() as u64
    }

    /// Records of which these are made: beginnings, ends and marks.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Ranges and marks.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tracks.iter().map(|of| of.rows.len() as u64).sum()
    }

    /// First start and last end, ns on the trace's axis. Ends without a beginning do not count.
    #[must_use]
    pub const fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// A range is pushed.
    pub fn push(&mut self, track: TrackId, begun: &Begun) {
        let row = self.add(track, begun, RangeKind::Pushed, OPEN);
        let domain = self.domain_id(begun.domain);
        if let Some(of) = self.tracks.get_mut(track.index()) {
            of.open.entry(domain).or_default().push(row);
        }
    }

    /// The innermost one of a domain ends.
    pub fn pop(&mut self, track: TrackId, domain: TextId, ns: u64) {
        self.records += 1;
        let domain = self.domain_id(domain);
        let of = self.tracks.get_mut(track.index());
        let ended = of.and_then(|of| {
            let row = of.open.get_mut(&domain)?.pop()?;
            of.rows.get_mut(row as usize)
        });
        match ended {
            Some(range) => {
                range.end_ns = ns.clamp(range.start_ns, OPEN - 1);
                let end_ns = range.end_ns;
                self.reach(end_ns);
            }
            None => self.unmatched = self.unmatched.saturating_add(1),
        }
    }

    /// A range begins that any thread may end.
    pub fn start(&mut self, process: ProcessId, track: TrackId, begun: &Begun) {
        let key = (process, begun.id);
        let early = self.early.get(&key).copied().filter(|&end| end >= begun.ns);
        if early.is_some() {
            self.early.remove(&key);
        }
        let row = self.add(track, begun, RangeKind::Started, early.unwrap_or(OPEN));
        early.into_iter().for_each(|end| self.reach(end));
        if early.is_none() {
            self.started.insert(key, (track, row));
        }
    }

    /// It ends.
    pub fn end(&mut self, process: ProcessId, id: u64, ns: u64) {
        self.records += 1;
        let key = (process, id);
        if let Some((track, row)) = self.started.get(&key).copied()
            && let Some(range) = self.tracks.get_mut(track.index()).and_then(|of| of.rows.get_mut(row as usize))
            && range.start_ns <= ns
        {
            range.end_ns = ns.min(OPEN - 1);
            self.started.remove(&key);
            self.reach(ns);
        } else if self.early.len() < EARLY {
            self.early.insert(key, ns);
        } else {
            self.unmatched = self.unmatched.saturating_add(1);
        }
    }

    /// A moment.
    pub fn mark(&mut self, track: TrackId, begun: &Begun) {
        self.add(track, begun, RangeKind::Mark, begun.ns);
    }

    /// Bytes on the heap that grow with the number of ranges.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.tracks.iter().map(|of| of.rows.capacity() * size_of::<Range>()).sum()
    }

    fn add(&mut self, track: TrackId, begun: &Begun, kind: RangeKind, end_ns: u64) -> u32 {
        self.records += 1;
        let domain = self.domain_id(begun.domain);
        if track.index() >= self.tracks.len() {
            self.tracks.resize_with(track.index() + 1, OfTrack::default);
        }
        let Some(of) = self.tracks.get_mut(track.index()) else { return u32::MAX };
        let level = u8::try_from(begun.level).unwrap_or(u8::MAX);
        // Two clock readings may disagree by some nanoseconds.
        let start_ns = begun.ns.max(of.rows.last().map_or(0, |last| last.start_ns)).min(OPEN - 1);
        let end_ns = end_ns.max(start_ns);
        let (name, color, place) = (begun.name, begun.color, begun.place);
        of.rows.push(Range { start_ns, end_ns, name, color, place, domain, level, kind });
        let row = u32::try_from(of.rows.len() - 1).unwrap_or(u32::MAX);
        self.reach(start_ns);
        row
    }

    fn reach(&mut self, ns: u64) {
        let (first, last) = self.span.unwrap_or((u64::MAX, 0));
        self.span = Some((first.min(ns), last.max(ns)));
    }

    /// Domains beyond 65,535 are shown as the last of them.
    fn domain_id(&mut self, domain: TextId) -> u16 {
        if let Some(&known) = self.domain_ids.get(&domain) {
            return known;
        }
        let Ok(id) = u16::try_from(self.domains.len()) else { return u16::MAX };
        self.domains.push(domain);
        self.domain_ids.insert(domain, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const _: () = assert!(size_of::<Range>() == 32);

    fn begun(ns: u64, domain: u32, level: u16, id: u64) -> Begun {
        Begun { ns, name: TextId(id as u32), domain: TextId(domain), color: 7, level, id, place: 1 }
    }

    #[test]
    fn ends_and_starts_of_two_threads_meet_in_any_order() {
        let (mut ranges, process) = (Ranges::default(), ProcessId(0));
        ranges.end(process, 5, 90);
        ranges.end(process, 6, 40);
        ranges.start(process, TrackId(2), &begun(10, 0, 0, 5));
        ranges.start(process, TrackId(2), &begun(50, 0, 0, 6));
        ranges.start(process, TrackId(2), &begun(60, 0, 0, 7));
        ranges.end(process, 7, 61);
        ranges.pop(TrackId(9), TextId(0), 70);
        let ends: Vec<_> = ranges.of(TrackId(2)).iter().map(Range::end_ns).collect();
        assert_eq!(ends, [Some(90), None, Some(61)]);
        assert_eq!((ranges.unmatched(), ranges.records(), ranges.span()), (2, 7, Some((10, 90))));
    }

    proptest! {
        #[test]
        fn pushes_and_pops_pair_by_thread_and_domain(steps in prop::collection::vec((0u32..3, 0u32..3, any::<bool>()), 0..200)) {
            let mut ranges = Ranges::default();
            let mut twin: Vec<(u32, u32, u64, Option<u64>)> = Vec::new();
            let mut unmatched = 0;
            for (ns, (track, domain, push)) in (1..).zip(steps) {
                if push {
                    ranges.push(TrackId(track), &begun(ns, domain, 0, 0));
                    twin.push((track, domain, ns, None));
                } else {
                    ranges.pop(TrackId(track), TextId(domain), ns);
                    match twin.iter_mut().rev().find(|range| (range.0, range.1, range.3) == (track, domain, None)) {
                        Some(range) => range.3 = Some(ns),
                        None => unmatched += 1,
                    }
                }
            }
            prop_assert_eq!(ranges.unmatched(), unmatched);
            for track in 0..3 {
                let seen: Vec<_> = ranges.of(TrackId(track)).iter()
                    .map(|range| (track, ranges.domain(range).0, range.start_ns, range.end_ns())).collect();
                let known: Vec<_> = twin.iter().filter(|range| range.0 == track).copied().collect();
                prop_assert_eq!(seen, known);
            }
        }
    }
}
