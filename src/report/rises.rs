//! Who holds more memory with each step, in the report.

use std::fmt::Write as _;

use serde::Serialize;

use super::table::Table;
use super::text::grouped;
use crate::lens::all_turns;
use crate::memory::{Account, LEAST_STEPS, rises};
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::trace::value::size;

/// Rows that are kept.
const KEPT: usize = 100;
/// Those that are listed in the text.
const LISTED: usize = 10;

/// Memory in use at the ends of the steps of the range that repeats most regularly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rises {
    /// Name of the range, with `*` for numbers that change.
    pub range: String,
    /// How many turns of it have ended.
    pub steps: u64,
    /// So many steps in a row must have added something.
    pub least_steps: u64,
    /// Places in the program that hold more at the end of each of the last steps than at the end of the step before.
    pub call_sites: Vec<RiseRow>,
}

/// A place in the program that holds more memory with each step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RiseRow {
    /// The place.
    pub call_site: String,
    /// How many steps in a row, up to the last one.
    pub steps: u64,
    /// Bytes in use before the first of them.
    pub before_bytes: u64,
    /// Bytes in use at the end of the last one.
    pub after_bytes: u64,
    /// The least that a step has added, bytes.
    pub least_bytes: u64,
    /// The most that a step has added, bytes: the same, if each has added as much.
    pub most_bytes: u64,
}

/// Of what an account holds; `None`: no range repeats.
#[must_use]
pub fn of(loaded: &mut Loaded, account: &Account) -> Option<Rises> {
    let (range, turns) = all_turns(None, loaded.trace());
    let from_ns = turns.first()?.0;
    let mut ends: Vec<u64> = turns.into_iter().map(|(_, end)| end).filter(|&end| end != u64::MAX).collect();
    // Of several processes one may be late.
    ends.sort_unstable();
    let mut list = rises(account, from_ns, &ends);
    list.truncate(KEPT);
    let row = |rise: crate::memory::Rise| RiseRow {
        call_site: loaded.site(rise.site),
        steps: rise.steps,
        before_bytes: rise.before_bytes,
        after_bytes: rise.after_bytes,
        least_bytes: rise.least_bytes,
        most_bytes: rise.most_bytes,
    };
    let call_sites = list.into_iter().map(row).collect();
    Some(Rises { range, steps: ends.len() as u64, least_steps: LEAST_STEPS, call_sites })
}

/// A table, if there is anything to say.
pub(super) fn write(rises: Option<&Rises>, out: &mut String) {
    let Some(rises) = rises.filter(|rises| !rises.call_sites.is_empty()) else { return };
    let headings = ["more with each step", "in a row", "by", "before", "after", "allocated by"];
    let mut table = Table::new(&headings).last_is_text();
    for (index, one) in rises.call_sites.iter().take(LISTED).enumerate() {
        let by = match one.least_bytes == one.most_bytes {
            true => size(one.most_bytes),
            false => format!("{} to {}", size(one.least_bytes), size(one.most_bytes)),
        };
        table.row(vec![
            (index + 1).to_string(),
            grouped(one.steps),
            by,
            size(one.before_bytes),
            size(one.after_bytes),
            safe(&one.call_site).into_owned(),
        ]);
    }
    out.push('\n');
    table.write(out);
    let more = rises.call_sites.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
    let _ = writeln!(out, "in use at the ends of the {} turns of {}", grouped(rises.steps), safe(&rises.range));
}
