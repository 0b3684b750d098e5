//! What is known of a trace's memory, and for which state of the trace that holds.
//!
//! Allocations, account and order of rows are made in a thread of their own, since they take long for a million
//! allocations; what needs the trace itself is done in slices. Until the next state of it is known the last one is
//! shown.

use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::ask::{AllocationColumn, AllocationsRequest, GroupKey, MemoryGrouping};
use super::asked::KnownAsked;
use super::growth::Grown;
use super::later::Later;
use super::moved::KnownMoved;
use super::pools::KnownPools;
use super::table::{Ranks, Sorting, Table, is_in_use};
use super::transfers::KnownTransfers;
use super::used::KnownUsed;
use crate::correlate::{Allocations, Allocator, Refused};
use crate::memory::{Account, Group, Holder};
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
    /// Of each group how many were released before their thread asked for another, and bytes of those.
    pub temporary: FxHashMap<Group, (u64, u64)>,
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
    pub(super) asked: KnownAsked,
    pub(super) used: KnownUsed,
    /// What the last answer lacked.
    lacks: Option<Lacks>,
}

/// What is shown, beside what every tab is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lacks {
    /// No more.
    Nothing,
    /// The use of the allocations of a process.
    Used(u16),
    /// Pools.
    Pools,
    /// Transfers.
    Transfers,
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
    of: Option<ShownOf>,
    shown: Option<Arc<Vec<bool>>>,
    /// What it is to be next, as far as it is known.
    next: Option<(ShownOf, Vec<bool>)>,
}

/// Allocations, what moved, and what a lens had decided.
type ShownOf = (u64, u64, u64);

/// Allocations between two looks at the clock.
const STEP: usize = 4096;

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
        complete &= self.learn_shown(version, &table, until);
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

    /// Remembers what an answer lacked; `None`: nothing.
    pub(super) const fn lacks_memory(&mut self, lacks: Option<Lacks>) {
        self.books.lacks = lacks;
    }

    /// Whoever asked for memory does so no longer.
    pub(in crate::session) const fn drop_memory(&mut self) {
        self.books.lacks = None;
    }

    /// Goes on between two answers with what the last one lacked, until `until`.
    pub(in crate::session) fn go_on_with_memory(&mut self, until: Instant) {
        let Some(lacks) = self.books.lacks else { return };
        let mut complete = self.learn_memory(until) && self.learn_asked(until);
        match lacks {
            Lacks::Nothing => {}
            Lacks::Used(process) => complete &= self.learn_used(process, until),
            Lacks::Pools => complete &= self.learn_pools(until),
            Lacks::Transfers => complete &= self.learn_transfers(until),
        }
        // The rest is made by the answer itself, or must wait for its time.
        if complete {
            self.books.lacks = None;
        }
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

    /// What a lens leaves of the list: allocations whose call it selects, and those of which it selects records. True if that
    /// is of the list and the lens as they are; the rest is found later.
    fn learn_shown(&mut self, version: u64, table: &Table, until: Instant) -> bool {
        let of = (version, self.books.moved.version(), self.decided());
        if self.books.shown.of == Some(of) {
            return true;
        }
        let Some(selected) = self.lensed.selected() else {
            self.books.shown = Shown { of: Some(of), shown: None, next: None };
            return true;
        };
        let moved = self.books.moved.moved().cloned().unwrap_or_default();
        let next = self.books.shown.next.take().filter(|(next_of, _)| *next_of == of);
        let (_, mut list) = next.unwrap_or_else(|| (of, Vec::with_capacity(table.len())));
        while list.len() < table.len() {
            let is_shown = |number: usize| {
                let call = table.get(number).map(|block| (block.allocation.track, block.allocation.row as usize));
                call.is_some_and(|(track, row)| selected.call(track, row)) || moved.contains(number)
            };
            list.extend((list.len()..table.len().min(list.len() + STEP)).map(is_shown));
            if list.len() < table.len() && Instant::now() >= until {
                self.books.shown.next = Some((of, list));
                return false;
            }
        }
        self.books.shown = Shown { of: Some(of), shown: Some(Arc::new(list)), next: None };
        true
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
        let ends = (0..u16::MAX).map(ProcessId).zip(self.trace.process_ends());
        let ended: Vec<Option<u64>> = ends.map(|(id, end)| ended(id).then_some(end)).collect();
        let has_ended = ended.iter().flatten().count();
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
    let mut temporary: FxHashMap<Group, (u64, u64)> = FxHashMap::default();
    let blocks = wanted.map(|(number, mut block)| {
        let one = &mut block.allocation;
        one.site = same.get(&one.site).copied().unwrap_or(one.site);
        if table.is_temporary(number) {
            for group in [Group::Site(one.site), Group::Kind(one.kind), Group::Device(one.device)] {
                let sum = temporary.entry(group).or_default();
                *sum = (sum.0 + 1, sum.1.saturating_add(one.bytes));
            }
        }
        block
    });
    let blocks = blocks.collect();
    let account = Account::of(blocks, refused(all));
    let all = account.totals(Group::All);
    let at_peak = if all.count > 0 { account.holders(all.peak_ns) } else { Vec::new() };
    Accounted { account, at_peak, temporary }
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
