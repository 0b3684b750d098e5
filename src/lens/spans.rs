//! Ranges (NVTX) as a lens needs them, and the test of their own rows.

use super::plan::{Plan, Surroundings, Test, compare};
use crate::filter::{NumberField, TextField};
use crate::trace::{NameId, RangeKind, Trace, TrackId};

/// Which range a moment lies in.
pub trait Spans {
    /// The innermost range of a thread at a moment, ns: a path of ranges by its number; 0 outside of all.
    fn at(&self, track: TrackId, ns: u64) -> u32 {
        self.at_until(track, ns).0
    }
    /// Likewise, and before which moment, ns, it stays so.
    fn at_until(&self, track: TrackId, ns: u64) -> (u32, u64);
    /// The path of a thread's range by its row; 0 for marks.
    fn node_of(&self, track: TrackId, row: usize) -> u32;
    /// Paths, the one outside of all included.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Of a path that around it, whose number is smaller, and its own name.
    fn path(&self, trace: &Trace, node: u32) -> Option<(u32, NameId)>;
}

impl Plan {
    /// Whether a range or mark is selected, and whether it is cut by the range of time.
    pub fn range(&mut self, around: &Surroundings<'_>, track: TrackId, row: usize) -> (bool, bool) {
        let Some(range) = around.trace.ranges.of(track).get(row) else { return (false, false) };
        let (inside, cut) = self.overlap(range.start_ns, range.end_ns().unwrap_or(u64::MAX));
        if !inside {
            return (false, false);
        }
        let test = std::mem::take(&mut self.test);
        let selected = self.span_holds(&test, around, track, row);
        self.test = test;
        (selected, selected && cut)
    }

    fn span_holds(&mut self, test: &Test, around: &Surroundings<'_>, track: TrackId, row: usize) -> bool {
        match test {
            Test::All(all) => all.iter().all(|one| self.span_holds(one, around, track, row)),
            Test::Any(any) => any.iter().any(|one| self.span_holds(one, around, track, row)),
            Test::Not(one) => !self.span_holds(one, around, track, row),
            &Test::Text(leaf) => self.span_text(leaf, around, track, row),
            &Test::Number(field, comparison, number) => {
                let Some(range) = around.trace.ranges.of(track).get(row) else { return false };
                let value = match field {
                    NumberField::Size => None,
                    NumberField::Duration if range.kind == RangeKind::Mark => None,
                    NumberField::Duration => range.end_ns().map(|end| end.saturating_sub(range.start_ns)),
                    NumberField::Time => Some(range.start_ns.saturating_sub(self.start_ns)),
                };
                value.is_some_and(|value| compare(value, comparison, number))
            }
            Test::Failed | Test::Address(..) | Test::Inside(..) | Test::Around(..) | Test::Kernel(..) => false,
        }
    }

    fn span_text(&mut self, leaf: usize, around: &Surroundings<'_>, track: TrackId, row: usize) -> bool {
        let trace = around.trace;
        let Some(range) = trace.ranges.of(track).get(row).copied() else { return false };
        let Some(answers) = self.leaves.get_mut(leaf) else { return false };
        match answers.field {
            TextField::Thread | TextField::Process | TextField::Rank | TextField::Host => answers.track(trace, track),
            TextField::Range if range.kind == RangeKind::Mark => {
                let around = answers.span(around.spans.at(track, range.start_ns));
                around || answers.mark(trace, trace.activities.name(range.name))
            }
            TextField::Range => answers.span(around.spans.node_of(track, row)),
            TextField::Kind => answers.word(if range.kind == RangeKind::Mark { "mark" } else { "range" }),
            _ => false,
        }
    }
}
