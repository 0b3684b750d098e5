//! The report as text.

use std::fmt::Write as _;

use super::blocks::{LensBlock, Process};
use super::collect::Report;
use super::table::Table;
use crate::session::safe::safe;
use crate::trace::Layer;

/// Damaged places that are listed.
const DAMAGE: usize = 10;
/// Processes that are listed.
const PROCESSES: usize = 20;
/// Threads that are listed.
const THREADS: usize = 100;
/// Generations that are indented further than the one before.
const DEEPEST: u16 = 8;

/// The report for people: no colours, columns as wide as what is in them. Ends with a newline.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    head(report, &mut out);
    functions(report, &mut out);
    super::gpu_text::write(&report.gpu, &mut out);
    super::ranges::write(report.ranges.as_deref(), &mut out);
    super::counters::write(report.counters.as_deref(), &mut out);
    super::allocations::write(report.allocations.as_ref(), &mut out);
    super::memory::write(report.memory.as_ref(), &mut out);
    super::rises::write(report.rises.as_ref(), &mut out);
    super::snapshot::write(&report.snapshots, &mut out);
    super::transfers::write(report.transfers.as_ref(), &mut out);
    super::migrated::write(report.migrated.as_ref(), &mut out);
    super::graphs::write(&report.graphs, &mut out);
    threads(report, &mut out);
    failures(report, &mut out);
    super::first_failures::write(&report.first_failures, &mut out);
    out
}

fn head(report: &Report, out: &mut String) {
    for process in report.processes.iter().take(PROCESSES) {
        process_line(process, out);
    }
    rest(out, report.processes.len().saturating_sub(PROCESSES) as u64);
    let block = &report.trace;
    line(out, "duration", &duration(block.duration_ns));
    let lost = match block.lost {
        0 if block.truncated => "none known to be lost".to_owned(),
        0 => "none lost".to_owned(),
        lost => format!("{} LOST", grouped(lost)),
    };
    let older = match block.discarded {
        0 => String::new(),
        older => format!(", {} older ones not kept", grouped(older)),
    };
    let missed = match block.missed {
        0 => String::new(),
        missed => format!(", {} from before it was joined not here", grouped(missed)),
    };
    line(out, "calls", &format!("{}, {lost}{older}{missed}", grouped(block.calls)));
    if let Some(lens) = &report.lens {
        lens_lines(lens, out);
    }
    if let Some(clocks) = &block.clocks_line {
        line(out, "times", clocks);
    }
    if let Some(costs) = &block.costs {
        line(out, "costs", costs);
    }
    evidence(report, out);
    for (index, file) in report.unreadable.iter().enumerate() {
        line(out, if index == 0 { "unread" } else { "" }, file);
    }
    for (index, place) in report.damage.iter().take(DAMAGE).enumerate() {
        line(out, if index == 0 { "damage" } else { "" }, place);
    }
    rest(out, report.damages.saturating_sub(DAMAGE as u64));
    for (index, note) in report.notes.iter().take(DAMAGE).enumerate() {
        line(out, if index == 0 { "note" } else { "" }, note);
    }
}

fn lens_lines(lens: &LensBlock, out: &mut String) {
    if let Some(filter) = &lens.filter {
        line(out, "filter", &safe(filter));
    }
    if let Some(from) = lens.from_ns {
        let to = lens.to_ns.map_or_else(|| "the end".to_owned(), duration);
        line(out, "range", &format!("{} to {to}, from the first event on", duration(from)));
    }
    if let Some(steps) = &lens.steps {
        let (asked, range, turns) = (safe(&steps.asked), safe(&steps.range), grouped(steps.turns));
        line(out, "step", &format!("{asked}, of {turns} of the range {range}"));
    }
    let cut = match lens.cut {
        0 => String::new(),
        cut => format!("; {} reach beyond the range and count whole", grouped(cut)),
    };
    let (shown, hidden) = (grouped(lens.shown), grouped(lens.hidden));
    line(out, "events", &format!("{shown} below, {hidden} hidden{cut}; processes and duration above are of all"));
}

fn evidence(report: &Report, out: &mut String) {
    let sees: Vec<&str> = std::iter::once("API calls").chain(report.gpu.seen.iter().copied()).collect();
    line(out, "sees", &format!("{}: {}", report.trace.evidence.join(" "), sees.join(", ")));
    for (index, missing) in report.gpu.missing_lines.iter().enumerate() {
        line(out, if index == 0 { "not" } else { "" }, missing);
    }
    let has_records = report.gpu.seen.iter().any(|&seen| seen != crate::trace::activity::What::Ranges.words());
    match report.gpu.dropped {
        Some(0) => {}
        Some(dropped) => {
            line(out, "dropped", &format!("{} records of the GPU on their way from the driver", grouped(dropped)))
        }
        None if has_records => line(out, "dropped", "records of the GPU, nobody knows how many"),
        None => {}
    }
    if report.gpu.faults.is_some() {
        // docs/limits.md says what was seen.
        line(out, "", "with page faults on, CUPTI may lose some records of unified memory without counting them");
    }
    if let Some(error) = report.gpu.clock_error_ns {
        line(out, "clocks", &format!("times of the GPU are within {} of those of calls", duration(error)));
    }
    if let Some(order) = report.gpu.order.filter(|order| order.early + order.late > 0) {
        let (early, late) = (grouped(order.early), grouped(order.late));
        let most = duration(order.earliest_ns.max(order.latest_ns));
        line(
            out,
            "",
            &format!("but {early} pieces of work began before their calls, {late} ended after waits: up to {most}"),
        );
    }
    for device in &report.gpu.devices {
        let memory = crate::trace::value::size(device.memory_bytes);
        let number = format!("GPU {}", device.device);
        line(out, &number, &format!("{}, {memory}, of process {}", safe(&device.name), device.process));
    }
}

