//! The test of what the GPU did.

use super::block::{Block, bit};
use super::plan::{Plan, Surroundings, Test, compare};
use super::words;
use crate::correlate::submitting_row;
use crate::filter::{NumberField, TextField};
use crate::trace::activity::{LaneId, Near};
use crate::trace::{Activity, ActivityKind, Lane, NO_DEVICE, NameId, StreamId, Trace, TrackId};

/// The call that submitted a piece of work, with the calls around it: one place that is used for one record after the
/// other.
#[derive(Debug, Default)]
pub(super) struct Tie {
    block: Block,
    /// The call in the block.
    at: usize,
    near: Near,
}

impl Tie {
    /// That of this work; false where the call is not known, or the one around it has not ended.
    fn find(&mut self, trace: &Trace, lane: &Lane, activity: &Activity) -> bool {
        let found = submitting_row(trace, lane.process, activity.correlation, &mut self.near);
        let Some(((id, row), track)) = found.and_then(|found| Some((found, trace.track(found.0)?))) else {
            return false;
        };
        let group = track.group(row);
        self.at = row - group.start;
        self.block.read(id, track, group);
        self.block.calls.last().is_some_and(|outermost| outermost.depth == 0)
    }

    /// Thread and row of the call.
    const fn call(&self) -> (TrackId, usize) {
        (self.block.track, self.block.first_row + self.at)
    }

    /// The call and those around it.
    fn chain(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(self.at), |&at| {
            let caller = *self.block.callers.get(at)? as usize;
            (caller < self.block.len()).then_some(caller)
        })
    }
}

/// Whether a record has a call that submitted it, known or not.
fn is_tied(activity: &Activity) -> bool {
    activity.kind.is_work() && activity.correlation != 0
}

/// A record of a lane.
#[derive(Clone, Copy)]
struct Row<'a> {
    id: LaneId,
    lane: &'a Lane,
    activity: &'a Activity,
    /// The stream that calls name for it.
    stream: Option<StreamId>,
    tie: Option<&'a Tie>,
}

/// What is found of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// It is selected, by what is known now.
    pub selected: bool,
    /// It is, and the range of time cuts it.
    pub cut: bool,
    /// What is not known yet may change that: the call that submitted it, or its name.
    pub open: bool,
}

impl Plan {
    /// Whether a record is selected. `stream` is the stream of its lane, if calls name it.
    pub fn record(
        &mut self,
        around: &Surroundings<'_>,
        id: LaneId,
        activity: &Activity,
        stream: Option<StreamId>,
    ) -> Decision {
        let Some(lane) = around.trace.activities.lane(id) else { return Decision::default() };
        let end = if words::is_moment(activity) { activity.start_ns } else { activity.end_ns() };
        let (inside, cut) = self.overlap(activity.start_ns, end);
        // What has no time is in no range of it.
        if !inside || (self.range.is_some() && !activity.timed) {
            return Decision::default();
        }
        let test = std::mem::take(&mut self.test);
        let (selected, open) = self.holds_for(&test, around, (id, lane), activity, stream);
        self.test = test;
        Decision { selected, cut: selected && cut, open }
    }

    /// Whether a stage holds for a record, and if so for which call that submitted it; the second: that is not known
    /// yet.
    pub fn stage(
        &mut self,
        around: &Surroundings<'_>,
        stage: usize,
        id: LaneId,
        activity: &Activity,
        stream: Option<StreamId>,
    ) -> (Option<(TrackId, usize)>, bool) {
        let (Some(lane), Some(test)) = (around.trace.activities.lane(id), self.stages.get(stage).cloned()) else {
            return (None, false);
        };
        if !is_tied(activity) {
            return (None, false);
        }
        // Most kernels are other ones, and what is asked of their names needs no call.
        let alone = Row { id, lane, activity, stream, tie: None };
        if let Test::Text(leaf) = *test
            && self.leaves.get(leaf).is_some_and(|answers| answers.field == TextField::Kernel)
            && !self.record_text(leaf, around, &alone)
        {
            return (None, self.is_late(around.trace, activity));
        }
        let mut tie = std::mem::take(&mut self.tie);
        let found = if tie.find(around.trace, lane, activity) {
            let row = Row { tie: Some(&tie), ..alone };
            let holds = self.record_holds(&test, around, &row);
            (holds.then(|| tie.call()), self.is_open(around.trace, &row))
        } else {
            (None, true)
        };
        self.tie = tie;
        found
    }

    fn holds_for(
        &mut self,
        test: &Test,
        around: &Surroundings<'_>,
        (id, lane): (LaneId, &Lane),
        activity: &Activity,
        stream: Option<StreamId>,
    ) -> (bool, bool) {
        let wants = self.needs.tie && is_tied(activity);
        let mut tie = std::mem::take(&mut self.tie);
        let known = wants && tie.find(around.trace, lane, activity);
        let row = Row { id, lane, activity, stream, tie: Some(&tie).filter(|_| known) };
        let open = (wants && !known) || self.is_open(around.trace, &row);
        let holds = self.record_holds(test, around, &row);
        self.tie = tie;
        (holds, open)
    }

