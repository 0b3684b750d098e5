//! All that is known of one allocation, as names and values.

use super::ask::{AllocationRow, AllocationState};
use super::table::Table;
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
            (AllocationState::Freed, crate::correlate::End::Released(track, at)) => {
                let by = self.function(track, at);
                format!("{} s by {by}", seconds(row.until_ns.unwrap_or(0)))
            }
            (AllocationState::Leaked, _) => "never, and the process has ended".to_owned(),
            (AllocationState::InUse, _) => "not yet".to_owned(),
            _ => format!("nobody saw how, before {} s", seconds(row.until_ns.unwrap_or(0))),
        };
        field("released", released);
        if row.generation > 0 || table.has_next(number) {
            let after = if table.has_next(number) { ", and it came again later" } else { "" };
            field("its address", format!("was used {} times before{after}", row.generation));
        }
        if let Some(moved) = self.books.moved.moved.as_ref().and_then(|moved| moved.0.get(&number)).copied() {
            let parts = [("to devices", moved.to_device), ("to host", moved.to_host), ("between", moved.between)];
            let mut parts: Vec<String> =
                parts.iter().filter(|part| part.1 > 0).map(|(to, bytes)| format!("{} {to}", size(*bytes))).collect();
            if moved.returned > 0 {
                parts.push(format!("{} of that back to where it had come from", size(moved.returned)));
            }
            field("moved", parts.join(", "));
            field("pages", format!("{} moved at least once", size(moved.moved_once)));
        }
        if let Some(faults) = row.faults {
            field("faults", faults.to_string());
        }
        fields
    }

    fn function(&self, track: TrackId, row: u32) -> String {
        let call = self.trace.track(track).and_then(|track| track.call(row as usize));
        call.map_or_else(|| "?".to_owned(), |call| safe(self.trace.api_name(call.api)).into_owned())
    }
}

fn exact_size(bytes: u64) -> String {
    let short = size(bytes);
    if bytes < 1024 { short } else { format!("{short}   ({bytes} bytes)") }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
