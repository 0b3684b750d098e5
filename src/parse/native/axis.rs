//! Where the times of a process lie on the trace's axis.
//!
//! The first process's clock is the axis. Processes of one boot share a clock; others are put where the time of day says
//! that they were, and those without one begin where the first does, since nobody knows how they compare.

use super::clock::offset_ns;
use crate::trace::{Process, Trace};
use umtui_wire::clock::ClockTriple;

/// Where the axis begins without a time of day if files with one may follow, ns: they may have begun that much earlier.
const ROOM: i64 = 10 * 365 * 86_400 * 1_000_000_000;

/// What to add to a process's MONOTONIC time.
#[must_use]
pub fn offset(trace: &Trace, process: &Process) -> i64 {
    let Some(first) = trace.processes.first() else {
        return match process.start.realtime_ns {
            _ if !trace.several_clocks => 0,
            0 => ROOM,
            // Times since 1970: whatever comes later fits.
            _ => offset_ns(&process.start, 0),
        };
    };
    if let Some(neighbour) = trace.processes.iter().find(|other| shares_clock(other, process)) {
        return neighbour.axis_offset_ns;
    }
    if process.start.realtime_ns != 0
        && let Some(other) = trace.processes.iter().find(|other| other.start.realtime_ns != 0)
    {
        let (realtime, monotonic) = (i128::from(other.start.realtime_ns), i128::from(other.start.monotonic_ns));
        return offset_ns(&process.start, realtime - monotonic - i128::from(other.axis_offset_ns));
    }
    // Side by side more is seen than years apart.
    let apart = i128::from(first.start_ns) - i128::from(process.start.monotonic_ns);
    i64::try_from(apart).unwrap_or(0)
}

/// Whether the MONOTONIC times of two processes are of one clock.
#[must_use]
pub fn shares_clock(one: &Process, other: &Process) -> bool {
    let known = one.boot_id != [0; 16];
    let alike = one.host == other.host && (one.start.realtime_ns == 0) == (other.start.realtime_ns == 0);
    one.boot_id == other.boot_id && (known || alike)
}

/// Takes in a reading: how far the time of day was from MONOTONIC, at least and at most.
pub fn note_wall(process: &mut Process, triple: &ClockTriple) {
    if triple.realtime_ns == 0 || process.start.realtime_ns == 0 {
        return;
    }
    let apart = i128::from(triple.realtime_ns) - i128::from(triple.monotonic_ns);
    let Ok(apart) = i64::try_from(apart) else { return };
    let (least, most) = process.wall_apart_ns.unwrap_or((apart, apart));
    process.wall_apart_ns = Some((least.min(apart), most.max(apart)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A clock: boot, when MONOTONIC was zero, ns since 1970 (`None`: nobody knows).
    fn process(boot: u8, zero: Option<u64>, monotonic_ns: u64) -> Process {
        let realtime_ns = zero.map_or(0, |zero| zero + monotonic_ns);
        let start = ClockTriple { ticks: 0, monotonic_ns, realtime_ns };
        Process { boot_id: [boot; 16], start, ..Process::default() }
    }

    fn place(trace: &mut Trace, mut process: Process) {
        process.axis_offset_ns = offset(trace, &process);
        process.start_ns = process.start.monotonic_ns.saturating_add_signed(process.axis_offset_ns);
        trace.add_process(process).unwrap();
    }

    proptest! {
        #[test]
        fn processes_lie_apart_as_their_times_of_day_do(
            clocks in prop::collection::vec(prop::option::weighted(0.8, 1_600_000_000_000_000_000u64..1_800_000_000_000_000_000), 1..5),
            starts in prop::collection::vec((any::<prop::sample::Index>(), 0u64..1_000_000_000_000_000), 2..9),
        ) {
            let mut trace = Trace::default();
            trace.several_clocks = true;
            for (clock, monotonic_ns) in &starts {
                let clock = clock.index(clocks.len());
                place(&mut trace, process(clock as u8 + 1, clocks[clock], *monotonic_ns));
            }
            for one in &trace.processes {
                for other in &trace.processes {
                    let apart = i128::from(one.start_ns) - i128::from(other.start_ns);
                    let known = if one.boot_id == other.boot_id {
                        i128::from(one.start.monotonic_ns) - i128::from(other.start.monotonic_ns)
                    } else if one.start.realtime_ns != 0 && other.start.realtime_ns != 0 {
                        i128::from(one.start.realtime_ns) - i128::from(other.start.realtime_ns)
                    } else {
                        continue;
                    };
                    prop_assert_eq!(apart, known);
                }
            }
        }
    }

    #[test]
    fn what_has_no_time_of_day_begins_where_the_first_does() {
        let mut trace = Trace::default();
        trace.several_clocks = true;
        for one in
            [process(1, None, 50), process(2, Some(1 << 60), 7), process(3, None, 9), process(2, Some(1 << 60), 2)]
        {
            place(&mut trace, one);
        }
        let starts: Vec<_> = trace.processes.iter().map(|one| one.start_ns as i64 - ROOM).collect();
        assert_eq!(starts, [50, 50, 50, 45]);
    }

    #[test]
    fn one_clock_is_the_axis_itself() {
        let mut trace = Trace::default();
        place(&mut trace, process(1, Some(1 << 60), 50));
        place(&mut trace, process(1, Some((1 << 60) + 900), 20));
        assert_eq!(trace.processes.iter().map(|one| one.start_ns).collect::<Vec<_>>(), [50, 20]);
        let mut moved = process(1, Some(1000), 50);
        assert_eq!(moved.wall_apart_ns, None);
        for (monotonic_ns, realtime_ns) in [(50, 1050), (60, 1070), (70, 0), (80, 1075)] {
            note_wall(&mut moved, &ClockTriple { ticks: 0, monotonic_ns, realtime_ns });
        }
        assert_eq!(moved.wall_apart_ns, Some((995, 1010)));
    }
}
