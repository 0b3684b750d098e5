//! How the times of several files compare: by one clock, by the time of day, or not at all.

use crate::parse::native::axis::shares_clock;
use crate::trace::{NameId, Process, Trace};

use super::safe::safe;

/// Clocks of one boot of one machine.
pub const SAME_CLOCK: &str = "same_clock";
/// The time of day.
pub const TIME_OF_DAY: &str = "time_of_day";
/// Nothing: it begins where the first does.
pub const NONE: &str = "none";

/// How the times of a file came to the trace's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileClock {
    /// Index into [`Trace::files`].
    pub file: usize,
    /// [`SAME_CLOCK`], [`TIME_OF_DAY`] or [`NONE`].
    pub by: &'static str,
    /// Added to the file's own times to get those of the first file, ns.
    pub offset_ns: i64,
    /// Where it begins, ns from the trace's first event on.
    pub start_ns: i64,
    /// How far off it may be, ns, by what the files say; `None`: nobody knows.
    pub uncertainty_ns: Option<u64>,
    /// Recorded on the machine whose time of day it is compared with; otherwise what the clocks of two machines differ by
    /// comes to the uncertainty. `None`: the file does not say where it was recorded.
    pub same_host: Option<bool>,
}

/// The clock of each file. Compared is with the first file that knows the time of day, or with the first.
#[must_use]
pub fn clocks(trace: &Trace) -> Vec<FileClock> {
    let timed = trace.processes.iter().find(|process| process.start.realtime_ns != 0);
    let Some(by) = timed.or(trace.processes.first()) else { return Vec::new() };
    let first_ns = trace.processes.first().map_or(0, |first| first.axis_offset_ns);
    let start_ns = trace.start_ns();
    let mut clocks: Vec<FileClock> = trace
        .processes
        .iter()
        .map(|process| {
            let (how, uncertainty_ns) = if shares_clock(process, by) {
                (SAME_CLOCK, Some(0))
            } else if process.start.realtime_ns != 0 && by.start.realtime_ns != 0 {
                (TIME_OF_DAY, Some(moved(trace, process).saturating_add(moved(trace, by))))
            } else {
                (NONE, None)
            };
            let known = process.host != NameId::default() && !trace.names.get(process.host).is_empty();
            FileClock {
                file: process.file,
                by: how,
                offset_ns: process.axis_offset_ns.saturating_sub(first_ns),
                start_ns: i64::try_from(i128::from(process.start_ns) - i128::from(start_ns)).unwrap_or(i64::MAX),
                uncertainty_ns,
                same_host: known.then(|| process.host == by.host),
            }
        })
        .collect();
    clocks.sort_by_key(|clock| clock.file);
    clocks
}

/// By how much the time of day was moved on a machine while processes of it were recorded, ns.
fn moved(trace: &Trace, of: &Process) -> u64 {
    let of_clock = trace.processes.iter().filter(|process| shares_clock(process, of));
    let apart = of_clock.filter_map(|process| process.wall_apart_ns);
    let all = apart.reduce(|(least, most), (low, high)| (least.min(low), most.max(high)));
    all.map_or(0, |(least, most)| most.abs_diff(least))
}

/// What is to be known of them in a line, safe for the terminal; `None` where all are of one clock. `duration` writes one.
#[must_use]
pub fn line(trace: &Trace, duration: impl Fn(u64) -> String) -> Option<String> {
    let clocks = clocks(trace);
    let compared: Vec<&FileClock> = clocks.iter().filter(|clock| clock.by == TIME_OF_DAY).collect();
    let not: Vec<&FileClock> = clocks.iter().filter(|clock| clock.by == NONE).collect();
    let mut parts = Vec::new();
    if !compared.is_empty() {
        let files = if compared.len() == 1 { "1 file".to_owned() } else { format!("{} files", compared.len()) };
        let within = compared.iter().filter_map(|clock| clock.uncertainty_ns).max().unwrap_or(0);
        let hosts = match compared.iter().all(|clock| clock.same_host == Some(true)) {
            true => "",
            false => " and what the hosts' clocks differ by",
        };
        parts.push(format!("{files} aligned by time of day, to within {}{hosts}", duration(within)));
    }
    if let Some(first) = not.first() {
        let name = safe(trace.files.get(first.file).map_or("?", String::as_str)).into_owned();
        let more = if not.len() > 1 { format!(" and {} more", not.len() - 1) } else { String::new() };
        parts.push(format!(
            "not aligned: {name}{more}, which knows no time of day and begins where the first file does"
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use umtui_wire::clock::ClockTriple;

    fn trace(list: &[(u8, u64, u64, (i64, i64))]) -> Trace {
        let mut trace = Trace::default();
        for (number, &(boot, monotonic_ns, realtime_ns, wall)) in list.iter().enumerate() {
            let host = trace.names.intern(if boot < 9 { "a" } else { "" });
            let file = trace.add_file(&format!("file {number}"));
            let start = ClockTriple { ticks: 0, monotonic_ns, realtime_ns };
            let wall_apart_ns = (realtime_ns != 0).then_some(wall);
            let axis_offset_ns = i64::from(boot);
            let process =
                Process { boot_id: [boot; 16], start, host, file, wall_apart_ns, axis_offset_ns, ..Process::default() };
            trace.add_process(process).unwrap();
        }
        trace
    }

    #[test]
    fn one_clock_is_not_worth_a_word() {
        let trace = trace(&[(1, 5, 100, (95, 99)), (1, 7, 102, (95, 95))]);
        assert_eq!(line(&trace, |ns| ns.to_string()), None);
        assert!(clocks(&trace).iter().all(|clock| (clock.by, clock.uncertainty_ns) == (SAME_CLOCK, Some(0))));
    }

    #[test]
    fn what_moved_the_time_of_day_on_either_side_is_the_uncertainty() {
        let trace = trace(&[
            (1, 5, 0, (0, 0)),
            (2, 7, 102, (95, 105)),
            (2, 7, 102, (90, 99)),
            (3, 8, 50, (40, 47)),
            (9, 1, 5, (4, 4)),
        ]);
        let clocks = clocks(&trace);
        let seen: Vec<_> = clocks.iter().map(|clock| (clock.by, clock.uncertainty_ns, clock.same_host)).collect();
        assert_eq!(
            seen,
            [
                (NONE, None, Some(true)),
                (SAME_CLOCK, Some(0), Some(true)),
                (SAME_CLOCK, Some(0), Some(true)),
                (TIME_OF_DAY, Some(22), Some(true)),
                (TIME_OF_DAY, Some(15), None),
            ]
        );
        assert_eq!(clocks[3].offset_ns, 2);
        let line = line(&trace, |ns| format!("{ns} ns")).unwrap();
        assert_eq!(
            line,
            "2 files aligned by time of day, to within 22 ns and what the hosts' clocks differ by; not aligned: file 0, \
             which knows no time of day and begins where the first file does"
        );
    }
}
