//! Values of counters: whole numbers of 64 bits as they are, others as floating point.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use umtui_wire::activity as wire;

/// The domain of the marks that an import makes of the samples of counters.
pub const DOMAIN: &str = "counter";
/// What the thread is called that they are marks of, one of each process.
pub const THREAD: &str = "counters";

/// First whole numbers that are too large for 64 bits, as floating point.
const BEYOND: f64 = 18_446_744_073_709_551_616.0;
const BELOW: f64 = -9_223_372_036_854_775_808.0;
/// Longest number that is read, bytes.
const LONGEST: usize = 1000;

/// A value of a counter. Whole numbers that are not negative are [`Self::Unsigned`], so equal values are alike.
#[derive(Clone, Copy, Debug)]
pub enum Sampled {
    /// A whole number.
    Unsigned(u64),
    /// A negative one.
    Signed(i64),
    /// Another number.
    Double(f64),
}

/// Why a text is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is no number.
    NoNumber,
    /// It is a whole number that 64 bits do not hold, or beyond floating point.
    Beyond,
}

impl Sampled {
    /// A decimal number, with or without point and exponent. What is whole and fits is read exactly however it is written;
    /// other numbers with a point or an exponent become the nearest that floating point has.
    ///
    /// # Errors
    /// When it is no such number, or none holds its value.
    pub fn read(text: &[u8]) -> Result<Self, Unread> {
        let plain = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
        if !text.iter().all(plain) {
            return Err(Unread::NoNumber);
        }
        let text = std::str::from_utf8(text).map_err(|_| Unread::NoNumber)?;
        let nearest: f64 = text.parse().map_err(|_| Unread::NoNumber)?;
        if text.len() > LONGEST || !nearest.is_finite() {
            return Err(Unread::Beyond);
        }
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (before, after) = number.split_once('.').unwrap_or((number, ""));
        let all = [before, after].concat();
        let trailing = all.len() - all.trim_end_matches('0').len();
        let digits = all.trim_matches('0');
        if digits.is_empty() {
            return Ok(Self::Unsigned(0));
        }
        // With more digits the exponent would not have been finite, or the number smaller than any.
        let exponent: i64 = exponent.parse().map_err(|_| Unread::Beyond)?;
        let power = exponent.saturating_add(trailing as i64).saturating_sub(after.len() as i64);
        let Ok(power) = usize::try_from(power) else {
            // Not whole; what is too small for any number is not zero.
            return if nearest == 0.0 { Err(Unread::Beyond) } else { Ok(Self::Double(nearest)) };
        };
        let whole = format!("{}{digits}{}", if negative { "-" } else { "" }, "0".repeat(power.min(LONGEST)));
        match whole.parse::<i128>().ok().and_then(Self::whole) {
            Some(value) => Ok(value),
            None if text.contains(['.', 'e', 'E']) || format!("{nearest:.0}") == whole => Ok(Self::Double(nearest)),
            None => Err(Unread::Beyond),
        }
    }

    /// Of floating point; `None` for what is no number and for infinities.
    #[must_use]
    pub fn double(number: f64) -> Option<Self> {
        let whole = number.fract() == 0.0 && (BELOW..BEYOND).contains(&number);
        let own = Some(Self::Double(number)).filter(|_| number.is_finite());
        if whole { Self::whole(number as i128) } else { own }
    }

    /// A whole number, if 64 bits hold it.
    #[must_use]
    pub fn whole(number: i128) -> Option<Self> {
        let unsigned = u64::try_from(number).ok().map(Self::Unsigned);
        unsigned.or_else(|| i64::try_from(number).ok().map(Self::Signed))
    }

    /// As the payload of a mark: its type without [`wire::PAYLOAD_SAMPLE`], and its bits.
    #[must_use]
    pub const fn payload(self) -> (u32, u64) {
        match self {
            Self::Unsigned(number) => (wire::PAYLOAD_UNSIGNED, number),
            Self::Signed(number) => (wire::PAYLOAD_SIGNED, number as u64),
            Self::Double(number) => (wire::PAYLOAD_DOUBLE, number.to_bits()),
        }
    }

    /// Of a mark, by its payload; `None` if it is no sample of a counter.
    #[must_use]
    pub const fn of(payload_type: u32, payload: u64) -> Option<Self> {
        const UNSIGNED: u32 = wire::PAYLOAD_SAMPLE | wire::PAYLOAD_UNSIGNED;
        const SIGNED: u32 = wire::PAYLOAD_SAMPLE | wire::PAYLOAD_SIGNED;
        const DOUBLE: u32 = wire::PAYLOAD_SAMPLE | wire::PAYLOAD_DOUBLE;
        match payload_type {
            UNSIGNED => Some(Self::Unsigned(payload)),
            SIGNED => Some(Self::Signed(payload as i64)),
            DOUBLE => Some(Self::Double(f64::from_bits(payload))),
            _ => None,
        }
    }

    fn integer(self) -> Option<i128> {
        match self {
            Self::Unsigned(number) => Some(number.into()),
            Self::Signed(number) => Some(number.into()),
            Self::Double(_) => None,
        }
    }
}

/// The names of a counter and of its series, of the mark's name and id; see [`wire::PAYLOAD_SAMPLE`].
#[must_use]
pub fn names(name: &str, id: u64) -> (&str, Option<&str>) {
    let at = usize::try_from(id).ok().filter(|&at| at > 0);
    let split = at.and_then(|at| name.split_at_checked(at));
    match split.and_then(|(counter, rest)| Some((counter, rest.strip_prefix(' ')?))) {
        Some((counter, series)) => (counter, Some(series)),
        None => (name, None),
    }
}

