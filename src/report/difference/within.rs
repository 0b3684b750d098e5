//! Two moments of one trace: which allocations came and went, and where in the address space.

use std::sync::Arc;

use super::Memory;
use super::names::SiteName;
use super::rows::{AddressRow, AllocationRow, InUse};
use super::side::{SideBlock, Taken, block, cells};
use crate::correlate::Allocations;
use crate::lens::Moment;
use crate::memory::{Account, Block, Delta, Extent, Snapshot, Turnover, extents};
use crate::report::moment::{Unfound, account, locate};
use crate::session::Loaded;
use crate::trace::ProcessId;

/// Allocations that are kept in each list.
const KEPT: usize = 1000;

/// Memory at both moments.
pub(super) fn compare(
    loaded: &mut Loaded,
    path: &str,
    from: &Moment,
    to: &Moment,
) -> Result<(SideBlock, Memory), Unfound> {
    let found = loaded.allocations();
    let (account, unread) = account(loaded, &found);
    let [(before, from_ns), (after, to_ns)] =
        [locate(loaded, account.as_ref(), path, from)?, locate(loaded, account.as_ref(), path, to)?];
    let block = block(loaded, path, unread);
    let Some(account) = account else {
        let unknown = |moment| Taken { moment, cells: None };
        return Ok((block, Memory::of(unknown(before), unknown(after))));
    };
    let (was, is) = (Snapshot::at(&account, from_ns), Snapshot::at(&account, to_ns));
    let mut taken = |moment, snapshot: &Snapshot| {
        let cells = cells(snapshot, &mut |site| SiteName::Label(loaded.site(site)));
        Taken { moment, cells: Some(cells) }
    };
    let mut memory = Memory::of(taken(before, &was), taken(after, &is));
    let turnover = Turnover::between(&account, &was, &is);
    let mut rows = |list: &[usize]| allocation_rows(loaded, &found, &account, list);
    memory.new = Some(rows(&turnover.new));
    memory.gone = Some(rows(&turnover.gone));
    memory.by_address = Some(extents(&account, &was, &is).iter().map(|one| address_row(loaded, one)).collect());
    Ok((block, memory))
}

fn pid(loaded: &Loaded, process: ProcessId) -> u32 {
    loaded.trace().process(process).map_or(0, |process| process.pid)
}

fn address_row(loaded: &Loaded, one: &Delta<Extent>) -> AddressRow {
    AddressRow {
        process: pid(loaded, one.key.process),
        from: one.key.from,
        to: one.key.from.map(|_| one.key.to),
        in_use: InUse::from(one),
    }
}

fn allocation_rows(
    loaded: &mut Loaded,
    found: &[Arc<Allocations>],
    account: &Account,
    list: &[usize],
) -> Vec<AllocationRow> {
    let blocks = list.iter().filter_map(|&index| account.blocks().get(index));
    let counted = blocks.filter(|block| block.allocation.kind.adds_memory());
    let start = loaded.trace().start_ns();
    let row = |&Block { process, allocation: one }: &Block| {
        let of = found.get(process.index());
        let index = of.and_then(|of| of.made(one.address, one.from_ns, (one.track, one.row as usize)));
        AllocationRow {
            process: pid(loaded, process),
            address: one.has_address().then_some(one.address),
            generation: of.zip(index).map_or(0, |(of, index)| of.generation(index) as u64),
            bytes: one.size(),
            kind: one.kind.word(),
            time_ns: one.made_ns.saturating_sub(start),
            released_ns: one.has_ended().then(|| one.freed_ns.saturating_sub(start)),
            call_site: loaded.site(one.site),
        }
    };
    counted.take(KEPT).map(row).collect()
}
