//! Numbers with units, without floating point.

/// A number and what follows it.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// A decimal number times `numerator / 10^0`, rounded to the nearest; `None` if it is none. Saturates.
fn scaled(number: &str, factor: u128) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all(whole) || !all(fraction) {
        return None;
    }
    let fraction = fraction.get(..fraction.len().min(15)).unwrap_or(fraction);
    let whole = whole.trim_start_matches('0');
    if whole.len() > 20 {
        return Some(u64::MAX);
    }
    let digits = |text: &str| text.bytes().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let power = 10u128.pow(fraction.len() as u32);
    let parts = digits(whole) * power + digits(fraction);
    let product = parts.checked_mul(factor)?;
    Some(u64::try_from((product + power / 2) / power).unwrap_or(u64::MAX))
}

/// A time in ns: `1.5ms`, or `1.5` where the unit stands elsewhere.
pub fn time(text: &str, unit: &str) -> Option<u64> {
    let (number, own) = split(text.trim());
    let factor = match if own.trim().is_empty() { unit } else { own.trim() } {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        _ => return None,
    };
    scaled(number, factor)
}

/// Bytes: `4.0000MB` is four times 2^20.
pub fn bytes(text: &str, unit: &str) -> Option<u64> {
    let (number, own) = split(text.trim());
    let factor = match if own.trim().is_empty() { unit } else { own.trim() } {
        "B" | "" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    scaled(number, factor)
}

/// A whole number, which may have zeros behind a point: `114`, `114.000000`.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let whole = text.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|digit| digit == b'0'));
    count(whole.map_or(text, |(whole, _)| whole))
}

/// A whole number.
pub fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) { None } else { text.parse().ok() }
}

/// An address: `0x7f5a72017000`.
pub fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(time("133.81ms", ""), Some(133_810_000));
        assert_eq!(time("0.781520", "ms"), Some(781_520));
        assert_eq!(time("1.632346s", "us"), Some(1_632_346_000));
        assert_eq!(time("12", "fortnights"), None);
        assert_eq!(time("-", "s"), None);
        assert_eq!(time("", "s"), None);
        assert_eq!(bytes("4.0000MB", ""), Some(4 << 20));
        assert_eq!(bytes("56.784KB", ""), Some(58_147));
        assert_eq!(bytes("1024", "B"), Some(1024));
        assert_eq!(bytes("99999999999999999999999GB", ""), Some(u64::MAX));
        assert_eq!(address("0x7f5a72017000"), Some(0x7f5a_7201_7000));
        assert_eq!((number("114"), number("9.000"), number("9.5"), number("9KB")), (Some(114), Some(9), None, None));
        assert_eq!((count("12"), count("1.5"), count("+1")), (Some(12), None, None));
    }

    proptest! {
        #[test]
        fn exact_to_the_last_digit(ns in 0u64..1 << 53) {
            let text = format!("{}.{:09}s", ns / 1_000_000_000, ns % 1_000_000_000);
            prop_assert_eq!(time(&text, ""), Some(ns));
        }

        #[test]
        fn any_text(text in "\\PC{0,20}|[0-9.]{0,60}[a-zA-Z]{0,2}") {
            let _ = (time(&text, "s"), bytes(&text, ""), address(&text), count(&text));
        }
    }
}
