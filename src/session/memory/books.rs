//! What is known of a trace's memory, and for which state of the trace that holds.
//!
//! Allocations, account and order of rows are made in a thread of their own, since they take long for a million
//! allocations; what needs the trace itself is done in slices. Until the next state of it is known the last one is
//! shown.

use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::ask::{AllocationColumn, AllocationsRequest, GroupKey, MemoryGrouping};
use super::growth::Grown;
use super::later::Later;
use super::moved::KnownMoved;
use super::pools::KnownPools;
use super::table::{Ranks, Sorting, Table, is_in_use};
use super::transfers::KnownTransfers;
use crate::correlate::{Allocations, Allocator, Refused};
use crate::memory::{Account, Block, Group, Holder};
use crate::session::labels::{Namer, thread};
use crate::session::model::Model;
use crate::trace::{ProcessId, SiteId, TrackId};

/// Names as they were when something was sorted by them.
type Named = (u64, u64);

/// What an account is of: allocations, names of call sites, and what a lens had decided.
type AccountOf = (u64, u64, Option<u64>);

/// What an order of rows is of.
type OrderOf = (u64, Named, u64, Option<u64>, (AllocationColumn, bool), Option<u64>, Option<GroupKey>, usize);

/// An account, and who held memory when most of it was in use.
#[derive(Debug)]
pub(super) struct Accounted {
    pub account: Account,
    pub at_peak: Vec<Holder>,
}

/// Bytes in use at a moment, ns on the trace's axis.
pub(super) type Then = FxHashMap<Group, u64>;

/// What is known of memory.
#[derive(Default)]
pub(in crate::session) struct Books {
    pub(super) table: Later<u64, Arc<Table>>,
    pub(super) names: Names,
    account: Later<AccountOf, Arc<Accounted>>,
    /// Likewise of what a lens selects.
    seen: Later<AccountOf, Arc<Accounted>>,
    then: Later<(AccountOf, MemoryGrouping, u64), Then>,
    grown: Later<(AccountOf, u64, u64), Arc<Grown>>,
    pub(super) moved: KnownMoved,
    pub(super) pools: KnownPools,
    shown: Shown,
    order: Later<OrderOf, Arc<Vec<u32>>>,
    /// How often the order has changed.
    orders: u64,
    pub(super) transfers: KnownTransfers,
}

/// What places in the program and threads are called.
#[derive(Default)]
pub(super) struct Names {
    of: Option<Named>,
    /// Of places that are called alike the first: a line that was inlined in several functions has several addresses.
    same: Arc<FxHashMap<SiteId, SiteId>>,
    ranks: Arc<Ranks>,
}

/// What a lens leaves of the list.
#[derive(Default)]
struct Shown {
    of: Option<(u64, u64, u64)>,
    shown: Option<Arc<Vec<bool>>>,
}

impl Books {
    /// The caching allocator that a call site is in.
    pub(super) fn allocator(&self, site: SiteId) -> Option<&'static str> {
        self.names.ranks.allocators.get(&site).copied()
    }

    /// The account of all that was allocated, as far as it is known.
    pub(super) fn account(&self) -> Option<&Arc<Accounted>> {
        self.account.get()
    }

    /// Likewise of what a lens selects.
    pub(super) fn seen(&self) -> Option<&Arc<Accounted>> {
        self.seen.get()
    }

    /// Bytes in use at a moment by what they are summed up by, until `until`; as they were summed up last if it takes
    /// longer. The second is whether they are those.
    pub(super) fn then(&mut self, by: MemoryGrouping, at_ns: u64, until: Instant) -> (Option<&Then>, bool) {
        let Some((of, seen)) = self.seen.key().copied().zip(self.seen.get().cloned()) else { return (None, false) };
        let complete = self.then.update((of, by, at_ns), until, move || held_by(&seen.account, at_ns, by));
        (self.then.get(), complete)
    }

    /// What has grown between two moments, likewise.
    pub(super) fn grown(&mut self, from_ns: u64, to_ns: u64, until: Instant) -> (Option<Arc<Grown>>, bool) {
        let Some((of, seen)) = self.seen.key().copied().zip(self.seen.get().cloned()) else { return (None, false) };
        let make = move || Arc::new(Grown::between(&seen.account, from_ns, to_ns));
        let complete = self.grown.update((of, from_ns, to_ns), until, make);
        (self.grown.get().cloned(), complete)
    }

    /// Grows when the rows are put in another order, or are others.
    pub(in crate::session) const fn orders(&self) -> u64 {
        self.orders
    }

    /// The numbers of the rows in order, as they were put last.
    pub(super) fn order(&self) -> &[u32] {
        self.order.get().map_or(&[], |order| order)
    }
}

