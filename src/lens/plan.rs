//! A condition made ready for a trace.

use std::sync::Arc;

use super::Lens;
use super::answers::Answers;
use super::held::Allocated;
use super::matcher::Matcher;
use super::range::TimeRange;
use super::spans::Spans;
use super::steps::{StepsFound, Walked};
use super::ties::Ties;
use crate::filter::{Comparison, Condition, NumberField, TextField};
use crate::symbols::Symbols;
use crate::trace::{Bytes, ProcessId, Trace, TrackId};

/// Deepest nesting of a condition.
const DEEPEST: usize = 200;

/// Why a condition cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A pattern is wrong.
    #[error("the pattern {0:?} cannot be used: {1}")]
    Pattern(String, String),
    /// It is nested too deeply.
    #[error("the filter is nested more than {DEEPEST} deep")]
    Deep,
}

/// What is asked of an event, its patterns by number.
#[derive(Clone, Debug)]
pub(super) enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    Text(usize),
    Number(NumberField, Comparison, u64),
    /// With the number of the question for the call that submitted a record.
    Address(u64, u64, Option<usize>),
    Failed,
    /// Likewise.
    Inside(Arc<Test>, Option<usize>),
    /// With the number of the marks that the work of the GPU has left.
    Around(usize, Arc<Test>),
    /// A pattern for kernels: of the kernel, and of calls that launched one, whose marks have this number.
    Kernel(usize, usize),
}

impl Default for Test {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

/// What a test may look at beside the event.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Where the raw records of each file lie.
    pub files: &'a [Option<Arc<dyn Bytes>>],
    /// Its ranges.
    pub spans: &'a dyn Spans,
    /// Its allocations; looked at only if [`Plan::needs_allocations`].
    pub allocations: Allocated<'a>,
}

/// What a condition looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Ranges.
    pub spans: bool,
    /// Raw records of calls.
    pub raw: bool,
    /// When the trace began.
    pub start: bool,
    /// Streams.
    pub streams: bool,
    /// Allocations.
    pub allocations: bool,
}

/// A lens made ready for a trace.
#[derive(Debug)]
pub struct Plan {
    pub(super) test: Test,
    pub(super) leaves: Vec<Answers>,
    /// Of each pattern the question for the call that submitted a record, if it is asked.
    pub(super) questions: Vec<Option<usize>>,
    /// On the trace's axis, ns. Of steps that are not there it ends before it begins.
    pub(super) range: Option<(u64, u64)>,
    /// Since the trace began, ns.
    time: Option<(u64, u64)>,
    steps: Option<Walked>,
    pub(super) start_ns: u64,
    pub(super) needs: Needs,
    /// What calls must be around of, inner ones first.
    pub(super) stages: Vec<Arc<Test>>,
    /// Of each stage and thread the rows of calls that submitted work that fits.
    pub(super) submitted: Vec<Vec<Vec<u64>>>,
    pub(super) ties: Ties,
    /// Whether records are asked for what the call knows that submitted them.
    pub(super) asks_calls: bool,
    /// Whether that follows from what calls have submitted.
    pub(super) follows: bool,
    /// Until when the allocations of each process are known, ns.
    known_until: Vec<u64>,
    /// Steps have not been looked for in all that is known.
    behind: bool,
}

impl Plan {
    /// Makes a lens ready.
    ///
    /// # Errors
    /// If a pattern is wrong, or it is nested without end.
    pub fn new(lens: &Lens) -> Result<Self, PlanError> {
        let mut plan = Self {
            test: Test::default(),
            leaves: Vec::new(),
            questions: Vec::new(),
            range: None,
            time: None,
            steps: None,
            start_ns: 0,
            needs: Needs { start: lens.range.is_some(), ..Needs::default() },
            stages: Vec::new(),
            submitted: Vec::new(),
            ties: Ties::default(),
            asks_calls: false,
            follows: false,
            known_until: Vec::new(),
            behind: false,
        };
        match &lens.range {
            Some(TimeRange::Time(from, to)) => plan.time = Some((*from, *to)),
            Some(TimeRange::Steps(steps)) => plan.steps = Some(Walked::new(steps.clone())),
            None => {}
        }
        if let Some(condition) = &lens.condition {
            plan.test = plan.compile(condition, 0, false)?;
            plan.asks_calls = plan.asks_calls(&plan.test);
        }
        plan.submitted = vec![Vec::new(); plan.stages.len()];
        Ok(plan)
    }