/// What a list left out.
fn rest(out: &mut String, more: u64) {
    if more > 0 {
        line(out, "", &format!("[{} more]", grouped(more)));
    }
}

fn process_line(process: &Process, out: &mut String) {
    let indent = "  ".repeat(usize::from(process.depth.min(DEEPEST)));
    let mut what = format!("{indent}{} {}", process.pid, safe(&process.program));
    if let Some(rank) = process.rank.or(process.local_rank) {
        let _ = write!(what, " rank {rank}");
    }
    if !process.host.is_empty() {
        let _ = write!(what, " on {}", safe(&process.host));
    }
    if let Some(file) = &process.of_file {
        let _ = write!(what, " in {}", safe(file));
    }
    if process.alive {
        what.push_str(", still running");
    }
    if let Some(trouble) = &process.trouble {
        let _ = write!(what, ", {}", safe(trouble));
    }
    line(out, "process", &what);
}

fn line(out: &mut String, label: &str, text: &str) {
    let _ = writeln!(out, "{label:<9} {text}");
}

fn functions(report: &Report, out: &mut String) {
    if report.apis.is_empty() {
        let why = if report.lens.is_some() { "no call is selected" } else { "no call has ended" };
        out.push_str(&format!("\n{why}\n"));
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["function", "total", "self", "calls", "failed", "min", "p50", "p99", "max", "layer"])
        .last_is_text();
    for api in &report.apis {
        let sums = &api.stats.sums;
        let extremes = sums.extremes();
        let known = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), duration);
        table.row(vec![
            safe(&api.name).into_owned(),
            extremes.map_or_else(|| "-".to_owned(), |_| duration(sums.total_ns)),
            extremes.map_or_else(|| "-".to_owned(), |_| duration(sums.self_ns)),
            grouped(sums.count),
            grouped(sums.failed),
            known(extremes.map(|extremes| extremes.0)),
            known(api.stats.quantile(50)),
            known(api.stats.quantile(99)),
            known(extremes.map(|extremes| extremes.1)),
            match api.layer {
                Layer::Runtime => "runtime",
                Layer::Driver => "driver",
            }
            .to_owned(),
        ]);
    }
    table.write(out);
    let _ = writeln!(out, "p50 and p99 are within {} %", Report::QUANTILE_ERROR_PCT);
}

fn threads(report: &Report, out: &mut String) {
    if report.threads.is_empty() {
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["thread", "process", "total", "calls", "name"]).last_is_text();
    for thread in report.threads.iter().take(THREADS) {
        table.row(vec![
            thread.thread.to_string(),
            thread.process.to_string(),
            duration(thread.total_ns),
            grouped(thread.calls),
            safe(&thread.name).into_owned(),
        ]);
    }
    table.write(out);
    let more = report.threads.len().saturating_sub(THREADS);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
}

fn failures(report: &Report, out: &mut String) {
    if report.failures.is_empty() {
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["failures", "failed", "calls", "mostly"]).last_is_text();
    for failure in &report.failures {
        table.row(vec![
            safe(&failure.name).into_owned(),
            grouped(failure.failed),
            grouped(failure.calls),
            failure.error.as_deref().map_or_else(|| "-".to_owned(), |error| safe(error).into_owned()),
        ]);
    }
    table.write(out);
}

/// `1m 38.2 s`, `6.1 ms`, `412 ns`: three or four digits, rounded down.
pub(super) fn duration(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let tenths = |unit: u64| format!("{}.{}", ns / unit, ns % unit * 10 / unit);
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", tenths(1_000)),
        1_000_000..SECOND => format!("{} ms", tenths(1_000_000)),
        _ if ns < 60 * SECOND => format!("{} s", tenths(SECOND)),
        _ => {
            let (minutes, rest) = (ns / (60 * SECOND), ns % (60 * SECOND));
            let (hours, minutes) = (minutes / 60, minutes % 60);
            let hours = if hours > 0 { format!("{hours}h ") } else { String::new() };
            format!("{hours}{minutes}m {}.{} s", rest / SECOND, rest % SECOND * 10 / SECOND)
        }
    }
}

/// `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{duration, grouped};

    #[test]
    fn numbers_print_briefly() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.0 us"),
            (6_149_999, "6.1 ms"),
            (59_999_999_999, "59.9 s"),
            (98_200_000_000, "1m 38.2 s"),
            (3_723_000_000_000, "1h 2m 3.0 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
        assert_eq!((grouped(0), grouped(999), grouped(1_234_567)), ("0".into(), "999".into(), "1,234,567".into()));
    }
}
