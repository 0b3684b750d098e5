//! The one table of allocations of a session: those of all processes, found when somebody asks for them, in slices, and
//! found on while the trace grows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::correlate::{AllocationFinder, Allocations};
use crate::lens::Allocated;
use crate::trace::{Bytes, Trace};

/// While a trace grows, the table is made anew so many times less often than that takes.
const PAUSE: u32 = 3;

/// How much of a trace has been looked at: calls, functions, names, processes.
type Known = (u64, usize, usize, usize);

/// The allocations of each process of a trace, as far as its calls have been looked at.
#[derive(Debug, Default)]
pub(in crate::session) struct Lives {
    finder: AllocationFinder,
    /// All that had been read when all of it had been looked at.
    known: Option<Known>,
    /// Until when that is, ns, of each process.
    known_until: Vec<u64>,
    is_current: bool,
    /// Somebody has asked for them since [`Lives::drop_wish`].
    wanted: bool,
    /// Time spent since the table was made last, and not before when it is made anew.
    spent: Duration,
    due: Option<Instant>,
}

impl Lives {
    /// Goes on finding them until `until`, but while the trace grows not all the time. True if they are now those of the
    /// trace as it is. `files` are those of the trace.
    pub(in crate::session) fn update(
        &mut self,
        trace: &Trace,
        files: &[Option<Arc<dyn Bytes>>],
        until: Instant,
    ) -> bool {
        self.wanted = true;
        let known = (trace.calls(), trace.apis.len(), trace.names.len(), trace.processes.len());
        self.is_current = self.known == Some(known);
        let begun = Instant::now();
        if !self.is_current && self.due.is_none_or(|due| begun >= due) {
            let version = self.finder.version();
            self.is_current = self.finder.advance(trace, files, &mut || Instant::now() < until);
            self.spent += begun.elapsed();
            if self.is_current {
                self.known = Some(known);
            }
            if self.finder.version() != version {
                self.due = self.spent.checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
                self.spent = Duration::ZERO;
            }
        }
        let is_current = self.is_current;
        self.known_until.clear();
        self.known_until.extend(self.finder.known_until().map(|until| if is_current { u64::MAX } else { until }));
        is_current
    }

    /// Whether there is more to find for whoever has asked for them last.
    pub(in crate::session) const fn goes_on(&self) -> bool {
        self.wanted && !self.is_current
    }

    /// Whoever asked does so no longer.
    pub(in crate::session) const fn drop_wish(&mut self) {
        self.wanted = false;
    }

    /// Finds all of them at once.
    pub(in crate::session) fn find_all(&mut self, trace: &Trace, files: &[Option<Arc<dyn Bytes>>]) {
        self.finder.advance(trace, files, &mut || true);
    }

    /// Those of each process, by its number, as they were found last; none before they are first asked for.
    pub(in crate::session) fn all(&self) -> &[Arc<Allocations>] {
        self.finder.all()
    }

    /// Grows whenever they are found anew.
    pub(in crate::session) const fn version(&self) -> u64 {
        self.finder.version()
    }

    /// For a lens.
    pub(in crate::session) fn allocated(&self) -> Allocated<'_> {
        Allocated { all: self.finder.all(), version: self.finder.version(), known_until: &self.known_until }
    }
}
