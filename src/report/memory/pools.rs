//! Pools in the report.

use serde::Serialize;

use super::{Found, LISTED, known, more, or_dash, since};
use crate::correlate::pools::Held;
use crate::correlate::{Pool as Of, PoolOrigin};
use crate::report::table::Table;
use crate::report::text::grouped;
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::trace::value::size;

/// A pool. What no call told is `None`. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// Process id.
    pub process: u32,
    /// Its handle; `None`: a device's own, for which nobody asked.
    pub handle: Option<u64>,
    /// `default`, `created`, `imported`, or `unseen`: no call was seen to make it.
    pub origin: &'static str,
    /// Device.
    pub device: Option<u8>,
    /// It is of managed memory.
    pub managed: bool,
    /// When it was made; `None`: it was there, or nobody saw it.
    pub made_ns: Option<u64>,
    /// When it was destroyed.
    pub destroyed_ns: Option<u64>,
    /// Code that made it.
    pub call_site: Option<String>,
    /// Allocations from it.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// The most bytes in use at a moment, as calls asked for them.
    pub peak_bytes: u64,
    /// Allocations that were not released.
    pub live_count: u64,
    /// Bytes of those.
    pub live_bytes: u64,
    /// Bytes that it keeps when nothing waits for them.
    pub release_threshold: Option<u64>,
    /// Bytes that it held when it was asked last.
    pub reserved_bytes: Option<u64>,
    /// When that was.
    pub reserved_ns: Option<u64>,
    /// Bytes in use at that moment.
    pub used_bytes: Option<u64>,
    /// Whether the driver told that, or it is what calls had asked for.
    pub used_is_told: Option<bool>,
    /// Share of what it held then that was not in use, in millionths: kept for later, or broken up.
    pub unused_ppm: Option<u32>,
    /// The largest such share of all moments at which it was asked.
    pub most_unused_ppm: Option<u32>,
    /// The driver's own maximum of what it held.
    pub reserved_high_bytes: Option<u64>,
    /// The driver's own maximum of what was in use.
    pub used_high_bytes: Option<u64>,
    /// Calls that told it to give back what it does not use.
    pub trims: u64,
    /// Other devices that calls let use its memory.
    pub accessed_by: Vec<u8>,
}

pub(super) fn of(loaded: &mut Loaded, found: &[Found]) -> Vec<Pool> {
    let pools = found.iter().flat_map(|found| found.pools.all().iter().map(|pool| (found.pid, pool)));
    pools.map(|(pid, pool)| row(loaded, pid, pool)).collect()
}

fn row(loaded: &mut Loaded, process: u32, pool: &Of) -> Pool {
    let last = pool.last_held();
    let call_site = pool.site.map(|site| loaded.site(site));
    let mut accessed_by: Vec<u8> =
        pool.access.iter().filter(|access| access.flags != 0).filter_map(|access| known(access.device)).collect();
    accessed_by.sort_unstable();
    accessed_by.dedup();
    Pool {
        process,
        handle: pool.handle,
        origin: pool.origin.word(),
        device: known(pool.device),
        managed: pool.managed,
        made_ns: pool.made_ns.map(|ns| since(loaded, ns)),
        destroyed_ns: pool.destroyed_ns.map(|ns| since(loaded, ns)),
        call_site,
        count: pool.count,
        bytes: pool.bytes,
        peak_bytes: pool.peak_bytes,
        live_count: pool.live_count,
        live_bytes: pool.used_bytes,
        release_threshold: pool.release_threshold.map(|figure| figure.bytes),
        reserved_bytes: last.map(|held| held.reserved),
        reserved_ns: last.map(|held| since(loaded, held.at_ns)),
        used_bytes: last.map(|held| held.used),
        used_is_told: last.map(|held| held.used_is_told),
        unused_ppm: last.and_then(Held::unused_ppm),
        most_unused_ppm: pool.held.iter().filter_map(Held::unused_ppm).max(),
        reserved_high_bytes: pool.reserved_high.map(|figure| figure.bytes),
        used_high_bytes: pool.used_high.map(|figure| figure.bytes),
        trims: pool.trims,
        accessed_by,
    }
}

/// A table, if there is any.
pub(super) fn write(pools: &[Pool], out: &mut String) {
    if pools.is_empty() {
        return;
    }
    out.push('\n');
    let headings = [
        "pool",
        "process",
        "device",
        "count",
        "allocated",
        "peak",
        "not released",
        "keeps",
        "held",
        "unused",
        "made by",
    ];
    let mut table = Table::new(&headings).last_is_text();
    for pool in pools.iter().take(LISTED) {
        let name = match pool.handle {
            Some(handle) if pool.origin != PoolOrigin::Default.word() => format!("{:#x} {}", handle, pool.origin),
            _ => pool.origin.to_owned(),
        };
        let keeps = |bytes| if bytes == u64::MAX { "all".to_owned() } else { size(bytes) };
        table.row(vec![
            name,
            pool.process.to_string(),
            or_dash(pool.device.map(|device| device.to_string())),
            grouped(pool.count),
            size(pool.bytes),
            size(pool.peak_bytes),
            size(pool.live_bytes),
            or_dash(pool.release_threshold.map(keeps)),
            or_dash(pool.reserved_bytes.map(size)),
            or_dash(pool.unused_ppm.map(|ppm| format!("{} %", ppm / 10_000))),
            or_dash(pool.call_site.as_ref().map(|site| safe(site).into_owned())),
        ]);
    }
    table.write(out);
    more(out, pools.len());
}
