//! The lens in words: for the title line, beside what is typed, and where nothing is left to see.

use super::Look;
use crate::session::safe::safe;
use crate::session::view::{LensStatus, StepsFound, TimeRange};
use crate::ui::text::format;

/// That nothing is left to see, and how to see more again; actions stand for their keys.
#[must_use]
pub fn empty(status: &LensStatus) -> String {
    match status.partial {
        true => format!("nothing so far; {} % looked at", status.done / 10),
        // A kernel's work, for one, stands in no row by thread.
        false if status.shown > 0 => {
            let shown = format::count(status.shown);
            format!("no row here fits the lens, {} events elsewhere do: {{lens-undo}} undoes", shown.trim())
        }
        false if status.hidden == 0 => "no events yet for the lens to choose from".to_owned(),
        false => {
            let hidden = format::count(status.hidden);
            format!("the lens hides all {} events here: {{lens-undo}} undoes, {{lens-off}} shows them", hidden.trim())
        }
    }
}

/// A range of time.
#[must_use]
pub fn range((from, to): (u64, u64)) -> String {
    let begin = if from == 0 { String::new() } else { time(from) };
    let end = if to == u64::MAX { String::new() } else { time(to) };
    format!("{begin}..{end}")
}

/// Likewise, or steps.
#[must_use]
pub fn when(range: &TimeRange) -> String {
    match range {
        TimeRange::Time(from, to) => self::range((*from, *to)),
        TimeRange::Steps(steps) => safe(&steps.to_string()).into_owned(),
    }
}

/// A time as it is typed: `1.5s`, without digits that say nothing.
#[must_use]
pub fn time(ns: u64) -> String {
    let (unit, name, digits) = match ns {
        0..=999 => (1, "ns", 0),
        1_000..=999_999 => (1_000, "us", 3),
        1_000_000..=999_999_999 => (1_000_000, "ms", 6),
        _ => (1_000_000_000, "s", 9),
    };
    let (whole, part) = (ns / unit, ns % unit);
    if part == 0 {
        return format!("{whole}{name}");
    }
    let part = format!("{part:0digits$}");
    format!("{whole}.{}{name}", part.trim_end_matches('0'))
}

/// How much is seen, in a few words.
#[must_use]
pub fn counts(status: &LensStatus) -> String {
    if let Some(steps) = status.steps.as_ref().filter(|steps| steps.ns.is_none() && !status.partial) {
        return missing(steps);
    }
    match (&status.error, status.partial) {
        (Some(_), _) => "filter unusable".to_owned(),
        (None, true) => format!("{}+ shown, {} % looked at", format::count(status.shown), status.done / 10),
        (None, false) => format!("{} hidden", format::count(status.hidden)),
    }
}

/// That there are no such steps, and how many there are.
fn missing(steps: &StepsFound) -> String {
    match steps.turns {
        0 if steps.name.is_empty() => "no range repeats".to_owned(),
        turns => format!("no such step: {} of {}", format::count(turns), safe(&steps.name)),
    }
}

/// Likewise beside what is typed.
#[must_use]
pub fn live(status: &LensStatus) -> String {
    match &status.error {
        Some(error) => error.clone(),
        None => {
            let (shown, hidden) = (format::count(status.shown), format::count(status.hidden));
            let so_far = if status.partial { format!(", {} % looked at", status.done / 10) } else { String::new() };
            format!("{shown} shown, {hidden} hidden{so_far}")
        }
    }
}

/// Filter and range together, in a line.
#[must_use]
pub fn whole(look: &Look) -> String {
    let filter = look.filter.as_ref().map_or("everything", |filter| filter.text.as_str());
    let range = look.range.as_ref().map_or_else(|| "all time".to_owned(), when);
    let off = if look.off { ", switched off" } else { "" };
    format!("{filter}, {range}{off}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::view::parse_range;

    #[test]
    fn a_range_is_written_as_it_is_typed() {
        for text in
            ["1.5s..2s", "..2s", "1.5s..", "12.25us..300ms", "7ns..1.000000001s", "..", "step:fo*#3..5", "step:3.."]
        {
            let parsed = parse_range(text).unwrap();
            assert_eq!(when(&parsed), text);
        }
    }
}
