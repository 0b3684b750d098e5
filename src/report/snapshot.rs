//! Snapshots in the report: what was in use at the moments that were asked for.

use std::cmp::Reverse;
use std::fmt::Write as _;

use serde::Serialize;

use super::allocations::{Live, known, pid};
use super::moment::{MomentBlock, Unfound, account, locate};
use super::table::Table;
use super::text::grouped;
use crate::lens::Moment;
use crate::memory::{Account, Held, Snapshot};
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::trace::value::size;

/// Allocations that are kept of each.
const KEPT: usize = 1000;
/// Rows that are listed in the text.
const LISTED: usize = 10;

/// What was in use at a moment, as far as the lens selects it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotBlock {
    /// The moment.
    #[serde(flatten)]
    pub moment: MomentBlock,
    /// What was in use; `None`: the arguments of calls are not recorded.
    pub in_use: Option<InUse>,
}

/// What was in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InUse {
    /// All that adds to the memory in use.
    #[serde(flatten)]
    pub all: Amount,
    /// By kind, those that add nothing to the sum above too.
    pub by_kind: Vec<OfKind>,
    /// By device, the most bytes first.
    pub by_device: Vec<OfDevice>,
    /// By the place in the program that asked, the most bytes first.
    pub by_call_site: Vec<OfSite>,
    /// By place and size, the most bytes first.
    pub by_size: Vec<OfSize>,
    /// The allocations, the largest first.
    pub allocations: Vec<Live>,
}

/// How much of something was in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Bytes; `None`: there is something, and of nothing the size is recorded.
    pub bytes: Option<u64>,
    /// Allocations.
    pub count: u64,
    /// Those of which the size is not recorded: they add no bytes.
    pub unsized_count: u64,
}

/// Of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfKind {
    /// `managed` and so on.
    pub kind: &'static str,
    /// Whether it adds to the memory in use.
    pub counted: bool,
    /// How much.
    #[serde(flatten)]
    pub amount: Amount,
}

/// Of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfDevice {
    /// Its number; `None`: not known.
    pub device: Option<u8>,
    /// How much.
    #[serde(flatten)]
    pub amount: Amount,
}

/// Asked for by one place in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfSite {
    /// The place.
    pub call_site: String,
    /// How much.
    #[serde(flatten)]
    pub amount: Amount,
}

/// Of like sizes, asked for by one place in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfSize {
    /// The place.
    pub call_site: String,
    /// The largest size of the class, bytes: sizes are above half of it; `None`: not recorded.
    pub size_class_bytes: Option<u64>,
    /// How much.
    #[serde(flatten)]
    pub amount: Amount,
}

impl From<Held> for Amount {
    fn from(held: Held) -> Self {
        Self { bytes: held.bytes(), count: held.count, unsized_count: held.unsized_count }
    }
}

/// What was in use at each of these moments. `path` is what the trace is called if it has not got one of them.
///
/// # Errors
/// If it has not.
pub fn snapshots(loaded: &mut Loaded, path: &str, moments: &[Moment]) -> Result<Vec<SnapshotBlock>, Unfound> {
    if moments.is_empty() {
        return Ok(Vec::new());
    }
    let found = loaded.allocations();
    let (account, _) = account(loaded, &found);
    let mut list = Vec::new();
    for moment in moments {
        let (moment, at_ns) = locate(loaded, account.as_ref(), path, moment)?;
        let in_use = account.as_ref().map(|account| in_use(loaded, account, &Snapshot::at(account, at_ns)));
        list.push(SnapshotBlock { moment, in_use });
    }
    Ok(list)
}

fn in_use(loaded: &mut Loaded, account: &Account, snapshot: &Snapshot) -> InUse {
    let start = loaded.trace().start_ns();
    let blocks = snapshot.blocks().iter().filter_map(|&index| account.blocks().get(index));
    let mut blocks: Vec<_> = blocks.filter(|block| block.allocation.kind.adds_memory()).collect();
    blocks.sort_by_key(|block| (Reverse(block.allocation.bytes), block.process, block.allocation.from_ns));
    blocks.truncate(KEPT);
    let kinds = snapshot.by(|cell| Some(cell.kind)).into_iter();
    let kinds =
        kinds.map(|(kind, held)| OfKind { kind: kind.word(), counted: kind.adds_memory(), amount: held.into() });
    let devices = largest(snapshot.by(|cell| cell.kind.adds_memory().then_some(cell.device)));
    let sites = largest(snapshot.by(|cell| cell.kind.adds_memory().then_some(cell.site)));
    let sizes = largest(snapshot.by(|cell| cell.kind.adds_memory().then_some((cell.site, cell.class))));
    InUse {
        all: snapshot.total().into(),
        by_kind: kinds.collect(),
        by_device: devices.map(|(device, held)| OfDevice { device: known(device), amount: held.into() }).collect(),
        by_call_site: sites.map(|(site, held)| OfSite { call_site: loaded.site(site), amount: held.into() }).collect(),
        by_size: sizes
            .map(|((site, class), held)| OfSize {
                call_site: loaded.site(site),
                size_class_bytes: class.largest(),
                amount: held.into(),
            })
            .collect(),
        allocations: blocks
            .into_iter()
            .map(|block| Live {
                process: pid(loaded, block.process),
                address: block.allocation.has_address().then_some(block.allocation.address),
                bytes: block.allocation.size(),
                kind: block.allocation.kind.word(),
                device: known(block.allocation.device),
                time_ns: block.allocation.made_ns.saturating_sub(start),
                allocator: loaded.allocator(block.allocation.site).map(|(allocator, _)| allocator.name()),
                call_site: loaded.site(block.allocation.site),
            })
            .collect(),
    }
}

/// Sums, the most bytes first.
fn largest<K: Ord>(sums: std::collections::BTreeMap<K, Held>) -> impl Iterator<Item = (K, Held)> {
    let mut list: Vec<(K, Held)> = sums.into_iter().collect();
    // Stable: keys are in order.
    list.sort_by_key(|(_, held)| Reverse((held.sized_bytes, held.count)));
    list.into_iter()
}

/// A table for each.
pub(super) fn write(snapshots: &[SnapshotBlock], out: &mut String) {
    for one in snapshots {
        let _ = write!(out, "\nin use at {}: ", one.moment.sentence());
        let Some(in_use) = &one.in_use else {
            out.push_str("not known, the arguments of calls are not recorded\n");
            continue;
        };
        let bytes = |amount: &Amount| amount.bytes.map_or_else(|| "-".to_owned(), size);
        let _ = writeln!(out, "{} in {} allocations", bytes(&in_use.all), grouped(in_use.all.count));
        if in_use.by_size.is_empty() {
            continue;
        }
        let mut table = Table::new(&["", "bytes", "count", "sizes up to", "allocated by"]).last_is_text();
        for (index, row) in in_use.by_size.iter().take(LISTED).enumerate() {
            table.row(vec![
                (index + 1).to_string(),
                bytes(&row.amount),
                grouped(row.amount.count),
                row.size_class_bytes.map_or_else(|| "-".to_owned(), size),
                safe(&row.call_site).into_owned(),
            ]);
        }
        table.write(out);
        let more = in_use.by_size.len().saturating_sub(LISTED);
        if more > 0 {
            let _ = writeln!(out, "[{} more]", grouped(more as u64));
        }
    }
}
