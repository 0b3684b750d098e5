//! Steps: the range that a program goes through again and again, and the time of some of its turns.
//!
//! Turns are counted on the thread of each process that took most of them, so that the third step is that of every rank.
//! One inside another turn is none of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::range::RangeError;
use crate::filter::{Matcher, Pattern, shortened};
use crate::trace::activity::TextId;
use crate::trace::{ProcessId, RangeKind, Trace, TrackId};

/// Levels of ranges in which one that repeats is looked for.
const LEVELS: u8 = 8;
/// While a trace grows, its ranges are looked through so many times less often than that takes.
const PAUSE: u32 = 3;

/// Some turns of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Glob for the name of the range; `None`: the outermost one that repeats most regularly.
    pub name: Option<Arc<str>>,
    /// The first turn, counted from 1.
    pub first: u64,
    /// The last; if there are not so many, the last that there is.
    pub last: u64,
}

impl Steps {
    /// Reads `3`, `3..5`, `3..`, or that behind `NAME#`.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let wrong = || RangeError::Step(shortened(text));
        let text = text.trim();
        let (name, turns) = match text.rsplit_once('#') {
            Some((name, turns)) => (Some(name.trim()), turns),
            None => (None, text),
        };
        if name == Some("") {
            return Err(wrong());
        }
        let number = |text: &str| {
            let digits = text.trim();
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse::<u64>().unwrap_or(u64::MAX)).filter(|&turn| turn > 0).ok_or_else(wrong)
        };
        let (first, last) = match turns.split_once("..") {
            None => number(turns).map(|turn| (turn, turn))?,
            Some((first, "")) => (number(first)?, u64::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
        };
        if first > last {
            return Err(wrong());
        }
        Ok(Self { name: name.map(Arc::from), first, last })
    }
}

impl fmt::Display for Steps {
    /// As it is typed: `step:forward#3..5`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("step:")?;
        if let Some(name) = &self.name {
            write!(out, "{name}#")?;
        }
        match self.last {
            last if last == self.first => write!(out, "{last}"),
            u64::MAX => write!(out, "{}..", self.first),
            last => write!(out, "{}..{last}", self.first),
        }
    }
}

/// What steps are of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepsFound {
    /// Name of the range, with `*` for numbers that change; empty if none repeats.
    pub name: String,
    /// How many turns there are, in the process with the most of them.
    pub turns: u64,
    /// Begin and end, ns on the trace's axis; `None`: there is no such step. One that has not ended ends at `u64::MAX`.
    pub ns: Option<(u64, u64)>,
}

/// Steps with what is known of them.
#[derive(Debug)]
pub(super) struct Walked {
    steps: Steps,
    found: StepsFound,
    /// Records of ranges, and names, from which that follows.
    known: Option<(u64, usize)>,
    due: Option<Instant>,
}

impl Walked {
    pub(super) fn new(steps: Steps) -> Self {
        Self { steps, found: StepsFound::default(), known: None, due: None }
    }

    pub(super) const fn found(&self) -> &StepsFound {
        &self.found
    }

    /// Finds them anew if more ranges are known, but not all the time. False if they are not those of the trace as it is
    /// now.
    pub(super) fn update(&mut self, trace: &Trace) -> bool {
        let known = (trace.ranges.records(), trace.names.len());
        if self.known == Some(known) {
            return true;
        }
        let begun = Instant::now();
        if self.due.is_some_and(|due| begun < due) {
            return false;
        }
        self.found = find(&self.steps, trace);
        self.known = Some(known);
        self.due = begun.elapsed().checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
        true
    }
}

/// Finds steps in a trace.
#[must_use]
pub fn find(steps: &Steps, trace: &Trace) -> StepsFound {
    let (name, processes) = walk(steps.name.as_deref(), trace);
    let mut found = StepsFound { name, ..StepsFound::default() };
    for turns in &processes {
        found.turns = found.turns.max(turns.len() as u64);
        let at = |turn: u64| usize::try_from(turn - 1).unwrap_or(usize::MAX);
        let Some(first) = turns.get(at(steps.first.max(1))) else { continue };
        let last = turns.get(at(steps.last.max(1))).or_else(|| turns.last()).unwrap_or(first);
        let (from, to) = found.ns.unwrap_or((u64::MAX, 0));
        found.ns = Some((from.min(first.0), to.max(last.1)));
    }
    found
}

/// Every turn of a range: its name, with `*` for numbers that change, and of each turn the earliest begin and the latest
/// end in any process, ns; `u64::MAX` while it has not ended. Without a name it is the range that repeats most regularly;
/// empty if none does.
#[must_use]
pub fn all_turns(name: Option<&str>, trace: &Trace) -> (String, Vec<(u64, u64)>) {
    let (name, processes) = walk(name, trace);
    let mut all: Vec<(u64, u64)> = Vec::new();
    for turns in processes {
        for (turn, one) in turns.into_iter().enumerate() {
            match all.get_mut(turn) {
                Some(merged) => *merged = (merged.0.min(one.0), merged.1.max(one.1)),
                None => all.push(one),
            }
        }
    }
    (name, all)
}

