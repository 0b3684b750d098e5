//! Goes through what happens to pages, and sums up what becomes of them by allocation.

use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use super::owners::Owners;
use super::{Movement, Overlap};
use crate::correlate::Allocations;
use crate::memory::happenings::{Feed, Next, Told, of_record};
use crate::memory::pattern::{Faults, Pattern};
use crate::memory::records::Records;
use crate::memory::residency::{Happening, PAGE_BYTES, Place, Residency, Use, pages};
use crate::memory::running::Running;
use crate::trace::activity::{Lane, LaneId, TextId};
use crate::trace::{Activity, ProcessId, Trace};

/// Kernels that are told apart, in each process.
const MOST_KERNELS: usize = 1 << 16;
/// Stands for no place in a list.
const NONE: u32 = u32::MAX;

/// Faults of one processor in one allocation.
struct Missed {
    by: Place,
    count: u32,
    /// Those of the next processor in the same allocation: place in the list, or [`NONE`].
    next: u32,
    faults: Faults,
}

/// Goes through the records of a process in order of time, by slices, and through what calls have told by then.
pub struct Walk {
    process: ProcessId,
    lane: LaneId,
    told: Vec<Told>,
    feed: Feed,
    running: Running,
    residency: Residency,
    owners: Owners,
    /// Where each allocation's sum is in the list, or [`NONE`]; the first place is that of what none was seen of.
    places: Vec<u32>,
    /// In the order in which they were first met, and so near to each other if they are met together.
    sums: Vec<Movement>,
    /// Of each sum its first faults in the list, or [`NONE`].
    first_missed: Vec<u32>,
    missed: Vec<Missed>,
    kernels: FxHashMap<Option<TextId>, Overlap>,
    names: Vec<TextId>,
    has_faults: bool,
    /// Records that have been gone through.
    gone: usize,
}

impl Walk {
    /// Before the first record; `None` if a process has none. `told`: what its calls say, in order of time.
    #[must_use]
    pub fn of(records: &Records, process: ProcessId, told: Vec<Told>) -> Option<Self> {
        Some(Self::with(records, process, records.unified(process)?, told))
    }

    fn with(records: &Records, process: ProcessId, lane: LaneId, told: Vec<Told>) -> Self {
        Self {
            process,
            lane,
            told,
            feed: Feed::default(),
            running: Running::of(records, process),
            residency: Residency::default(),
            owners: Owners::default(),
            places: Vec::new(),
            sums: Vec::new(),
            first_missed: Vec::new(),
            missed: Vec::new(),
            kernels: FxHashMap::default(),
            names: Vec::new(),
            has_faults: records.has_faults(),
            gone: 0,
        }
    }

    /// Goes through so many more records at most; true when it has gone through all. Records and allocations are those it began
    /// with.
    pub fn go_on(
        &mut self,
        records: &Records,
        allocations: &Allocations,
        wanted: &dyn Fn(LaneId, usize) -> bool,
        most: usize,
    ) -> bool {
        let Some(lane) = records.lane(self.lane) else { return true };
        for _ in 0..most {
            if self.feed.take(lane).is_some() {
                self.begin_anew(records, lane);
            }
            match self.feed.next(lane, &self.told) {
                None => break,
                Some(Next::Told(index)) => self.tell(index, allocations),
                Some(Next::Row(row, activity)) => {
                    let wanted = wanted(self.lane, row);
                    self.gone += 1;
                    self.row(records, &activity, allocations, wanted);
                }
            }
        }
        self.feed.is_done(lane, &self.told)
    }

    /// Records that have been gone through.
    #[must_use]
    pub const fn gone(&self) -> usize {
        self.gone
    }

    fn begin_anew(&mut self, records: &Records, lane: &Lane) {
        let mut anew = Self::with(records, self.process, self.lane, std::mem::take(&mut self.told));
        std::mem::swap(&mut anew.feed, &mut self.feed);
        anew.feed.rewind(lane, &anew.told, 0);
        *self = anew;
    }

    fn tell(&mut self, index: usize, allocations: &Allocations) {
        let Some(told) = self.told.get(index).copied() else { return };
        if let Some(ended) = told.ends
            && let Some(&place) = self.places.get(ended as usize + 1)
            && let Some(sum) = self.sums.get_mut(place as usize)
            && let Some(one) = allocations.all().get(ended as usize)
        {
            let (first, after) = pages(one.address, one.bytes);
            sum.last = self.residency.shares(first, after);
        }
        self.residency.happen(told.pages, told.what, Use::NONE);
    }

    /// Where the sum of an allocation is in the list; it is put there if it is not.
    fn place(&mut self, found: Option<u32>, allocations: &Allocations) -> usize {
        if self.places.is_empty() {
            self.places.resize(allocations.all().len() + 1, NONE);
        }
        let at = found.map_or(0, |index| index as usize + 1);
        match self.places.get(at) {
            Some(&place) if place != NONE => return place as usize,
            _ => {}
        }
        let allocation = found.and_then(|index| allocations.all().get(index as usize)).copied();
        let needless = self.running.is_recorded().then_some(0);
        let place = self.sums.len();
        self.sums.push(Movement { needless, ..Movement::none(self.process, allocation) });
        self.first_missed.push(NONE);
        if let Some(known) = self.places.get_mut(at) {
            *known = place as u32;
        }
        place
    }

    /// Where the faults of a processor in what has this place are in the list; they are put there if they are not.
    fn missed(&mut self, place: usize, by: Place) -> usize {
        let first = self.first_missed.get(place).copied().unwrap_or(NONE);
        let mut at = first;
        while let Some(missed) = self.missed.get(at as usize) {
            if missed.by == by {
                return at as usize;
            }
            at = missed.next;
        }
        let at = self.missed.len();
        self.missed.push(Missed { by, count: 0, next: first, faults: Faults::new(by != Place::Host) });
        if let Some(first) = self.first_missed.get_mut(place) {
            *first = at as u32;
        }
        at
    }

