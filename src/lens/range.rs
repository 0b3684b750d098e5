//! A range of time as it is typed: `1.5s..2s`, `..2s`, `1.5s..`, `1.5s+10ms`.

/// Why a text is no range of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// Not of the form `A..B` or `A+LENGTH`.
    #[error("{0:?} is no range of time: write 1.5s..2s, ..2s, 1.5s.. or 1.5s+10ms, counted from the trace's begin")]
    Form(String),
    /// A part is no time.
    #[error("{0:?} is no time: write a number with ns, us, ms, s, m or h, as in 1.5s")]
    Time(String),
    /// It ends before it begins.
    #[error("the range ends at {1} ns, before it begins at {0} ns")]
    Backwards(u64, u64),
}

/// Reads a range of time: from and to, ns since the trace began, both included.
///
/// # Errors
/// If it is none.
pub fn parse_range(text: &str) -> Result<(u64, u64), RangeError> {
    let text = text.trim();
    if let Some((from, to)) = text.split_once("..") {
        let from = if from.trim().is_empty() { 0 } else { time(from)? };
        let to = if to.trim().is_empty() { u64::MAX } else { time(to)? };
        return if from <= to { Ok((from, to)) } else { Err(RangeError::Backwards(from, to)) };
    }
    let Some((from, length)) = text.split_once('+') else { return Err(RangeError::Form(text.to_owned())) };
    let from = if from.trim().is_empty() { 0 } else { time(from)? };
    Ok((from, from.saturating_add(time(length)?)))
}

/// `1.5s` in ns, rounded down; larger than there is room for is the largest.
fn time(text: &str) -> Result<u64, RangeError> {
    let text = text.trim();
    let wrong = || RangeError::Time(text.to_owned());
    let unit = text.find(|char: char| !char.is_ascii_digit() && char != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit);
    let unit: u128 = match unit.trim() {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(wrong()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && part.is_empty()) || part.contains('.') {
        return Err(wrong());
    }
    // More digits than that are less than a nanosecond of an hour, or more than there is room for.
    let digits = |text: &str| text.bytes().fold(0u128, |sum, digit| sum.saturating_mul(10) + u128::from(digit - b'0'));
    let part = part.get(..part.len().min(15)).unwrap_or_default();
    let below = 10u128.pow(part.len() as u32);
    let whole = digits(whole.get(..whole.len().min(22)).unwrap_or_default());
    let ns = whole.saturating_mul(unit).saturating_add(digits(part) * unit / below);
    Ok(u64::try_from(ns).unwrap_or(u64::MAX))
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
            ("99999999999999999999999999h..", (u64::MAX, u64::MAX)),
        ] {
            assert_eq!(parse_range(text), Ok(range), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("1.5s", "is no range of time"),
            ("1.5..2s", "\"1.5\" is no time"),
            ("2s..1s", "before it begins"),
            ("1.2.3s..", "is no time"),
            ("5 apples..", "is no time"),
            (".s..", "is no time"),
        ] {
            let error = parse_range(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[0-9.+smun ]{0,40}|.{0,20}") {
            let _ = parse_range(&text);
        }
    }
}