impl Model {
    /// Brings up to date what is known of memory, until `until`; true if it is that of the trace as it is now.
    pub(super) fn learn_memory(&mut self, until: Instant) -> bool {
        let mut complete = self.lives.update(&self.trace, &self.files, until);
        let books = &mut self.books;
        let (version, all) = (self.lives.version(), self.lives.all().to_vec());
        complete &= books.table.update(version, until, move || Arc::new(Table::of(all)));
        let Some((version, table)) = books.table.key().copied().zip(books.table.get().cloned()) else { return false };
        self.learn_names(version, &table);
        let decided = self.selected().map(|_| self.decided());
        complete &= self.learn_moved(version, &table, until);
        self.learn_shown(version, &table);
        let books = &mut self.books;
        let same = books.names.same.clone();
        let named = books.names.of.map_or(0, |of| of.1);
        let all = self.lives.all().to_vec();
        {
            let (table, same, all) = (table.clone(), same.clone(), all.clone());
            let make = move || Arc::new(account(&table, &same, None, &all));
            complete &= books.account.update((version, named, None), until, make);
        }
        if decided.is_none() {
            if let (Some(key), Some(account)) = (books.account.key().copied(), books.account.get().cloned()) {
                books.seen.update_now(key, || account);
            }
            return complete;
        }
        let shown = books.shown.shown.clone();
        let make = move || Arc::new(account(&table, &same, shown, &all));
        complete & books.seen.update((version, named, decided), until, make)
    }

    /// What places and threads of the list are called.
    fn learn_names(&mut self, version: u64, table: &Table) {
        let of = Some((version, self.symbols.version()));
        if self.books.names.of == of {
            return;
        }
        let allocators = table.sites().iter().filter_map(|&site| {
            let symbol = self.symbols.get(&self.trace, site);
            let function = symbol.as_deref().map(|symbol| symbol.function.as_str());
            Some((site, Allocator::of_site(&self.trace, site, function)?.0.name()))
        });
        let mut ranks = Ranks { allocators: allocators.collect(), ..Ranks::default() };
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let mut sites: Vec<(String, SiteId)> = table.sites().iter().map(|&site| (namer.site(site), site)).collect();
        sites.sort_unstable();
        let mut same: FxHashMap<SiteId, SiteId> = FxHashMap::default();
        let mut last: Option<(&str, SiteId, u32)> = None;
        for (name, site) in &sites {
            let (first, rank) = match last {
                Some((known, first, rank)) if known == name => (first, rank),
                Some((.., rank)) => (*site, rank + 1),
                None => (*site, 0),
            };
            last = Some((name, first, rank));
            ranks.sites.insert(*site, rank);
            same.insert(*site, first);
        }
        let mut tracks: Vec<(String, TrackId)> =
            table.tracks().iter().map(|&track| (thread(&self.trace, track), track)).collect();
        tracks.sort_unstable();
        ranks.tracks = tracks.into_iter().map(|(_, track)| track).zip(0..).collect();
        let books = &mut self.books;
        books.names = Names { of, same: Arc::new(same), ranks: Arc::new(ranks) };
    }