    /// `calls_only`: no record is asked for it.
    fn compile(&mut self, condition: &Condition, depth: usize, calls_only: bool) -> Result<Test, PlanError> {
        if depth > DEEPEST {
            return Err(PlanError::Deep);
        }
        let mut several = |list: &[Condition]| -> Result<Vec<Test>, PlanError> {
            list.iter().map(|one| self.compile(one, depth + 1, calls_only)).collect()
        };
        Ok(match condition {
            Condition::All(all) => Test::All(several(all)?),
            Condition::Any(any) => Test::Any(several(any)?),
            Condition::Not(one) => Test::Not(Box::new(self.compile(one, depth + 1, calls_only)?)),
            Condition::Text(field, pattern) => {
                let text = match pattern {
                    crate::filter::Pattern::Glob(text) | crate::filter::Pattern::Regex(text) => text,
                };
                let matcher = Matcher::new(pattern).map_err(|why| PlanError::Pattern(text.clone(), why.to_string()))?;
                self.needs.spans |= *field == TextField::Range;
                self.needs.raw |= matches!(field, TextField::Result | TextField::Allocation);
                self.needs.streams |= *field == TextField::Stream;
                self.needs.allocations |= *field == TextField::Allocation;
                self.leaves.push(Answers::new(*field, matcher));
                let leaf = self.leaves.len() - 1;
                let asked = !calls_only && is_of_calls(*field);
                self.questions.push(asked.then(|| self.ties.ask(Arc::new(Test::Text(leaf)))));
                if *field == TextField::Kernel {
                    self.stages.push(Arc::new(Test::Text(leaf)));
                    return Ok(Test::Kernel(leaf, self.stages.len() - 1));
                }
                Test::Text(leaf)
            }
            &Condition::Number(field, comparison, number) => {
                self.needs.raw |= field == NumberField::Size;
                self.needs.start |= field == NumberField::Time;
                Test::Number(field, comparison, number)
            }
            &Condition::Address(from, to) => {
                self.needs.raw = true;
                let asked = (!calls_only).then(|| self.ties.ask(Arc::new(Test::Address(from, to, None))));
                Test::Address(from, to, asked)
            }
            Condition::Failed => Test::Failed,
            Condition::ChildrenOf(one) => {
                let stages = self.stages.len();
                let one = Arc::new(self.compile(one, depth + 1, true)?);
                self.follows |= self.stages.len() > stages;
                let asked = (!calls_only).then(|| self.ties.ask(one.clone()));
                Test::Inside(one, asked)
            }
            Condition::CallersOf(one) => {
                let one = Arc::new(self.compile(one, depth + 1, false)?);
                // The calls that launched these kernels are looked for anyway.
                if let Test::Kernel(_, stage) = *one {
                    return Ok(Test::Around(stage, one));
                }
                self.stages.push(one.clone());
                Test::Around(self.stages.len() - 1, one)
            }
        })
    }

    /// Takes what the trace has got since the last time, as long as `go_on` says so. True if an answer that was given no longer holds: what was
    /// selected must be looked for anew.
    pub fn update(
        &mut self,
        around: &Surroundings<'_>,
        symbols: &mut Symbols,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        let (trace, spans) = (around.trace, around.spans);
        let mut changed = false;
        self.known_until.clear();
        self.known_until.extend_from_slice(around.allocations.known_until);
        // Before they are found for the first time, looking at events would be in vain.
        self.behind = self.needs.allocations && self.known_until.contains(&0);
        if let Some(steps) = &mut self.steps {
            let before = steps.found().ns;
            self.behind |= !steps.update(trace);
            changed |= steps.found().ns != before;
        }
        if self.needs.start {
            let start = trace.start_ns();
            changed |= start != self.start_ns;
            self.start_ns = start;
            self.range = self.time.map(|(from, to)| (start.saturating_add(from), start.saturating_add(to)));
        }
        if let Some(steps) = &self.steps {
            self.range = Some(steps.found().ns.unwrap_or((u64::MAX, 0)));
        }
        for leaf in &mut self.leaves {
            changed |= leaf.update(trace, spans, &around.allocations, symbols, go_on);
            self.behind |= leaf.is_behind();
        }
        changed
    }

    /// What the steps that are looked at are, as far as ranges have been read.
    #[must_use]
    pub fn steps(&self) -> Option<&StepsFound> {
        self.steps.as_ref().map(Walked::found)
    }

    /// Whether it looks at ranges.
    #[must_use]
    pub const fn needs_spans(&self) -> bool {
        self.needs.spans
    }

