//! Settings from the environment, read once, and the clock.

use std::sync::OnceLock;

/// Most devices the stand-in can have: one bit each in a page's residency mask, beside the host's.
pub const MAX_DEVICES: usize = 7;

/// What the environment asked for.
pub struct Config {
    /// `UMTUI_SIM_DEVICES`, 0 to 7, default 2.
    pub devices: usize,
    /// `UMTUI_SIM_MEMORY`: bytes of each device (suffixes K, M, G), default 8 GiB.
    pub memory: u64,
    /// `UMTUI_SIM_SPEED`: how much faster than real the simulated durations pass; 0 means no sleeping at all.
    pub speed: f64,
    /// `UMTUI_SIM_SEED`.
    pub seed: u64,
}

fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (text.get(..text.len() - 1)?, 10),
        b'm' | b'M' => (text.get(..text.len() - 1)?, 20),
        b'g' | b'G' => (text.get(..text.len() - 1)?, 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The settings.
pub fn get() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let var = |name: &str| std::env::var(name).ok();
        Config {
            devices: var("UMTUI_SIM_DEVICES").and_then(|v| v.trim().parse().ok()).unwrap_or(2usize).min(MAX_DEVICES),
            memory: var("UMTUI_SIM_MEMORY").and_then(|v| bytes(&v)).unwrap_or(8 << 30),
            speed: var("UMTUI_SIM_SPEED")
                .and_then(|v| v.trim().parse::<f64>().ok())
                .filter(|v| v.is_finite() && *v >= 0.0)
                .unwrap_or(1.0),
            seed: var("UMTUI_SIM_SEED").and_then(|v| v.trim().parse().ok()).unwrap_or(1),
        }
    })
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Sleeps until the simulated work that began at `start` and takes `duration` ns would be over; returns its end.
pub fn pass(start: u64, duration: u64) -> u64 {
    let speed = get().speed;
    let current = now();
    if speed <= 0.0 {
        return current.max(start);
    }
    let end = start.saturating_add((duration as f64 / speed) as u64);
    if current >= end {
        return current;
    }
    let until = libc::timespec {
        tv_sec: libc::time_t::try_from(end / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (end % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: an absolute sleep on the clock that `now` reads; interrupted sleeps are taken up again.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, std::ptr::null_mut())
    } == libc::EINTR
    {}
    now()
}

/// A small deterministic generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Seeds a generator.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit` (0 for 0).
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_take_suffixes() {
        assert_eq!(bytes("8G"), Some(8 << 30));
        assert_eq!(bytes(" 512m"), Some(512 << 20));
        assert_eq!(bytes("4096"), Some(4096));
        assert_eq!(bytes("x"), None);
        assert_eq!(bytes(""), None);
    }
}
