//! A difference for people: no colours, columns as wide as what is in them.

use std::fmt::Write as _;

use super::rows::{InUse, MigratedRow, TimeRow};
use super::{Difference, Memory, Numbers, SideBlock};
use crate::report::table::Table;
use crate::report::text::{duration, grouped};
use crate::session::safe::safe;
use crate::trace::value::size;

/// Rows of each list that are shown.
const LISTED: usize = 10;

/// The difference as text. Ends with a newline.
#[must_use]
pub fn text(difference: &Difference) -> String {
    let mut out = String::new();
    head(difference, &mut out);
    figures(difference, &mut out);
    for memory in &difference.memory {
        let mut rows = String::new();
        of_memory(memory, &mut rows);
        if difference.memory.len() > 1 && !rows.is_empty() {
            let _ = writeln!(out, "\n{}:", memory.title());
        }
        out.push_str(&rows);
    }
    migrated(difference.migrated.as_deref(), &mut out);
    times("function", difference.apis.as_deref(), &mut out);
    times("kernel", difference.kernels.as_deref(), &mut out);
    checks(difference, &mut out);
    out
}

impl Memory {
    /// `memory in use at the peak`; where moments differ only the second is told.
    pub(super) fn title(&self) -> String {
        format!("memory in use at {}", self.after.words())
    }
}

fn line(out: &mut String, label: &str, text: &str) {
    let _ = writeln!(out, "{label:<9} {text}");
}

fn head(difference: &Difference, out: &mut String) {
    match difference.traces.as_slice() {
        [trace] => {
            trace_line(out, "trace", trace);
            for memory in &difference.memory {
                line(out, "before", &memory.before.sentence());
                line(out, "after", &memory.after.sentence());
            }
        }
        traces => {
            for (label, trace) in ["before", "after"].into_iter().zip(traces) {
                trace_line(out, label, trace);
                // Peak and end mean the same in both.
                for memory in
                    difference.memory.iter().filter(|memory| !matches!(memory.after.asked.as_str(), "peak" | "end"))
                {
                    line(out, "", &if label == "before" { &memory.before } else { &memory.after }.sentence());
                }
            }
        }
    }
    if let Some(lens) = difference.traces.iter().find_map(|trace| trace.lens.as_ref()) {
        let filter = lens.filter.as_deref().map(|filter| safe(filter).into_owned());
        let range = lens.from_ns.map(|_| "a range of time");
        let told = [filter.as_deref(), range].into_iter().flatten().collect::<Vec<_>>().join(", ");
        line(out, "only", &told);
    }
}

fn trace_line(out: &mut String, label: &str, trace: &SideBlock) {
    let processes = match trace.processes {
        1 => "1 process".to_owned(),
        more => format!("{} processes", grouped(more)),
    };
    let lost = if trace.lost == 0 { String::new() } else { format!(", {} events LOST", grouped(trace.lost)) };
    let (calls, path) = (grouped(trace.calls), safe(&trace.path));
    line(out, label, &format!("{path}: {processes}, {}, {calls} calls{lost}", duration(trace.duration_ns)));
    for left_out in &trace.left_out {
        line(out, "", &format!("without {left_out}"));
    }
    if trace.unread_calls > 0 {
        let calls = grouped(trace.unread_calls);
        line(
            out,
            "",
            &format!("{calls} calls that make or release memory have no arguments: what they did is not known"),
        );
    }
}

fn figures(difference: &Difference, out: &mut String) {
    out.push('\n');
    let mut table = Table::new(&["", "before", "after", "growth", "share"]);
    let mut unknown = Vec::new();
    let mut row = |what: String, numbers: &Numbers, print: fn(u64) -> String| {
        if numbers.growth.is_none() {
            unknown.push((what.clone(), *numbers));
        }
        table.row(vec![
            what,
            known(numbers.before, print),
            known(numbers.after, print),
            grown(numbers.growth, print),
            share(numbers),
        ]);
    };
    for memory in &difference.memory {
        let title = if difference.totals.is_some() { memory.title() } else { "memory in use".to_owned() };
        row(title, &memory.bytes, size);
        row("  allocations".to_owned(), &memory.count, grouped);
    }
    if let Some(totals) = &difference.totals {
        row("pages that moved".to_owned(), &totals.moved_bytes, size);
        row("page faults".to_owned(), &totals.faults, grouped);
        row("calls".to_owned(), &totals.calls, grouped);
        row("time in calls".to_owned(), &totals.time_ns, duration);
    }
    table.write(out);
    for (what, numbers) in unknown.iter().filter(|(what, _)| !what.starts_with(' ')) {
        let of = match (numbers.before, numbers.after, difference.totals.is_some()) {
            (None, None, true) => "either trace",
            (None, None, false) => "this trace",
            (None, ..) => "the trace before",
            _ => "the trace after",
        };
        let _ = writeln!(out, "{what}: not recorded in {of}");
    }
    let unsized_count = |of: fn(&Numbers) -> Option<u64>| {
        difference.memory.iter().filter_map(|memory| of(&memory.unsized_count)).max().unwrap_or(0)
    };
    let without = unsized_count(|numbers| numbers.before).max(unsized_count(|numbers| numbers.after));
    if without > 0 {
        let _ = writeln!(
            out,
            "up to {} allocations have no size that is recorded: they add nothing here",
            grouped(without)
        );
    }
}

