//! Decimals to integers, exactly.

/// Most digits of an exponent that are looked at: with more, the value is zero or saturates.
const EXPONENT: i32 = 100_000;

/// `text`, a JSON number, times ten to the power of `scale`, as an integer: what is smaller than one is cut off, what is
/// too large saturates. `None` for what is no number, and for NaN and infinities.
///
/// A leading plus, leading zeros, a point without digits on one side and an exponent without digits are let pass.
#[must_use]
pub fn scaled(text: &[u8], scale: i32) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    if let Some(value) = short(digits, scale) {
        return Some(if negative { -value } else { value });
    }
    let (mut mantissa, mut fraction, mut point, mut any) = (0u128, 0i32, false, false);
    let mut dropped = 0i32;
    let mut rest = digits;
    while let Some((&byte, tail)) = rest.split_first() {
        match byte {
            b'0'..=b'9' => {
                any = true;
                if mantissa < 1 << 120 {
                    mantissa = mantissa * 10 + u128::from(byte - b'0');
                    fraction += i32::from(point);
                } else {
                    // Digits that can make no difference.
                    dropped = (dropped + i32::from(!point)).min(EXPONENT);
                }
            }
            b'.' if !point => point = true,
            b'e' | b'E' if any => break,
            _ => return None,
        }
        rest = tail;
    }
    if !any {
        return None;
    }
    let exponent = match rest.split_first() {
        Some((_, power)) => exponent(power)?,
        None => 0,
    };
    let power = exponent.saturating_add(scale).saturating_add(dropped).saturating_sub(fraction);
    let value = shift(mantissa, power);
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    Some(if negative { -value } else { value })
}

/// The commonest: up to 18 digits with a point among them, and no exponent.
#[inline]
fn short(digits: &[u8], scale: i32) -> Option<i64> {
    const TENS: [i64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
    let mut value = 0i64;
    let mut point = None;
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let count = digits.len() - usize::from(point.is_some());
    let fraction = point.map_or(0, |at| digits.len() - at - 1);
    if !(1..=18).contains(&count) {
        return None;
    }
    let power = scale - fraction as i32;
    let factor = *TENS.get(power.unsigned_abs() as usize)?;
    if power >= 0 { value.checked_mul(factor) } else { Some(value / factor) }
}

fn exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let mut value = 0i32;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = (value * 10 + i32::from(byte - b'0')).min(EXPONENT);
    }
    Some(if negative { -value } else { value })
}

fn shift(mantissa: u128, power: i32) -> u128 {
    if mantissa == 0 {
        return 0;
    }
    let factor = 10u128.checked_pow(power.unsigned_abs());
    match (power >= 0, factor) {
        (true, Some(factor)) => mantissa.saturating_mul(factor),
        (true, None) => u128::MAX,
        (false, Some(factor)) => mantissa / factor,
        (false, None) => 0,
    }
}

/// An integer, whole: `None` where it has a point or an exponent, or is beyond 128 bits.
#[must_use]
pub fn integer(text: &[u8]) -> Option<i128> {
    if !text.is_empty() && text.len() <= 18 && text.iter().all(u8::is_ascii_digit) {
        let value = text.iter().fold(0i64, |value, byte| value * 10 + i64::from(byte - b'0'));
        return Some(i128::from(value));
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn microseconds_become_nanoseconds() {
        for (text, ns) in [
            ("88437691101.719", 88_437_691_101_719),
            ("1694039968933321", 1_694_039_968_933_321_000),
            ("1694039968933321.123456", 1_694_039_968_933_321_123),
            ("0.04", 40),
            ("1e3", 1_000_000),
            ("1.5E-3", 1),
            ("-12.5", -12_500),
            ("9.9999999e-4", 0),
            ("1e400", i64::MAX),
            ("-1e99999999999", -i64::MAX),
            ("1e-400", 0),
            ("0e99999", 0),
            (".75", 750),
            ("246.", 246_000),
            ("+10.5", 10_500),
            ("007", 7000),
            ("2e+", 2000),
            ("123456789012345678901234567890123456789012345678901234567890e-50", 1_234_567_890_123),
        ] {
            assert_eq!(scaled(text.as_bytes(), 3), Some(ns), "{text}");
        }
        for text in ["", "-", "+", ".", "e5", "NaN", "Infinity", "1x", "1.2.3", "1e5x", "--1"] {
            assert_eq!(scaled(text.as_bytes(), 3), None, "{text}");
        }
        assert_eq!(integer(b"10159970886766084423"), Some(10_159_970_886_766_084_423));
        assert_eq!((integer(b"1.5"), integer(b"")), (None, None));
    }

    proptest! {
        #[test]
        fn it_is_exact(whole in 0u64..9_000_000_000_000_000, fraction in 0u32..1000, negative: bool) {
            let text = format!("{}{whole}.{fraction:03}", if negative { "-" } else { "" });
            let ns = (whole * 1000 + u64::from(fraction)) as i64;
            prop_assert_eq!(scaled(text.as_bytes(), 3), Some(if negative { -ns } else { ns }));
            let text = format!("{}e-3", text.replace('.', ""));
            prop_assert_eq!(scaled(text.as_bytes(), 3), Some(if negative { -ns } else { ns }));
        }

        #[test]
        fn the_short_way_is_the_long_way(digits in "[0-9]{0,18}\\.?[0-9]{0,18}", scale in -3i32..10) {
            // An exponent of nothing goes the long way.
            let long = format!("{digits}e0");
            prop_assert_eq!(scaled(digits.as_bytes(), scale), scaled(long.as_bytes(), scale));
        }

        #[test]
        fn any_bytes_have_an_answer(bytes in prop::collection::vec(prop::sample::select(b"0123456789+-.eE".to_vec()), 0..60)) {
            let _ = scaled(&bytes, 3);
        }
    }
}
