//! How the devices of this machine fare just now, asked once a second by a thread of its own.
//!
//! The library that is asked may take its time, or hang with a device that does: nobody waits for it. What it said is
//! taken where somebody looks at it, and forgotten when it has become old.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two readings.
const PERIOD: Duration = Duration::from_secs(1);
/// Devices are asked as long as somebody has wanted to know of them so recently.
const WANTED: Duration = Duration::from_secs(3);
/// A reading that is older is not shown.
const FRESH: Duration = Duration::from_secs(4);

/// What tells a device from the others of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// UUID, zeros if it is not known.
    pub uuid: [u64; 2],
    /// PCI domain, bus and device.
    pub pci: (u32, u32, u32),
}

/// How a device fares. What it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Share of the last sampling period in which a kernel ran, per cent.
    pub busy: Option<u32>,
    /// Clock of the multiprocessors, MHz.
    pub sm_mhz: Option<u32>,
    /// Memory used by whomever, and all there is, bytes.
    pub memory: Option<(u64, u64)>,
    /// What keeps its clocks down, in words.
    pub slowed: Vec<&'static str>,
}

/// Who can be asked.
pub trait Gauge {
    /// Asks a device; `None` if it is not there, or tells nothing. May take long.
    fn read(&mut self, device: &Address) -> Option<Reading>;
}

/// Opens a gauge, in the thread that asks it; `None` if this machine has none.
pub type Open = fn() -> Option<Box<dyn Gauge>>;

/// Asks devices while somebody wants to know. Ends when it is dropped.
#[derive(Debug)]
pub struct Sampler {
    open: Open,
    shared: Option<Arc<Shared>>,
}

/// Moments that are kept of a device; when there are twice as many every other one is given up.
const MOST_KEPT: usize = 2048;

/// A moment, ns on a trace's axis, bytes of a device in use then, and all there are.
pub type UsedAt = (u64, u64, u64);

/// What readings said of devices' memory over time.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    of: Vec<(Address, Vec<UsedAt>)>,
    /// When the newest of them were taken.
    taken: Option<Instant>,
}

impl Kept {
    /// Of each device, in order of time.
    pub fn all(&self) -> impl Iterator<Item = (&Address, &[UsedAt])> {
        self.of.iter().map(|(address, points)| (address, points.as_slice()))
    }

    /// Keeps readings that were taken at a moment, ns on the trace's axis, unless that was done before.
    fn keep(&mut self, readings: &[(Address, Reading)], taken: Instant, at_ns: u64) {
        if self.taken == Some(taken) {
            return;
        }
        self.taken = Some(taken);
        for (address, reading) in readings {
            let Some((used, total)) = reading.memory else { continue };
            let at = self.of.iter().position(|(of, _)| of == address).unwrap_or_else(|| {
                self.of.push((*address, Vec::new()));
                self.of.len() - 1
            });
            let Some((_, points)) = self.of.get_mut(at) else { continue };
            points.push((at_ns, used, total));
            if points.len() >= 2 * MOST_KEPT {
                thin(points);
            }
        }
    }
}

/// Of each two one after the other keeps the one with more bytes in use.
fn thin(points: &mut Vec<UsedAt>) {
    let kept = points.chunks(2).filter_map(|two| two.iter().copied().max_by_key(|point| point.1));
    *points = kept.collect();
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wanted: Vec<Address>,
    /// When that was last wanted.
    since: Option<Instant>,
    readings: Vec<(Address, Reading)>,
    /// When the readings were taken.
    taken: Option<Instant>,
    stop: bool,
}

impl Sampler {
    /// Nothing is opened, and no thread begun, before somebody wants to know.
    #[must_use]
    pub const fn new(open: Open) -> Self {
        Self { open, shared: None }
    }

    /// The newest readings of these devices, which is all that will be asked from now on. Never waits.
    pub fn readings(&mut self, wanted: &[Address], now: Instant) -> Vec<(Address, Reading)> {
        if self.shared.is_none() && !wanted.is_empty() {
            self.start();
        }
        let Some(shared) = &self.shared else { return Vec::new() };
        let mut state = hold(&shared.state);
        if state.wanted != wanted {
            wanted.clone_into(&mut state.wanted);
            state.readings.clear();
        }
        let slept = state.since.is_none_or(|since| now.saturating_duration_since(since) >= WANTED);
        state.since = (!wanted.is_empty()).then_some(now);
        if slept && state.since.is_some() {
            shared.changed.notify_all();
        }
        let fresh = state.taken.is_some_and(|taken| now.saturating_duration_since(taken) < FRESH);
        if fresh { state.readings.clone() } else { Vec::new() }
    }

    /// Keeps the newest readings, if there are any that were not kept yet. `now_ns` is now on the trace's axis. Never waits.
    pub fn keep(&self, kept: &mut Kept, now: Instant, now_ns: u64) {
        let Some(shared) = &self.shared else { return };
        let state = hold(&shared.state);
        if let Some(taken) = state.taken {
            let age = u64::try_from(now.saturating_duration_since(taken).as_nanos()).unwrap_or(u64::MAX);
            kept.keep(&state.readings, taken, now_ns.saturating_sub(age));
        }
    }

