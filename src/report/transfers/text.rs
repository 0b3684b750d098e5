//! What moved between the host and devices, as tables.

use std::fmt::Write as _;

use super::{Pair, Row, Sums, Transfers};
use crate::memory::transfers::Moved;
use crate::report::table::Table;
use crate::report::text::{duration, grouped};
use crate::session::safe::safe;
use crate::trace::value::{rate, size};

fn device_name(device: Option<u16>) -> String {
    device.map_or_else(|| "host".to_owned(), |device| format!("GPU {device}"))
}

fn end_name(kind: &str, device: Option<u16>) -> String {
    match (kind, device) {
        (_, Some(device)) => format!("GPU {device}"),
        ("unknown", None) => "GPU ?".to_owned(),
        (kind, None) => format!("host {kind}"),
    }
}

/// Count, bytes and rate; nothing where nothing moved, `?` where it is not recorded.
fn cells(sums: Option<&Sums>) -> [String; 3] {
    match sums {
        None => std::array::from_fn(|_| "?".to_owned()),
        Some(sums) if sums.count == 0 => std::array::from_fn(|_| "-".to_owned()),
        Some(sums) => {
            [grouped(sums.count), size(sums.bytes), sums.bytes_per_second.map_or_else(|| "?".to_owned(), rate)]
        }
    }
}

fn access(row: &Row) -> String {
    let (Some(with), Some(without), Some(copies)) = (row.with_peer_access, row.without_peer_access, row.copies) else {
        return String::new();
    };
    let unknown = copies.count.saturating_sub(with.count).saturating_sub(without.count);
    let parts = [(with.count, "with"), (without.count, "without"), (unknown, "not known")];
    let said: Vec<String> =
        parts.iter().filter(|part| part.0 > 0).map(|(count, word)| format!("{} {word}", grouped(*count))).collect();
    said.join(", ")
}

/// Tables, if anything moved.
pub(in crate::report) fn write(block: Option<&Transfers>, out: &mut String) {
    let Some(block) = block else { return };
    if !block.flows.is_empty() {
        out.push('\n');
        let headings =
            ["transfers", "copies", "copied", "rate", "migrations", "migrated", "rate", "mapped", "peer access"];
        let mut table = Table::new(&headings).last_is_text();
        for row in &block.flows {
            let [copies, copied, copy_rate] = cells(row.copies.as_ref());
            let [migrations, migrated, migration_rate] = cells(row.migrations.as_ref());
            let [_, mapped, _] = cells(row.mapped.as_ref());
            let ends = (end_name(row.from, row.from_device), end_name(row.to, row.to_device));
            let name = format!("{} -> {}", ends.0, ends.1);
            let first = [name, copies, copied, copy_rate, migrations, migrated, migration_rate, mapped];
            table.row(first.into_iter().chain([access(row)]).collect());
        }
        table.write(out);
        if block.flows.iter().any(|row| row.mapped.is_none()) {
            out.push_str("mapped: not recorded, needs --um-faults\n");
        }
    }
    let by =
        [(&block.staged, "by the program itself"), (&block.staged_by_driver, "by the driver, without peer access")];
    for (one, by) in by.iter().flat_map(|(list, by)| list.iter().flatten().map(move |one| (one, by))) {
        let (from, to) = (one.from_device, one.to_device);
        let (count, bytes) = (grouped(one.count), size(one.bytes));
        let _ = writeln!(out, "{count} times {bytes} in all from GPU {from} through the host to GPU {to}, {by}");
    }
    if block.not_shown_bytes > 0 {
        let _ = writeln!(out, "{} to or from devices that --device-map leaves out", size(block.not_shown_bytes));
    }
    for device in &block.unknown_devices {
        let _ = writeln!(out, "--device-map: there is no GPU {device} here");
    }
    links(block, out);
    topology(block, out);
    peer_list(block, out);
}

