//! Whether a recorded process still runs.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::trace::Process;

/// A process of this machine that is not found (another container's numbers, perhaps) is taken for alive for so long
/// after its file has last grown.
const HERE: Duration = Duration::from_secs(3);
/// Likewise one of another machine.
const ELSEWHERE: Duration = Duration::from_secs(10);

/// How a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// It runs.
    Alive,
    /// It is gone for good.
    Gone,
    /// It should be here and is not found.
    Missing,
    /// It belongs to another machine.
    Elsewhere,
}

/// This machine since its last boot.
#[derive(Clone, Debug)]
pub(super) struct Boot {
    id: Option<[u8; 16]>,
    host: String,
}

impl Boot {
    /// The current one.
    pub(super) fn current() -> Self {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        Self { id: parse_id(&text), host }
    }

    /// Whether a process was started on this machine since.
    pub(super) fn is_of(&self, process: &Process) -> bool {
        self.id.is_some_and(|id| id == process.boot_id)
    }

    /// How a process that ran on `host` stands.
    pub(super) fn life(&self, process: &Process, host: &str) -> Life {
        if self.id.is_none_or(|id| id != process.boot_id) {
            // This machine has been started again since.
            return if host == self.host && self.id.is_some() { Life::Gone } else { Life::Elsewhere };
        }
        match std::fs::read_to_string(format!("/proc/{}/stat", process.pid)) {
            Ok(stat) => match state_and_start(&stat) {
                Some((state, start)) if start == process.start_time => {
                    // A zombie has ended; only its parent has not looked.
                    if matches!(state, 'Z' | 'X') { Life::Gone } else { Life::Alive }
                }
                // Another process has the number now, or this is another container's number.
                _ => Life::Missing,
            },
            Err(_) => Life::Missing,
        }
    }
}

/// Whether a process is believed to run, of whose file it is known when it was last seen to grow.
pub(super) fn believed(life: Life, last_growth: Option<Instant>, now: Instant) -> bool {
    let within = |limit| last_growth.is_some_and(|then| now.saturating_duration_since(then) < limit);
    match life {
        Life::Alive => true,
        Life::Gone => false,
        Life::Missing => within(HERE),
        Life::Elsewhere => within(ELSEWHERE),
    }
}

/// Now on the trace's axis, by a process's REALTIME.
pub(super) fn now_ns(process: &Process) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let passed = now.saturating_sub(u128::from(process.start.realtime_ns));
    process.start_ns.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
}

/// State and start time from `/proc/PID/stat`. The name between the parentheses may hold anything.
fn state_and_start(stat: &str) -> Option<(char, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // The state is field 3, the start time field 22.
    Some((state, fields.nth(18)?.parse().ok()?))
}

fn parse_id(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.trim().bytes().filter(|&byte| byte != b'-').collect();
    let mut id = [0; 16];
    for (at, byte) in id.iter_mut().enumerate() {
        let pair = digits.get(at * 2..at * 2 + 2)?;
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    (digits.len() == 32).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_process() -> Process {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let start_time = state_and_start(&stat).unwrap().1;
        let boot_id = Boot::current().id.unwrap();
        Process { pid: std::process::id(), start_time, boot_id, ..Process::default() }
    }

    #[test]
    fn this_process_runs_and_its_namesakes_do_not_count() {
        let process = this_process();
        let boot = Boot::current();
        assert_eq!(boot.life(&process, "x"), Life::Alive);
        let another = Process { start_time: process.start_time + 1, ..process.clone() };
        assert_eq!(boot.life(&another, "x"), Life::Missing);
        let elsewhere = Process { boot_id: [7; 16], ..process.clone() };
        assert_eq!(boot.life(&elsewhere, "no such host"), Life::Elsewhere);
        assert!(boot.is_of(&another) && !boot.is_of(&elsewhere));
        assert_eq!(boot.life(&elsewhere, &boot.host), Life::Gone);
        let now = Instant::now();
        assert!(!believed(Life::Missing, None, now) && believed(Life::Elsewhere, Some(now), now));
    }

    #[test]
    fn names_with_parentheses_do_not_confuse() {
        let stat = "12 (a) R 9 (b)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        assert_eq!(state_and_start(stat), Some(('S', 777)));
        assert_eq!(state_and_start(""), None);
    }
}
