//! Durations, sizes and addresses as people write them.

use super::error::quoted;
use super::fields::hint;
use super::{Comparison, Condition, NumberField};

const TIMES: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// K is 1024 in each spelling, as everywhere in umtui.
const SIZES: [(&str, u64); 13] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1 << 10),
    ("MB", 1 << 20),
    ("GB", 1 << 30),
    ("TB", 1 << 40),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];

/// Digits after the point that count.
const DECIMALS: usize = 18;

/// A time or a length of time, ns: `1.5s`, `.5 ms`, `2min`. What is less than a nanosecond is cut off. This is how times
/// are read wherever one is typed.
///
/// # Errors
/// What was expected, if it is none or too large.
pub fn time(text: &str) -> Result<u64, String> {
    number(NumberField::Time, text)
}

/// A size in bytes: `64KiB`, `1.5 MiB`, `4096`. This is how sizes are read wherever one is typed.
///
/// # Errors
/// What was expected, if it is none or too large.
pub fn size(text: &str) -> Result<u64, String> {
    number(NumberField::Size, text)
}

/// A quantity: ns or bytes. What is less than one of these is cut off.
pub(super) fn number(field: NumberField, text: &str) -> Result<u64, String> {
    let (what, units): (_, &[(&str, u64)]) = match field {
        NumberField::Size => ("a size, such as 64KiB or 1.5MiB", &SIZES),
        NumberField::Duration => ("a duration, such as 100us or 1.5ms", &TIMES),
        NumberField::Time => ("a time, such as 1.5s or 20ms", &TIMES),
    };
    let text = text.trim();
    let digits = text.trim_end_matches(|char: char| !char.is_ascii_digit() && char != '.');
    let name = text[digits.len()..].trim_start();
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let whole = if whole.is_empty() && digits.starts_with('.') { "0" } else { whole };
    let plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(decimals) {
        return Err(format!("expected {what}, found {}", quoted(text)));
    }
    let is_zero = digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let unit = match units.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, unit)) => *unit,
        None if name.is_empty() && (is_zero || field == NumberField::Size) => 1,
        None => {
            let names = || units.iter().map(|(name, _)| *name).filter(|name| name.is_ascii());
            let list = names().take(5).collect::<Vec<_>>().join(", ");
            let found = if name.is_empty() { "no unit".to_owned() } else { format!("the unit {}", quoted(name)) };
            return Err(format!("expected {what}, found {found}; known are {list}{}", hint(name, names())));
        }
    };
    scaled(whole, decimals, unit).ok_or_else(|| format!("{} is too large", quoted(text)))
}

fn scaled(whole: &str, decimals: &str, unit: u64) -> Option<u64> {
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let kept = decimals.get(..DECIMALS.min(decimals.len()))?;
    let scale = 10u128.checked_pow(u32::try_from(kept.len()).ok()?)?;
    let part = kept.parse::<u128>().ok()?.checked_mul(u128::from(unit))?.checked_div(scale)?;
    whole.checked_add(u64::try_from(part).ok()?)
}

/// A quantity in the largest unit that leaves it whole.
pub(super) fn written(field: NumberField, value: u64) -> String {
    let units: &[(&str, u64)] = match field {
        NumberField::Size => &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)],
        _ => &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
    };
    let fits = |unit: u64| value >= unit && value.is_multiple_of(unit);
    let (name, unit) = units.iter().find(|(_, unit)| fits(*unit)).copied().unwrap_or(match field {
        NumberField::Size => ("B", 1),
        _ => ("ns", 1),
    });
    format!("{}{name}", value / unit)
}

/// `V`, `A..B`, `A..` or `..B`, both ends included.
pub(super) fn numbers(field: NumberField, text: &str) -> Result<Condition, String> {
    let Some((first, last)) = text.split_once("..") else {
        return Ok(Condition::Number(field, Comparison::Equal, number(field, text)?));
    };
    let end = |text: &str| if text.trim().is_empty() { Ok(None) } else { number(field, text).map(Some) };
    let least = |value| Condition::Number(field, Comparison::AtLeast, value);
    let most = |value| Condition::Number(field, Comparison::AtMost, value);
    match (end(first)?, end(last)?) {
        (Some(first), Some(last)) if first > last => Err(format!("{} ends before it begins", quoted(text))),
        (Some(first), Some(last)) => Ok(Condition::All(vec![least(first), most(last)])),
        (Some(first), None) => Ok(least(first)),
        (None, Some(last)) => Ok(most(last)),
        (None, None) => Err("expected A..B, with at least one of both".to_owned()),
    }
}