    /// What a lens leaves of the list: allocations whose call it selects, and those of which it selects records.
    fn learn_shown(&mut self, version: u64, table: &Table) {
        let of = Some((version, self.books.moved.version(), self.decided()));
        if self.books.shown.of == of {
            return;
        }
        let moved = self.books.moved.moved().cloned().unwrap_or_default();
        let shown = self.lensed.selected().map(|selected| {
            let is_shown = |(number, block): (usize, Block)| {
                let one = block.allocation;
                selected.call(one.track, one.row as usize) || moved.0.contains_key(&number)
            };
            Arc::new(table.all().enumerate().map(is_shown).collect())
        });
        self.books.shown = Shown { of, shown };
    }

    /// Puts the rows in order, until `until`; true if they are as asked for.
    pub(super) fn put_in_order(
        &mut self,
        request: &AllocationsRequest,
        in_use_at: Option<u64>,
        ended: &dyn Fn(ProcessId) -> bool,
        until: Instant,
    ) -> bool {
        let books = &mut self.books;
        let Some((version, table)) = books.table.key().copied().zip(books.table.get().cloned()) else { return false };
        let processes = (0..u16::MAX).map(ProcessId).take(self.trace.processes.len());
        let ended: Vec<bool> = processes.map(ended).collect();
        let has_ended = ended.iter().filter(|ended| **ended).count();
        let before = books.order.key().copied();
        let of: OrderOf = (
            version,
            books.names.of.unwrap_or_default(),
            books.moved.version(),
            books.shown.of.map(|of| of.2).filter(|_| books.shown.shown.is_some()),
            request.sort,
            in_use_at,
            request.only,
            has_ended,
        );
        let sorting = Sorting {
            table,
            moved: books.moved.moved().cloned().unwrap_or_default(),
            ranks: books.names.ranks.clone(),
            shown: books.shown.shown.clone(),
            in_use_at,
            only: request.only,
            same: books.names.same.clone(),
            ended,
            end_ns: self.trace.end_ns(),
            sort: request.sort,
        };
        let complete = books.order.update(of, until, move || Arc::new(sorting.order()));
        books.orders += u64::from(books.order.key().copied() != before);
        complete
    }
}

/// What was asked for in vain.
fn refused(all: &[Arc<Allocations>]) -> Vec<(ProcessId, Refused)> {
    let processes = (0..u16::MAX).map(ProcessId).zip(all);
    processes.flat_map(|(process, all)| all.refused().iter().map(move |&one| (process, one))).collect()
}

/// The account of what is shown.
fn account(
    table: &Table,
    same: &FxHashMap<SiteId, SiteId>,
    shown: Option<Arc<Vec<bool>>>,
    all: &[Arc<Allocations>],
) -> Accounted {
    let is_shown = |number: usize| shown.as_ref().is_none_or(|shown| shown.get(number) == Some(&true));
    let wanted = table.all().enumerate().filter(|(number, _)| is_shown(*number));
    let blocks = wanted.map(|(_, mut block)| {
        let site = &mut block.allocation.site;
        *site = same.get(site).copied().unwrap_or(*site);
        block
    });
    let account = Account::of(blocks.collect(), refused(all));
    let all = account.totals(Group::All);
    let at_peak = if all.count > 0 { account.holders(all.peak_ns) } else { Vec::new() };
    Accounted { account, at_peak }
}

/// Bytes in use at a moment by what allocations are summed up by.
fn held_by(account: &Account, at_ns: u64, by: MemoryGrouping) -> Then {
    let mut sums = Then::default();
    let there = account.blocks().iter().map(|block| &block.allocation).filter(|one| is_in_use(one, at_ns));
    for one in there.filter(|one| one.kind.adds_memory()) {
        let group = match by {
            MemoryGrouping::Site => Group::Site(one.site),
            MemoryGrouping::Kind => Group::Kind(one.kind),
            MemoryGrouping::Device => Group::Device(one.device),
        };
        let sum = sums.entry(group).or_default();
        *sum = sum.saturating_add(one.bytes);
    }
    sums
}
