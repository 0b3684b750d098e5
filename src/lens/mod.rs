//! The lens: which events are counted and shown, by a filter and a range of time.
//!
//! A [`Plan`] is a condition made ready for a trace: each distinct name is matched once, and the test of an event is
//! then a few loads and bits. What it selects is kept as one bit an event ([`Selected`]).
//!
//! `docs/lens.md` says what a lens means.

mod answers;
mod block;
mod calls;
mod held;
mod marks;
mod matcher;
mod moment;
mod plan;
mod range;
mod records;
mod spans;
mod steps;
mod ties;
mod words;

pub use block::{Block, NO_CALLER, bit};
pub use held::Allocated;
pub use marks::{Marks, Selected};
pub use moment::{Moment, MomentError, MomentFound, NoSuchMoment};
pub use plan::{Plan, PlanError, Surroundings};
pub use range::{RangeError, TimeRange, parse_range};
pub use records::Decision;
pub use spans::Spans;
pub use steps::{Steps, StepsFound, all_turns};
pub use words::{cause_word, directions};

use std::sync::Arc;

use crate::filter::Condition;

/// What is looked at: events for which the condition holds and that overlap the range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lens {
    /// The filter; `None`: all events.
    pub condition: Option<Arc<Condition>>,
    /// The time; `None`: all of it.
    pub range: Option<TimeRange>,
}

impl Lens {
    /// Whether it lets everything through.
    #[must_use]
    pub const fn is_clear(&self) -> bool {
        self.condition.is_none() && self.range.is_none()
    }
}

/// How many events a lens lets through: calls that have ended, records of the GPU, ranges and marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Selected.
    pub shown: u64,
    /// Not selected.
    pub hidden: u64,
    /// Of the selected those that begin before the range or end after it. They count whole.
    pub cut: u64,
}
