//! What counts as a regression.

use std::fmt;

use serde::Serialize;

use super::{Difference, Numbers};
use crate::trace::value::size;

/// Figures that can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Bytes in use at the moments that are compared.
    Memory,
    /// Bytes of pages that moved.
    Moved,
    /// Page faults.
    Faults,
    /// Calls by the program.
    Calls,
    /// Time in calls by the program.
    Time,
}

/// How much a figure may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// By so many millionths of what it was.
    Share(u64),
    /// By so many bytes.
    Bytes(u64),
}

impl Threshold {
    /// Reads `5%`, `0.5%` or a size, `64MiB`.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "a share, such as 5%, or a size, such as 64MiB, by which a figure may grow".to_owned();
        let text = text.trim();
        let Some(share) = text.strip_suffix('%') else {
            return crate::filter::size(text).map(Self::Bytes).map_err(|_| wrong());
        };
        let (whole, part) = share.trim().split_once('.').unwrap_or((share.trim(), "0"));
        let plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain(whole) || !plain(part) || part.len() > 4 {
            return Err(wrong());
        }
        let millionths = |digits: &str, unit: u64| digits.parse::<u64>().ok()?.checked_mul(unit);
        let part = millionths(&format!("{part:0<4}"), 1);
        let sum = millionths(whole, 10_000).zip(part).and_then(|(whole, part)| whole.checked_add(part));
        sum.map(Self::Share).ok_or_else(wrong)
    }

    /// Whether numbers have grown by more; `None`: one of them is not known.
    fn exceeded(self, numbers: &Numbers) -> Option<bool> {
        let before = numbers.before?;
        let growth = numbers.after?.saturating_sub(before);
        Some(match self {
            Self::Share(millionths) => u128::from(growth) * 1_000_000 > u128::from(before) * u128::from(millionths),
            Self::Bytes(bytes) => growth > bytes,
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(millionths) => {
                let (whole, part) = (millionths / 10_000, millionths % 10_000);
                let part = if part == 0 { String::new() } else { format!(".{part:04}") };
                write!(out, "{whole}{} %", part.trim_end_matches('0'))
            }
            Self::Bytes(bytes) => out.write_str(&size(*bytes)),
        }
    }
}

/// A figure that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Which: `memory in use at the peak`.
    pub what: String,
    /// The figure: bytes, ns or a count.
    #[serde(flatten)]
    pub numbers: Numbers,
    /// By how much it may grow: `5 %`, `64 MiB`.
    pub threshold: String,
    /// Whether it has grown by more; `None`: one of the two is not known.
    pub regression: Option<bool>,
}

impl Difference {
    /// Checks figures, each of two moments or traces once. A figure of whole traces cannot be told of two moments of one.
    pub fn check(&mut self, figures: &[Figure], threshold: Threshold) {
        let mut list: Vec<(String, Numbers)> = Vec::new();
        let totals = |of: fn(&super::Totals) -> Numbers| self.totals.as_ref().map(of).unwrap_or_default();
        for figure in figures {
            match figure {
                Figure::Memory => list.extend(self.memory.iter().map(|one| (one.title(), one.bytes))),
                Figure::Moved => list.push(("bytes of pages that moved".to_owned(), totals(|all| all.moved_bytes))),
                Figure::Faults => list.push(("page faults".to_owned(), totals(|all| all.faults))),
                Figure::Calls => list.push(("calls by the program".to_owned(), totals(|all| all.calls))),
                Figure::Time => list.push(("time in calls by the program".to_owned(), totals(|all| all.time_ns))),
            }
        }
        let check = |(what, numbers): (String, Numbers)| Check {
            what,
            numbers,
            threshold: threshold.to_string(),
            regression: threshold.exceeded(&numbers),
        };
        self.checks = list.into_iter().map(check).collect();
        let any = self.checks.iter().any(|check| check.regression == Some(true));
        let all_known = self.checks.iter().all(|check| check.regression.is_some());
        self.regression = (any || (all_known && !self.checks.is_empty())).then_some(any);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thresholds_are_read_and_written() {
        for (text, threshold, told) in [
            ("5%", Threshold::Share(50_000), "5 %"),
            (" 0.05 % ", Threshold::Share(500), "0.05 %"),
            ("0%", Threshold::Share(0), "0 %"),
            ("64MiB", Threshold::Bytes(64 << 20), "64 MiB"),
            ("0", Threshold::Bytes(0), "0 B"),
        ] {
            assert_eq!(Threshold::parse(text), Ok(threshold), "{text}");
            assert_eq!(threshold.to_string(), told);
        }
        for text in ["", "%", "x", "5.%", ".5%", "-1%", "1.23456%", "99999999999999999999%", "5 parts", "5ms"] {
            assert!(Threshold::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_share_is_that_of_what_it_was(before in 0u64..1 << 40, after in 0u64..1 << 40, hundredths in 0u64..30_000) {
            let numbers = Numbers::of(Some(before), Some(after));
            let more = after > before && u128::from(after - before) * 10_000 > u128::from(before) * u128::from(hundredths);
            prop_assert_eq!(Threshold::Share(hundredths * 100).exceeded(&numbers), Some(more));
            prop_assert_eq!(Threshold::Bytes(before / 2).exceeded(&numbers), Some(after > before + before / 2));
            prop_assert_eq!(Threshold::Bytes(0).exceeded(&Numbers::of(None, Some(after))), None);
        }
    }
}
