//! What the driver said of a device's memory: what it told the program, and allocations as it recorded them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

use super::allocation::Allocations;
use super::calls::{Found, Records, Search, bare};
use crate::trace::activity::{LaneId, What, raw};
use crate::trace::{ActivityKind, Api, Argument, Bytes, LaneOf, NO_DEVICE, NameId, ProcessId, SiteId, Trace, TrackId};

/// An answer to `cudaMemGetInfo` or the driver's like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// When the call returned, ns on the trace's axis.
    pub at_ns: u64,
    /// Device that was current, or [`NO_DEVICE`].
    pub device: u8,
    /// Bytes that nobody uses, whoever that is: other processes, contexts and the driver use memory, too.
    pub free: u64,
    /// Bytes of the device.
    pub total: u64,
    /// Thread and row of the call.
    pub by: (TrackId, u32),
    /// Code that asked.
    pub site: SiteId,
}

impl Told {
    /// Bytes in use, by whomever.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.total.saturating_sub(self.free)
    }
}

/// What a process was told of its devices' memory, in order of time.
#[must_use]
pub fn told(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>]) -> Vec<Told> {
    let mut asked = Asked::new(process);
    asked.advance(trace, files, &mut || true);
    let mut list = asked.0.into_found();
    list.sort_by_key(|told: &Told| told.at_ns);
    list
}

/// What a process was told of its devices' memory, looked for in slices and while the trace grows.
#[derive(Debug)]
pub struct Asked(Search<[Argument; 2], Told>);

impl Asked {
    /// Before the first call.
    #[must_use]
    pub const fn new(process: ProcessId) -> Self {
        Self(Search::new(process))
    }

    /// Goes on as long as `more` says so, which is asked now and then; true when all calls have been looked at. `files` are
    /// those of the trace.
    pub fn advance(&mut self, trace: &Trace, files: &[Arc<dyn Bytes>], more: &mut dyn FnMut() -> bool) -> bool {
        let choose = |api: &Api, base: &str| {
            let argument = |role| api.signature.role(role).cloned();
            (bare(base) == "MemGetInfo").then(|| Some([argument("free")?, argument("total")?]))?
        };
        let make = |found: &Found<'_, [Argument; 2]>, records: &mut Records<'_>| {
            // Calls inside others say the same again.
            if found.call.depth != 0 || found.call.flags.failed() {
                return None;
            }
            let record = records.read(found)?;
            let [free, total] = found.what;
            let (free, total) = (record.number(free)?, record.number(total)?);
            let by = (found.track, u32::try_from(found.row).unwrap_or(u32::MAX));
            let (at_ns, device, site) = (found.call.end_ns(), found.call.device, found.call.site);
            Some(Told { at_ns, device, free, total, by, site })
        };
        self.0.advance(trace, files, choose, make, more)
    }

    /// What it was told so far, in no order.
    #[must_use]
    pub fn told(&self) -> &[Told] {
        self.0.found()
    }
}

/// An allocation that the driver recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// When it was made, ns on the trace's axis.
    pub made_ns: u64,
    /// When it was released; `u64::MAX`: no record says so.
    pub freed_ns: u64,
    /// `CUpti_ActivityMemoryKind`: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, 6 device static, 7 managed static.
    pub kind: u8,
    /// Device, or [`NO_DEVICE`].
    pub device: u8,
    /// Name of the variable, if it is one; else the empty name.
    pub name: NameId,
    /// Its first record.
    pub by: (LaneId, u32),
}

impl Recorded {
    /// Its kind in words.
    #[must_use]
    pub const fn kind_word(&self) -> &'static str {
        match self.kind {
            1 => "pageable",
            2 => "pinned",
            3 => "device",
            4 => "array",
            5 => "managed",
            6 => "static",
            7 => "managed static",
            _ => "unknown",
        }
    }
}

/// Allocations as the driver recorded them, beside those that calls show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByDriver {
    /// How many it recorded.
    pub count: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Those that no call shows, in order of time: variables, and what libraries allocate where the calls are not seen.
    pub unseen: Vec<Recorded>,
    /// Releases without an allocation: made before records began.
    pub only_released: u64,
}