impl Ord for Sampled {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other, self.integer(), other.integer()) {
            (.., Some(one), Some(other)) => one.cmp(&other),
            (Self::Double(one), Self::Double(other), ..) => one.total_cmp(&other),
            (_, Self::Double(double), Some(whole), _) => with_double(whole, double),
            (Self::Double(double), _, _, Some(whole)) => with_double(whole, double).reverse(),
            _ => Ordering::Equal,
        }
    }
}

/// Exactly, which floating point alone cannot do.
fn with_double(whole: i128, double: f64) -> Ordering {
    if double.is_nan() || double >= BEYOND {
        return Ordering::Less;
    }
    if double < BELOW {
        return Ordering::Greater;
    }
    let floor = double.floor();
    whole.cmp(&(floor as i128)).then(if double > floor { Ordering::Less } else { Ordering::Equal })
}

impl PartialOrd for Sampled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sampled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Sampled {}

impl fmt::Display for Sampled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => number.fmt(out),
            Self::Signed(number) => number.fmt(out),
            // What is very large or small is read better with an exponent; either way it is read back the same.
            Self::Double(number) if (1e-4..1e16).contains(&number.abs()) => number.fmt(out),
            Self::Double(number) => write!(out, "{number:e}"),
        }
    }
}

/// Whole numbers as numbers, others as text: in reports all numbers are integers.
impl Serialize for Sampled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Unsigned(number) => serializer.serialize_u64(number),
            Self::Signed(number) => serializer.serialize_i64(number),
            Self::Double(_) => serializer.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_whole_is_exact_however_it_is_written() {
        for (text, value) in [
            ("0", Sampled::Unsigned(0)),
            ("-0.0", Sampled::Unsigned(0)),
            ("0e99999999999999999999", Sampled::Unsigned(0)),
            ("050", Sampled::Unsigned(50)),
            ("246.", Sampled::Unsigned(246)),
            ("+10.50e1", Sampled::Unsigned(105)),
            ("9007199254740993.0", Sampled::Unsigned(9_007_199_254_740_993)),
            ("18446744073709551615", Sampled::Unsigned(u64::MAX)),
            ("-9223372036854775808", Sampled::Signed(i64::MIN)),
            ("-1e2", Sampled::Signed(-100)),
            ("1200e-2", Sampled::Unsigned(12)),
            ("18446744073709551616", Sampled::Double(BEYOND)),
            ("1e20", Sampled::Double(1e20)),
            ("1e23", Sampled::Double(1e23)),
            (".75", Sampled::Double(0.75)),
            ("01.23", Sampled::Double(1.23)),
            ("-7.5", Sampled::Double(-7.5)),
        ] {
            let read = Sampled::read(text.as_bytes()).unwrap();
            assert_eq!((read, std::mem::discriminant(&read)), (value, std::mem::discriminant(&value)), "{text}");
        }
        for text in ["18446744073709551617", "-9223372036854775809", "1e400", "1e-400"] {
            assert_eq!(Sampled::read(text.as_bytes()), Err(Unread::Beyond), "{text}");
        }
        for text in ["", "-", "+", ".", "1.5e", "2e+", "inf", "NaN", "0x10", "1 ", "1,5", "e5"] {
            assert_eq!(Sampled::read(text.as_bytes()), Err(Unread::NoNumber), "{text}");
        }
    }

    #[test]
    fn names_come_apart_where_they_were_put_together() {
        assert_eq!(names("memory used", 6), ("memory", Some("used")));
        assert_eq!(names("a b c d", 3), ("a b", Some("c d")));
        for (name, id) in [("memory used", 0), ("memory used", 5), ("memory used", 99), ("\u{e4} x", 1)] {
            assert_eq!(names(name, id), (name, None), "{id}");
        }
    }

    proptest! {
        #[test]
        fn payloads_and_order_are_kept(a in any::<i128>(), b in any::<i64>(), c in any::<u64>(), d in -1e19f64..3e19, e in any::<f64>()) {
            let mut all = vec![Sampled::whole(b.into()).unwrap(), Sampled::Unsigned(c), Sampled::double(d).unwrap()];
            all.extend(Sampled::whole(a));
            all.extend(Sampled::double(e));
            for one in &all {
                let (kind, bits) = one.payload();
                prop_assert_eq!(Sampled::of(kind | wire::PAYLOAD_SAMPLE, bits), Some(*one));
                prop_assert_eq!(Sampled::of(kind, bits), None);
                prop_assert_eq!(Sampled::read(one.to_string().as_bytes()), Ok(*one));
            }
            // Of these floating point is right wherever it can tell them apart.
            all[2] = Sampled::Double(d);
            for (one, other) in [(all[0], all[2]), (all[1], all[2]), (all[0], all[1])] {
                let near = |value: Sampled| match value { Sampled::Unsigned(n) => n as f64, Sampled::Signed(n) => n as f64, Sampled::Double(n) => n };
                if near(one) != near(other) {
                    prop_assert_eq!(one < other, near(one) < near(other));
                }
                prop_assert_eq!(one.cmp(&other), other.cmp(&one).reverse());
            }
        }
    }
}
