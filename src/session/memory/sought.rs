//! What is looked for among the rows of the memory screen.

use std::ops::Range;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::ask::{AllocationKind, BlockRow, BlocksRequest, MemoryPart, MemoryRequest};
use super::rows::thread_of;
use crate::correlate::Allocation;
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::session::search::Pattern;
use crate::trace::{SiteId, TrackId};

/// Which names a text fits, as far as somebody has asked.
#[derive(Debug, Default)]
pub(in crate::session) struct Fits {
    sites: FxHashMap<SiteId, bool>,
    kinds: FxHashMap<AllocationKind, bool>,
    tracks: FxHashMap<TrackId, bool>,
}

impl Fits {
    /// Whether a text is found in what an allocation is known by: kind, call site, thread, address.
    pub(in crate::session) fn finds(&mut self, pattern: &Pattern, namer: &Namer<'_>, one: &Allocation) -> bool {
        let kind = self.kinds.entry(one.kind).or_insert_with(|| pattern.finds(one.kind.word()));
        let site = self.sites.entry(one.site).or_insert_with(|| pattern.finds(&namer.site(one.site)));
        let track = self.tracks.entry(one.track).or_insert_with(|| pattern.finds(&thread_of(namer.trace, one.track)));
        *kind || *site || *track || (one.has_address() && pattern.finds(&format!("{:#x}", one.address)))
    }
}

impl Model {
    /// Rows of a list of the memory screen.
    pub(in crate::session) fn memory_len(&mut self, request: &MemoryRequest, until: Instant) -> u64 {
        match &request.part {
            MemoryPart::Allocations(_) => self.books.order().len() as u64,
            MemoryPart::Blocks(blocks) => {
                let none = BlocksRequest { rows: 0, ..*blocks };
                self.blocks(&none, self.moment_of(request.moment), until).0.total
            }
            MemoryPart::Groups(_) | MemoryPart::Growth(_) | MemoryPart::Pools(_) | MemoryPart::Transfers(_) => {
                self.memory_names(request, until).len() as u64
            }
        }
    }

    /// Numbers of the rows among these in which a text is found.
    pub(in crate::session) fn memory_matches(
        &mut self,
        request: &MemoryRequest,
        (pattern, fits): (&Pattern, &mut Fits),
        rows: Range<u64>,
        until: Instant,
    ) -> Vec<u64> {
        if let MemoryPart::Blocks(blocks) = &request.part {
            let wanted = usize::try_from(rows.end.saturating_sub(rows.start)).unwrap_or(usize::MAX);
            let window = BlocksRequest { first: rows.start, rows: wanted, ..*blocks };
            let found = self.blocks(&window, self.moment_of(request.moment), until).0.rows;
            let is_found = |row: &BlockRow| pattern.finds(&row.site) || pattern.finds(&format!("{:#x}", row.address));
            return (rows.start..).zip(found).filter(|(_, row)| is_found(row)).map(|(number, _)| number).collect();
        }
        if !matches!(request.part, MemoryPart::Allocations(_)) {
            let names = self.memory_names(request, until);
            let numbered = (0..).zip(names).filter(|(row, name)| rows.contains(row) && pattern.finds(name));
            return numbered.map(|(row, _)| row).collect();
        }
        let Some(table) = self.books.table.get().cloned() else { return Vec::new() };
        let window = usize::try_from(rows.start).unwrap_or(usize::MAX)..usize::try_from(rows.end).unwrap_or(usize::MAX);
        let order = self.books.order();
        let window = order.get(window.start.min(order.len())..window.end.min(order.len())).unwrap_or_default();
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let mut is_found = |number: u32| {
            table.get(number as usize).is_some_and(|block| fits.finds(pattern, &namer, &block.allocation))
        };
        let numbered = (rows.start..).zip(window);
        numbered.filter(|(_, number)| is_found(**number)).map(|(row, _)| row).collect()
    }

    /// What the rows of a list of few are called.
    fn memory_names(&mut self, request: &MemoryRequest, until: Instant) -> Vec<String> {
        let moment = self.moment_of(request.moment);
        match &request.part {
            MemoryPart::Allocations(_) | MemoryPart::Blocks(_) => Vec::new(),
            MemoryPart::Groups(groups) => {
                self.groups((groups.by, groups.sort), moment, until).0.into_iter().map(|row| row.name).collect()
            }
            MemoryPart::Pools(_) => {
                let all = super::ask::PoolsRequest { first: 0, rows: usize::MAX };
                self.pools(&all, until).0.rows.into_iter().map(|row| row.name).collect()
            }
            MemoryPart::Growth(growth) => {
                let all = super::ask::GrowthRequest { first: 0, rows: usize::MAX, ..*growth };
                self.growth(&all, moment, until).0.rows.into_iter().map(|row| row.name).collect()
            }
            MemoryPart::Transfers(transfers) => {
                self.flows(&transfers.options).iter().map(super::transfers::name).collect()
            }
        }
    }

    /// The code that the row of a list is about.
    pub(in crate::session) fn memory_site(&mut self, request: &MemoryRequest, row: u64) -> Option<SiteId> {
        let (row, moment) = (usize::try_from(row).ok()?, self.moment_of(request.moment));
        match &request.part {
            MemoryPart::Allocations(_) => {
                let number = *self.books.order().get(row)?;
                Some(self.books.table.get()?.get(number as usize)?.allocation.site)
            }
            MemoryPart::Groups(groups) => {
                let rows = self.groups((groups.by, groups.sort), moment, Instant::now()).0;
                match rows.get(row)?.key {
                    super::ask::GroupKey::Site(site) => Some(SiteId(site)),
                    _ => None,
                }
            }
            MemoryPart::Blocks(blocks) => self.site_of_block(blocks, row),
            MemoryPart::Growth(_) | MemoryPart::Pools(_) | MemoryPart::Transfers(_) => None,
        }
    }
}
