//! The one table of allocations of a session: those of all processes, found when somebody asks for them.

use std::sync::Arc;
use std::time::Instant;

use crate::correlate::{Allocations, size_opened};
use crate::lens::Allocated;
use crate::trace::{Bytes, ProcessId, Trace};

/// While a trace grows, its allocations are found anew so many times less often than that takes.
const PAUSE: u32 = 3;

/// How much of a trace allocations were found from: calls, functions, names.
type Known = (u64, usize, usize);

/// The allocations of each process of a trace, as far as its calls have been read.
#[derive(Debug, Default)]
pub(in crate::session) struct Lives {
    of: Vec<Arc<Allocations>>,
    known: Option<Known>,
    /// Not before they are found anew.
    due: Option<Instant>,
    version: u64,
    is_current: bool,
}

impl Lives {
    /// Finds them anew if more calls are known, but not all the time, until `until`. True if they are now those of the
    /// trace as it is. `files` are those of the trace.
    pub(in crate::session) fn update(
        &mut self,
        trace: &Trace,
        files: &[Option<Arc<dyn Bytes>>],
        _until: Instant,
    ) -> bool {
        let known = (trace.calls(), trace.apis.len(), trace.names.len());
        self.is_current = self.known == Some(known);
        let begun = Instant::now();
        if self.is_current || self.due.is_some_and(|due| begun < due) {
            return self.is_current;
        }
        let none: Arc<dyn Bytes> = Arc::new(Vec::new());
        let files: Vec<Arc<dyn Bytes>> =
            files.iter().map(|file| file.clone().unwrap_or_else(|| none.clone())).collect();
        let processes = (0..trace.processes.len()).filter_map(|id| u16::try_from(id).ok()).map(ProcessId);
        let mut of: Vec<Allocations> = processes.map(|process| Allocations::of(trace, process, &files)).collect();
        size_opened(&mut of);
        self.of = of.into_iter().map(Arc::new).collect();
        self.known = Some(known);
        self.is_current = true;
        self.version += 1;
        self.due = begun.elapsed().checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
        true
    }

    /// Those of each process, by its number, as they were found last; none before they are first asked for.
    pub(in crate::session) fn all(&self) -> &[Arc<Allocations>] {
        &self.of
    }

    /// Grows whenever they are found anew.
    #[allow(dead_code, reason = "for screens that keep what they made of them")]
    pub(in crate::session) const fn version(&self) -> u64 {
        self.version
    }

    /// Whether they were those of the trace as it was when they were last asked for.
    #[allow(dead_code, reason = "for screens that say so")]
    pub(in crate::session) const fn is_current(&self) -> bool {
        self.is_current
    }

    /// For a lens.
    pub(in crate::session) fn allocated(&self) -> Allocated<'_> {
        Allocated { all: &self.of, version: self.version, is_current: self.is_current }
    }
}
