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

/// The life of the cell's first page of which something was recorded there, else of its first one, as names and values.
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
        let is_here = |counted: &Counted| counted.within(cell.from, cell.to) > 0;
        if first.is_none() && Counted::of(&activity).is_some_and(|counted| is_here(&counted)) {
            first = Some(activity.address.max(cell.from));
        }
    });
    let page = first.unwrap_or(cell.from) / PAGE_BYTES;
    let title = format!("page {:#x}", page.saturating_mul(PAGE_BYTES));
    if !complete {
        return vec![(String::new(), String::new()), (title, "its life is being put together".to_owned())];
    }
    let nothing = Allocations::default();
    let steps = life(history, lane, of.unwrap_or(&nothing), page, cell.ns);
    let mut fields = vec![(String::new(), String::new())];
    for (number, &(from, _, standing)) in steps.iter().enumerate().take(STEPS) {
        let name = if number == 0 { title.clone() } else { moment(trace, from) };
        fields.push((name, words(standing)));
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
