//! Allocations: every piece of memory that calls have made, from when until when, and what was asked for in vain.
//!
//! An address or a handle comes again after it was released, and then it is another allocation. Between the release's call
//! and its return work that is under way may still use the memory: it counts as the old one's.

mod extent;
mod find;
mod ledger;
mod lookup;
mod opened;
mod sorting;
mod uses;

use std::sync::Arc;

use crate::trace::{Bytes, ProcessId, SiteId, StreamId, Trace, TrackId};

pub use find::AllocationFinder;
pub use lookup::Holding;
pub(super) use sorting::{PIECE, Sorting};

use find::{Finding, Progress, Uses};
use lookup::Lookup;
use opened::Handed;

/// What kind of memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AllocationKind {
    /// A device's.
    Device,
    /// Managed.
    Managed,
    /// Of the host, pinned.
    Pinned,
    /// Of the host, registered later.
    Registered,
    /// Of a pool, in order of a stream.
    Pool,
    /// Of a graph: made by each of its launches.
    Graph,
    /// Physical memory of `cuMemCreate`, which has a handle and no address.
    Physical,
    /// Physical memory mapped to reserved addresses.
    Mapped,
    /// Another process's, opened here, or another pool's.
    Shared,
    /// An array for textures and surfaces, which has a handle and no address.
    Array,
    /// A block that a caching allocator handed out of a segment, as the allocator itself tells it.
    Block,
    /// A `__managed__` variable. Its address is recorded only where a call has asked for it.
    Static,
}

impl AllocationKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Device,
        Self::Managed,
        Self::Pinned,
        Self::Registered,
        Self::Pool,
        Self::Graph,
        Self::Physical,
        Self::Mapped,
        Self::Shared,
        Self::Array,
        Self::Block,
        Self::Static,
    ];

    /// In the field's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Managed => "managed",
            Self::Pinned => "pinned",
            Self::Registered => "registered",
            Self::Pool => "pool",
            Self::Graph => "graph",
            Self::Physical => "physical",
            Self::Mapped => "mapped",
            Self::Shared => "shared",
            Self::Array => "array",
            Self::Block => "block",
            Self::Static => "static",
        }
    }

    /// Whether it adds to the memory in use. What is registered, mapped or opened was there before, a block is part of a
    /// segment, and a graph's memory is there only while the graph runs.
    #[must_use]
    pub const fn adds_memory(self) -> bool {
        !matches!(self, Self::Registered | Self::Mapped | Self::Shared | Self::Graph | Self::Block)
    }
}

/// How an allocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has not.
    Lives,
    /// A call released it: thread and row.
    Released(TrackId, u32),
    /// Nobody saw how: something else lay there later, or its device was reset.
    Unseen,
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// First address; of kinds without one the handle, or zero.
    pub address: u64,
    /// Bytes; zero where they are not recorded ([`Allocation::size`]).
    pub bytes: u64,
    /// When the call that made it began, ns on the trace's axis.
    pub from_ns: u64,
    /// When that call returned: from then on the memory is in use.
    pub made_ns: u64,
    /// When the call that released it began: until then it is in use. `u64::MAX`: it was not released.
    pub freed_ns: u64,
    /// When the call that released it returned, ns; `u64::MAX`: it was not released.
    pub until_ns: u64,
    /// The pool it is from, of a mapping the handle of its memory, of what was opened a digest of the handle that it was
    /// opened by; zero: none.
    pub owner: u64,
    /// Thread of the call that made it.
    pub track: TrackId,
    /// Row of that call.
    pub row: u32,
    /// Code that called.
    pub site: SiteId,
    /// Stream in whose order it was made, or [`StreamId::NONE`].
    pub stream: StreamId,
    /// How it ended.
    pub end: End,
    /// Device that it was asked for or that was current, or [`crate::trace::NO_DEVICE`].
    pub device: u8,
    /// Kind.
    pub kind: AllocationKind,
}

impl Allocation {
    /// First address after it; saturates. One whose size is not recorded is taken for a byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(if self.bytes == 0 { 1 } else { self.bytes })
    }

    /// Whether it can be found by address. The others have a handle, or nothing.
    #[must_use]
    pub const fn has_address(&self) -> bool {
        self.address != 0 && !matches!(self.kind, AllocationKind::Physical | AllocationKind::Array)
    }

    /// What [`Allocations::all`] is in order of.
    fn order(&self) -> (bool, u64, u64) {
        if self.has_address() { (false, self.address, self.from_ns) } else { (true, 0, self.from_ns) }
    }

    /// Whether a call released it, or it must have gone otherwise.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        !matches!(self.end, End::Lives)
    }

    /// Bytes; `None`: not recorded.
    #[must_use]
    pub const fn size(&self) -> Option<u64> {
        if self.bytes == 0 { None } else { Some(self.bytes) }
    }
}

