//! A moment as it is typed: `1.5s`, `step:3`, `step:NAME#3`, `mark:NAME`, `peak`, `end`.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::range::RangeError;
use super::steps::{Steps, find};
use crate::filter::{Matcher, Pattern, shortened, time};
use crate::trace::activity::TextId;
use crate::trace::{RangeKind, Trace, TrackId};

/// A moment of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// So long after the first event, ns.
    Time(u64),
    /// When a turn of a range has ended in every process that took it.
    Step(Steps),
    /// A mark (NVTX): pattern for its name, and which one of those, counted from 1 over all processes in order of time.
    Mark(Arc<str>, u64),
    /// When the most memory was in use.
    Peak,
    /// After all that the trace holds.
    End,
}

/// Why a text is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MomentError {
    /// Nothing that is known.
    #[error(
        "{0:?} is no moment: write 1.5s, counted from the trace's begin, step:3, step:NAME#3, mark:NAME, peak or end"
    )]
    Form(String),
    /// It begins as a time and is none, and why.
    #[error("{0:?} is no time: {1}")]
    Time(String, String),
    /// No turn of a range.
    #[error(transparent)]
    Step(#[from] RangeError),
    /// Several turns of a range.
    #[error("{0:?} are several steps: write one of them")]
    Several(String),
}

/// A moment that a trace has not got, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchMoment {
    /// No range repeats, so there are no steps.
    #[error("no range repeats; name one, as in step:NAME#3")]
    NoSteps,
    /// There are not so many turns of the range.
    #[error("there are {turns} of the range {name}")]
    Step {
        /// Its name, with `*` for numbers that change.
        name: String,
        /// How many there are.
        turns: u64,
    },
    /// There are not so many marks of the name.
    #[error("there are {marks} marks that are named {name}")]
    Mark {
        /// The pattern.
        name: String,
        /// How many there are.
        marks: u64,
    },
    /// The pattern is none, and why.
    #[error("{0}")]
    Pattern(String),
    /// Nothing was ever in use.
    #[error("no memory was in use")]
    NoPeak,
}

/// A moment that was found in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MomentFound {
    /// ns on the trace's axis; `u64::MAX`: after all that the trace holds.
    pub at_ns: u64,
    /// Name of the range or mark that told it, with `*` for numbers that change; empty if none did.
    pub by: String,
}

impl Moment {
    /// Reads a moment. What is nothing else is the name of a mark.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, MomentError> {
        let text = text.trim();
        let wrong = || MomentError::Form(shortened(text));
        if let Some(step) = text.strip_prefix("step:") {
            let steps = Steps::parse(step)?;
            return if steps.first == steps.last {
                Ok(Self::Step(steps))
            } else {
                Err(MomentError::Several(shortened(text)))
            };
        }
        let mark = text.strip_prefix("mark:");
        match (mark, text) {
            (None, "peak") => return Ok(Self::Peak),
            (None, "end") => return Ok(Self::End),
            (None, _) if text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) => {
                return time(text).map(Self::Time).map_err(|why| MomentError::Time(shortened(text), why));
            }
            _ => {}
        }
        let name = mark.unwrap_or(text);
        let (name, turn) = match name.rsplit_once('#') {
            Some((name, turn)) if !turn.is_empty() && turn.bytes().all(|byte| byte.is_ascii_digit()) => (name, turn),
            _ => (name, "1"),
        };
        let turn = turn.parse().map_err(|_| wrong())?;
        let name = name.trim();
        if name.is_empty() || turn == 0 {
            return Err(wrong());
        }
        Ok(Self::Mark(name.into(), turn))
    }

    /// Where it is in a trace. `peak` tells when the most memory was in use, ns on the trace's axis.
    ///
    /// # Errors
    /// If there is no such moment, and why.
    pub fn find(&self, trace: &Trace, peak: impl FnOnce() -> Option<u64>) -> Result<MomentFound, NoSuchMoment> {
        let at = |at_ns| Ok(MomentFound { at_ns, by: String::new() });
        match self {
            Self::Time(ns) => at(trace.start_ns().saturating_add(*ns)),
            Self::End => at(u64::MAX),
            Self::Peak => peak().map_or(Err(NoSuchMoment::NoPeak), at),
            Self::Step(steps) => {
                let found = find(steps, trace);
                match found.ns {
                    Some((_, end)) => Ok(MomentFound { at_ns: end, by: found.name }),
                    None if found.name.is_empty() => Err(NoSuchMoment::NoSteps),
                    None => Err(NoSuchMoment::Step { name: found.name, turns: found.turns }),
                }
            }
            Self::Mark(name, turn) => mark(trace, name, *turn),
        }
    }
}

impl fmt::Display for Moment {
    /// As it can be typed.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(ns) => write!(out, "{ns}ns"),
            Self::Step(steps) => steps.fmt(out),
            Self::Mark(name, turn) => write!(out, "mark:{name}#{turn}"),
            Self::Peak => out.write_str("peak"),
            Self::End => out.write_str("end"),
        }
    }
}

