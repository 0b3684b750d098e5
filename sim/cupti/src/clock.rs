//! CUPTI's clock: Unix epoch nanoseconds. The driver's records have `CLOCK_MONOTONIC`; the distance of the two clocks is
//! taken once, so that records and `cuptiGetTimestamp` agree for good.

use std::sync::OnceLock;

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Epoch minus monotonic, ns, from the narrowest of some brackets.
fn distance() -> u64 {
    static DISTANCE: OnceLock<u64> = OnceLock::new();
    *DISTANCE.get_or_init(|| {
        let bracket = || {
            let before = read(libc::CLOCK_MONOTONIC);
            let epoch = read(libc::CLOCK_REALTIME);
            let width = read(libc::CLOCK_MONOTONIC).wrapping_sub(before);
            (width, epoch.wrapping_sub(before.wrapping_add(width / 2)))
        };
        (0..16).map(|_| bracket()).min().map_or(0, |bracket| bracket.1)
    })
}

/// A monotonic time as epoch time, ns. Zero stays zero: not known.
pub fn epoch(monotonic: u64) -> u64 {
    if monotonic == 0 { 0 } else { monotonic.wrapping_add(distance()) }
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Now, epoch ns.
pub fn now() -> u64 {
    epoch(monotonic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_epoch() {
        let (before, now, after) = (read(libc::CLOCK_REALTIME), now(), read(libc::CLOCK_REALTIME));
        assert!(now + 1_000_000 > before && now < after + 1_000_000);
        assert_eq!(epoch(0), 0);
    }
}
