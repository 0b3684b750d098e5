//! Who moves pages, in the report: allocations by the bytes of them that moved.

use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;

use super::table::Table;
use super::text::grouped;
use crate::correlate::Allocations;
use crate::memory::{Movement, movements};
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::trace::activity::What;
use crate::trace::value::size;

/// Allocations that are kept.
const KEPT: usize = 100;
/// Those that are listed in the text.
const LISTED: usize = 10;
/// How records were tied to allocations.
const JOINED_BY: &str = "address and time";

/// An allocation whose pages moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// Process id.
    pub process: u32,
    /// First address; `None`: all memory that no call was seen to allocate.
    pub address: Option<u64>,
    /// Its size.
    pub bytes: Option<u64>,
    /// `managed` and so on; `unknown` without an allocation.
    pub kind: &'static str,
    /// Code that allocated it.
    pub call_site: Option<String>,
    /// Bytes that moved to devices.
    pub h2d_bytes: u64,
    /// Bytes that moved to the host.
    pub d2h_bytes: u64,
    /// Bytes that moved between devices.
    pub d2d_bytes: u64,
    /// Faults of the CPU, and records of faults of devices; `None`: not recorded.
    pub faults: Option<u64>,
    /// Bytes of different pages that moved, each counted once.
    pub moved_once_bytes: u64,
    /// Bytes that moved back to where their move before had taken them from.
    pub returned_bytes: u64,
    /// Bytes that came to where they were already: CUPTI has lost records of their leaving.
    pub contradicted_bytes: u64,
    /// How this is known.
    pub joined_by: &'static str,
}

/// Those that moved most; `None` if no migrations were recorded. `allocations` are those of each process.
#[must_use]
pub fn of(loaded: &mut Loaded, allocations: &[Arc<Allocations>]) -> Option<Vec<Migrated>> {
    let selected = loaded.selected();
    let wanted = |id, row| selected.is_none_or(|selected| selected.record(id, row));
    let mut list = movements(loaded.trace(), &loaded.bytes(), allocations, &wanted)?;
    list.truncate(KEPT);
    let has_faults = loaded.trace().activities.recorded(What::Faults);
    let row = |one: Movement| {
        let call_site = one.allocation.map(|allocation| loaded.site(allocation.site));
        Migrated {
            process: loaded.trace().process(one.process).map_or(0, |process| process.pid),
            address: one.allocation.map(|allocation| allocation.address),
            bytes: one.allocation.map(|allocation| allocation.bytes),
            kind: one.allocation.map_or("unknown", |allocation| allocation.kind.word()),
            call_site,
            h2d_bytes: one.to_device,
            d2h_bytes: one.to_host,
            d2d_bytes: one.between,
            faults: has_faults.then_some(one.faults),
            moved_once_bytes: one.moved_once,
            returned_bytes: one.returned,
            contradicted_bytes: one.contradicted,
            joined_by: JOINED_BY,
        }
    };
    Some(list.into_iter().map(row).collect())
}

/// A table, if there is any.
pub(super) fn write(list: Option<&[Migrated]>, out: &mut String) {
    let Some(list) = list.filter(|list| !list.is_empty()) else { return };
    out.push('\n');
    let headings = [
        "who moves pages",
        "kind",
        "size",
        "to device",
        "to host",
        "dev to dev",
        "moved back",
        "faults",
        "process",
        "allocated by",
    ];
    let mut table = Table::new(&headings).last_is_text();
    for one in list.iter().take(LISTED) {
        table.row(vec![
            one.address.map_or_else(|| "(not seen)".to_owned(), |address| format!("{address:#x}")),
            one.kind.to_owned(),
            one.bytes.map_or_else(|| "-".to_owned(), size),
            size(one.h2d_bytes),
            size(one.d2h_bytes),
            size(one.d2d_bytes),
            size(one.returned_bytes),
            one.faults.map_or_else(|| "-".to_owned(), grouped),
            one.process.to_string(),
            one.call_site.as_deref().map_or_else(|| "-".to_owned(), |site| safe(site).into_owned()),
        ]);
    }
    table.write(out);
    let more = list.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
    let _ = writeln!(out, "joined by {JOINED_BY}; moved back: to where their move before had taken them from");
    let lost: u64 = list.iter().map(|one| one.contradicted_bytes).sum();
    if lost > 0 {
        let _ = writeln!(out, "{} came to where they were already: records of their leaving are missing", size(lost));
    }
}