    /// Whether it looks at allocations, which must be found first.
    #[must_use]
    pub const fn needs_allocations(&self) -> bool {
        self.needs.allocations
    }

    /// Until when of a process is known what events are decided by, ns; `u64::MAX`: all of it is.
    #[must_use]
    pub fn known_until(&self, process: ProcessId) -> u64 {
        if !self.needs.allocations {
            return u64::MAX;
        }
        self.known_until.get(process.index()).copied().unwrap_or(0)
    }

    /// Whether all of it is known of all processes.
    #[must_use]
    pub fn knows_all(&self) -> bool {
        !self.needs.allocations || self.known_until.iter().all(|&until| until == u64::MAX)
    }

    /// Whether it looks at streams.
    #[must_use]
    pub const fn needs_streams(&self) -> bool {
        self.needs.streams
    }

    /// Whether it looks at call sites, whose names may have to be looked up first.
    #[must_use]
    pub fn needs_sites(&self) -> bool {
        self.leaves.iter().any(Answers::needs_sites)
    }

    /// Whether a record is asked for what the call knows that submitted it.
    pub(super) fn asks_calls(&self, test: &Test) -> bool {
        match test {
            Test::All(list) | Test::Any(list) => list.iter().any(|one| self.asks_calls(one)),
            Test::Not(one) => self.asks_calls(one),
            &Test::Text(leaf) => {
                self.leaves.get(leaf).is_some_and(|leaf| is_of_calls(leaf.field) || leaf.field == TextField::Thread)
            }
            Test::Address(..) | Test::Inside(..) => true,
            Test::Number(..) | Test::Failed | Test::Around(..) | Test::Kernel(..) => false,
        }
    }

    /// Whether a record can be selected at all.
    #[must_use]
    pub fn selects_records(&self) -> bool {
        may_hold_for_records(&self.test)
    }

    /// How many conditions there are on what calls are around of, inner ones first.
    #[must_use]
    pub const fn stages(&self) -> usize {
        self.stages.len()
    }

    /// Whether more must be found out before events can be tested: to look again soon will do.
    #[must_use]
    pub const fn is_behind(&self) -> bool {
        self.behind
    }

    /// Notes that a call has submitted work that fits a stage.
    pub fn note_submitted(&mut self, stage: usize, track: TrackId, row: usize) {
        let Some(tracks) = self.submitted.get_mut(stage) else { return };
        if tracks.len() <= track.index() {
            tracks.resize_with(track.index() + 1, Vec::new);
        }
        let Some(words) = tracks.get_mut(track.index()) else { return };
        if words.len() <= row / 64 {
            words.resize(row / 64 + 1, 0);
        }
        if let Some(word) = words.get_mut(row / 64) {
            *word |= 1 << (row % 64);
        }
    }

    /// Forgets all of that, and what follows from it.
    pub fn forget_submitted(&mut self) {
        self.submitted.iter_mut().for_each(Vec::clear);
        self.ties.forget();
    }

    /// Bits of the rows of a thread that have submitted work which fits a stage, as far as there are any.
    pub(super) fn submitted(&self, stage: usize, track: TrackId) -> &[u64] {
        self.submitted.get(stage).and_then(|tracks| tracks.get(track.index())).map_or(&[], Vec::as_slice)
    }

    /// Whether a span of time overlaps the range, and whether it reaches beyond it.
    #[inline]
    pub(super) fn overlap(&self, start_ns: u64, end_ns: u64) -> (bool, bool) {
        match self.range {
            None => (true, false),
            Some((from, to)) if from > to => (false, false),
            Some((from, to)) => (start_ns <= to && end_ns >= from, start_ns < from || end_ns > to),
        }
    }
}

/// Fields that only the call knows that submitted a record; its thread needs no question.
const fn is_of_calls(field: TextField) -> bool {
    matches!(field, TextField::Api | TextField::Range | TextField::Site | TextField::Allocation)
}

/// False only if no record can fit.
fn may_hold_for_records(test: &Test) -> bool {
    match test {
        Test::All(all) => all.iter().all(may_hold_for_records),
        Test::Any(any) => any.iter().any(may_hold_for_records),
        Test::Failed | Test::Around(..) => false,
        _ => true,
    }
}

pub(super) fn compare(value: u64, comparison: Comparison, number: u64) -> bool {
    match comparison {
        Comparison::Less => value < number,
        Comparison::AtMost => value <= number,
        Comparison::Equal => value == number,
        Comparison::AtLeast => value >= number,
        Comparison::More => value > number,
    }
}
