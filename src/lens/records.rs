//! The test of what the GPU did.

use super::plan::{Plan, Surroundings, Test, compare};
use super::ties::Tie;
use super::words;
use crate::filter::{NumberField, TextField};
use crate::trace::activity::LaneId;
use crate::trace::{Activity, ActivityKind, Lane, NO_DEVICE, NameId, StreamId, Trace};

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
    /// Call that submitted it, if that is known.
    tie: Option<Tie>,
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
    ) -> (Option<Tie>, bool) {
        let (Some(lane), Some(test)) = (around.trace.activities.lane(id), self.stages.get(stage).cloned()) else {
            return (None, false);
        };
        if !is_tied(activity) {
            return (None, false);
        }
        // Most are other ones, and mostly what is asked needs no call.
        let alone = Row { id, lane, activity, stream, tie: None };
        let asks_calls = self.asks_calls(&test);
        if !asks_calls && !self.record_holds(&test, around, &alone) {
            return (None, self.is_late(around.trace, activity));
        }
        let Some(tie) = self.ties.find(around, lane, activity) else { return (None, true) };
        let row = Row { tie: Some(tie), ..alone };
        let holds = !asks_calls || self.record_holds(&test, around, &row);
        (holds.then_some(tie), self.is_open(around.trace, &row))
    }

    fn holds_for(
        &mut self,
        test: &Test,
        around: &Surroundings<'_>,
        (id, lane): (LaneId, &Lane),
        activity: &Activity,
        stream: Option<StreamId>,
    ) -> (bool, bool) {
        let wants = self.asks_calls && is_tied(activity);
        let tie = if wants { self.ties.find(around, lane, activity) } else { None };
        let row = Row { id, lane, activity, stream, tie };
        let open = (wants && tie.is_none()) || self.is_open(around.trace, &row);
        (self.record_holds(test, around, &row), open)
    }

    /// Whether what is known later may change how a record is decided whose call is known.
    fn is_open(&self, trace: &Trace, row: &Row<'_>) -> bool {
        if self.is_late(trace, row.activity) {
            return true;
        }
        let known_until = self.known_until(row.lane.process);
        if known_until == u64::MAX {
            return false;
        }
        let called = row.tie.and_then(|(track, row)| trace.track(track)?.call(row)).map_or(0, |call| call.start_ns);
        row.activity.start_ns.max(called) > known_until
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
            &Test::Address(from, to, question) => {
                let bytes = words::bytes(activity).unwrap_or(1).max(1);
                let end = activity.address.saturating_add(bytes - 1);
                let lies = activity.address != 0 && activity.address <= to && end >= from;
                lies || self.call_holds(question, around, row)
            }
            &Test::Inside(_, question) => self.call_holds(question, around, row),
            Test::Failed | Test::Around(..) => false,
        }
    }

    /// Whether it holds for the call that submitted a record, or for one around that.
    fn call_holds(&mut self, question: Option<usize>, around: &Surroundings<'_>, row: &Row<'_>) -> bool {
        question.zip(row.tie).is_some_and(|(question, tie)| self.tied(question, around, tie))
    }

    fn record_text(&mut self, leaf: usize, around: &Surroundings<'_>, row: &Row<'_>) -> bool {
        let (trace, activity) = (around.trace, row.activity);
        let Some(answers) = self.leaves.get_mut(leaf) else { return false };
        match answers.field {
            TextField::Allocation => {
                let lies =
                    activity.address != 0 && answers.held().at(row.lane.process, activity.address, activity.start_ns);
                lies || self.call_holds(self.questions.get(leaf).copied().flatten(), around, row)
            }
            TextField::Api | TextField::Range | TextField::Site => {
                self.call_holds(self.questions.get(leaf).copied().flatten(), around, row)
            }
            TextField::Layer => answers.word(words::GPU),
            TextField::Thread => row.tie.is_some_and(|(track, _)| answers.track(trace, track)),
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
            TextField::Kind => answers.kind(activity),
            TextField::Cause => words::cause(activity).is_some_and(|cause| answers.word(cause)),
            TextField::Result => false,
        }
    }
}
