//! What recording itself has cost the program.

use crate::graph::Gpu;
use crate::trace::{ProcessId, Trace};

/// What the hook measured of itself, and what that makes of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Added to each recorded call, ps.
    pub per_call_ps: u64,
    /// Of the time of the thread that made the most calls, millionths.
    pub share_ppm: u64,
}

/// Kinds of the driver's overhead that are there for the recording's sake (`CUpti_ActivityOverheadKind`): flushing buffers,
/// instrumentation, resources for it, buffers being asked for, unified-memory tracing being started.
const FOR_RECORDING: [u64; 5] = [1 << 16, 2 << 16, 3 << 16, 7 << 16, 8 << 16];

/// What the driver itself says that recording the GPU has cost, all threads together, ns; `None` where it says nothing.
/// What it does not say: that unified memory is slower while its migrations are recorded.
#[must_use]
pub fn of_driver(gpu: &Gpu) -> Option<u64> {
    let times = FOR_RECORDING.iter().filter_map(|kind| gpu.overheads.get(kind)).map(|amounts| amounts.total_ns);
    times.reduce(u64::saturating_add)
}

/// Both in words: `58 ns a call, 0.4 % of the run; the driver for it: 30.1 ms`.
#[must_use]
pub fn words(cost: Option<Cost>, of_driver: Option<u64>) -> Option<String> {
    let tenths = |ns: u64| ns.div_ceil(100_000);
    let driver = of_driver.map(|ns| format!("the driver for it: {}.{} ms", tenths(ns) / 10, tenths(ns) % 10));
    let parts: Vec<String> = cost.map(Cost::words).into_iter().chain(driver).collect();
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// The cost in the process where it weighs most; `None` where nothing was measured.
#[must_use]
pub fn cost(trace: &Trace) -> Option<Cost> {
    let ids = (0..u16::try_from(trace.processes.len()).unwrap_or(u16::MAX)).map(ProcessId);
    let of_process = |id: ProcessId| {
        let process = trace.process(id).filter(|process| process.cost_ps > 0)?;
        let calls = trace.tracks.iter().filter(|track| track.process == id).map(|track| track.len() as u64).max()?;
        let span_ns = process.last_ns.saturating_sub(process.start_ns).max(1);
        let ps = u128::from(calls) * u128::from(process.cost_ps);
        let ppm = ps * 1000 / u128::from(span_ns);
        Some(Cost { per_call_ps: process.cost_ps, share_ppm: u64::try_from(ppm).unwrap_or(u64::MAX).min(1_000_000) })
    };
    ids.filter_map(of_process).max_by_key(|cost| cost.share_ppm)
}

impl Cost {
    /// In words: `58 ns a call, 0.4 % of the run`.
    #[must_use]
    pub fn words(self) -> String {
        let ns = self.per_call_ps.div_ceil(1000);
        let tenths = self.share_ppm.div_ceil(1000);
        format!("{ns} ns a call, {}.{} % of the run", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_run_and_rounded_up() {
        assert_eq!(Cost { per_call_ps: 57_300, share_ppm: 3_100 }.words(), "58 ns a call, 0.4 % of the run");
        assert_eq!(Cost { per_call_ps: 57_000, share_ppm: 0 }.words(), "57 ns a call, 0.0 % of the run");
        assert_eq!(Cost { per_call_ps: 57_000, share_ppm: 250_000 }.words(), "57 ns a call, 25.0 % of the run");
        assert_eq!(cost(&Trace::default()), None);
    }

    #[test]
    fn what_the_driver_does_for_the_recording_is_told_from_what_it_does_anyway() {
        let mut gpu = Gpu::default();
        assert_eq!(words(None, of_driver(&gpu)), None);
        let of = |total_ns| crate::graph::Amounts { total_ns, ..Default::default() };
        gpu.overheads.extend([(1 << 16, of(100_000)), (5 << 16, of(7_000_000)), (8 << 16, of(20_000_000))]);
        assert_eq!(of_driver(&gpu), Some(20_100_000));
        let cost = Cost { per_call_ps: 57_300, share_ppm: 3_100 };
        let said = words(Some(cost), of_driver(&gpu)).unwrap();
        assert_eq!(said, "58 ns a call, 0.4 % of the run; the driver for it: 20.1 ms");
    }
}
