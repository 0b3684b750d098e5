//! All that is known of one allocation, as names and values.

use super::ask::{AllocationRow, AllocationState};
use super::table::Table;
use crate::memory::Movement;
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::session::safe::safe;
use crate::trace::value::size;
use crate::trace::{StreamId, TrackId};

impl Model {
    /// Names and values of the allocation with this number, whose row this is.
    pub(super) fn details_of(&mut self, table: &Table, number: usize, row: &AllocationRow) -> Vec<(String, String)> {
        let Some(block) = table.get(number) else { return Vec::new() };
        let one = block.allocation;
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut field = |name: &str, value: String| fields.push((name.to_owned(), value));
        let place = if row.address.is_some() { "address" } else { "handle" };
        if one.address != 0 {
            field(place, format!("{:#x}", one.address));
        }
        field("size", row.bytes.map_or_else(|| "not recorded".to_owned(), exact_size));
        field("kind", one.kind.word().to_owned());
        if let Some(device) = row.device {
            field("device", device.to_string());
        }
        if one.stream != StreamId::NONE {
            field("stream", Namer::new(&self.trace, &mut self.symbols).stream(one.stream));
        }
        if one.owner != 0 {
            let name = if one.kind == crate::correlate::AllocationKind::Mapped { "memory" } else { "pool" };
            field(name, format!("{:#x}", one.owner));
        }
        field("from", row.site.clone());
        field("by", format!("{} in {}", self.function(one.track, one.row), row.thread));
        field("made", format!("{} s", seconds(row.from_ns)));
        let released = match (row.state, one.end) {
            (_, crate::correlate::End::Released(track, at)) => {
                let by = self.function(track, at);
                format!("{} s by {by}", seconds(row.until_ns.unwrap_or(0)))
            }
            (AllocationState::Leaked, _) => "never, and the process has ended".to_owned(),
            (AllocationState::Cached, _) => "never: its allocator kept it to the end".to_owned(),
            (AllocationState::InUse, _) => "not yet".to_owned(),
            _ => format!("nobody saw how, before {} s", seconds(row.until_ns.unwrap_or(0))),
        };
        field("released", released);
        if let Some(allocator) = self.books.allocator(one.site) {
            field("allocator", format!("{allocator} caches it: blocks inside it come and go without calls"));
        }
        if row.state == AllocationState::Temporary {
            field("temporary", "its thread asked for no other memory meanwhile".to_owned());
        }
        if row.generation > 0 || table.has_next(number) {
            let after = if table.has_next(number) { ", and it came again later" } else { "" };
            field("its address", format!("was used {} times before{after}", row.generation));
        }
        if let Some(moved) = self.books.moved.moved().and_then(|moved| moved.get(number)) {
            fields.extend(moved_fields(moved));
        }
        fields.extend(self.use_fields(table, number));
        fields
    }

    fn function(&self, track: TrackId, row: u32) -> String {
        let call = self.trace.track(track).and_then(|track| track.call(row as usize));
        call.map_or_else(|| "?".to_owned(), |call| safe(self.trace.api_name(call.api)).into_owned())
    }
}

/// What became of its pages.
fn moved_fields(moved: &Movement) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    let mut field = |name: &str, value: String| fields.push((name.to_owned(), value));
    let parts = |parts: &[(u64, &str)]| {
        let parts = parts.iter().filter(|part| part.0 > 0).map(|(bytes, what)| format!("{} {what}", size(*bytes)));
        parts.collect::<Vec<_>>().join(", ")
    };
    let mut told = |name: &str, text: String| {
        if !text.is_empty() {
            field(name, text);
        }
    };
    told(
        "moved",
        parts(&[(moved.to_device, "to devices"), (moved.to_host, "to host"), (moved.between, "between devices")]),
    );
    told(
        "of that",
        parts(&[
            (moved.returned, "back to where it had come from"),
            (moved.needless.unwrap_or(0), "to a device and back unused"),
            (moved.evicted, "evicted"),
            (moved.prefetched, "prefetched"),
        ]),
    );
    told("pages", parts(&[(moved.moved_once, "moved at least once")]));
    if moved.most_returns > 0 {
        told("bounces", format!("one page went back {} times, none more often", moved.most_returns));
    }
    for (who, faults, pattern) in [
        ("CPU faults", moved.host_faults, moved.host_pattern),
        ("GPU faults", moved.device_faults, moved.device_pattern),
    ] {
        if let Some(pattern) = pattern.filter(|_| faults > 0) {
            let stride = pattern.stride().map_or(String::new(), |stride| format!(" by {stride} bytes"));
            told(who, format!("{faults}, {}{stride}", pattern.word()));
        }
    }
    fields
}

fn exact_size(bytes: u64) -> String {
    let short = size(bytes);
    if bytes < 1024 { short } else { format!("{short}   ({bytes} bytes)") }
}

/// A time in seconds.
pub(super) fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