fn of_memory(memory: &Memory, out: &mut String) {
    let kinds = memory.by_kind.as_deref().unwrap_or_default();
    if kinds.len() > 1 && kinds.iter().any(|kind| change(&kind.in_use) != (0, 0)) {
        let mut table = Table::new(&["by kind", "growth", "before", "after", "allocations"]);
        for one in kinds {
            let note = if one.counted { "" } else { " (not counted above)" };
            table.row(amounts(format!("{}{note}", one.kind), &one.in_use));
        }
        out.push('\n');
        table.write(out);
    }
    sizes(memory, out);
    let moves = memory.by_address.as_deref().unwrap_or_default();
    if moves.len() > 1 {
        let mut table = Table::new(&["by address", "growth", "before", "after", "allocations", "process"]);
        let (rows, same) = shown(moves, |one| change(&one.in_use));
        for one in &rows {
            let range = one.from.zip(one.to).map(|(from, to)| format!("{from:#x}-{to:#x}"));
            let mut cells = amounts(range.unwrap_or_else(|| "(no address)".to_owned()), &one.in_use);
            cells.push(one.process.to_string());
            table.row(cells);
        }
        if !rows.is_empty() {
            out.push('\n');
            table.write(out);
            rest(out, moves.len(), rows.len(), same);
        }
    }
    let new = memory.new.as_deref().unwrap_or_default();
    if !new.is_empty() {
        let mut table = Table::new(&["new", "size", "kind", "made at", "process", "allocated by"]).last_is_text();
        for one in new.iter().take(LISTED) {
            table.row(vec![
                one.address.map_or_else(|| "(no address)".to_owned(), |address| format!("{address:#x}")),
                known(one.bytes, size),
                one.kind.to_owned(),
                duration(one.time_ns),
                one.process.to_string(),
                safe(&one.call_site).into_owned(),
            ]);
        }
        out.push('\n');
        table.write(out);
        rest(out, new.len(), LISTED, 0);
    }
}

fn sizes(memory: &Memory, out: &mut String) {
    let Some(list) = memory.by_size.as_deref().filter(|list| !list.is_empty()) else { return };
    let (rows, same) = shown(list, |one| change(&one.in_use));
    out.push('\n');
    if rows.is_empty() {
        out.push_str("as before by each call site and size\n");
        return;
    }
    let headings = ["by call site and size", "growth", "before", "after", "allocations", "sizes up to", "allocated by"];
    let mut table = Table::new(&headings).last_is_text();
    for one in &rows {
        table.row(vec![
            one.in_use.became.to_owned(),
            grown(one.in_use.bytes.growth, size),
            known(one.in_use.bytes.before, size),
            known(one.in_use.bytes.after, size),
            counts(&one.in_use.count),
            known(one.size_class_bytes, size),
            one.call_site.as_deref().map_or_else(|| "(no name)".to_owned(), |site| safe(site).into_owned()),
        ]);
    }
    table.write(out);
    rest(out, list.len(), rows.len(), same);
}

fn migrated(list: Option<&[MigratedRow]>, out: &mut String) {
    let Some(list) = list.filter(|list| !list.is_empty()) else { return };
    let (rows, same) = shown(list, |one| (one.bytes.growth.unwrap_or(0), one.faults.growth.unwrap_or(0)));
    if rows.is_empty() {
        out.push_str("\npages move as before, by each call site\n");
        return;
    }
    let headings = ["who moves pages", "growth", "before", "after", "to device", "to host", "faults", "allocated by"];
    let mut table = Table::new(&headings).last_is_text();
    for one in &rows {
        let became = match one.bytes.growth {
            Some(1..) => "moves more",
            Some(0) => "moves as much",
            _ => "moves less",
        };
        let site = match (&one.call_site, one.seen) {
            (Some(site), _) => safe(site).into_owned(),
            (None, true) => "(no name)".to_owned(),
            (None, false) => "(not seen)".to_owned(),
        };
        table.row(vec![
            became.to_owned(),
            grown(one.bytes.growth, size),
            known(one.bytes.before, size),
            known(one.bytes.after, size),
            grown(one.h2d_bytes.growth, size),
            grown(one.d2h_bytes.growth, size),
            grown(one.faults.growth, grouped),
            site,
        ]);
    }
    out.push('\n');
    table.write(out);
    rest(out, list.len(), rows.len(), same);
}