    fn row(&mut self, records: &Records, activity: &Activity, allocations: &Allocations, wanted: bool) {
        let Some((range, what)) = of_record(activity) else { return };
        self.running.go_to(records, activity.start_ns);
        match what {
            Happening::Touched { by, .. } => self.fault(activity, (range, what, by), allocations, wanted),
            Happening::Moved { .. } => self.moved(activity, range, what, allocations, wanted),
            _ => {
                self.residency.happen(range, what, Use::NONE);
            }
        }
    }

    fn fault(
        &mut self,
        activity: &Activity,
        (range, what, by): ((u64, u64), Happening, Place),
        allocations: &Allocations,
        wanted: bool,
    ) {
        let found = self.owners.find(allocations, activity.address, activity.start_ns);
        if wanted {
            let place = self.place(found, allocations);
            if let Some(sum) = self.sums.get_mut(place) {
                match by {
                    Place::Host => sum.host_faults += 1,
                    Place::Device(_) => sum.device_faults += 1,
                }
            }
            let at = self.missed(place, by);
            let Self { missed, residency, .. } = self;
            if let Some(missed) = missed.get_mut(at) {
                missed.count = missed.count.saturating_add(1);
                let span = (activity.start_ns, activity.end_ns());
                missed.faults.push(range.0, span, |from, to| residency.all_at(from, to, by));
            }
        }
        self.residency.happen(range, what, Use::NONE);
    }

    fn moved(
        &mut self,
        activity: &Activity,
        (mut page, last): (u64, u64),
        what: Happening,
        allocations: &Allocations,
        wanted: bool,
    ) {
        let work = self.running.usage(activity.device);
        let end = activity.address.saturating_add(activity.value);
        while page < last {
            let (found, until) = self.owners.of_pages(allocations, (page, last), activity.start_ns);
            let outcome = self.residency.happen((page, until), what, work);
            if wanted {
                let from = page.saturating_mul(PAGE_BYTES).max(activity.address);
                let bytes = until.saturating_mul(PAGE_BYTES).min(end).saturating_sub(from);
                let place = self.place(found, allocations);
                if let Some(sum) = self.sums.get_mut(place) {
                    sum.moved(activity, bytes);
                    sum.outcome(outcome);
                }
            }
            page = until;
        }
        if wanted && self.running.is_recorded() {
            self.overlap(activity);
        }
    }

    fn overlap(&mut self, activity: &Activity) {
        let mut names = std::mem::take(&mut self.names);
        self.running.kernels(activity.device, &mut names);
        let mut add = |kernel: Option<TextId>| {
            if self.kernels.len() >= MOST_KERNELS && !self.kernels.contains_key(&kernel) {
                return;
            }
            let empty = Overlap::none(self.process, kernel);
            let sum = self.kernels.entry(kernel).or_insert(empty);
            let place = match activity.unified().0 {
                wire::UNIFIED_TO_DEVICE => &mut sum.to_device,
                wire::UNIFIED_TO_HOST => &mut sum.to_host,
                _ => &mut sum.between,
            };
            *place = place.saturating_add(activity.value);
            sum.migrations += 1;
        };
        if names.is_empty() {
            add(None);
        }
        names.iter().for_each(|&name| add(Some(name)));
        self.names = names;
    }

    /// What was found of allocations, and of what ran meanwhile, in no order.
    #[must_use]
    pub fn finish(mut self, trace: &Trace) -> (Vec<Movement>, Vec<Overlap>) {
        let by_kernel = std::mem::take(&mut self.kernels);
        // A name is looked up late: the same may have had two numbers.
        let mut kernels: FxHashMap<Option<u32>, Overlap> = FxHashMap::default();
        for one in by_kernel.into_values() {
            let name = one.kernel.map(|text| trace.activities.name(text).0);
            let sum =
                kernels.entry(name).or_insert(Overlap { to_device: 0, to_host: 0, between: 0, migrations: 0, ..one });
            sum.to_device = sum.to_device.saturating_add(one.to_device);
            sum.to_host = sum.to_host.saturating_add(one.to_host);
            sum.between = sum.between.saturating_add(one.between);
            sum.migrations += one.migrations;
            sum.kernel = sum.kernel.min(one.kernel);
        }
        (self.movements(), kernels.into_values().collect())
    }

    /// What was found of allocations, in the order in which they were first met.
    #[must_use]
    pub fn movements(mut self) -> Vec<Movement> {
        let mut missed: Vec<Option<Missed>> = self.missed.into_iter().map(Some).collect();
        for (sum, &first) in self.sums.iter_mut().zip(&self.first_missed) {
            if let Some(one) = sum.allocation.filter(|one| !one.has_ended()) {
                let (first, after) = pages(one.address, one.bytes);
                sum.last = self.residency.shares(first, after);
            }
            if self.has_faults {
                sum.host_pattern = Some(Pattern::Undecided);
                sum.device_pattern = Some(Pattern::Undecided);
            }
            // Of devices the one with most faults, and of those the first.
            let (mut most, mut at) = (None, first);
            while let Some(one) = missed.get_mut(at as usize).and_then(Option::take) {
                at = one.next;
                let rank = (one.count, std::cmp::Reverse(one.by));
                if one.by == Place::Host {
                    sum.host_pattern = Some(one.faults.pattern());
                } else if most.is_none_or(|most| most < rank) {
                    most = Some(rank);
                    sum.device_pattern = Some(one.faults.pattern());
                }
            }
        }
        self.sums
    }
}
