use super::*;
use crate::memory::homes::{Homes, Place};
use crate::memory::state::{Advise, Happening};
use crate::trace::{Activity, ActivityKind, LaneOf, NO_DEVICE, ProcessId, Trace};
use proptest::prelude::*;
use std::collections::BTreeSet;
use umtui_wire::activity as wire;

const BASE: u64 = 0x7f00_0000_0000 / 4096;
const PROCESS: ProcessId = ProcessId(0);

/// What happens, as a test says it.
#[derive(Clone, Copy, Debug)]
enum Event {
    ToDevice(u8, u8),
    ToHost(u8, u8),
    Between(u8),
    CpuFault(bool),
    GpuFault(u8, bool),
    Map(u8),
    Prefetch(Option<u8>),
    ReadMostly(bool),
    Preferred(Option<Option<u8>>),
    Accessed(u8, bool),
    Fresh,
}

#[derive(Clone, Copy, Debug)]
struct One {
    at_ns: u64,
    first: u64,
    count: u64,
    event: Event,
}

fn place(device: Option<u8>) -> Place {
    device.map_or(Place::Host, Place::Device)
}

impl One {
    fn row(&self) -> Option<Activity> {
        let (counter, device, flags) = match self.event {
            Event::ToDevice(device, cause) => (wire::UNIFIED_TO_DEVICE, device, cause),
            Event::ToHost(device, cause) => (wire::UNIFIED_TO_HOST, device, cause),
            Event::Between(device) => (wire::UNIFIED_BETWEEN_DEVICES, device, 2),
            Event::CpuFault(writes) => (wire::UNIFIED_CPU_FAULT, NO_DEVICE, 1 + u8::from(writes)),
            Event::GpuFault(device, writes) => (wire::UNIFIED_GPU_FAULT, device, 1 + u8::from(writes)),
            Event::Map(device) => (wire::UNIFIED_REMOTE_MAP, device, 3),
            _ => return None,
        };
        Some(Activity {
            kind: ActivityKind::Unified,
            start_ns: self.at_ns,
            detail: counter as u8 | flags << 4,
            device,
            value: self.count * 4096,
            address: (BASE + self.first) * 4096,
            ..Activity::default()
        })
    }

    fn told(&self) -> Option<Told> {
        let what = match self.event {
            Event::Prefetch(device) => Happening::Asked(place(device)),
            Event::ReadMostly(on) => Happening::Advised(Advise::ReadMostly(on)),
            Event::Preferred(device) => Happening::Advised(Advise::Preferred(device.map(place))),
            Event::Accessed(device, on) => Happening::Advised(Advise::AccessedBy(Place::Device(device), on)),
            Event::Fresh => Happening::Fresh,
            _ => return None,
        };
        let pages = (BASE + self.first, BASE + self.first + self.count);
        Some(Told { at_ns: self.at_ns, pages, what, ends: None })
    }

    fn concerns(&self, page: u64) -> bool {
        let count = if matches!(self.event, Event::CpuFault(_) | Event::GpuFault(..)) { 1 } else { self.count };
        (self.first..self.first + count).contains(&page)
    }
}

/// A page, by itself: the rules once more, in other words.
#[derive(Clone, Debug, Default)]
struct Twin {
    homes: BTreeSet<Place>,
    mapped: BTreeSet<Place>,
    asked: Option<Place>,
    evicted: bool,
    read_mostly: bool,
    preferred: Option<Place>,
    accessed: BTreeSet<Place>,
    overwritten: bool,
}

impl Twin {
    fn arrives(&mut self, from: Option<Place>, to: Place, evicted: bool) {
        let source: BTreeSet<Place> = from.map_or_else(|| self.homes.clone(), |from| BTreeSet::from([from]));
        let keeps = self.read_mostly && !source.is_empty() && !evicted && !self.overwritten;
        if keeps {
            self.homes.extend(source);
        } else {
            self.homes.clear();
        }
        self.homes.insert(to);
        self.mapped.clear();
        (self.asked, self.evicted, self.overwritten) = (None, evicted, false);
    }