fn times(what: &str, list: Option<&[TimeRow]>, out: &mut String) {
    let Some(list) = list.filter(|list| !list.is_empty()) else { return };
    let (rows, same) = shown(list, |one| (one.total_ns.growth.unwrap_or(0), one.count.growth.unwrap_or(0)));
    if rows.is_empty() {
        return;
    }
    let count = if what == "kernel" { "launches" } else { "calls" };
    let layer = list.iter().any(|row| row.layer.is_some()).then_some("layer");
    let headings: Vec<&str> = [what, "time growth", "before", "after", count].into_iter().chain(layer).collect();
    let mut table = Table::new(&headings);
    if layer.is_some() {
        table = table.last_is_text();
    }
    for one in &rows {
        let mut cells = vec![
            safe(&one.name).into_owned(),
            grown(one.total_ns.growth, duration),
            known(one.total_ns.before, duration),
            known(one.total_ns.after, duration),
            counts(&one.count),
        ];
        cells.extend(one.layer.map(str::to_owned));
        table.row(cells);
    }
    out.push('\n');
    table.write(out);
    rest(out, list.len(), rows.len(), same);
}

fn checks(difference: &Difference, out: &mut String) {
    if difference.checks.is_empty() {
        return;
    }
    out.push('\n');
    for check in &difference.checks {
        let told = match check.regression {
            Some(true) => "regression, it has grown",
            Some(false) => "no regression, it has not grown",
            None => "nobody can tell whether it has grown",
        };
        let by = match check.threshold.as_str() {
            "0 %" => String::new(),
            by => format!(" by more than {by}"),
        };
        let _ = writeln!(out, "{}: {told}{by}", check.what);
    }
}

fn amounts(name: String, in_use: &InUse) -> Vec<String> {
    vec![
        name,
        grown(in_use.bytes.growth, size),
        known(in_use.bytes.before, size),
        known(in_use.bytes.after, size),
        counts(&in_use.count),
    ]
}

/// By how much a row has changed: what is compared first, then what decides between equal ones.
fn change(in_use: &InUse) -> (i64, i64) {
    (in_use.bytes.growth.unwrap_or(0), in_use.count.growth.unwrap_or(0))
}

/// Those that have changed most, in the order in which they were given, and how many have not changed at all.
fn shown<T>(list: &[T], by: impl Fn(&T) -> (i64, i64)) -> (Vec<&T>, usize) {
    let size = |one: &T| {
        let (first, second) = by(one);
        (first.unsigned_abs(), second.unsigned_abs())
    };
    let same = list.iter().filter(|one| size(one) == (0, 0)).count();
    let mut places: Vec<usize> = (0..list.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(list.get(place).map(size)));
    places.truncate(LISTED.min(list.len() - same));
    places.sort_unstable();
    (places.into_iter().filter_map(|place| list.get(place)).collect(), same)
}

/// What a list left out.
fn rest(out: &mut String, all: usize, shown: usize, same: usize) {
    let more = all.saturating_sub(shown).saturating_sub(same);
    let told = match (more, same) {
        (0, 0) => return,
        (0, same) => format!("[{} as before]", grouped(same as u64)),
        (more, 0) => format!("[{} more]", grouped(more as u64)),
        (more, same) => format!("[{} more, {} as before]", grouped(more as u64), grouped(same as u64)),
    };
    let _ = writeln!(out, "{told}");
}

fn known(number: Option<u64>, print: fn(u64) -> String) -> String {
    number.map_or_else(|| "-".to_owned(), print)
}

/// `+12 MiB`, `-3`, `0 B`.
fn grown(growth: Option<i64>, print: fn(u64) -> String) -> String {
    let Some(growth) = growth else { return "-".to_owned() };
    let sign = match growth {
        1.. => "+",
        0 => "",
        _ => "-",
    };
    format!("{sign}{}", print(growth.unsigned_abs()))
}

/// `3 > 15`, or one number where they are equal.
fn counts(numbers: &Numbers) -> String {
    match (numbers.before, numbers.after) {
        (Some(before), Some(after)) if before == after => grouped(after),
        (before, after) => format!("{} > {}", known(before, grouped), known(after, grouped)),
    }
}

/// `+12.5 %`, rounded towards nothing.
fn share(numbers: &Numbers) -> String {
    let (Some(before @ 1..), Some(growth)) = (numbers.before, numbers.growth) else { return "-".to_owned() };
    let tenths = u128::from(growth.unsigned_abs()) * 1000 / u128::from(before);
    let sign = match growth {
        1.. => "+",
        0 => "",
        _ => "-",
    };
    format!("{sign}{}.{} %", tenths / 10, tenths % 10)
}
