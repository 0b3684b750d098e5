//! How far the session is behind the program, written where `UMTUI_METRICS` names a file. For `benches/live.rs`.
//!
//! ```text
//! known 1795977951697775069 1250000     wall clock, ns, and calls in the session by then; every 50 ms
//! session 0 31337                       at the end: calls that were in the session less than 1 ms after they ended
//! session 1 4711                        likewise less than 2 ms; every call counts, by the wall clock
//! answer 17 42                          likewise, until an answer to the screen took them into account
//! earliest -12000                       ns; below zero: by so much at least do the clocks differ
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::alive::now_ns;
use crate::trace::Trace;

const VARIABLE: &str = "UMTUI_METRICS";
const EVERY: Duration = Duration::from_millis(50);

/// What is being measured.
pub(super) struct Metrics {
    path: PathBuf,
    lines: String,
    written: Option<Instant>,
    session: Lag,
    answer: Lag,
}

/// Calls by the time from their end until they were taken into account, ms.
#[derive(Default)]
struct Lag {
    /// Rows of each track that were.
    rows: Vec<usize>,
    calls: BTreeMap<i64, u64>,
    earliest_ns: Option<i64>,
}

impl Metrics {
    /// Measures if the environment asks for it.
    pub(super) fn from_environment() -> Option<Self> {
        let path = std::env::var_os(VARIABLE)?.into();
        let (session, answer) = (Lag::default(), Lag::default());
        Some(Self { path, lines: String::new(), written: None, session, answer })
    }

    /// A batch has been read.
    pub(super) fn read(&mut self, trace: &Trace) {
        self.session.take(trace);
        let now = Instant::now();
        if self.written.is_none_or(|then| now.saturating_duration_since(then) >= EVERY) {
            self.written = Some(now);
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let _ = writeln!(self.lines, "known {wall} {}", trace.calls());
        }
    }

    /// An answer has been given.
    pub(super) fn answered(&mut self, trace: &Trace) {
        self.answer.take(trace);
    }

    /// Writes what was measured.
    pub(super) fn finish(mut self) {
        for (name, lag) in [("session", &self.session), ("answer", &self.answer)] {
            for (ms, calls) in &lag.calls {
                let _ = writeln!(self.lines, "{name} {ms} {calls}");
            }
        }
        if let Some(ns) = self.session.earliest_ns {
            let _ = writeln!(self.lines, "earliest {ns}");
        }
        // Whoever asked for the measurement misses the file.
        let _ = std::fs::write(&self.path, &self.lines);
    }
}

impl Lag {
    fn take(&mut self, trace: &Trace) {
        self.rows.resize(trace.tracks.len(), 0);
        for (track, known) in trace.tracks.iter().zip(&mut self.rows) {
            let new = *known..track.len();
            *known = track.len();
            let Some(process) = trace.process(track.process).filter(|_| !new.is_empty()) else { continue };
            let now = i64::try_from(now_ns(process)).unwrap_or(i64::MAX);
            track.for_each(new, |call| {
                let lag = now.saturating_sub(i64::try_from(call.end_ns()).unwrap_or(i64::MAX));
                *self.calls.entry(lag.div_euclid(1_000_000)).or_default() += 1;
                self.earliest_ns = Some(self.earliest_ns.map_or(lag, |earliest| earliest.min(lag)));
            });
        }
    }
}
