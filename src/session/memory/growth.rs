//! What has grown between two moments.

use std::time::Instant;

use super::ask::{GrowthGrouping, GrowthRequest, GrowthRow, GrowthRows, HeldThen};
use crate::filter::{Condition, TextField};
use crate::memory::{Account, Delta, Extent, Held, SizeClass, Snapshot, difference, extents};
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::session::search::exact::exact;
use crate::trace::value::size;
use crate::trace::{ProcessId, SiteId};

/// What two moments differ in, of what adds to the memory in use.
#[derive(Debug)]
pub(super) struct Grown {
    /// By call site and size.
    by_site: Vec<Delta<(SiteId, SizeClass)>>,
    /// By part of the address space.
    by_range: Vec<Delta<Extent>>,
    before: Held,
    after: Held,
}

impl Grown {
    /// Between two moments, ns on the trace's axis.
    pub(super) fn between(account: &Account, from_ns: u64, to_ns: u64) -> Self {
        let [before, after] = [from_ns, to_ns].map(|at_ns| Snapshot::at(account, at_ns));
        let by_site =
            |snapshot: &Snapshot| snapshot.by(|cell| cell.kind.adds_memory().then_some((cell.site, cell.class)));
        Self {
            by_site: difference(by_site(&before), by_site(&after)),
            by_range: extents(account, &before, &after),
            before: before.total(),
            after: after.total(),
        }
    }
}

impl Model {
    /// Rows of what has grown, and whether they are those of the moments that are asked for.
    pub(super) fn growth(&mut self, request: &GrowthRequest, to_ns: u64, until: Instant) -> (GrowthRows, bool) {
        // What was there when the trace began was there before its first call.
        let start = self.trace.start_ns();
        let from_ns = request.since.map_or(start.saturating_sub(1), |since| start.saturating_add(since));
        let (grown, complete) = self.books.grown(from_ns, to_ns, until);
        let Some(grown) = grown else { return (GrowthRows::default(), complete) };
        let total = match request.by {
            GrowthGrouping::Site => grown.by_site.len(),
            GrowthGrouping::Range => grown.by_range.len(),
        };
        let first = usize::try_from(request.first).unwrap_or(usize::MAX).min(total);
        let rows = match request.by {
            GrowthGrouping::Site => {
                let window = grown.by_site.iter().skip(first).take(request.rows);
                window.map(|delta| self.grown_site(delta)).collect()
            }
            GrowthGrouping::Range => {
                let window = grown.by_range.iter().skip(first).take(request.rows);
                window.map(|delta| self.grown_range(delta)).collect()
            }
        };
        let (before, after) = (then(grown.before), then(grown.after));
        (GrowthRows { total: total as u64, first: first as u64, rows, before, after }, complete)
    }

    fn grown_site(&mut self, delta: &Delta<(SiteId, SizeClass)>) -> GrowthRow {
        let (site, class) = delta.key;
        let name = Namer::new(&self.trace, &mut self.symbols).site(site);
        let like = (!name.is_empty()).then(|| Condition::Text(TextField::Site, exact(&name)));
        row(delta, name, class.to_string(), like)
    }

    fn grown_range(&mut self, delta: &Delta<Extent>) -> GrowthRow {
        let Extent { process, from, to } = delta.key;
        let pid = self.pid_if_several(process);
        let (name, like) = match from {
            Some(from) => {
                let words = format!("{from:#x}, {}{pid}", size(to.saturating_sub(from)));
                (words, Some(Condition::Address(from, to.saturating_sub(1).max(from))))
            }
            None => (format!("without an address{pid}"), None),
        };
        row(delta, name, String::new(), like)
    }

    fn pid_if_several(&self, process: ProcessId) -> String {
        let pid = self.trace.process(process).map(|process| process.pid);
        match pid {
            Some(pid) if self.trace.processes.len() > 1 => format!(" of {pid}"),
            _ => String::new(),
        }
    }
}

const fn then(held: Held) -> HeldThen {
    HeldThen { count: held.count, bytes: held.bytes() }
}

fn row<K>(delta: &Delta<K>, name: String, class: String, like: Option<Condition>) -> GrowthRow {
    GrowthRow {
        name,
        class,
        before: then(delta.before),
        after: then(delta.after),
        bytes: delta.bytes(),
        count: delta.count(),
        verdict: delta.verdict().word(),
        like,
    }
}