/// Name of a range, and its turns in each process.
fn walk(name: Option<&str>, trace: &Trace) -> (String, Vec<Vec<(u64, u64)>>) {
    let Some(name) = name.map(str::to_owned).or_else(|| most_regular(trace)) else {
        return (String::new(), Vec::new());
    };
    let Ok(matcher) = Matcher::new(&Pattern::Glob(name.clone())) else { return (name, Vec::new()) };
    let mut known: FxHashMap<TextId, bool> = FxHashMap::default();
    let mut fits = |text: TextId| {
        let name = || matcher.matches(trace.names.get(trace.activities.name(text)));
        *known.entry(text).or_insert_with(name)
    };
    let mut most: BTreeMap<ProcessId, Vec<(u64, u64)>> = BTreeMap::new();
    for (id, track) in (0..).map(TrackId).zip(&trace.tracks) {
        let turns = turns(trace, id, &mut fits);
        let place = most.entry(track.process).or_default();
        if turns.len() > place.len() {
            *place = turns;
        }
    }
    (name, most.into_values().collect())
}

/// Turns of a range on a thread: begin and end, ns; `u64::MAX` while it has not ended.
fn turns(trace: &Trace, id: TrackId, fits: &mut impl FnMut(TextId) -> bool) -> Vec<(u64, u64)> {
    let mut turns: Vec<(u64, u64)> = Vec::new();
    for range in trace.ranges.of(id).iter().filter(|range| range.kind != RangeKind::Mark) {
        if !fits(range.name) {
            continue;
        }
        let end = range.end_ns().unwrap_or(u64::MAX);
        let inside = turns.last().is_some_and(|&(_, until)| range.start_ns < until && end <= until);
        if !inside {
            turns.push((range.start_ns, end));
        }
    }
    turns
}

/// How a range of one name repeats on a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Rhythm {
    count: u64,
    last_ns: u64,
    /// Time from one begin to the next, ns: mean, and sum of squares of what differs from it.
    mean: f64,
    squares: f64,
    /// Time in it, ns.
    total_ns: u64,
}

impl Rhythm {
    fn take(&mut self, start_ns: u64, end_ns: Option<u64>) {
        if self.count > 0 {
            let gap = start_ns.saturating_sub(self.last_ns) as f64;
            let off = gap - self.mean;
            self.mean += off / self.count as f64;
            self.squares += off * (gap - self.mean);
        }
        self.count += 1;
        self.last_ns = start_ns;
        self.total_ns = self.total_ns.saturating_add(end_ns.map_or(0, |end| end.saturating_sub(start_ns)));
    }

    /// How much the time from one begin to the next varies, in tenths of its mean.
    fn unevenness(&self) -> u64 {
        let gaps = self.count.saturating_sub(1).max(1) as f64;
        let varies = (self.squares / gaps).max(0.0).sqrt() / self.mean.max(1.0);
        (varies * 10.0).min(1e9) as u64
    }
}

/// The name of the range that repeats most regularly: among the outermost ones of which any repeats, those that repeat at
/// least half as often as the most frequent one; of these the most even, and then the longest. Numbers in it are `*`.
fn most_regular(trace: &Trace) -> Option<String> {
    let mut shapes: Vec<String> = Vec::new();
    let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
    let mut known: FxHashMap<TextId, usize> = FxHashMap::default();
    let mut rhythms: BTreeMap<(u8, TrackId, usize), Rhythm> = BTreeMap::new();
    for id in (0..trace.tracks.len()).filter_map(|id| u32::try_from(id).ok()).map(TrackId) {
        // Ranges that have not ended when another one begins are around it.
        let mut around: Vec<u64> = Vec::new();
        for range in trace.ranges.of(id).iter().filter(|range| range.kind != RangeKind::Mark) {
            around.retain(|&end| end > range.start_ns);
            let level = u8::try_from(around.len()).unwrap_or(u8::MAX);
            if around.len() < usize::from(u8::MAX) {
                around.push(range.end_ns().unwrap_or(u64::MAX));
            }
            if level >= LEVELS {
                continue;
            }
            let shape = *known.entry(range.name).or_insert_with(|| {
                let shape = shape(trace.names.get(trace.activities.name(range.name)));
                *numbers.entry(shape.clone()).or_insert_with(|| {
                    shapes.push(shape);
                    shapes.len() - 1
                })
            });
            rhythms.entry((level, id, shape)).or_default().take(range.start_ns, range.end_ns());
        }
    }
    let level = rhythms.iter().find(|(_, rhythm)| rhythm.count > 1).map(|((level, ..), _)| *level)?;
    let there = || rhythms.iter().filter(|((of, ..), _)| *of == level);
    let most = there().map(|(_, rhythm)| rhythm.count).max()?;
    let often = there().filter(|(_, rhythm)| rhythm.count > 1 && rhythm.count >= most.div_ceil(2));
    let (&(.., shape), _) =
        often.min_by_key(|(_, rhythm)| (rhythm.unevenness(), std::cmp::Reverse(rhythm.total_ns)))?;
    shapes.get(shape).cloned()
}

/// A name with `*` for each number in it.
fn shape(name: &str) -> String {
    let mut shape = String::new();
    for char in name.chars() {
        match char {
            '0'..='9' if shape.ends_with('*') => {}
            '0'..='9' => shape.push('*'),
            other => shape.push(other),
        }
    }
    shape
}

#[cfg(test)]
mod tests;
