//! Finds places step by step: what needs no records is made in a thread beside, since there may be a million of them.

use std::sync::Arc;
use std::time::Instant;

use super::Heats;
use super::generations::Generations;
use super::places::{GAP, Place, Places, of_process};
use crate::correlate::Allocations;
use crate::memory::heat::{Drawing, Grid};
use crate::session::memory::later::Later;
use crate::trace::{ProcessId, Trace};

/// What places are found from: the heats, the allocations, the lens.
pub type Of = ((u64, u64), u64, u64);

/// The places that were found, and the allocations that lay in them.
type Found = (Places, Generations);

/// Places while they are found.
pub struct Finding {
    /// What from.
    pub of: Of,
    /// Since when.
    pub begun: Instant,
    allocations: Vec<Arc<Allocations>>,
    stage: Stage,
}

enum Stage {
    /// Which addresses belong together.
    Addresses(Later<(), Vec<(ProcessId, Vec<Place>)>>),
    /// What happened there.
    Sums(Vec<(ProcessId, Vec<Place>, Drawing)>),
    /// Those in which anything did, in order.
    InOrder(Later<(), Found>),
    /// There was no thread to be had.
    Failed,
}

impl Finding {
    /// Begins.
    pub fn new(trace: &Trace, heats: &Heats, allocations: &[Arc<Allocations>], of: Of) -> Self {
        let extents: Vec<_> = heats.all(trace).map(|(process, heat, _)| (process, heat.extents(GAP))).collect();
        let (known, mut addresses) = (allocations.to_vec(), Later::default());
        addresses.update((), Instant::now(), move || {
            let none = Allocations::default();
            let places = extents.into_iter().map(|(process, extents)| {
                let of = known.get(process.index()).map_or(&none, |of| of);
                (process, of_process(process, extents, of.all()))
            });
            places.collect()
        });
        Self { of, begun: Instant::now(), allocations: allocations.to_vec(), stage: Stage::Addresses(addresses) }
    }

    /// Goes on until `until`; what was found, once it is.
    pub fn go_on(&mut self, trace: &Trace, heats: &Heats, until: Instant) -> Option<Found> {
        if let Stage::Addresses(addresses) = &mut self.stage {
            addresses.wait(until);
            let Some(places) = addresses.take() else {
                if !addresses.is_making() {
                    self.stage = Stage::Failed;
                }
                return None;
            };
            let drawn = places.into_iter().filter_map(|(process, places)| {
                let rows: Vec<(u64, u64)> = places.iter().map(|place| (place.from, place.to)).collect();
                let grid = Grid { from_ns: 0, column_ns: u64::MAX, columns: 1, rows: &rows };
                Some((process, places, Drawing::new(heats.heat_of(process)?, grid)))
            });
            self.stage = Stage::Sums(drawn.collect());
        }
        if let Stage::Sums(drawn) = &mut self.stage {
            let is_done = drawn.iter_mut().all(|(process, _, drawing)| {
                let found = heats.all(trace).find(|(known, ..)| known == process);
                found.is_none_or(|(_, heat, lane)| drawing.go_on(heat, lane, || Instant::now() < until))
            });
            if !is_done {
                return None;
            }
            let (drawn, allocations) = (std::mem::take(drawn), self.allocations.clone());
            let mut found = Later::default();
            found.update((), until, move || in_order(drawn, &allocations));
            self.stage = Stage::InOrder(found);
        }
        let Stage::InOrder(found) = &mut self.stage else { return None };
        found.wait(until);
        let done = found.take();
        if done.is_none() && !found.is_making() {
            self.stage = Stage::Failed;
        }
        done
    }

    /// Whether it will never come to an end.
    pub const fn has_failed(&self) -> bool {
        matches!(self.stage, Stage::Failed)
    }
}

fn in_order(drawn: Vec<(ProcessId, Vec<Place>, Drawing)>, allocations: &[Arc<Allocations>]) -> Found {
    let with_sums = |(_, mut places, drawing): (ProcessId, Vec<Place>, Drawing)| {
        places.iter_mut().zip(drawing.cells()).for_each(|(place, sums)| place.sums = *sums);
        places.retain(|place| !place.sums.is_empty());
        places
    };
    let mut places: Vec<Place> = drawn.into_iter().flat_map(with_sums).collect();
    places.sort_by_key(|place| (place.process, place.from));
    let places = Places::of_list(places);
    let generations = Generations::of(places.all(), allocations);
    (places, generations)
}
