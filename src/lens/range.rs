//! A range of time as it is typed: `1.5s..2s`, `..2s`, `1.5s..`, `1.5s+10ms`, `step:3`.

use std::fmt;

use super::steps::Steps;
use crate::filter::{shortened, time as time_ns};

/// Which time is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeRange {
    /// From and to, ns since the trace began, both included.
    Time(u64, u64),
    /// From the begin of one turn of a range to the end of another.
    Steps(Steps),
}

impl From<(u64, u64)> for TimeRange {
    fn from((from, to): (u64, u64)) -> Self {
        Self::Time(from, to)
    }
}

impl fmt::Display for TimeRange {
    /// As it can be typed.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(from, u64::MAX) => write!(out, "{from}ns.."),
            Self::Time(from, to) => write!(out, "{from}ns..{to}ns"),
            Self::Steps(steps) => steps.fmt(out),
        }
    }
}

/// Why a text is no range of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// Not of the form `A..B` or `A+LENGTH`.
    #[error(
        "{0:?} is no range of time: write 1.5s..2s, ..2s, 1.5s.. or 1.5s+10ms, counted from the trace's begin, or step:3"
    )]
    Form(String),
    /// A part is no time, and why.
    #[error("{0:?} is no time: {1}")]
    Time(String, String),
    /// A part is before the trace's begin.
    #[error("{0:?} is before the trace's begin, from which times are counted; write 0s for that")]
    Before(String),
    /// It ends before it begins.
    #[error("the range ends at {1} ns, before it begins at {0} ns")]
    Backwards(u64, u64),
    /// No turns of a range.
    #[error("{0:?} is no step: write 3, 3..5 or 3.., counted from 1, or NAME#3 for a range by its name")]
    Step(String),
}

/// Reads a range of time.
///
/// # Errors
/// If it is none.
pub fn parse_range(text: &str) -> Result<TimeRange, RangeError> {
    let text = text.trim();
    if let Some(steps) = text.strip_prefix("step:") {
        return Steps::parse(steps).map(TimeRange::Steps);
    }
    parse_time(text).map(TimeRange::from)
}

/// From and to, ns.
fn parse_time(text: &str) -> Result<(u64, u64), RangeError> {
    if let Some((from, to)) = text.split_once("..") {
        let from = if from.trim().is_empty() { 0 } else { time(from)? };
        let to = if to.trim().is_empty() { u64::MAX } else { time(to)? };
        return if from <= to { Ok((from, to)) } else { Err(RangeError::Backwards(from, to)) };
    }
    let Some((from, length)) = text.split_once('+') else { return Err(RangeError::Form(shortened(text))) };
    let from = if from.trim().is_empty() { 0 } else { time(from)? };
    Ok((from, from.saturating_add(time(length)?)))
}

fn time(text: &str) -> Result<u64, RangeError> {
    if text.trim_start().starts_with('-') {
        return Err(RangeError::Before(shortened(text.trim())));
    }
    time_ns(text).map_err(|why| RangeError::Time(shortened(text.trim()), why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_read() {
        for (text, range) in [
            ("1.5s..2s", (1_500_000_000, 2_000_000_000)),
            ("..2s", (0, 2_000_000_000)),
            ("1.5s..", (1_500_000_000, u64::MAX)),
            ("1.5s+10ms", (1_500_000_000, 1_510_000_000)),
            ("+10ms", (0, 10_000_000)),
            (" 1us .. 1.9999us ", (1_000, 1_999)),
            ("..", (0, u64::MAX)),
            (".5m..1h", (30_000_000_000, 3_600_000_000_000)),
            ("0..2s", (0, 2_000_000_000)),
        ] {
            assert_eq!(parse_range(text), Ok(TimeRange::from(range)), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("1.5s", "is no range of time"),
            ("1.5..2s", "\"1.5\" is no time"),
            ("2s..1s", "before it begins"),
            ("1.2.3s..", "is no time"),
            ("-5s..", "\"-5s\" is before the trace's begin"),
            ("1s..-5s", "is before the trace's begin"),
            ("5 apples..", "is no time"),
            ("step:0", "is no step: write 3, 3..5 or 3.."),
            ("step:forward", "is no step"),
            ("step:#3", "is no step"),
            ("step:5..3", "is no step"),
            ("step:3..x", "is no step"),
            ("99999999999999999999999999h..", "is too large"),
            (".s..", "is no time"),
        ] {
            let error = parse_range(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[0-9.+smun ]{0,40}|.{0,20}") {
            let _ = (parse_range(&text), parse_range(&format!("step:{text}")));
        }

        #[test]
        fn what_is_written_is_read(from in any::<u64>(), length in any::<u64>(), name in prop::option::of("[a-z# *]{0,9}[a-z]"), steps: bool) {
            let range = match steps {
                true => {
                    let first = from.max(1);
                    let name = name.filter(|name| name.trim() == name && !name.is_empty()).map(Into::into);
                    TimeRange::Steps(Steps { name, first, last: first.saturating_add(length) })
                }
                false => TimeRange::Time(from, from.saturating_add(length)),
            };
            prop_assert_eq!(parse_range(&range.to_string()), Ok(range));
        }
    }
}