    /// Whether what is known later may change how a record is decided whose call is known.
    fn is_open(&self, trace: &Trace, row: &Row<'_>) -> bool {
        let called = row.tie.and_then(|tie| tie.block.calls.get(tie.at)).map_or(0, |call| call.start_ns);
        let at_ns = row.activity.start_ns.max(called);
        at_ns > self.known_until(row.lane.process) || self.is_late(trace, row.activity)
    }

    /// Whether the name of a kernel is asked for and not known yet.
    fn is_late(&self, trace: &Trace, activity: &Activity) -> bool {
        activity.kind == ActivityKind::Kernel
            && activity.text().is_late(trace.activities.kernel_name(activity))
            && self.leaves.iter().any(|leaf| leaf.field == TextField::Kernel)
    }

    fn record_holds(&mut self, test: &Test, around: &Surroundings<'_>, row: &Row<'_>) -> bool {
        let activity = row.activity;
        match test {
            Test::All(all) => all.iter().all(|one| self.record_holds(one, around, row)),
            Test::Any(any) => any.iter().any(|one| self.record_holds(one, around, row)),
            Test::Not(one) => !self.record_holds(one, around, row),
            &Test::Text(leaf) | &Test::Kernel(leaf, _) => self.record_text(leaf, around, row),
            &Test::Number(field, comparison, number) => {
                let value = match field {
                    NumberField::Size => words::bytes(activity),
                    NumberField::Duration => {
                        (activity.timed && !words::is_moment(activity)).then_some(activity.duration_ns)
                    }
                    NumberField::Time => activity.timed.then(|| activity.start_ns.saturating_sub(self.start_ns)),
                };
                value.is_some_and(|value| compare(value, comparison, number))
            }
            &Test::Address(from, to) => {
                let bytes = words::bytes(activity).unwrap_or(1).max(1);
                let end = activity.address.saturating_add(bytes - 1);
                let lies = activity.address != 0 && activity.address <= to && end >= from;
                lies || row.tie.is_some_and(|tie| self.tie_holds(test, around, tie))
            }
            Test::Inside(one) => row.tie.is_some_and(|tie| self.tie_holds(one, around, tie)),
            Test::Failed | Test::Around(..) => false,
        }
    }

    /// Whether it holds for the call that submitted a record, or for one around that.
    fn tie_holds(&mut self, test: &Test, around: &Surroundings<'_>, tie: &Tie) -> bool {
        let holds = self.call_words(test, around, &tie.block);
        tie.chain().any(|at| bit(&holds, at))
    }

    fn record_text(&mut self, leaf: usize, around: &Surroundings<'_>, row: &Row<'_>) -> bool {
        let (trace, activity) = (around.trace, row.activity);
        let Some(answers) = self.leaves.get_mut(leaf) else { return false };
        if answers.field == TextField::Allocation {
            let lies =
                activity.address != 0 && answers.held().at(row.lane.process, activity.address, activity.start_ns);
            return lies || row.tie.is_some_and(|tie| self.tie_holds(&Test::Text(leaf), around, tie));
        }
        let root = || row.tie.and_then(|tie| tie.block.root(tie.at));
        match answers.field {
            TextField::Api => row.tie.is_some_and(|tie| {
                let mut apis = tie.chain().filter_map(|at| tie.block.calls.get(at)).map(|call| call.api);
                apis.any(|api| answers.api(api))
            }),
            TextField::Layer => answers.word(words::GPU),
            TextField::Thread => row.tie.is_some_and(|tie| answers.track(trace, tie.block.track)),
            TextField::Process | TextField::Rank | TextField::Host => answers.process(row.lane.process),
            TextField::Stream => match (row.stream, words::lane_ids(row.lane.of)) {
                (Some(stream), _) => answers.stream(stream),
                (None, Some(ids)) => answers.lane(row.id, ids),
                (None, None) => false,
            },
            TextField::Device => {
                activity.device != NO_DEVICE && answers.device(trace, row.lane.process, activity.device)
            }
            TextField::Kernel => {
                let name = trace.activities.kernel_name(activity);
                activity.kind == ActivityKind::Kernel && name != NameId::NONE && answers.kernel(trace, name)
            }
            TextField::Range => {
                let track = row.tie.map(|tie| tie.block.track);
                let root = root().zip(track);
                root.is_some_and(|(root, track)| answers.span(around.spans.at(track, root.start_ns)))
            }
            TextField::Site => root().is_some_and(|root| answers.site(root.site)),
            TextField::Kind => answers.kind(activity),
            TextField::Cause => words::cause(activity).is_some_and(|cause| answers.word(cause)),
            TextField::Allocation | TextField::Result => false,
        }
    }
}
