//! The cursor's row in full, as names and values.

use super::columns::{self, Numbers};
use super::state::State;
use crate::session::safe::safe;
use crate::session::view::{CallRow, Column, Launches, NodeKind};
use crate::ui::text::format;

/// Half-width of the percentiles' error, per cent.
pub fn error(state: &State) -> u8 {
    state.rows.as_ref().map_or(0, |rows| rows.quantile_error_pct)
}

/// Why a row is marked: half of its calls are slow, or it waits or asks too often.
pub fn marked(state: &State, row: &CallRow) -> Vec<(&'static str, String)> {
    let counts = row.kind >= NodeKind::Runtime && row.kind != NodeKind::Fault;
    if !counts {
        return Vec::new();
    }
    let limits = state.thresholds;
    let slow = limits
        .is_slow(row.p50_ns)
        .then(|| ("slow", format!("half of them took {} or longer", format::duration(row.p50_ns.unwrap_or(0)))));
    let span_ns = state.rows.as_ref().map_or(0, |rows| rows.span_ns);
    let storm =
        limits.storm(&row.label, row.count, span_ns).map(|rate| ("storm", format!("{} a second", format::count(rate))));
    slow.into_iter().chain(storm).collect()
}

/// A row in full: names and values.
pub fn facts(state: &State, row: &CallRow) -> Vec<(String, String)> {
    let error = error(state);
    let value = |column| columns::value(column, row, Numbers::Times);
    let share = |column| columns::value(column, row, Numbers::Shares);
    let mut facts = vec![("name".to_owned(), row.label.clone()), ("kind".to_owned(), kind_name(row.kind).to_owned())];
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(source) = source(state, row) {
        fact("source", source);
    }
    if row.kind.is_gpu() {
        fact(if row.kind == NodeKind::Kernel { "launches" } else { "count" }, format::grouped(row.count));
        on_gpu(row).into_iter().for_each(|(name, value)| fact(name, value));
        marked(state, row).into_iter().for_each(|(name, value)| fact(name, value));
        fact("", String::new());
        fact("total", format!("{}   {} of {}", value(Column::Total), share(Column::Total), whole(row.kind)));
    } else {
        if row.kind == NodeKind::Range {
            fact("steps", steps(row));
        } else {
            fact("calls", format::grouped(row.count));
            fact("failed", format::grouped(row.failed));
        }
        fact("running now", format::grouped(row.running));
        on_gpu(row).into_iter().for_each(|(name, value)| fact(name, value));
        marked(state, row).into_iter().for_each(|(name, value)| fact(name, value));
        fact("", String::new());
        fact("total", format!("{}   {}", value(Column::Total), share(Column::Total)));
        fact("self", format!("{}   {}", value(Column::SelfTime), share(Column::SelfTime)));
    }
    fact("", String::new());
    for column in [Column::Min, Column::Average, Column::P50, Column::P99, Column::Max] {
        facts.push((columns::title(column).to_owned(), value(column)));
    }
    if row.p50_ns.is_some() && error > 0 {
        facts.push((String::new(), format!("p50 and p99 within {error} %")));
    }
    if let Some(launches) = state.launches() {
        facts.extend(of_launches(row, launches));
    }
    facts
}

/// Path and line of a call site, where it lies here.
fn source(state: &State, row: &CallRow) -> Option<String> {
    let (key, file, line) = state.rows.as_ref()?.source.as_ref()?;
    let here = state.sources.here(file);
    (*key == row.key && row.kind == NodeKind::Site).then(|| safe(&format!("{}:{line}", here.display())).into_owned())
}

/// How often a range ran, as steps of a program if it did so several times.
fn steps(row: &CallRow) -> String {
    let count = format::grouped(row.count);
    match (row.p50_ns, row.max_ns) {
        (Some(median), Some(slowest)) if row.count > 1 => {
            format!("{count}, median {}, slowest {}", format::duration(median), format::duration(slowest))
        }
        _ => count,
    }
}

/// What shares are shares of.
pub fn whole(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Migration | NodeKind::Fault => "unified memory's time",
        NodeKind::Range => "the outermost ranges",
        kind if kind.is_gpu() => "the GPU's work",
        _ => "all time",
    }
}

/// What the GPU did at or below a row, in names and values.
pub fn on_gpu(row: &CallRow) -> Vec<(&'static str, String)> {
    let work = row.gpu.work_ns.zip(row.gpu.pieces);
    let work =
        work.map(|(ns, pieces)| ("GPU", format!("{} in {} pieces", format::duration(ns), format::count(pieces))));
    let name = if row.kind.is_gpu() { "bytes" } else { "moved" };
    let bytes = row.gpu.bytes.map(|bytes| (name, format::bytes(bytes)));
    work.into_iter().chain(bytes).collect()
}

fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Process => "process",
        NodeKind::Thread => "thread",
        NodeKind::Stream => "stream",
        NodeKind::Device => "device",
        NodeKind::Site => "call site",
        NodeKind::Range => "range",
        NodeKind::Runtime => "runtime call",
        NodeKind::Driver => "driver call",
        NodeKind::Kernel => "kernel",
        NodeKind::Copy => "copy",
        NodeKind::Set => "memory set",
        NodeKind::Graph => "graphs that ran as a whole",
        NodeKind::Migration => "migration of pages",
        NodeKind::Fault => "unified memory",
    }
}

/// Fast against slow launches of a kernel, the slowest, and who launched them.
fn of_launches(row: &CallRow, launches: &Launches) -> Vec<(String, String)> {
    let mut facts = vec![(String::new(), String::new())];
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    for (name, half) in [("fast half", launches.fast), ("slow half", launches.slow)] {
        let Some(half) = half else { continue };
        let moved = match half.moved {
            Some(bytes) => format!("overlapped with {} of migrations", format::bytes(bytes)),
            None => "migrations were not recorded".to_owned(),
        };
        fact(name, format!("{} to {}, {moved}", format::duration(half.min_ns), format::duration(half.max_ns)));
    }
    if launches.compared < row.count {
        fact("", format!("{} of the launches compared", format::grouped(launches.compared)));
    }
    if let Some(([x, y, z], [bx, by, bz])) = launches.grid {
        fact("slowest", format!("grid {x} x {y} x {z}, block {bx} x {by} x {bz}"));
    }
    for (at, (site, count)) in launches.sites.iter().enumerate() {
        fact(if at == 0 { "launched by" } else { "" }, format!("{}  {site}", format::grouped(*count)));
    }
    if launches.more_sites > 0 {
        fact("", format!("and {} more places", format::grouped(launches.more_sites as u64)));
    }
    facts
}

/// What moved while fast and slow launches ran, in one line; nothing where nothing did.
pub fn moved_meanwhile(launches: &Launches) -> Option<String> {
    let (fast, slow) = (launches.fast?.moved?, launches.slow?.moved?);
    let (fast, slow) = (format::bytes(fast), format::bytes(slow));
    (fast != slow).then(|| format!("overlapped with migrations: slow half {slow}, fast half {fast}"))
}
