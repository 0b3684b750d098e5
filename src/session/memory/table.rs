//! The allocations of all processes as one list, what is asked of each, and the order of its rows.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::ask::{AllocationColumn, AllocationId, AllocationState, GroupKey};
use crate::correlate::{Allocation, Allocations, End};
use crate::memory::{Block, Movement};
use crate::trace::{NO_DEVICE, ProcessId, SiteId, TrackId};

/// The allocations of all processes, numbered through.
#[derive(Debug, Default)]
pub(super) struct Table {
    of: Vec<Arc<Allocations>>,
    /// Number of the first allocation of each process.
    first: Vec<usize>,
    len: usize,
    sites: Vec<SiteId>,
    tracks: Vec<TrackId>,
    /// Whether each was released before its thread asked for another.
    temporary: Vec<bool>,
}

impl Table {
    /// Of those of each process, by its number.
    pub(super) fn of(of: Vec<Arc<Allocations>>) -> Self {
        let (mut first, mut len) = (Vec::with_capacity(of.len()), 0);
        let (mut sites, mut tracks): (FxHashSet<SiteId>, FxHashSet<TrackId>) = Default::default();
        for one in &of {
            first.push(len);
            len += one.all().len();
            sites.extend(one.all().iter().map(|one| one.site));
            tracks.extend(one.all().iter().map(|one| one.track));
        }
        let temporary = temporary(of.iter().flat_map(|one| one.all()), len);
        let (sites, tracks) = (sites.into_iter().collect(), tracks.into_iter().collect());
        Self { of, first, len, sites, tracks, temporary }
    }

    /// Whether it was released before its thread asked for another.
    pub(super) fn is_temporary(&self, number: usize) -> bool {
        self.temporary.get(number).copied().unwrap_or(false)
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Code that asked for any of them.
    pub(super) fn sites(&self) -> &[SiteId] {
        &self.sites
    }

    /// Threads that asked for any of them.
    pub(super) fn tracks(&self) -> &[TrackId] {
        &self.tracks
    }

    /// All of them, in order of their numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = Block> + '_ {
        let processes = (0..u16::MAX).map(ProcessId).zip(&self.of);
        processes.flat_map(|(process, of)| of.all().iter().map(move |&allocation| Block { process, allocation }))
    }

    /// Calls of which it is not known what they made or released.
    pub(super) fn unread(&self) -> u64 {
        self.of.iter().map(|of| of.unread()).sum()
    }

    /// The one with this number.
    pub(super) fn get(&self, number: usize) -> Option<Block> {
        let (at, process) = self.place(number)?;
        let allocation = *self.of.get(process.index())?.all().get(at)?;
        Some(Block { process, allocation })
    }

    /// Its index among the allocations of its process.
    pub(super) fn index(&self, number: usize) -> Option<usize> {
        self.place(number).map(|(at, _)| at)
    }

    /// How many lay at the same address before.
    pub(super) fn generation(&self, number: usize) -> u64 {
        let place = self.place(number).and_then(|(at, process)| Some(self.of.get(process.index())?.generation(at)));
        place.unwrap_or(0) as u64
    }

    /// Whether another one lay at the same address afterwards.
    pub(super) fn has_next(&self, number: usize) -> bool {
        self.generation(number + 1) > 0
    }

    fn place(&self, number: usize) -> Option<(usize, ProcessId)> {
        let process = self.first.partition_point(|&first| first <= number).checked_sub(1)?;
        let at = number - self.first.get(process)?;
        Some((at, ProcessId(u16::try_from(process).ok()?)))
    }

    /// The number of one.
    pub(super) fn find(&self, id: AllocationId) -> Option<usize> {
        let of = self.of.get(usize::from(id.process))?;
        let by = (TrackId(id.thread), usize::try_from(id.row).ok()?);
        let is_it = |one: &Allocation| {
            (one.address, one.from_ns, one.track, one.row as usize) == (id.address, id.from_ns, by.0, by.1)
        };
        let at = of.made(id.address, id.from_ns, by).or_else(|| of.all().iter().position(is_it))?;
        Some(self.first.get(usize::from(id.process))? + at)
    }

