//! The GPU's part of the report as text.

use std::fmt::Write as _;

use super::gpu::{GpuBlock, UnifiedDevice};
use super::table::Table;
use super::text::{duration, grouped};
use crate::graph::Amounts;
use crate::session::safe::safe;
use umtui_wire::activity as wire;

/// Kernels that are listed.
const KERNELS: usize = 40;
/// Most characters of a kernel's name.
const NAME: usize = 90;

/// Kernels, copies and unified memory; nothing of what was not recorded or did not happen.
pub(super) fn write(block: &GpuBlock, out: &mut String) {
    kernels(block, out);
    copies(block, out);
    unified(block, out);
    overheads(block, out);
}

fn kernels(block: &GpuBlock, out: &mut String) {
    let Some(kernels) = block.kernels.as_ref().filter(|list| !list.is_empty()) else { return };
    out.push('\n');
    let mut table = Table::new(&["kernel", "total", "launches", "avg", "min", "p50", "p99", "max"]);
    for kernel in kernels.iter().take(KERNELS) {
        let stats = &kernel.stats;
        let extremes = stats.sums.extremes();
        let known = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), duration);
        table.row(vec![
            short(&safe(&kernel.name)),
            known(extremes.map(|_| stats.sums.total_ns)),
            grouped(stats.sums.count),
            known(stats.sums.average()),
            known(extremes.map(|extremes| extremes.0)),
            known(stats.quantile(50)),
            known(stats.quantile(99)),
            known(extremes.map(|extremes| extremes.1)),
        ]);
    }
    table.write(out);
    let more = kernels.len().saturating_sub(KERNELS);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
}

pub(super) fn short(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((at, _)) => format!("{}..", name.get(..at).unwrap_or(name)),
        None => name.to_owned(),
    }
}

fn copies(block: &GpuBlock, out: &mut String) {
    let sets = block.sets.filter(|sets| sets.count > 0);
    let copies = block.copies.as_deref().unwrap_or(&[]);
    if copies.is_empty() && sets.is_none() {
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["copies", "total", "count", "bytes", "avg", "min", "max"]);
    let mut row = |name: String, amounts: &Amounts| {
        table.row(vec![
            name,
            duration(amounts.total_ns),
            grouped(amounts.count),
            size(amounts.amount),
            average(amounts).map_or_else(|| "-".to_owned(), size),
            size(amounts.min),
            size(amounts.max),
        ]);
    };
    for copied in copies {
        row(format!("{}{}", kind(copied.kind), if copied.pageable { ", pageable" } else { "" }), &copied.amounts);
    }
    if let Some(sets) = sets {
        row("memory set".to_owned(), &sets);
    }
    table.write(out);
}

fn kind(kind: &str) -> &str {
    match kind {
        "h2d" => "host to device",
        "d2h" => "device to host",
        "h2a" => "host to array",
        "a2h" => "array to host",
        "a2a" => "array to array",
        "a2d" => "array to device",
        "d2a" => "device to array",
        "d2d" => "within a device",
        "h2h" => "within the host",
        "p2p" => "device to device",
        other => other,
    }
}

/// `56.784 KiB`, rounded down.
fn size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let Some((bits, unit)) = UNITS.into_iter().find(|(bits, _)| bytes >> bits > 0) else { return format!("{bytes} B") };
    let thousandths = (u128::from(bytes) * 1000) >> bits;
    format!("{}.{:03} {unit}", thousandths / 1000, thousandths % 1000)
}

fn average(amounts: &Amounts) -> Option<u64> {
    amounts.amount.checked_div(amounts.count)
}

/// What a record is called, and whether its value is a number of bytes; in nvprof's order.
const NAMES: [(u16, &str, bool); 7] = [
    (wire::UNIFIED_TO_DEVICE, "Host To Device", true),
    (wire::UNIFIED_TO_HOST, "Device To Host", true),
    (wire::UNIFIED_BETWEEN_DEVICES, "Device To Device", true),
    (wire::UNIFIED_GPU_FAULT, "Gpu page fault groups", false),
    (wire::UNIFIED_THRASHING, "Thrashes", false),
    (wire::UNIFIED_THROTTLING, "Throttles", false),
    (wire::UNIFIED_REMOTE_MAP, "Remote mappings", true),
];

/// The block that users of nvprof know, with sizes in binary units.
fn unified(block: &GpuBlock, out: &mut String) {
    if block.unified.is_empty() {
        return;
    }
    out.push_str("\nUnified Memory profiling result:\n");
    for device in &block.unified {
        device_rows(device, out);
    }
    if let Some(faults) = block.faults {
        let _ = writeln!(out, "Total CPU Page faults: {}", faults.cpu);
    }
}

fn device_rows(device: &UnifiedDevice, out: &mut String) {
    let rows: Vec<_> = NAMES.iter().filter_map(|row| Some((row, device.sums.get(&row.0)?))).collect();
    if rows.is_empty() {
        return;
    }
    let _ = match device.device {
        Some(number) if device.name.is_empty() => writeln!(out, "Device {number}"),
        Some(number) => writeln!(out, "Device \"{} ({number})\"", safe(&device.name)),
        None => writeln!(out, "No device in particular"),
    };
    let mut table = Table::new(&["   Count", "Avg Size", "Min Size", "Max Size", "Total Size", "Total Time", "Name"])
        .last_is_text();
    for ((counter, name, bytes), amounts) in rows {
        let sized = |value: Option<u64>| value.filter(|_| *bytes).map_or_else(|| "-".to_owned(), size);
        let count = if *counter == wire::UNIFIED_GPU_FAULT { amounts.amount } else { amounts.count };
        table.row(vec![
            format!("{count:>8}"),
            sized(average(amounts)),
            // Of sums without records neither is known.
            sized(Some(amounts.min).filter(|_| amounts.min <= amounts.max)),
            sized(Some(amounts.max).filter(|_| amounts.min <= amounts.max)),
            sized(Some(amounts.amount)),
            if amounts.total_ns == 0 { "-".to_owned() } else { duration(amounts.total_ns) },
            (*name).to_owned(),
        ]);
    }
    table.write(out);
}

fn overheads(block: &GpuBlock, out: &mut String) {
    let Some(list) = block.overheads.as_ref().filter(|list| !list.is_empty()) else { return };
    out.push('\n');
    let mut table = Table::new(&["overhead of the driver and of profiling", "total", "count"]);
    for one in list {
        table.row(vec![one.kind.clone(), duration(one.total_ns), grouped(one.count)]);
    }
    table.write(out);
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_three_decimals() {
        assert_eq!(
            (size(1023), size(4096), size(65_536 + (2 << 20))),
            ("1023 B".into(), "4.000 KiB".into(), "2.062 MiB".into())
        );
        assert_eq!(size(u64::MAX), "16777215.999 TiB");
    }
}
