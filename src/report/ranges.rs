//! A program's own ranges in a report: how long they took, and what ran and moved under them.

use serde::Serialize;

use super::table::Table;
use super::text::{duration, grouped};
use crate::graph::{Under, under};
use crate::lens::Selected;
use crate::session::safe::safe;
use crate::trace::Trace;
use crate::trace::activity::What;
use crate::trace::value::size;

/// Ranges that the text lists.
const LISTED: usize = 40;
/// Generations that are indented further than the one before.
const DEEPEST: u16 = 8;
/// Most characters of a name.
const NAME: usize = 48;

/// Ranges of one name under the same enclosing ones. Times are ns, sizes bytes; `None`: that evidence was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct RangeRow {
    pub name: String,
    pub domain: String,
    /// Index of the enclosing one in the list.
    pub parent: Option<u32>,
    #[serde(skip)]
    pub depth: u16,
    pub count: u64,
    pub open: u64,
    pub total_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub kernels: Option<u64>,
    pub kernel_ns: Option<u64>,
    /// Of the kernels those that are joined by time alone.
    pub kernels_by_time: Option<u64>,
    pub copied_bytes: Option<u64>,
    /// Bytes that moved while they were open.
    pub h2d_bytes: Option<u64>,
    pub d2h_bytes: Option<u64>,
}

/// The ranges of a trace, enclosing ones first; `None` if none were recorded.
#[must_use]
pub fn of(trace: &Trace, selected: Option<&Selected>) -> Option<Vec<RangeRow>> {
    let list = under(trace, selected);
    if list.is_empty() && !trace.activities.recorded(What::Ranges) {
        return None;
    }
    let activity = trace.activities.recorded(What::Activity);
    let migrations = trace.activities.recorded(What::Migrations);
    let list = if selected.is_some() { with_something(list) } else { list };
    let row = |one: Under| RangeRow {
        name: trace.names.get(one.name).to_owned(),
        domain: trace.names.get(one.domain).to_owned(),
        parent: one.parent,
        depth: one.depth,
        count: one.sums.count,
        open: one.sums.running,
        total_ns: one.sums.total_ns,
        min_ns: one.sums.extremes().map_or(0, |extremes| extremes.0),
        max_ns: one.sums.max_ns,
        kernels: activity.then_some(one.kernels),
        kernel_ns: activity.then_some(one.kernel_ns),
        kernels_by_time: activity.then_some(one.by_time),
        copied_bytes: activity.then_some(one.copied_bytes),
        h2d_bytes: migrations.then_some(one.to_device),
        d2h_bytes: migrations.then_some(one.to_host),
    };
    Some(list.into_iter().map(row).collect())
}

/// Those that have anything to say, and those around them.
fn with_something(list: Vec<Under>) -> Vec<Under> {
    let any = |one: &Under| {
        one.sums.any() || [one.kernels, one.copied_bytes, one.to_device, one.to_host].into_iter().any(|count| count > 0)
    };
    let mut kept: Vec<bool> = list.iter().map(any).collect();
    for (at, one) in list.iter().enumerate().rev() {
        let above = one.parent.and_then(|parent| kept.get(parent as usize)).copied();
        if kept.get(at).copied().unwrap_or(false)
            && above == Some(false)
            && let Some(above) = one.parent.and_then(|parent| kept.get_mut(parent as usize))
        {
            *above = true;
        }
    }
    let mut numbers: Vec<Option<u32>> = Vec::with_capacity(list.len());
    let mut left: Vec<Under> = Vec::new();
    for (one, kept) in list.into_iter().zip(kept) {
        numbers.push(kept.then(|| u32::try_from(left.len()).unwrap_or(u32::MAX)));
        if kept {
            let parent = one.parent.and_then(|parent| numbers.get(parent as usize).copied().flatten());
            left.push(Under { parent, ..one });
        }
    }
    left
}

/// The largest as a tree.
pub(super) fn write(ranges: Option<&[RangeRow]>, out: &mut String) {
    let Some(ranges) = ranges.filter(|ranges| !ranges.is_empty()) else { return };
    out.push('\n');
    let mut table = Table::new(&[
        "range",
        "total",
        "count",
        "min",
        "max",
        "kernels",
        "kernel time",
        "copied",
        "to device",
        "to host",
    ]);
    let children = |of: Option<u32>| {
        let mut list: Vec<u32> =
            (0u32..).zip(ranges).filter(|(_, range)| range.parent == of).map(|(index, _)| index).collect();
        list.sort_by_key(|&index| std::cmp::Reverse(ranges.get(index as usize).map(|range| range.total_ns)));
        list
    };
    let known = |number: Option<u64>, words: fn(u64) -> String| number.map_or_else(|| "-".to_owned(), words);
    let mut waiting: Vec<u32> = children(None).into_iter().rev().collect();
    let mut shown = 0;
    while let Some(index) = waiting.pop() {
        let Some(range) = ranges.get(index as usize).filter(|_| shown < LISTED) else { break };
        shown += 1;
        let indent = "  ".repeat(usize::from(range.depth.min(DEEPEST)));
        let name: String = safe(&range.name).chars().take(NAME).collect();
        table.row(vec![
            format!("{indent}{name}"),
            // Of a range that the lens leaves out only what is in it is known.
            if range.count + range.open > 0 { duration(range.total_ns) } else { "-".to_owned() },
            if range.count + range.open > 0 { grouped(range.count + range.open) } else { "-".to_owned() },
            if range.count > 0 { duration(range.min_ns) } else { "-".to_owned() },
            if range.count > 0 { duration(range.max_ns) } else { "-".to_owned() },
            known(range.kernels, grouped),
            known(range.kernel_ns, duration),
            known(range.copied_bytes, size),
            known(range.h2d_bytes, size),
            known(range.d2h_bytes, size),
        ]);
        waiting.extend(children(Some(index)).into_iter().rev());
    }
    table.write(out);
    if let Some(more) = ranges.len().checked_sub(shown).filter(|&more| more > 0) {
        out.push_str(&format!("[{more} more]\n"));
    }
    if ranges.iter().any(|range| range.kernels_by_time.is_some_and(|kernels| kernels > 0)) {
        out.push_str("kernels of threads without ranges count for the thread that had one open then\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_the_lens_leaves_out_says_only_what_is_in_it() {
        let row = RangeRow {
            name: "step".to_owned(),
            domain: String::new(),
            parent: None,
            depth: 0,
            count: 0,
            open: 0,
            total_ns: 0,
            min_ns: 0,
            max_ns: 0,
            kernels: Some(0),
            kernel_ns: Some(0),
            kernels_by_time: Some(0),
            copied_bytes: Some(4096),
            h2d_bytes: None,
            d2h_bytes: None,
        };
        let mut out = String::new();
        write(Some(&[row]), &mut out);
        let words: Vec<&str> = out.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["step", "-", "-", "-", "-", "0", "0", "ns", "4", "KiB", "-", "-"], "{out}");
    }
}