    /// Where the one that a record is about is in the list.
    pub(super) fn number_of(&self, block: &Block) -> Option<usize> {
        self.find(id_of(block))
    }
}

/// Which of these were released by the thread that had asked for them, before it asked for another.
fn temporary<'a>(all: impl Iterator<Item = &'a Allocation>, len: usize) -> Vec<bool> {
    let mut made: Vec<(TrackId, u32, Option<u32>, usize)> = Vec::with_capacity(len);
    made.extend(all.enumerate().map(|(number, one)| {
        let released = match one.end {
            End::Released(track, row) if track == one.track => Some(row),
            _ => None,
        };
        (one.track, one.row, released, number)
    }));
    made.sort_unstable();
    let mut temporary = vec![false; len];
    for (at, &(track, _, released, number)) in made.iter().enumerate() {
        let next = made.get(at + 1).filter(|next| next.0 == track).map(|next| next.1);
        let is_so = released.is_some_and(|released| next.is_none_or(|next| released < next));
        if let Some(place) = temporary.get_mut(number) {
            *place = is_so;
        }
    }
    temporary
}

/// Which one it is.
pub(super) fn id_of(block: &Block) -> AllocationId {
    let Allocation { address, from_ns, track, row, .. } = block.allocation;
    AllocationId { process: block.process.0, thread: track.0, row: u64::from(row), address, from_ns }
}

/// How it stands: whether its process has ended, it is temporary, and a caching allocator asked for it.
pub(super) const fn state(one: &Allocation, ended: bool, temporary: bool, cached: bool) -> AllocationState {
    match one.end {
        End::Released(..) if temporary => AllocationState::Temporary,
        End::Released(..) => AllocationState::Freed,
        End::Unseen => AllocationState::Gone,
        End::Lives if ended && cached => AllocationState::Cached,
        End::Lives if ended => AllocationState::Leaked,
        End::Lives => AllocationState::InUse,
    }
}

/// Whether it is in use at a moment, ns on the trace's axis.
pub(super) const fn is_in_use(one: &Allocation, at_ns: u64) -> bool {
    one.made_ns <= at_ns && one.freed_ns > at_ns
}

/// What moved in allocations, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Of each allocation, by its number, its place in the list plus one; zero for none.
    places: Vec<u32>,
    list: Vec<Movement>,
}

impl Moved {
    /// Of what was found in any order.
    pub(super) fn of(table: &Table, list: Vec<Movement>) -> Self {
        let mut places = vec![0; if list.is_empty() { 0 } else { table.len() }];
        for (place, one) in (1..).zip(list.iter()) {
            let Some(allocation) = one.allocation else { continue };
            let number = table.number_of(&Block { process: one.process, allocation });
            if let Some(known) = number.and_then(|number| places.get_mut(number)) {
                *known = place;
            }
        }
        Self { places, list }
    }

    /// What moved in the one with this number.
    pub(super) fn get(&self, number: usize) -> Option<&Movement> {
        let place = self.places.get(number)?.checked_sub(1)?;
        self.list.get(place as usize)
    }

    /// Whether anything moved in it, or was missed.
    pub(super) fn contains(&self, number: usize) -> bool {
        self.places.get(number).is_some_and(|&place| place > 0)
    }
}

/// What names are sorted by.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// Place of each site's name among all.
    pub sites: FxHashMap<SiteId, u32>,
    /// Likewise threads.
    pub tracks: FxHashMap<TrackId, u32>,
    /// Of call sites in caching allocators what those are called.
    pub allocators: FxHashMap<SiteId, &'static str>,
}