/// `A`, `A-B`, `A..B` (both included) or `A+SIZE`.
pub(super) fn addresses(text: &str) -> Result<(u64, u64), String> {
    let expected = || format!("expected an address, such as 0x7f00-0x7fff or 0x7f00+64KiB, found {}", quoted(text));
    let one = |text: &str| {
        let text = text.trim();
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || digits.len() == text.len() {
            return Err(expected());
        }
        u64::from_str_radix(digits, 16).map_err(|_| format!("{} is too large for an address", quoted(text)))
    };
    if let Some((first, bytes)) = text.split_once('+') {
        let (first, bytes) = (one(first)?, number(NumberField::Size, bytes)?);
        let last = bytes.checked_sub(1).ok_or("a range of no bytes overlaps nothing")?;
        let last = first.checked_add(last).ok_or_else(|| format!("{} ends beyond all addresses", quoted(text)))?;
        return Ok((first, last));
    }
    let ends = text.split_once("..").or_else(|| text.split_once('-'));
    let (first, last) = match ends {
        Some((first, last)) => (one(first)?, one(last)?),
        None => one(text).map(|one| (one, one))?,
    };
    if first > last {
        return Err(format!("{} ends before it begins", quoted(text)));
    }
    Ok((first, last))
}

/// A range of addresses as it is read back.
pub(super) fn written_addresses(first: u64, last: u64) -> String {
    if first == last { format!("{first:#x}") } else { format!("{first:#x}-{last:#x}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities() {
        let time = |text| number(NumberField::Duration, text);
        assert_eq!(time("100us"), Ok(100_000));
        assert_eq!(time("1.5 ms"), Ok(1_500_000));
        assert_eq!(time("2m"), Ok(120_000_000_000));
        assert_eq!(time("0"), Ok(0));
        assert_eq!(time("1.9ns"), Ok(1));
        assert_eq!(time("18446744073709551615ns"), Ok(u64::MAX));
        assert_eq!((time(".5us"), time("2 min"), time("1.5\u{3bc}s")), (Ok(500), Ok(120_000_000_000), Ok(1_500)));
        for wrong in ["18446744073709551616ns", "18446744073.8s", "5", "5kg", "", "us", "-1us", "1.us", ".us", "1e3us"]
        {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert!(time("5usec").unwrap_err().contains("known are ns, us"));
        let size = |text| number(NumberField::Size, text);
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        assert_eq!(size("1.5kb"), Ok(1536));
        assert_eq!(size("4G"), Ok(4 << 30));
        assert!(size("99999999TiB").is_err());
    }

    #[test]
    fn ranges() {
        let least = Condition::Number(NumberField::Time, Comparison::AtLeast, 1_500_000_000);
        let most = Condition::Number(NumberField::Time, Comparison::AtMost, 2_000_000_000);
        assert_eq!(numbers(NumberField::Time, "1.5s..2s"), Ok(Condition::All(vec![least.clone(), most.clone()])));
        assert_eq!(numbers(NumberField::Time, "1.5s.."), Ok(least));
        assert_eq!(numbers(NumberField::Time, "..2s"), Ok(most));
        assert!(numbers(NumberField::Time, "..").is_err());
        assert!(numbers(NumberField::Time, "2s..1s").is_err());
        assert_eq!(addresses("0x10"), Ok((16, 16)));
        assert_eq!(addresses("0x10-0x1f"), Ok((16, 31)));
        assert_eq!(addresses("0x10..0x1f"), Ok((16, 31)));
        assert_eq!(addresses("0x1000+4KiB"), Ok((4096, 8191)));
        for wrong in ["10", "0x", "0x1-0x0", "0x1+0", "0xffffffffffffffff+2", "0x10000000000000000", "", "x-y"] {
            assert!(addresses(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in any::<u64>(), shift in 0..64u32, last in any::<u64>()) {
            let value = value >> shift;
            for field in [NumberField::Size, NumberField::Duration, NumberField::Time] {
                prop_assert_eq!(number(field, &written(field, value)), Ok(value));
            }
            let (first, last) = (value.min(last), value.max(last));
            prop_assert_eq!(addresses(&written_addresses(first, last)), Ok((first, last)));
        }

        /// Against exact arithmetic with the digits as one number.
        #[test]
        fn a_time_is_its_digits_times_its_unit(
            whole in prop_oneof![any::<u64>(), 0u64..100_000],
            part in prop::option::of("[0-9]{1,18}"),
            unit in prop::sample::select(TIMES.as_slice()),
            gap in prop::sample::select(vec!["", " "]),
        ) {
            let digits = part.clone().unwrap_or_default();
            let scale = 10u128.pow(u32::try_from(digits.len()).unwrap());
            let below = if digits.is_empty() { 0 } else { digits.parse::<u128>().unwrap() };
            let exact = u128::from(whole) * u128::from(unit.1) + below * u128::from(unit.1) / scale;
            let point = part.as_ref().map_or(String::new(), |part| format!(".{part}"));
            let text = format!("{whole}{point}{gap}{}", unit.0);
            prop_assert_eq!(time(&text).ok(), u64::try_from(exact).ok(), "{}", text);
            if let (0, Some(part)) = (whole, part) {
                prop_assert_eq!(time(&format!(".{part}{gap}{}", unit.0)).ok(), u64::try_from(exact).ok());
            }
        }

        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC*|[0-9.a-zA-Z+x-]*") {
            let _ = number(NumberField::Size, &text);
            let _ = (time(&text), numbers(NumberField::Duration, &text));
            let _ = addresses(&text);
        }
    }
}
