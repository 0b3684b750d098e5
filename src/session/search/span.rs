//! From when to when a function was called or a kernel ran, of all that a lens selects. Found in slices.

use std::time::Instant;

use crate::graph::What;
use crate::session::model::Model;
use crate::trace::activity::LaneId;
use crate::trace::{ActivityKind, TrackId};

/// Records looked at between two looks at the clock; of calls a piece of the columns.
const STEP: usize = 1024;

/// First begin and last end of a thing, as far as it has been looked for.
#[derive(Debug, Default)]
pub(super) struct ThingSpan {
    /// The question.
    of: Option<(u64, What)>,
    /// Thread or lane, and row, that come next.
    next: (usize, usize),
    /// ns on the trace's axis.
    span: Option<(u64, u64)>,
}

impl ThingSpan {
    /// Goes on until `until` with the question `id`: first begin and last end, ns since the trace began, or `None` as long
    /// as it is not known.
    pub(super) fn advance(
        &mut self,
        model: &Model,
        (id, what): (u64, What),
        until: Instant,
    ) -> Option<Option<(u64, u64)>> {
        if self.of != Some((id, what)) {
            *self = Self { of: Some((id, what)), ..Self::default() };
        }
        let done = match what {
            What::Call(_) => self.calls(model, what, until),
            What::Kernel(_) => self.kernels(model, what, until),
            _ => true,
        };
        if !done {
            return None;
        }
        let (span, start) = (self.span, model.trace.start_ns());
        *self = Self::default();
        Some(span.map(|(from, to)| (from.saturating_sub(start), to.saturating_sub(start))))
    }

    /// How much has been looked at, thousandths.
    pub(super) fn share(&self, model: &Model) -> u16 {
        let trace = &model.trace;
        let all = match self.of {
            Some((_, What::Kernel(_))) => trace.activities.lanes().len(),
            _ => trace.tracks.len(),
        };
        u16::try_from(self.next.0.saturating_mul(1000).checked_div(all).unwrap_or(0)).unwrap_or(999).min(999)
    }

    fn grow(&mut self, from: u64, to: u64) {
        let all = self.span.unwrap_or((from, to));
        self.span = Some((all.0.min(from), all.1.max(to)));
    }

    fn calls(&mut self, model: &Model, what: What, until: Instant) -> bool {
        let selected = model.selected();
        let is_it = |api| What::Call(api) == what;
        while let Some(track) = model.trace.tracks.get(self.next.0) {
            let Ok(id) = u32::try_from(self.next.0).map(TrackId) else { break };
            while let Some((chunk, _)) = track.chunk_of(self.next.1) {
                let first = chunk.first_row();
                if chunk.summary().apis().any(is_it) {
                    for row in (0..chunk.len()).filter(|&row| selected.is_none_or(|of| of.call(id, first + row))) {
                        if let Some(call) = chunk.call(row).filter(|call| is_it(call.api)) {
                            self.grow(call.start_ns, call.end_ns());
                        }
                    }
                }
                self.next.1 = first + chunk.len();
                if Instant::now() >= until {
                    return false;
                }
            }
            self.next = (self.next.0 + 1, 0);
        }
        // What has not ended has lasted until now.
        for (_, call) in model.seen_open().into_iter().filter(|(_, call)| is_it(call.api)) {
            self.grow(call.start_ns, model.trace.end_ns().max(call.start_ns));
        }
        true
    }

    fn kernels(&mut self, model: &Model, what: What, until: Instant) -> bool {
        let (trace, selected) = (&model.trace, model.selected());
        while let Some(lane) = trace.activities.lanes().get(self.next.0) {
            let Ok(id) = u32::try_from(self.next.0).map(LaneId) else { break };
            while self.next.1 < lane.len() {
                let rows = self.next.1..lane.len().min(self.next.1 + STEP);
                self.next.1 = rows.end;
                lane.for_each_in(rows, |row, activity| {
                    let is_it = activity.kind == ActivityKind::Kernel
                        && activity.timed
                        && What::Kernel(trace.activities.kernel_name(&activity)) == what;
                    if is_it && selected.is_none_or(|of| of.record(id, row)) {
                        self.grow(activity.start_ns, activity.end_ns());
                    }
                });
                if Instant::now() >= until {
                    return false;
                }
            }
            self.next = (self.next.0 + 1, 0);
        }
        true
    }
}