/// What the order of rows depends on.
pub(super) struct Sorting {
    pub table: Arc<Table>,
    pub moved: Arc<Moved>,
    pub ranks: Arc<Ranks>,
    /// Those that are shown; `None`: all.
    pub shown: Option<Arc<Vec<bool>>>,
    /// Only those in use at this moment, ns on the trace's axis.
    pub in_use_at: Option<u64>,
    /// Only those of this group.
    pub only: Option<GroupKey>,
    /// Of call sites that are called alike the first.
    pub same: Arc<FxHashMap<SiteId, SiteId>>,
    /// When each process that has ended was last there, ns on the trace's axis.
    pub ended: Vec<Option<u64>>,
    /// End of the trace, ns on its axis.
    pub end_ns: u64,
    pub sort: (AllocationColumn, bool),
}

impl Sorting {
    /// The numbers of what is shown, in order.
    pub(super) fn order(&self) -> Vec<u32> {
        let is_shown = |number: usize| self.shown.as_ref().is_none_or(|shown| shown.get(number) == Some(&true));
        let is_there = |one: &Allocation| self.in_use_at.is_none_or(|at| is_in_use(one, at));
        let is_of = |one: &Allocation| match self.only {
            None => true,
            Some(GroupKey::Site(site)) => self.same.get(&one.site).is_some_and(|first| first.0 == site),
            Some(GroupKey::Kind(kind)) => one.kind == kind,
            Some(GroupKey::Device(device)) => one.device == device.unwrap_or(NO_DEVICE),
        };
        let numbered = self.table.all().enumerate();
        let wanted = numbered
            .filter(|(number, block)| is_shown(*number) && is_there(&block.allocation) && is_of(&block.allocation));
        let flip = if self.sort.1 { u64::MAX } else { 0 };
        let keyed = wanted.filter_map(|(number, block)| {
            // Of what is equal the older comes first; their numbers are by address.
            Some((self.key(number, &block) ^ flip, block.allocation.from_ns, u32::try_from(number).ok()?))
        });
        let mut keyed: Vec<(u64, u64, u32)> = keyed.collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(.., number)| number).collect()
    }

    fn ended(&self, process: ProcessId) -> Option<u64> {
        self.ended.get(process.index()).copied().flatten()
    }

    fn key(&self, number: usize, block: &Block) -> u64 {
        let one = &block.allocation;
        let moved = |of: fn(&Movement) -> u64| self.moved.get(number).map_or(0, of);
        match self.sort.0 {
            AllocationColumn::Address => one.address,
            AllocationColumn::Size => one.bytes,
            AllocationColumn::Kind => one.kind as u64,
            // What is of none comes before the others.
            AllocationColumn::Device if one.device == NO_DEVICE => 0,
            AllocationColumn::Device => u64::from(one.device) + 1,
            AllocationColumn::Site => u64::from(self.ranks.sites.get(&one.site).copied().unwrap_or(u32::MAX)),
            AllocationColumn::Thread => u64::from(self.ranks.tracks.get(&one.track).copied().unwrap_or(u32::MAX)),
            AllocationColumn::Made => one.from_ns,
            AllocationColumn::Lifetime => lifetime(one, self.ended(block.process).unwrap_or(self.end_ns)),
            AllocationColumn::Moved => moved(Movement::bytes),
            AllocationColumn::MovedBack => moved(|one| one.returned),
            AllocationColumn::Faults => moved(Movement::faults),
            AllocationColumn::State => {
                // The first of a kind first: what leaks.
                let cached = self.ranks.allocators.contains_key(&one.site);
                state(one, self.ended(block.process).is_some(), self.table.is_temporary(number), cached) as u64
            }
        }
    }
}

/// How long it was in use, or has been until its process's or the trace's end, ns.
pub(super) fn lifetime(one: &Allocation, end_ns: u64) -> u64 {
    one.freed_ns.min(end_ns).saturating_sub(one.made_ns)
}
