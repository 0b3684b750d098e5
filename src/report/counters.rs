//! Counters of an imported trace: how far each series went.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::table::Table;
use super::text::grouped;
use crate::lens::Selected;
use crate::session::safe::safe;
use crate::trace::activity::TextId;
use crate::trace::range_record::RangeRecord;
use crate::trace::sampled::{DOMAIN, THREAD};
use crate::trace::{Bytes, MADE_UP, Range, RangeKind, Sampled, Trace, Track, TrackId};

/// Series that the text lists.
const LISTED: usize = 40;
/// Most characters of a name.
const NAME: usize = 48;

/// A series of a counter. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CounterRow {
    pub counter: String,
    /// `None`: the counter has no named series.
    pub series: Option<String>,
    pub process: u32,
    /// The process's program.
    pub program: String,
    pub samples: u64,
    pub first: Sampled,
    pub first_ns: u64,
    pub last: Sampled,
    pub last_ns: u64,
    pub min: Sampled,
    pub max: Sampled,
}

/// The counters of a trace by process, in order of name; `None` if it has none.
#[must_use]
pub fn of(trace: &Trace, files: &[Arc<dyn Bytes>], selected: Option<&Selected>) -> Option<Vec<CounterRow>> {
    let mut any = false;
    let mut rows = Vec::new();
    for track in (0..u32::MAX).map(TrackId).take(trace.tracks.len()) {
        let of_track = of_thread(trace, track, files, selected, &mut any);
        rows.extend(of_track.into_values());
    }
    let key = |row: &CounterRow| (row.process, row.counter.clone(), row.series.clone());
    rows.sort_by_cached_key(key);
    any.then_some(rows)
}

/// Whether a thread is none of the program's, but where an import has put a process's counters.
pub(super) fn are_alone(trace: &Trace, id: TrackId, track: &Track) -> bool {
    let made_up = track.thread >= MADE_UP && trace.names.get(track.name) == THREAD;
    made_up && trace.ranges.of(id).first().is_some_and(|range| is_sample(trace, range))
}

/// Whether it looks like a sample, by its columns.
fn is_sample(trace: &Trace, range: &Range) -> bool {
    range.kind == RangeKind::Mark && trace.names.get(trace.activities.name(trace.ranges.domain(range))) == DOMAIN
}

/// By name, and how many bytes of it are the counter's.
type Series = BTreeMap<(TextId, u64), CounterRow>;

fn of_thread(
    trace: &Trace,
    track: TrackId,
    files: &[Arc<dyn Bytes>],
    selected: Option<&Selected>,
    any: &mut bool,
) -> Series {
    let mut series = Series::new();
    for (row, range) in trace.ranges.of(track).iter().enumerate() {
        if !is_sample(trace, range) {
            continue;
        }
        let record = RangeRecord::read(trace, track, range, |file| files.get(file).map(|bytes| &**bytes));
        let Some((record, value)) = record.and_then(|record| Some((record, record.sampled()?))) else { continue };
        *any = true;
        if selected.is_some_and(|selected| !selected.range(track, row)) {
            continue;
        }
        let ns = range.start_ns.saturating_sub(trace.start_ns());
        let row = series.entry((range.name, record.counter_bytes())).or_insert_with(|| {
            let name = trace.names.get(trace.activities.name(range.name));
            let (counter, named) = record.names(name);
            let process = trace.track(track).and_then(|track| trace.process(track.process));
            CounterRow {
                counter: counter.to_owned(),
                series: named.map(str::to_owned),
                process: process.map_or(0, |process| process.pid),
                program: process.map_or_else(String::new, |process| trace.names.get(process.program).to_owned()),
                samples: 0,
                first: value,
                first_ns: ns,
                last: value,
                last_ns: ns,
                min: value,
                max: value,
            }
        });
        row.samples += 1;
        (row.last, row.last_ns) = (value, ns);
        row.min = row.min.min(value);
        row.max = row.max.max(value);
    }
    series
}

/// The first of them as a table.
pub(super) fn write(counters: Option<&[CounterRow]>, out: &mut String) {
    let Some(counters) = counters.filter(|counters| !counters.is_empty()) else { return };
    out.push('\n');
    let mut table = Table::new(&["counter", "samples", "first", "last", "min", "max", "process"]);
    for row in counters.iter().take(LISTED) {
        let series = row.series.as_deref().unwrap_or_default();
        let name = [row.counter.as_str(), series].join(" ");
        let [first, last, min, max] = [row.first, row.last, row.min, row.max].map(|value| value.to_string());
        let name: String = safe(name.trim_end()).chars().take(NAME).collect();
        table.row(vec![name, grouped(row.samples), first, last, min, max, row.process.to_string()]);
    }
    table.write(out);
    if let Some(more) = counters.len().checked_sub(LISTED).filter(|&more| more > 0) {
        out.push_str(&format!("[{more} more]\n"));
    }
}