    fn start(&mut self) {
        let shared = Arc::new(Shared::default());
        let (open, theirs) = (self.open, shared.clone());
        // Without a thread nothing is shown, as where there is nobody to ask.
        let _ = std::thread::Builder::new().name("devices".into()).spawn(move || {
            if let Some(mut gauge) = open() {
                theirs.sample(&mut *gauge);
            }
        });
        self.shared = Some(shared);
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // Not joined: it may be waiting for a device.
        if let Some(shared) = &self.shared {
            hold(&shared.state).stop = true;
            shared.changed.notify_all();
        }
    }
}

impl Shared {
    fn sample(&self, gauge: &mut dyn Gauge) {
        while let Some(wanted) = self.wait() {
            let readings: Vec<_> = wanted.iter().filter_map(|one| Some((*one, gauge.read(one)?))).collect();
            let mut state = hold(&self.state);
            if state.wanted == wanted {
                state.readings = readings;
                state.taken = Some(Instant::now());
            }
            if state.stop {
                return;
            }
            drop(self.changed.wait_timeout_while(state, PERIOD, |state| !state.stop));
        }
    }

    /// Which devices to ask next, once somebody wants to know; `None` when it is time to stop.
    fn wait(&self) -> Option<Vec<Address>> {
        let idle = |state: &mut State| !state.stop && state.since.is_none_or(|since| since.elapsed() >= WANTED);
        let state = self.changed.wait_while(hold(&self.state), idle).unwrap_or_else(PoisonError::into_inner);
        (!state.stop).then(|| state.wanted.clone())
    }
}

fn hold(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    const ONE: Address = Address { uuid: [1, 2], pci: (0, 7, 0) };
    const OTHER: Address = Address { uuid: [3, 4], pci: (0, 8, 0) };

    /// Knows one device.
    struct Known(u32);

    impl Gauge for Known {
        fn read(&mut self, device: &Address) -> Option<Reading> {
            self.0 += 1;
            (*device == ONE).then(|| Reading { busy: Some(self.0), ..Reading::default() })
        }
    }

    fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
        for _ in 0..2000 {
            if let Some(found) = look() {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it never came");
    }

    #[test]
    fn what_is_wanted_is_read_and_the_rest_is_not() {
        let mut sampler = Sampler::new(|| Some(Box::new(Known(0))));
        assert!(sampler.readings(&[], Instant::now()).is_empty() && sampler.shared.is_none(), "nobody was asked");
        let both = [OTHER, ONE];
        let read = eventually(|| Some(sampler.readings(&both, Instant::now())).filter(|read| !read.is_empty()));
        assert_eq!((read.len(), read[0].0), (1, ONE));
        // What has become old is not shown, nor what nobody asks for any more.
        assert!(sampler.readings(&both, Instant::now() + FRESH).is_empty());
        assert!(sampler.readings(&[OTHER], Instant::now()).is_empty());
        assert!(sampler.readings(&[], Instant::now()).is_empty());
    }

    #[test]
    fn readings_are_kept_once_each_and_not_without_end() {
        let reading = |used| vec![(ONE, Reading { memory: Some((used, 100)), ..Reading::default() })];
        let (mut kept, begun) = (Kept::default(), Instant::now());
        kept.keep(&reading(7), begun, 5);
        kept.keep(&reading(7), begun, 6);
        kept.keep(&[(OTHER, Reading::default())], begun + PERIOD, 7);
        assert_eq!(kept.all().collect::<Vec<_>>(), [(&ONE, &[(5, 7, 100)][..])]);
        for at in 2..20_000u32 {
            kept.keep(&reading(u64::from(at % 50)), begun + PERIOD * at, u64::from(at));
        }
        let (_, points) = kept.all().next().unwrap();
        assert!(points.len() < 2 * MOST_KEPT && points.is_sorted_by_key(|point| point.0));
        // The most of all is not given up.
        assert_eq!((points.iter().map(|point| point.1).max(), points.last().unwrap().0), (Some(49), 19_999));
    }

    #[test]
    fn it_goes_on_and_stops() {
        static ALIVE: AtomicU32 = AtomicU32::new(0);
        struct Counted(u32);
        impl Gauge for Counted {
            fn read(&mut self, _: &Address) -> Option<Reading> {
                self.0 += 1;
                Some(Reading { busy: Some(self.0), ..Reading::default() })
            }
        }
        impl Drop for Counted {
            fn drop(&mut self) {
                ALIVE.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let mut sampler = Sampler::new(|| {
            ALIVE.fetch_add(1, Ordering::SeqCst);
            Some(Box::new(Counted(0)))
        });
        eventually(|| sampler.readings(&[ONE], Instant::now()).pop().filter(|(_, read)| read.busy > Some(1)));
        assert_eq!(ALIVE.load(Ordering::SeqCst), 1);
        drop(sampler);
        eventually(|| (ALIVE.load(Ordering::SeqCst) == 0).then_some(()));
    }

    #[test]
    fn a_library_that_hangs_or_is_missing_delays_nobody() {
        let mut missing = Sampler::new(|| None);
        let mut hangs = Sampler::new(|| {
            std::thread::sleep(Duration::from_secs(3600));
            None
        });
        let begun = Instant::now();
        for _ in 0..100 {
            assert!(missing.readings(&[ONE], Instant::now()).is_empty());
            assert!(hangs.readings(&[ONE], Instant::now()).is_empty());
        }
        drop((missing, hangs));
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}
