//! What is known of a trace's memory, and for which state of the trace that holds.
//!
//! Allocations, account and order of rows are made in a thread of their own, since they take long for a million
//! allocations; what needs the trace itself is done in slices. Until the next state of it is known the last one is
//! shown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::ask::{AllocationColumn, AllocationsRequest};
use super::later::Later;
use super::table::{Moved, Ranks, Sorting, Table};
use crate::memory::{Account, Block, movements};
use crate::session::labels::{Namer, thread};
use crate::session::model::Model;
use crate::trace::{Bytes, ProcessId, SiteId, TrackId};

/// While a trace grows, what moved is looked at anew so many times less often than that takes.
const PAUSE: u32 = 10;

/// Names as they were when something was sorted by them.
type Named = (u64, u64);

/// What an account is of: allocations, names of call sites, and what a lens had decided.
type AccountOf = (u64, u64, Option<u64>);

/// What an order of rows is of.
type OrderOf = (u64, Named, u64, Option<u64>, (AllocationColumn, bool), Option<u64>, usize);

/// What is known of memory.
#[derive(Default)]
pub(in crate::session) struct Books {
    pub(super) table: Later<u64, Arc<Table>>,
    pub(super) names: Names,
    account: Later<AccountOf, Arc<Account>>,
    /// Likewise of what a lens selects.
    seen: Later<AccountOf, Arc<Account>>,
    pub(super) moved: KnownMoved,
    shown: Shown,
    order: Later<OrderOf, Arc<Vec<u32>>>,
}

/// What places in the program and threads are called.
#[derive(Default)]
pub(super) struct Names {
    of: Option<Named>,
    /// Of places that are called alike the first: a line that was inlined in several functions has several addresses.
    same: Arc<FxHashMap<SiteId, SiteId>>,
    ranks: Arc<Ranks>,
}

/// What moved in which allocations, and of which state of the trace that is.
#[derive(Default)]
pub(super) struct KnownMoved {
    of: Option<(u64, u64, u64)>,
    due: Option<Instant>,
    version: u64,
    /// `None`: no migrations are recorded.
    pub moved: Option<Arc<Moved>>,
}

/// What a lens leaves of the list.
#[derive(Default)]
struct Shown {
    of: Option<(u64, u64, u64)>,
    shown: Option<Arc<Vec<bool>>>,
}

impl Books {
    /// The account of all that was allocated, as far as it is known.
    pub(super) fn account(&self) -> Option<&Arc<Account>> {
        self.account.get()
    }

    /// Likewise of what a lens selects.
    pub(super) fn seen(&self) -> Option<&Arc<Account>> {
        self.seen.get()
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
        complete &= self.learn_moved(version, &table);
        self.learn_shown(version, &table);
        let books = &mut self.books;
        let same = books.names.same.clone();
        let named = books.names.of.map_or(0, |of| of.1);
        let refused: Vec<_> = refused(self.lives.all());
        {
            let (table, same, refused) = (table.clone(), same.clone(), refused.clone());
            let make = move || Arc::new(account(&table, &same, None, refused));
            complete &= books.account.update((version, named, None), until, make);
        }
        if decided.is_none() {
            if let (Some(key), Some(account)) = (books.account.key().copied(), books.account.get().cloned()) {
                books.seen.update_now(key, || account);
            }
            return complete;
        }
        let shown = books.shown.shown.clone();
        let make = move || Arc::new(account(&table, &same, shown, refused));
        complete & books.seen.update((version, named, decided), until, make)
    }

    /// What places and threads of the list are called.
    fn learn_names(&mut self, version: u64, table: &Table) {
        let of = Some((version, self.symbols.version()));
        if self.books.names.of == of {
            return;
        }
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let mut sites: Vec<(String, SiteId)> = table.sites().iter().map(|&site| (namer.site(site), site)).collect();
        sites.sort_unstable();
        let mut ranks = Ranks::default();
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

    /// What moved in the allocations of the list; false if that is of an earlier state of the trace.
    fn learn_moved(&mut self, version: u64, table: &Table) -> bool {
        let of = Some((version, self.trace.activities.records(), self.decided()));
        if self.books.moved.of == of {
            return true;
        }
        let begun = Instant::now();
        if self.books.moved.due.is_some_and(|due| begun < due) {
            return false;
        }
        let none: Arc<dyn Bytes> = Arc::new(Vec::new());
        let files: Vec<Arc<dyn Bytes>> =
            self.files.iter().map(|file| file.clone().unwrap_or_else(|| none.clone())).collect();
        let selected = self.lensed.selected();
        let wanted = |id, row| selected.is_none_or(|selected| selected.record(id, row));
        let list = movements(&self.trace, &files, self.lives.all(), &wanted);
        let numbered = list.map(|list| {
            let of = list.allocations.into_iter().filter_map(|one| {
                let block = Block { process: one.process, allocation: one.allocation? };
                Some((table.number_of(&block)?, one))
            });
            Arc::new(Moved(of.collect()))
        });
        let pause = begun.elapsed().checked_mul(PAUSE).unwrap_or(Duration::MAX);
        let moved = &mut self.books.moved;
        *moved = KnownMoved { of, due: Instant::now().checked_add(pause), version: moved.version + 1, moved: numbered };
        true
    }

    /// What a lens leaves of the list: allocations whose call it selects, and those of which it selects records.
    fn learn_shown(&mut self, version: u64, table: &Table) {
        let of = Some((version, self.books.moved.version, self.decided()));
        if self.books.shown.of == of {
            return;
        }
        let moved = self.books.moved.moved.clone().unwrap_or_default();
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
        let of: OrderOf = (
            version,
            books.names.of.unwrap_or_default(),
            books.moved.version,
            books.shown.of.map(|of| of.2).filter(|_| books.shown.shown.is_some()),
            request.sort,
            in_use_at,
            has_ended,
        );
        let sorting = Sorting {
            table,
            moved: books.moved.moved.clone().unwrap_or_default(),
            ranks: books.names.ranks.clone(),
            shown: books.shown.shown.clone(),
            in_use_at,
            ended,
            end_ns: self.trace.end_ns(),
            sort: request.sort,
        };
        books.order.update(of, until, move || Arc::new(sorting.order()))
    }
}

/// What was asked for in vain.
fn refused(all: &[Arc<crate::correlate::Allocations>]) -> Vec<(ProcessId, crate::correlate::Refused)> {
    let processes = (0..u16::MAX).map(ProcessId).zip(all);
    processes.flat_map(|(process, all)| all.refused().iter().map(move |&one| (process, one))).collect()
}

/// The account of what is shown.
fn account(
    table: &Table,
    same: &FxHashMap<SiteId, SiteId>,
    shown: Option<Arc<Vec<bool>>>,
    refused: Vec<(ProcessId, crate::correlate::Refused)>,
) -> Account {
    let is_shown = |number: usize| shown.as_ref().is_none_or(|shown| shown.get(number) == Some(&true));
    let wanted = table.all().enumerate().filter(|(number, _)| is_shown(*number));
    let blocks = wanted.map(|(_, mut block)| {
        let site = &mut block.allocation.site;
        *site = same.get(site).copied().unwrap_or(*site);
        block
    });
    Account::of(blocks.collect(), refused)
}