fn links(block: &Transfers, out: &mut String) {
    if block.links.is_empty() {
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["links", "bytes", "busiest", "for", "at", "of limit"]);
    for link in &block.links {
        table.row(vec![
            format!("{} -> {}", device_name(link.from_device), device_name(link.to_device)),
            size(link.bytes),
            rate(link.busiest_bytes_per_second),
            duration(link.busiest_for_ns),
            duration(link.busiest_at_ns),
            link.busiest_share_pct.map_or_else(|| "-".to_owned(), |share| format!("{share} %")),
        ]);
    }
    table.write(out);
    if let Some(limit) = block.limit_bytes_per_second {
        let _ = writeln!(out, "limit of a link to the host, as told: {}", rate(limit));
    }
}

fn topology(block: &Transfers, out: &mut String) {
    let known =
        |pair: &&Pair| pair.link.is_some() || pair.can_access.is_some() || pair.rank.is_some() || pair.access_enabled;
    let between = |row: &&Row| row.from_device.is_some() && row.to_device.is_some() && row.from_device != row.to_device;
    if !block.topology.iter().any(|pair| known(&pair)) {
        if block.flows.iter().any(|row| between(&row)) {
            out.push_str("\ntopology: not known, the program asked the driver nothing about it\n");
        }
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["topology", "link", "can access", "enabled", "rank"]);
    for pair in &block.topology {
        let asked = |answer: Option<bool>| match answer {
            None => "not asked",
            Some(true) => "yes",
            Some(false) => "no",
        };
        table.row(vec![
            format!("GPU {} -> GPU {}", pair.from_device, pair.to_device),
            pair.link.unwrap_or("not known").to_owned(),
            asked(pair.can_access).to_owned(),
            if pair.access_enabled { "yes" } else { "no" }.to_owned(),
            pair.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
        ]);
    }
    table.write(out);
    for device in block.devices.iter().filter(|_| block.devices.len() > 1) {
        let name = device.name.as_deref().map_or("not recorded".into(), safe);
        let at = device.pci.as_deref().map_or_else(String::new, |pci| format!(", PCI {pci}"));
        let host = if device.host.is_empty() { String::new() } else { format!(", of {}", safe(&device.host)) };
        let _ = writeln!(out, "GPU {}: {name}{at}{host}", device.device);
    }
}

fn peer_list(block: &Transfers, out: &mut String) {
    let Some(list) = &block.peer_events else { return };
    out.push('\n');
    if list.is_empty() {
        out.push_str("peer copies and mappings: none\n");
        return;
    }
    let mut table = Table::new(&["peer to peer", "at", "for", "bytes", "rate", "peer access"]).last_is_text();
    for one in list {
        let per_second = Moved { count: 1, bytes: one.bytes, time_ns: one.duration_ns, timed_bytes: one.bytes };
        let gpu = |device: Option<u16>| device.map_or_else(|| "GPU ?".to_owned(), |device| format!("GPU {device}"));
        table.row(vec![
            format!("{} {} => {}", one.what, gpu(one.from_device), gpu(one.to_device)),
            duration(one.at_ns),
            duration(one.duration_ns),
            size(one.bytes),
            per_second.bandwidth().filter(|_| one.what == "copy").map_or_else(|| "-".to_owned(), rate),
            match one.peer_access {
                _ if one.what != "copy" => "",
                Some(true) => "enabled",
                Some(false) => "not enabled: may go through the host",
                None => "not known",
            }
            .to_owned(),
        ]);
    }
    table.write(out);
    let more = block.peer_event_count.unwrap_or(0).saturating_sub(list.len() as u64);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_recorded_is_a_question_mark_and_nothing_a_dash() {
        assert_eq!(cells(None)[0], "?");
        assert_eq!(cells(Some(&Sums::of(&Moved::default())))[1], "-");
        let untimed = Moved { count: 2, bytes: 4096, ..Moved::default() };
        assert_eq!(cells(Some(&Sums::of(&untimed))), ["2", "4 KiB", "?"]);
    }
}