/// Of a process; `None`: the driver's records were not asked for. `files` are those of the trace, `allocations` those of the
/// process.
#[must_use]
pub fn by_driver(
    trace: &Trace,
    process: ProcessId,
    files: &[Arc<dyn Bytes>],
    allocations: &Allocations,
) -> Option<ByDriver> {
    if !trace.activities.of(process)?.evidence.ever(What::Memory) {
        return None;
    }
    let mut found = ByDriver::default();
    let Some(id) = trace.activities.find(process, LaneOf::Memory) else { return Some(found) };
    let lane = trace.activities.lane(id)?;
    let file = trace.process(process)?.file;
    let mut list: Vec<Recorded> = Vec::new();
    let mut live: FxHashMap<u64, usize> = FxHashMap::default();
    for &row in lane.in_order().rows().iter() {
        let Some(record) = lane.get(row as usize).filter(|one| one.kind == ActivityKind::Memory) else { continue };
        if record.detail == RELEASED {
            match live.remove(&record.address).and_then(|index| list.get_mut(index)) {
                Some(one) => one.freed_ns = record.start_ns,
                None => found.only_released += 1,
            }
            continue;
        }
        let location = trace.activities.location(lane, row as usize, file);
        let raw = location.zip(files.get(file)).and_then(|(at, bytes)| raw::read::<wire::Memory>(&**bytes, at).ok());
        let name = raw.map_or(0, |raw| raw.name);
        live.insert(record.address, list.len());
        list.push(Recorded {
            address: record.address,
            bytes: record.value,
            made_ns: record.start_ns,
            freed_ns: u64::MAX,
            kind: raw.map_or(0, |raw| raw.kind),
            device: record.device,
            name: trace.process(process)?.strings.get(&name).copied().unwrap_or_default(),
            by: (id, row),
        });
    }
    found.count = list.len() as u64;
    found.bytes = list.iter().fold(0, |sum, one| one.bytes.saturating_add(sum));
    found.unseen = list.into_iter().filter(|one| !is_seen(allocations, one)).collect();
    Some(found)
}

/// `CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE`.
const RELEASED: u8 = 2;

/// Whether a call shows what the driver recorded. The record comes from inside the call, and the clocks agree but nearly: so
/// it is looked for at the end of the record's life, too.
fn is_seen(allocations: &Allocations, one: &Recorded) -> bool {
    // Arrays have no address by calls.
    let at = |ns: u64| allocations.find(one.address, ns).is_some();
    one.kind == ARRAY || at(one.made_ns) || at(one.made_ns.saturating_add(CLOCKS_NS)) || at(one.freed_ns)
}

/// `CUPTI_ACTIVITY_MEMORY_KIND_ARRAY`.
const ARRAY: u8 = 4;
/// By how much clocks may differ, ns.
const CLOCKS_NS: u64 = 100_000;

/// The device, if it is known.
#[must_use]
pub fn known(device: u8) -> Option<u8> {
    Some(device).filter(|&device| device != NO_DEVICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::made::{Made, P};
    use crate::trace::Activity;
    use crate::trace::ArgKind::{Pointer, Size};

    #[test]
    fn what_the_program_was_told_is_kept_in_order_of_time() {
        let mut made = Made::new();
        let info = |free| [("free", Size, free), ("total", Size, 100)];
        made.call("cudaMemGetInfo", &info(70), (10, 20));
        made.call("cuMemGetInfo_v2", &info(40), (30, 31));
        let told = told(&made.trace, P, &made.files());
        let rows: Vec<_> = told.iter().map(|one| (one.at_ns, one.used(), one.total)).collect();
        assert_eq!(rows, [(20, 30, 100), (31, 60, 100)]);
    }

    #[test]
    fn what_no_call_shows_is_the_drivers() {
        let mut made = Made::new();
        made.call("cudaMalloc", &[("ptr", Pointer, 0x1000), ("bytes", Size, 64)], (1_000_000, 1_000_009));
        let allocations = Allocations::of(&made.trace, P, &made.files());
        assert_eq!(by_driver(&made.trace, P, &made.files(), &allocations), None);
        made.trace.activities.of_mut(P).evidence.seen(What::Memory);
        let row = |detail, address, start_ns| Activity {
            kind: ActivityKind::Memory,
            detail,
            address,
            start_ns,
            value: 64,
            ..Activity::default()
        };
        // Its clock is early by a little.
        made.activity(LaneOf::Memory, &row(1, 0x1000, 999_990));
        made.activity(LaneOf::Memory, &row(1, 0x9000, 2_000_000));
        made.activity(LaneOf::Memory, &row(2, 0x9000, 3_000_000));
        made.activity(LaneOf::Memory, &row(2, 0x7000, 3_000_001));
        let found = by_driver(&made.trace, P, &made.files(), &allocations).unwrap();
        assert_eq!((found.count, found.bytes, found.only_released), (2, 128, 1));
        let unseen: Vec<_> = found.unseen.iter().map(|one| (one.address, one.made_ns, one.freed_ns)).collect();
        assert_eq!(unseen, [(0x9000, 2_000_000, 3_000_000)]);
    }
}
