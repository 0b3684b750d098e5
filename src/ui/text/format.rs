//! Numbers as people read them, each kind within a known width.
//!
//! A value is rounded before its unit is chosen, so 999,950 ns is "1.0 ms" and never "1000.0 us".

/// The widest duration: "999.9 us", "59m 59s".
pub const DURATION_WIDTH: u16 = 8;
/// The widest count: "999.9 k".
pub const COUNT_WIDTH: u16 = 7;
/// The widest size: "1023.9 KiB".
pub const BYTES_WIDTH: u16 = 10;
/// The widest share: "100.0 %".
pub const SHARE_WIDTH: u16 = 7;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// `value / divisor` in tenths, rounded half up.
fn tenths(value: u64, divisor: u64) -> u64 {
    let scaled = (u128::from(value) * 10 + u128::from(divisor) / 2) / u128::from(divisor);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// `value / divisor`, rounded half up.
fn rounded(value: u64, divisor: u64) -> u64 {
    value / divisor + u64::from(value % divisor >= divisor.div_ceil(2))
}

fn with_tenths(tenths: u64, unit: &str) -> String {
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// The value in the first unit in which it stays below the unit's limit (in tenths).
fn scaled(value: u64, units: &[(u64, &str)], limit: u64) -> Option<String> {
    units.iter().find_map(|&(divisor, unit)| {
        let tenths = tenths(value, divisor);
        (tenths < limit).then(|| with_tenths(tenths, unit))
    })
}

/// A duration: "640 ns", "6.1 ms", "1m 38.2s", "12m 04s", "3h 07m", "99d".
pub fn duration(ns: u64) -> String {
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    if let Some(text) = scaled(ns, &[(1_000, "us"), (1_000_000, "ms")], 10_000) {
        return text;
    }
    let seconds = tenths(ns, SECOND);
    if seconds < 600 {
        return with_tenths(seconds, "s");
    }
    if seconds < 6_000 {
        return format!("{}m {:02}.{}s", seconds / 600, seconds % 600 / 10, seconds % 10);
    }
    let seconds = rounded(ns, SECOND);
    if seconds < 3_600 {
        return format!("{}m {:02}s", seconds / 60, seconds % 60);
    }
    let minutes = rounded(ns, MINUTE);
    if minutes < 60_000 {
        return format!("{}h {:02}m", minutes / 60, minutes % 60);
    }
    format!("{}d", rounded(ns, 1_440 * MINUTE))
}

/// A count: "999", "38.2 k", "3.9 M".
pub fn count(n: u64) -> String {
    if n < 1_000 {
        return n.to_string();
    }
    const UNITS: [(u64, &str); 6] = [
        (1_000, "k"),
        (1_000_000, "M"),
        (1_000_000_000, "G"),
        (1_000_000_000_000, "T"),
        (1_000_000_000_000_000, "P"),
        (1_000_000_000_000_000_000, "E"),
    ];
    scaled(n, &UNITS, 10_000).unwrap_or_else(|| n.to_string())
}

/// A size: "512 B", "64.0 MiB", "1.2 GiB".
pub fn bytes(n: u64) -> String {
    if n < 1_024 {
        return format!("{n} B");
    }
    const UNITS: [(u64, &str); 6] =
        [(1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB"), (1 << 40, "TiB"), (1 << 50, "PiB"), (1 << 60, "EiB")];
    scaled(n, &UNITS, 10_240).unwrap_or_else(|| n.to_string())
}

/// A share in thousandths: "61.3 %".
pub fn share(thousandths: u64) -> String {
    with_tenths(thousandths, "%")
}

/// Time gone by: "00:01:42".
pub fn clock(ns: u64) -> String {
    let seconds = ns / SECOND;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A point in time as seconds with so many decimals (at most 9), cut, not rounded: order stays visible.
pub fn seconds(ns: u64, decimals: u32) -> String {
    let decimals = decimals.min(9);
    let fraction = ns % SECOND / 10_u64.pow(9 - decimals);
    format!("{}.{fraction:0width$}", ns / SECOND, width = decimals as usize)
}

/// A number with its thousands apart: "671,088,640".
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_change_unit_where_rounding_would_reach_the_next() {
        let cases: [(u64, &str); 22] = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.0 us"),
            (1_049, "1.0 us"),
            (1_050, "1.1 us"),
            (999_949, "999.9 us"),
            (999_950, "1.0 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1.0 s"),
            (59_949_999_999, "59.9 s"),
            (59_950_000_000, "1m 00.0s"),
            (98_200_000_000, "1m 38.2s"),
            (62_400_000_000, "1m 02.4s"),
            (599_949_999_999, "9m 59.9s"),
            (599_950_000_000, "10m 00s"),
            (3_599_499_999_999, "59m 59s"),
            (3_599_500_000_000, "1h 00m"),
            (3_600_000_000_000, "1h 00m"),
            (999 * 60 * MINUTE, "999h 00m"),
            (60_000 * MINUTE - MINUTE / 2, "42d"),
            (60_000 * MINUTE, "42d"),
            (u64::MAX, "213504d"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn no_number_outgrows_its_width() {
        for shift in 0..64 {
            for near in [-51_i64, -50, -1, 0, 1] {
                for n in [(1_u64 << shift).wrapping_add_signed(near), 10_u64.pow(shift % 20).wrapping_add_signed(near)]
                {
                    assert!(duration(n).len() <= usize::from(DURATION_WIDTH), "{n} {}", duration(n));
                    assert!(count(n).len() <= usize::from(COUNT_WIDTH), "{n} {}", count(n));
                    assert!(bytes(n).len() <= usize::from(BYTES_WIDTH), "{n} {}", bytes(n));
                }
            }
        }
        assert_eq!(share(1_000).len(), usize::from(SHARE_WIDTH));
    }

    #[test]
    fn counts_and_sizes() {
        let counts: [(u64, &str); 6] = [
            (999, "999"),
            (1_000, "1.0 k"),
            (38_200, "38.2 k"),
            (999_949, "999.9 k"),
            (999_950, "1.0 M"),
            (u64::MAX, "18.4 E"),
        ];
        for (n, text) in counts {
            assert_eq!(count(n), text);
        }
        let sizes: [(u64, &str); 6] = [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (1_048_524, "1023.9 KiB"),
            (1_048_525, "1.0 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (n, text) in sizes {
            assert_eq!(bytes(n), text, "{n}");
        }
    }

    #[test]
    fn points_in_time_are_cut_not_rounded() {
        assert_eq!(seconds(1_999_999_999, 6), "1.999999");
        assert_eq!(seconds(1_999_999_999, 9), "1.999999999");
        assert_eq!(seconds(5, 6), "0.000000");
        assert_eq!(clock(102 * SECOND + 999_999_999), "00:01:42");
        assert_eq!(clock(360_000 * SECOND), "100:00:00");
        assert_eq!(share(613), "61.3 %");
        assert_eq!(grouped(671_088_640), "671,088,640");
        assert_eq!(grouped(12), "12");
    }
}
