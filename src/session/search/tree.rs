//! Search in the calls tree: its rows by what they are called, folded ones too.

use std::time::Instant;

use rustc_hash::FxHashMap;

use super::ask::{Found, From, SearchAnswer, SearchRequest, Step, Target};
use super::names::{Name, Names};
use super::pattern::Pattern;
use crate::graph::{Grouping, Labels, NodeKey, RowId, Rows, Sorting, Sought, What, Windows};
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::session::view::CallsRequest;
use crate::trace::Trace;

/// Rows named before the clock is looked at.
const SLICE: usize = 64;
/// Rows above a match that are told.
const TOLD: usize = 2;

/// What is known of the rows of a grouping.
#[derive(Debug, Default)]
pub(super) struct Tree {
    names: Names,
    named: FxHashMap<What, Name>,
    /// For which state of the trace names that may change were made.
    version: Option<Version>,
    grouping: Option<Grouping>,
    rows: Vec<Name>,
    /// The last row that has a name: rows may be made anew.
    last: Option<NodeKey>,
    sought: Option<(Made, Sought)>,
    found: Option<(u64, Found)>,
}

/// What names of threads, streams and call sites depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    symbols: u64,
    counts: [usize; 4],
    threads_alone: bool,
}

/// What rows that are sought were made of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made {
    text: String,
    grouping: Grouping,
    epoch: u64,
    rows: usize,
    symbols: u64,
}

impl Tree {
    /// Goes on until `until`.
    pub(super) fn advance(
        &mut self,
        model: &mut Model,
        calls: &CallsRequest,
        request: &SearchRequest,
        pattern: &Pattern,
        until: Instant,
    ) -> SearchAnswer {
        let mut answer = SearchAnswer { id: request.id, ..SearchAnswer::default() };
        let Some((windows, (cells, work), namer)) = model.in_rows(calls.grouping) else { return answer };
        if !self.name(&windows.rows, &namer, until) {
            answer.share = Some(share(self.rows.len(), windows.rows.len()) / 2);
            return answer;
        }
        if !self.names.look_for(&request.text, pattern, until) {
            answer.share = Some(500);
            return answer;
        }
        self.seek(windows, &namer, &request.text);
        let Some((_, sought)) = &self.sought else { return answer };
        answer.count = u64::from(sought.count());
        if self.found.as_ref().is_none_or(|(id, _)| *id != request.id) {
            let sorting = Sorting { sort: calls.sort, cells, work, labels: &namer };
            let found = step(windows, sought, request, sorting);
            self.found = found.and_then(|(row, number, wrapped)| {
                let found = tell(windows, &namer, calls, row)?;
                Some((request.id, Found { number: Some(u64::from(number) + 1), wrapped, ..found }))
            });
        }
        answer.found = self.found.as_ref().filter(|(id, _)| *id == request.id).map(|(_, found)| found.clone());
        answer
    }

    /// Names the rows; true when all have names.
    fn name(&mut self, rows: &Rows, namer: &Namer<'_>, until: Instant) -> bool {
        let version = Version::of(namer.trace, namer);
        if self.version != Some(version) {
            self.version = Some(version);
            self.named.retain(|what, _| is_constant(*what));
            self.rows.clear();
        }
        let same = self.rows.len().checked_sub(1).is_none_or(|last| {
            RowId::try_from(last).ok().and_then(|last| rows.get(last)).map(|row| row.key) == self.last
        });
        if self.grouping != Some(rows.grouping()) || !same {
            self.grouping = Some(rows.grouping());
            self.rows.clear();
        }
        while let Some(row) = RowId::try_from(self.rows.len()).ok().and_then(|row| rows.get(row)) {
            let what = row.what;
            let names = &mut self.names;
            self.rows.push(*self.named.entry(what).or_insert_with(|| names.add(&namer.label(what))));
            self.last = Some(row.key);
            if self.rows.len().is_multiple_of(SLICE) && Instant::now() >= until {
                return self.rows.len() == rows.len();
            }
        }
        true
    }

    /// Finds the rows whose names are found.
    fn seek(&mut self, windows: &mut Windows, namer: &Namer<'_>, text: &str) {
        let made = Made {
            text: text.to_owned(),
            grouping: windows.rows.grouping(),
            epoch: namer.trace.epoch(),
            rows: self.rows.len(),
            symbols: namer.version(),
        };
        if self.sought.as_ref().is_some_and(|(known, _)| *known == made) {
            return;
        }
        let (rows, finds) = (&self.rows, self.names.finds(text));
        let wanted = |row: RowId, _: What| {
            rows.get(row as usize).is_some_and(|&name| finds.is_some_and(|finds| finds.has(name)))
        };
        self.sought = Some((made, windows.seek(wanted)));
    }
}

impl Version {
    fn of(trace: &Trace, namer: &Namer<'_>) -> Self {
        // Functions may be defined later than they are called.
        let functions = trace.apis.iter().filter(|api| api.defined).count();
        let counts = [trace.processes.len(), trace.tracks.len(), trace.streams.all().len(), functions];
        Self { symbols: namer.version(), counts, threads_alone: namer.threads_alone }
    }
}

/// Whether it is always called the same.
const fn is_constant(what: What) -> bool {
    !matches!(
        what,
        What::Process(_)
            | What::Thread(_)
            | What::Stream(_)
            | What::Device(..)
            | What::Site(_)
            | What::Ids(..)
            | What::Call(_)
    )
}

fn share(part: usize, whole: usize) -> u16 {
    u16::try_from(part * 1000 / whole.max(1)).unwrap_or(1000)
}

/// The match that is wanted: row, how many stand before it, and whether it lies beyond an end.
fn step(
    windows: &mut Windows,
    sought: &Sought,
    request: &SearchRequest,
    sorting: Sorting<'_>,
) -> Option<(RowId, u32, bool)> {
    let count = sought.count();
    let last = count.checked_sub(1)?;
    let cursor = match request.from {
        From::Node(key) => key.and_then(|key| windows.rows.find(key)),
        From::Row(_) | From::Thing(_) => None,
    };
    let (before, here) = match cursor {
        Some(row) => (windows.sought_before(sought, row, sorting), u32::from(sought.is(row))),
        None => (0, 0),
    };
    let (number, wrapped) = match request.step {
        Step::Here => (before, before > last),
        Step::Next => (before + here, before + here > last),
        Step::Previous => (before.checked_sub(1).unwrap_or(last), before == 0),
        Step::Names(_) | Step::NamesOf(..) | Step::Source | Step::About => return None,
    };
    let number = number % count;
    windows.sought_at(sought, number, sorting).map(|row| (row, number, wrapped))
}

/// Where a row is.
fn tell(windows: &Windows, namer: &Namer<'_>, calls: &CallsRequest, row: RowId) -> Option<Found> {
    let path: Vec<_> = windows.path(row).into_iter().filter_map(|id| windows.rows.get(id)).collect();
    let key = windows.rows.get(row)?.key;
    let above: Vec<String> = path.iter().take(TOLD).map(|row| namer.label(row.what)).collect();
    let folded = path.iter().any(|row| !calls.folds.open(row.key, row.depth));
    let mut place = if above.is_empty() { String::new() } else { format!("in {}", above.join(", ")) };
    if folded {
        place.push_str(", folded");
    }
    let path = path.into_iter().map(|row| (row.key, row.depth)).collect();
    Some(Found { target: Target::Node { key, path }, number: None, place, wrapped: false })
}
