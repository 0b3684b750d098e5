//! CUPTI's clock beside ours: pairs read close together, which cost nothing while the program runs. (To give CUPTI our
//! clock by a callback costs about a microsecond a launch.)

use umtui_wire::activity::KIND_GPU_CLOCK;
use umtui_wire::record::{Head, Slot};

use super::library::Functions;
use crate::clock;

/// Tries of which the narrowest is taken.
const TRIES: u32 = 8;

/// One moment by both clocks.
#[derive(Clone, Copy, Default)]
pub struct Pair {
    /// Ours, in the middle of the bracket.
    pub ticks: u64,
    /// CUPTI's, ns.
    pub ns: u64,
    /// How long the bracket is, ticks.
    pub width: u64,
}

/// Reads both clocks; `None` if CUPTI does not say.
pub fn pair(functions: &Functions) -> Option<Pair> {
    let mut best: Option<Pair> = None;
    for _ in 0..TRIES {
        let mut ns = 0;
        let before = clock::now();
        // SAFETY: the function fills a number of ours.
        let status = unsafe { (functions.get_timestamp)(&mut ns) };
        let width = clock::now().wrapping_sub(before);
        if status == 0 && best.is_none_or(|best| width < best.width) {
            best = Some(Pair { ticks: before.wrapping_add(width / 2), ns, width });
        }
    }
    best
}

impl Pair {
    /// As a record; `complete`: all work that had ended by then (CUPTI's ns, zero if that is not known) is written.
    pub fn record(self, complete: u64) -> Slot {
        let head = Head { kind: KIND_GPU_CLOCK, extra: 0, a: 0, b: 0 };
        [head.word(), self.ticks, self.ns, self.width, complete, 0]
    }
}