/// Memory that was asked for and not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// When the call returned, ns on the trace's axis.
    pub at_ns: u64,
    /// Bytes; `None`: not recorded.
    pub bytes: Option<u64>,
    /// What the call returned.
    pub status: u32,
    /// Thread of the call.
    pub track: TrackId,
    /// Row of the call.
    pub row: u32,
    /// Code that called.
    pub site: SiteId,
    /// Device that was current, or [`crate::trace::NO_DEVICE`].
    pub device: u8,
    /// Kind.
    pub kind: AllocationKind,
}

/// All allocations of a process, to be looked up by address and time.
#[derive(Clone, Debug, Default)]
pub struct Allocations {
    /// Those with an address by address and in order of time where it is the same, then the others in order of time.
    list: Vec<Allocation>,
    lookup: Lookup,
    refused: Vec<Refused>,
    unread: u64,
    /// Handles for other processes.
    handed: Vec<Handed>,
    /// Some of them are other processes'.
    opens: bool,
}

impl Allocations {
    /// Those of a process. `files` are those of the trace.
    #[must_use]
    pub fn of(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>]) -> Self {
        let mut uses = Uses::default();
        uses.update(trace);
        let mut finding = Finding::new(process);
        let tracks = (0..).map(TrackId).zip(&trace.tracks).filter(|(_, track)| track.process == process);
        tracks.for_each(|(id, _)| finding.add_thread(id));
        let file = trace.process(process).and_then(|process| files.get(process.file));
        match finding.advance(trace, &uses, file.map(|file| &**file), &mut || true) {
            Progress::Found(all) => all,
            Progress::Stopped | Progress::Nothing => Self::default(),
        }
    }

    /// Those of a list, whatever their order.
    #[must_use]
    pub fn of_list(mut list: Vec<Allocation>) -> Self {
        list.sort_by_key(Allocation::order);
        let opens = list.iter().any(|one| one.kind == AllocationKind::Shared);
        let mut all = Self { list, opens, ..Self::default() };
        all.look_up_anew();
        all
    }

    fn look_up_anew(&mut self) {
        let with_address = self.list.partition_point(Allocation::has_address);
        self.lookup = Lookup::of(self.list.get(..with_address).unwrap_or_default());
    }

    /// All of them: those with an address by address and in order of time, then the others in order of time.
    #[must_use]
    pub fn all(&self) -> &[Allocation] {
        &self.list
    }

    /// What was asked for in vain, in order of time.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Calls to functions that make and release memory of which the arguments are not known.
    #[must_use]
    pub const fn unread(&self) -> u64 {
        self.unread
    }

    /// Which one held an address at a moment, ns: index into [`Allocations::all`]. It takes a few steps for each address
    /// below at which an allocation ever began that reached that far, which are few.
    #[must_use]
    pub fn find(&self, address: u64, at_ns: u64) -> Option<usize> {
        self.lookup.find(&self.list, address, at_ns)
    }

    /// Likewise, and for which other addresses and moments that is the answer; `None` where that is not simple.
    #[must_use]
    pub fn find_simple(&self, address: u64, at_ns: u64) -> Option<Holding> {
        self.lookup.find_simple(&self.list, address, at_ns)
    }

    /// The one at an address that a call made, by when that began, ns, and its thread and row: index into
    /// [`Allocations::all`].
    #[must_use]
    pub fn made(&self, address: u64, from_ns: u64, by: (TrackId, usize)) -> Option<usize> {
        self.lookup.made(&self.list, address, from_ns, by)
    }

    /// The first address after this one at which an allocation ever began.
    #[must_use]
    pub fn next_base(&self, address: u64) -> Option<u64> {
        self.lookup.next_base(address)
    }

    /// How many allocations lay at the same address before, the last of them just before this one in
    /// [`Allocations::all`]. Zero for kinds without an address.
    #[must_use]
    pub fn generation(&self, index: usize) -> usize {
        self.lookup.first_at(index).map_or(0, |first| index - first)
    }
}

#[cfg(test)]
impl Allocation {
    /// For tests: address and bytes, and the moments from which and up to which it was in use, ns.
    pub(crate) fn lived(
        kind: AllocationKind,
        (address, bytes): (u64, u64),
        from_ns: u64,
        freed_ns: Option<u64>,
    ) -> Self {
        let until_ns = freed_ns.unwrap_or(u64::MAX);
        Self {
            address,
            bytes,
            from_ns,
            made_ns: from_ns,
            freed_ns: until_ns,
            until_ns,
            owner: 0,
            track: TrackId(0),
            row: 0,
            site: SiteId(0),
            stream: StreamId::NONE,
            end: if freed_ns.is_some() { End::Unseen } else { End::Lives },
            device: 0,
            kind,
        }
    }
}

#[cfg(test)]
mod tests;
