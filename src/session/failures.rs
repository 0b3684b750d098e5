//! Which functions failed, and with what.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::events::read;
use super::labels::Namer;
use super::model::Model;
use super::safe::safe;
use crate::correlate;
use crate::graph::{Grouping, TOP, What};
use crate::lens::Selected;
use crate::symbols::demangled;
use crate::trace::{ApiId, Bytes, Layer, Trace, TrackId, results};

/// Failed calls whose status is read; they are the newest.
const READ: usize = 256;
/// Rows looked at to find them.
const LOOK: usize = 1 << 20;

/// A function of which calls failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The function.
    pub api: ApiId,
    /// Its calls that failed.
    pub failed: u64,
    /// The commonest error among the newest of them, if their records can be read.
    pub error: Option<String>,
}

impl Model {
    /// Functions of which calls failed, the most failures first.
    pub(super) fn failing(&mut self) -> Vec<(ApiId, u64)> {
        let Some(view) = self.seen_view(Grouping::Flat) else { return Vec::new() };
        let rows = view.rows.children(TOP).filter_map(|row| view.rows.get(row));
        let mut failing: Vec<(ApiId, u64, u64)> = rows
            .filter_map(|row| match row.what {
                What::Call(api) => Some((api, row.sums().failed, row.sums().total_ns)),
                _ => None,
            })
            .filter(|&(_, failed, _)| failed > 0)
            .collect();
        // What the call above it expected is no failure of the program's.
        for (api, failed, _) in &mut failing {
            *failed = failed.saturating_sub(self.handled_of(*api));
        }
        failing.retain(|&(_, failed, _)| failed > 0);
        failing.sort_by_key(|&(api, failed, total)| (std::cmp::Reverse((failed, total)), api));
        failing.into_iter().map(|(api, failed, _)| (api, failed)).collect()
    }

    /// The first error after which nothing works any more: which call returned it, when, and which kernel may be to blame.
    pub(super) fn sticky_line(&mut self) -> Option<String> {
        let failed = *self.mishaps.first_sticky()?;
        if self.selected().is_some_and(|selected| !selected.call(failed.track, failed.row)) {
            return None;
        }
        if let Some((_, line)) = self.sticky.as_ref().filter(|(known, _)| *known == failed) {
            return Some(line.clone());
        }
        let failure = self.mishaps.of(&self.trace, &self.files, &failed);
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let line = line(&namer, &failure);
        self.sticky = Some((failed, line.clone()));
        Some(line)
    }

    /// The same with their commonest errors.
    pub(super) fn failures(&mut self) -> Vec<Failure> {
        let failing = self.failing();
        let with_error = failing.into_iter().map(|(api, failed)| Failure {
            api,
            failed,
            error: commonest_error(&self.trace, &self.files, self.selected(), api),
        });
        with_error.collect()
    }
}

/// A failure in a line, safe for the terminal.
fn line(namer: &Namer<'_>, failure: &correlate::Failure) -> String {
    let trace = namer.trace;
    let call = &failure.failed.call;
    let layer = trace.api(call.api).map_or(Layer::Runtime, |api| api.layer);
    let error = failure.failed.status.map_or_else(|| "an error".to_owned(), |status| results::text(layer, status));
    let since_ms = call.end_ns().saturating_sub(trace.start_ns()) / 1_000_000;
    let name = trace.api_name(call.api);
    let (seconds, thousandths) = (since_ms / 1000, since_ms % 1000);
    let mut line = safe(&format!("{error} since {name} at {seconds}.{thousandths:03} s")).into_owned();
    let suspect = failure.suspects.as_ref().and_then(|suspects| suspects.launches.first());
    if let Some(suspect) = suspect {
        let kernel = suspect.kernel.map_or("a launch", |name| trace.names.get(name));
        let _ = write!(line, "; suspect: {} from {}", safe(&demangled(kernel)), namer.site(suspect.site));
    }
    line
}

/// The commonest error among the newest failed calls of a function.
pub(super) fn commonest_error(
    trace: &Trace,
    files: &[Option<Arc<dyn Bytes>>],
    selected: Option<&Selected>,
    api: ApiId,
) -> Option<String> {
    let function = trace.api(api)?;
    let same = |other: ApiId| {
        other == api || trace.api(other).is_some_and(|o| (o.name, o.layer) == (function.name, function.layer))
    };
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let (mut read_so_far, mut looked_at) = (0, 0);
    for (id, track) in (0..).map(TrackId).zip(&trace.tracks) {
        for chunk in track.chunks().rev() {
            if chunk.summary().failed == 0 || !chunk.summary().apis().any(same) {
                continue;
            }
            for inner in (0..chunk.len()).rev() {
                if read_so_far >= READ || looked_at >= LOOK {
                    break;
                }
                looked_at += 1;
                let row = chunk.first_row() + inner;
                let wanted = selected.is_none_or(|selected| selected.call(id, row));
                if wanted && chunk.call(inner).is_some_and(|call| call.flags.failed() && same(call.api)) {
                    read_so_far += 1;
                    if let Some(raw) = read(files, track, row) {
                        *counts.entry(raw.status()).or_default() += 1;
                    }
                }
            }
        }
    }
    let (status, _) = counts.into_iter().max_by_key(|&(status, count)| (count, std::cmp::Reverse(status)))?;
    Some(results::text(function.layer, status))
}