    fn faults(&mut self, by: Place, writes: bool) {
        if self.homes.is_empty() {
            let home = match (self.preferred, by) {
                (Some(Place::Host), _) => Place::Host,
                (Some(Place::Device(one)), Place::Device(other)) if one != other => return,
                _ => by,
            };
            self.asked = None;
            self.homes.insert(home);
            self.mapped.clear();
            if home != by {
                self.mapped.insert(by);
            }
        } else if writes && self.homes.len() > 1 {
            if self.homes.contains(&by) {
                self.homes = BTreeSet::from([by]);
                self.mapped.clear();
                self.evicted = false;
            } else {
                self.overwritten = true;
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ToDevice(device, cause) => self.arrives(Some(Place::Host), Place::Device(device), cause == 4),
            Event::ToHost(device, cause) => self.arrives(Some(Place::Device(device)), Place::Host, cause == 4),
            Event::Between(device) => self.arrives(None, Place::Device(device), false),
            Event::CpuFault(writes) => self.faults(Place::Host, writes),
            Event::GpuFault(device, writes) => self.faults(Place::Device(device), writes),
            Event::Map(device) => {
                let there = self.homes == BTreeSet::from([Place::Device(device)]);
                self.mapped.insert(if there { Place::Host } else { Place::Device(device) });
            }
            Event::Prefetch(device) if self.homes.is_empty() => self.asked = Some(place(device)),
            Event::Prefetch(_) => {}
            Event::ReadMostly(on) => {
                self.read_mostly = on;
                if !on && self.homes.len() > 1 {
                    let kept = self.preferred.filter(|place| self.homes.contains(place));
                    self.homes = kept.into_iter().collect();
                    self.overwritten = false;
                }
            }
            Event::Preferred(device) => self.preferred = device.map(place),
            Event::Accessed(device, true) => drop(self.accessed.insert(Place::Device(device))),
            Event::Accessed(device, false) => drop(self.accessed.remove(&Place::Device(device))),
            Event::Fresh => *self = Self::default(),
        }
    }

    fn is(&self, state: &State) -> bool {
        let same = |set: &BTreeSet<Place>, homes: Homes| homes.places().eq(set.iter().copied());
        same(&self.homes, state.homes)
            && same(&self.mapped, state.mapped)
            && same(&self.accessed, state.advice.accessed_by)
            && (self.asked, self.evicted) == (state.asked, state.evicted)
            && (self.read_mostly, self.preferred) == (state.advice.read_mostly, state.advice.preferred)
    }
}

/// A page at a moment, from the beginning.
fn twin(all: &[One], page: u64, at_ns: u64) -> Twin {
    let mut order: Vec<&One> = all.iter().filter(|one| one.at_ns <= at_ns && one.concerns(page)).collect();
    order.sort_by_key(|one| (one.at_ns, one.told().is_none()));
    let mut twin = Twin::default();
    order.iter().for_each(|one| twin.happen(one.event));
    twin
}

fn event() -> impl Strategy<Value = Event> {
    let device = 0u8..2;
    prop_oneof![
        4 => (device.clone(), 1u8..5).prop_map(|(device, cause)| Event::ToDevice(device, cause)),
        4 => (device.clone(), 1u8..5).prop_map(|(device, cause)| Event::ToHost(device, cause)),
        1 => device.clone().prop_map(Event::Between),
        2 => any::<bool>().prop_map(Event::CpuFault),
        2 => (device.clone(), any::<bool>()).prop_map(|(device, writes)| Event::GpuFault(device, writes)),
        1 => device.clone().prop_map(Event::Map),
        1 => prop::option::of(device.clone()).prop_map(Event::Prefetch),
        2 => any::<bool>().prop_map(Event::ReadMostly),
        1 => prop::option::of(prop::option::of(device.clone())).prop_map(Event::Preferred),
        1 => (device, any::<bool>()).prop_map(|(device, on)| Event::Accessed(device, on)),
        1 => Just(Event::Fresh),
    ]
}

const PAGES_TRIED: u64 = 40;

fn one() -> impl Strategy<Value = One> {
    (0u64..200, 0..PAGES_TRIED, 1u64..20, event()).prop_map(|(at_ns, first, count, event)| One {
        at_ns,
        first: first + BLOCK_PAGES - 20,
        count,
        event,
    })
}

fn check(history: &History, known: &[One], at_ns: u64) -> Result<(), TestCaseError> {
    for page in BLOCK_PAGES - 20..BLOCK_PAGES + PAGES_TRIED {
        let (twin, state) = (twin(known, page, at_ns), history.page(BASE + page, at_ns));
        prop_assert!(twin.is(&state), "page {} at {}: {:?} is not {:?}", page, at_ns, state, twin);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Records and calls come in any order, a few at a time; after each lot all moments are what they should be.
    #[test]
    fn at_every_step_it_is_what_pages_one_by_one_are(
        lots in prop::collection::vec(prop::collection::vec(one(), 1..30), 1..6),
        asked in prop::collection::vec(0u64..210, 4),
    ) {
        let (mut trace, mut history, mut known, mut told) = (Trace::default(), History::default(), Vec::new(), Vec::new());
        trace.activities.push(PROCESS, LaneOf::Unified, &Activity { kind: ActivityKind::Unified, ..Activity::default() }, 0);
        let id = trace.activities.find(PROCESS, LaneOf::Unified).unwrap();
        for lot in lots {
            for one in lot {
                if let Some(row) = one.row() {
                    trace.activities.push(PROCESS, LaneOf::Unified, &row, 0);
                }
                told.extend(one.told());
                known.push(one);
            }
            told.sort_by_key(|told| told.at_ns);
            let lane = trace.activities.lane(id).unwrap();
            history.set_told(Some(lane), told.clone());
            while !history.advance(lane, || true) {}
            for &at_ns in &asked {
                check(&history, &known, at_ns)?;
            }
        }
        // Stretches fill the rectangle, each with what its pages were.
        let (from, to) = (BASE + BLOCK_PAGES - 10, BASE + BLOCK_PAGES + 15);
        let (mut area, span) = (0, (asked[0].min(asked[1]), asked[0].max(asked[1])));
        history.for_each((from, to), span, |stretch| {
            assert!(stretch.pages.0 < stretch.pages.1 && stretch.span.0 < stretch.span.1);
            area += (stretch.pages.1 - stretch.pages.0) * (stretch.span.1 - stretch.span.0);
            for page in [stretch.pages.0, stretch.pages.1 - 1] {
                for at_ns in [stretch.span.0, stretch.span.1 - 1] {
                    assert_eq!(history.page(page, at_ns), stretch.state);
                }
            }
        });
        let blocks = history.now.existing(from, to).map(|(_, part)| u64::from(part.2 - part.1)).sum::<u64>();
        prop_assert_eq!(area, blocks * (span.1 - span.0));
        history.at((from, to), asked[2], |first, after, state| {
            assert!((first..after).all(|page| history.page(page, asked[2]) == state));
        });
        let mut samples = Vec::new();
        history.samples((from, from + 1), &asked, &mut samples);
        for (sample, &at_ns) in samples.iter().zip(&asked) {
            prop_assert_eq!((sample.state, sample.alike, sample.of), (history.page(from, at_ns), 1, 1));
        }
    }

    /// Over many changes, so that all is written down again and again.
    #[test]
    fn long_pasts_are_found_again(
        all in prop::collection::vec((0u64..20, 1u64..8, any::<bool>()), 300..900),
        late in (0u64..5000, 0u64..20),
    ) {
        let mut trace = Trace::default();
        let mut known = Vec::new();
        let add = |known: &mut Vec<One>, trace: &mut Trace, (at_ns, first, count, to_device)| {
            let event = if to_device { Event::ToDevice(0, 2) } else { Event::ToHost(0, 4) };
            let one = One { at_ns, first, count, event };
            trace.activities.push(PROCESS, LaneOf::Unified, &one.row().unwrap(), 0);
            known.push(one);
        };
        for (at, &(first, count, to_device)) in (0..).zip(&all) {
            add(&mut known, &mut trace, (at * 7, first, count, to_device));
        }
        let id = trace.activities.find(PROCESS, LaneOf::Unified).unwrap();
        let mut history = History::default();
        prop_assert!(history.advance(trace.activities.lane(id).unwrap(), || false));
        let changes = history.changes();
        add(&mut known, &mut trace, (late.0, late.1, 3, true));
        prop_assert!(history.advance(trace.activities.lane(id).unwrap(), || false));
        prop_assert!(history.changes().abs_diff(changes) < 40);
        for at_ns in [0, 100, late.0, late.0 + 1, 3000, u64::MAX] {
            for page in 0..28 {
                let (twin, state) = (twin(&known, page, at_ns), history.page(BASE + page, at_ns));
                prop_assert!(twin.is(&state), "page {} at {}: {:?} is not {:?}", page, at_ns, state, twin);
            }
        }
        // Also one moment after another, forwards and backwards.
        let moments: Vec<u64> = (0..90).map(|at| at * 70).chain((0..30).rev().map(|at| at * 210)).collect();
        let mut samples = Vec::new();
        history.samples((BASE, BASE + 28), &moments, &mut samples);
        for (sample, &at_ns) in samples.iter().zip(&moments) {
            let looked_at = [3, 10, 17, 24].map(|page| history.page(BASE + page, at_ns));
            let alike = looked_at.iter().filter(|state| **state == sample.state).count();
            prop_assert_eq!((usize::from(sample.alike), sample.of), (alike, 4));
            prop_assert!(looked_at.iter().all(|one| looked_at.iter().filter(|other| *other == one).count() <= alike));
        }
        prop_assert!(history.heap_bytes() < 2000 + 30 * history.changes());
    }
}

#[test]
fn what_cannot_be_followed_is_cut_off_and_said() {
    let mut history = History::default();
    for at_ns in 0..600 {
        history.happen(at_ns, (0, (1 << 12) * BLOCK_PAGES), Happening::Mapped(Place::Device(at_ns as u8 % 2)));
    }
    assert!(history.cut_ns().is_some_and(|cut_ns| cut_ns > 200));
    assert!(!history.page(5, 600).mapped.is_unknown());
}
