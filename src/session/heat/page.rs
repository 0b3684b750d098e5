//! The life of a page in a cell: how it stood when, as details tell it.

use super::homes::Where;
use super::point::{Cell, moment};
use crate::correlate::Allocations;
use crate::memory::heat::Counted;
use crate::memory::life::{Standing, life};
use crate::memory::residency::{Homes, PAGE_BYTES, Place};
use crate::trace::{LaneOf, Trace};

/// Steps that are told.
const STEPS: usize = 10;

/// The life of the page that moved first in a cell, else of its first one, as names and values.
/// `complete`: all that was recorded of pages has been gone through.
pub fn fields(
    trace: &Trace,
    cell: &Cell,
    of: Option<&Allocations>,
    (homes, complete): (&Where, bool),
) -> Vec<(String, String)> {
    let lane = trace.activities.find(cell.process, LaneOf::Unified).and_then(|id| trace.activities.lane(id));
    let (Some(lane), Some(history)) = (lane, homes.of(cell.process)) else { return Vec::new() };
    let mut first = None;
    lane.overlapping((cell.ns.0, cell.ns.1.saturating_sub(1)), |_, activity| {
        let begins = (cell.ns.0..cell.ns.1).contains(&activity.start_ns);
        let moves = |counted: Counted| counted.measure.is_bytes() && counted.within(cell.from, cell.to) > 0;
        if first.is_none() && begins && Counted::of(&activity).is_some_and(moves) {
            first = Some(activity.address.max(cell.from));
        }
    });
    let page = first.unwrap_or(cell.from) / PAGE_BYTES;
    let which = format!("{:#x}", page.saturating_mul(PAGE_BYTES));
    let nothing_between = (String::new(), String::new());
    if !complete {
        return vec![nothing_between, ("page".to_owned(), format!("{which}   its life is being put together"))];
    }
    let nothing = Allocations::default();
    let steps = life(history, lane, of.unwrap_or(&nothing), page, cell.ns);
    let mut fields = vec![nothing_between];
    for (number, &(from, _, standing)) in steps.iter().enumerate().take(STEPS) {
        let how = words(standing);
        fields.push(match number {
            0 => ("page".to_owned(), format!("{which}   {how}")),
            _ => (moment(trace, from).replace(" s", ""), how),
        });
    }
    if steps.len() > STEPS {
        fields.push((String::new(), format!("and {} changes more", steps.len() - STEPS)));
    }
    fields
}

/// How a page stands, in words.
fn words(standing: Standing) -> String {
    let word = standing.word();
    match standing {
        Standing::NotAllocated | Standing::Freed => word.to_owned(),
        Standing::Allocated { asked: None } => format!("{word}, where it is is not known"),
        Standing::Allocated { asked: Some(place) } => {
            format!("{word}, where it is is not known: a prefetch was to bring it to {}", at(place))
        }
        Standing::Resident(homes) => format!("{word} on {}", all(homes)),
        Standing::Evicted(homes) => format!("{word} to {}", all(homes)),
        Standing::Mapped(homes, mapped) => format!("{word}: on {}, reached by {}", all(homes), all(mapped)),
        Standing::Migrating(place) => format!("{word} to {}", at(place)),
    }
}

fn at(place: Place) -> String {
    match place {
        Place::Host => "the host".to_owned(),
        Place::Device(device) => format!("device {device}"),
    }
}

fn all(homes: Homes) -> String {
    homes.places().map(at).collect::<Vec<_>>().join(" and ")
}