fn mark(trace: &Trace, name: &str, turn: u64) -> Result<MomentFound, NoSuchMoment> {
    let matcher =
        Matcher::new(&Pattern::Glob(name.to_owned())).map_err(|why| NoSuchMoment::Pattern(why.to_string()))?;
    let mut known: FxHashMap<TextId, bool> = FxHashMap::default();
    let mut at: Vec<u64> = Vec::new();
    for id in (0..).map(TrackId).take(trace.tracks.len()) {
        for range in trace.ranges.of(id).iter().filter(|range| range.kind == RangeKind::Mark) {
            let fits = || matcher.matches(trace.names.get(trace.activities.name(range.name)));
            if *known.entry(range.name).or_insert_with(fits) {
                at.push(range.start_ns);
            }
        }
    }
    at.sort_unstable();
    match usize::try_from(turn - 1).ok().and_then(|turn| at.get(turn)) {
        Some(&at_ns) => Ok(MomentFound { at_ns, by: name.to_owned() }),
        None => Err(NoSuchMoment::Mark { name: name.to_owned(), marks: at.len() as u64 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::range::Begun;
    use crate::trace::{Activity, LaneOf, Process, ProcessId};
    use proptest::prelude::*;

    #[test]
    fn moments_are_read() {
        let mark = |name: &str, turn| Ok(Moment::Mark(name.into(), turn));
        for (text, moment) in [
            (" 1.5s ", Ok(Moment::Time(1_500_000_000))),
            ("0", Ok(Moment::Time(0))),
            ("peak", Ok(Moment::Peak)),
            ("end", Ok(Moment::End)),
            ("mark:end", mark("end", 1)),
            ("loaded", mark("loaded", 1)),
            ("check*#7", mark("check*", 7)),
            ("mark:C#", mark("C#", 1)),
        ] {
            assert_eq!(Moment::parse(text).map_err(drop), moment, "{text}");
        }
        assert_eq!(Moment::parse("step:a#3").unwrap().to_string(), "step:a#3");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("", "is no moment: write 1.5s"),
            ("mark:", "is no moment"),
            ("x#0", "is no moment"),
            ("1.5", "\"1.5\" is no time: expected a time"),
            ("-5s", "is no time"),
            ("step:0", "is no step"),
            ("step:3..5", "are several steps"),
        ] {
            let error = Moment::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn moments_are_found() {
        let mut trace = Trace::default();
        trace.add_process(Process::default());
        let track = trace.track_of(ProcessId(0), 1);
        for (id, (name, kind, start, end)) in [
            ("step", RangeKind::Started, 100, 120),
            ("saved", RangeKind::Mark, 125, 125),
            ("step", RangeKind::Started, 130, 140),
            ("saved", RangeKind::Mark, 150, 150),
        ]
        .into_iter()
        .enumerate()
        {
            let name = trace.names.intern(name);
            let text = trace.activities.text(ProcessId(0), 50 + name.0, Some(name));
            let id = id as u64 + 1;
            let begun = Begun { ns: start, name: text, domain: TextId::default(), color: 0, level: 0, id, place: 0 };
            if kind == RangeKind::Mark {
                trace.ranges.mark(track, &begun);
            } else {
                trace.ranges.start(ProcessId(0), track, &begun);
                trace.ranges.end(ProcessId(0), id, end);
            }
        }
        trace.activities.push(ProcessId(0), LaneOf::Unified, &Activity::default(), 0);
        trace.touch();
        let at = |text: &str, peak: Option<u64>| {
            let found = Moment::parse(text).unwrap().find(&trace, || peak);
            found.map(|found| found.at_ns).map_err(|why| why.to_string())
        };
        assert_eq!(at("5ns", None), Ok(trace.start_ns() + 5));
        assert_eq!((at("end", None), at("peak", Some(7))), (Ok(u64::MAX), Ok(7)));
        assert_eq!((at("step:2", None), at("step:st*#1", None)), (Ok(140), Ok(120)));
        assert_eq!((at("saved", None), at("mark:s*d#2", None)), (Ok(125), Ok(150)));
        assert_eq!(at("saved#3", None), Err("there are 2 marks that are named saved".to_owned()));
        assert_eq!(at("step:3", None), Err("there are 2 of the range step".to_owned()));
        assert_eq!(at("peak", None), Err("no memory was in use".to_owned()));
    }

    proptest! {
        #[test]
        fn any_text_is_survived_and_what_is_written_is_read(text in "[0-9.+smunpekd:#tr ]{0,20}|.{0,20}|(step|mark):.{0,9}") {
            if let Ok(moment) = Moment::parse(&text) {
                prop_assert_eq!(Moment::parse(&moment.to_string()), Ok(moment));
            }
        }
    }
}
