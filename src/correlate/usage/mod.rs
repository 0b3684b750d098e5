//! Use of allocations: when each was used first and last, by whom, and how certain that is; and what calls said of memory:
//! advice, prefetches, to whom it is attached.
//!
//! A copy or set uses the memory that it names. A kernel that was given an address may use what lies there or not, and may
//! reach memory that no parameter names; so may what a graph does. A prefetch moves pages, and advice is about them: neither
//! is a use.

mod advice;
mod blocks;
mod calls;
mod graphs;
mod launched;
mod pass;
mod peers;
mod said;
mod submitted;
mod touchers;
mod touches;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::allocation::{Allocation, Allocations};
use crate::trace::{Bytes, ProcessId, Trace, TrackId};

pub use advice::{Advice, InForce, Topic, in_force};
pub use blocks::Block;
pub use pass::Pass;
pub use peers::Peer;
pub use said::{Attached, Place, Said, What};
pub(crate) use submitted::Blocks;
pub use touchers::Touchers;

/// How memory was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum UseKind {
    /// Copied from, or waited for a value in it.
    Read,
    /// Copied to, or set.
    Written,
    /// A processor touched a page that was elsewhere.
    Fault,
    /// A kernel was given an address in it.
    Kernel,
    /// A graph was given an address in it and launched: its kernels and copies may have used it. Where its launches are not
    /// known, by the call that gave it.
    Graph,
    /// A texture or surface was bound to it.
    Bound,
}

impl UseKind {
    const ALL: [Self; 6] = [Self::Read, Self::Written, Self::Fault, Self::Kernel, Self::Graph, Self::Bound];

    /// Whether the memory was used for certain; of the others it may have been.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        matches!(self, Self::Read | Self::Written | Self::Fault)
    }

    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Written => "written",
            Self::Fault => "fault",
            Self::Kernel => "kernel",
            Self::Graph => "graph",
            Self::Bound => "bound",
        }
    }
}

/// A use, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// When, ns on the trace's axis: of a first use when it began, of a last one when it was over.
    pub at_ns: u64,
    /// Row of the call in its thread; of a fault that of the record in its process's lane of unified memory.
    pub row: u32,
    /// Thread, kind, and whether `at_ns` is by the GPU's record.
    packed: u32,
}

impl Use {
    fn new(at_ns: u64, kind: UseKind, (track, row): (TrackId, u32), is_by_gpu: bool) -> Self {
        Self { at_ns, row, packed: track.0 << 8 | u32::from(is_by_gpu) << 7 | kind as u32 }
    }

    /// How.
    #[must_use]
    pub fn kind(&self) -> UseKind {
        UseKind::ALL.get(self.packed as usize & 0x7f).copied().unwrap_or(UseKind::Bound)
    }

    /// Thread and row of the call; `None`: a fault, which has none.
    #[must_use]
    pub fn call(&self) -> Option<(TrackId, usize)> {
        (self.kind() != UseKind::Fault).then_some((TrackId(self.packed >> 8), self.row as usize))
    }

    /// Whether the time is by a record of the GPU. If not, it is the call's: work that it submitted may have run later.
    #[must_use]
    pub const fn is_by_gpu(&self) -> bool {
        self.packed & 0x80 != 0
    }
}

/// First and last use of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The one that began first.
    pub first: Use,
    /// The one that was over last.
    pub last: Use,
}

impl Span {
    fn add(span: &mut Option<Self>, first: Use, last: Use) {
        let span = span.get_or_insert(Self { first, last });
        // At one moment the earlier row, so that the order of reading does not matter.
        if (first.at_ns, first.packed, first.row) < (span.first.at_ns, span.first.packed, span.first.row) {
            span.first = first;
        }
        if (last.at_ns, last.packed, last.row) > (span.last.at_ns, span.last.packed, span.last.row) {
            span.last = last;
        }
    }
}

/// How often memory was used how. Counts saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Copies from it.
    pub reads: u32,
    /// Copies to it and sets.
    pub writes: u32,
    /// Launches of kernels that were given an address in it.
    pub kernels: u32,
    /// Nodes of graphs that were given one, and of which it is not known when they were launched; and textures and surfaces.
    pub graphs: u32,
    /// Launches of graphs of which a node was given one.
    pub graph_launches: u32,
    /// Faults in it.
    pub faults: u32,
    /// Migrations of its pages.
    pub migrations: u32,
    /// Prefetches and discards.
    pub prefetches: u32,
    /// Advice.
    pub advice: u32,
    /// Different addresses in it by which kernels, copies and sets were told of it.
    pub addresses: u32,
}

/// What is known of the use of an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Uses that are certain.
    pub certain: Option<Span>,
    /// Uses that may have been.
    pub possible: Option<Span>,
    /// How often.
    pub counts: Counts,
    /// The thread that used it; `None`: none did, or several.
    pub thread: Option<TrackId>,
    /// Several threads did.
    pub by_several: bool,
}

impl Uses {
    /// The first use, certain or not.
    #[must_use]
    pub fn first(&self) -> Option<Use> {
        let of = |span: Option<Span>| span.map(|span| span.first);
        of(self.certain).into_iter().chain(of(self.possible)).min_by_key(|one| one.at_ns)
    }

    /// The last use, certain or not.
    #[must_use]
    pub fn last(&self) -> Option<Use> {
        let of = |span: Option<Span>| span.map(|span| span.last);
        of(self.certain).into_iter().chain(of(self.possible)).max_by_key(|one| one.at_ns)
    }

    /// Whether it may have been used later than the last use says: a texture or a surface was given an address in it, or a
    /// graph of which it is not known when it was launched.
    #[must_use]
    pub const fn may_be_later(&self) -> bool {
        self.counts.graphs > 0
    }

    fn by(&mut self, track: TrackId) {
        if self.by_several {
            return;
        }
        match self.thread {
            None => self.thread = Some(track),
            Some(known) if known != track => (self.thread, self.by_several) = (None, true),
            Some(_) => {}
        }
    }
}

/// What evidence of use there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Calls that name memory and of which the arguments are not known.
    pub unread: u64,
    /// Launches of kernels.
    pub launches: u64,
    /// Of these, such of which the pointers among the parameters are known.
    pub with_pointers: u64,
    /// Of these, such that had more pointers than were recorded.
    pub cut: u64,
    /// Launches of graphs of which nobody saw what they were made of: they may use any memory.
    pub unseen_graph_launches: u64,
    /// What graphs were given was too much for all of it to be followed to their launches.
    pub graphs_cut: bool,
    /// Calls of batches, of which only the first piece of memory is known.
    pub batches: u64,
    /// Different addresses were too many to be counted.
    pub addresses_cut: bool,
    /// They were too many for all of them to be kept as blocks.
    pub blocks_cut: bool,
}

/// The use of all allocations of a process.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// By allocation: place in `list` plus one, zero for none.
    index: Vec<u32>,
    list: Vec<Uses>,
    /// By allocation and address, of those that have any.
    blocks: Vec<(u32, Block)>,
    said: Vec<Said>,
    peers: Vec<Peer>,
    evidence: Evidence,
}

impl Usage {
    /// Of a process in one go. `files` are those of the trace, `allocations` those of the process.
    #[must_use]
    pub fn of(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], allocations: &Allocations) -> Self {
        let mut pass = Pass::new(trace, process, allocations);
        pass.go_on(trace, files, allocations, &mut || true);
        pass.into_usage()
    }

    /// The use of an allocation, by its index; `None`: nothing used it that was seen, and no call was about it.
    #[must_use]
    pub fn get(&self, allocation: usize) -> Option<&Uses> {
        let place = self.index.get(allocation)?.checked_sub(1)?;
        self.list.get(place as usize)
    }

    /// Blocks inside an allocation, by its index: addresses in it that kernels, copies and sets were given, in order. None
    /// where its beginning is the only one.
    pub fn blocks(&self, allocation: usize) -> impl ExactSizeIterator<Item = &Block> {
        let number = u32::try_from(allocation).unwrap_or(u32::MAX);
        let from = self.blocks.partition_point(|(of, _)| *of < number);
        let rest = self.blocks.get(from..).unwrap_or(&[]);
        let count = rest.partition_point(|(of, _)| *of == number);
        rest.get(..count).unwrap_or(&[]).iter().map(|(_, block)| block)
    }

    /// What calls said of memory, in order of time.
    #[must_use]
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// What calls said of an allocation while it was there, in order of time: its address, bytes, and from when until when,
    /// ns.
    pub fn said_of(
        &self,
        (address, bytes): (u64, u64),
        (from_ns, until_ns): (u64, u64),
    ) -> impl Iterator<Item = &Said> {
        let end = address.saturating_add(bytes.max(1));
        let first = self.said.partition_point(|said| said.at_ns < from_ns);
        let rest = self.said.get(first..).unwrap_or(&[]).iter().take_while(move |said| said.at_ns <= until_ns);
        rest.filter(move |said| said.address < end && said.end() > address)
    }

    /// Advice that was in force for an allocation while it was there.
    #[must_use]
    pub fn advice(&self, one: &Allocation) -> Vec<InForce> {
        let memory = (one.address, one.bytes);
        in_force(memory, self.said_of(memory, (one.from_ns, one.until_ns)))
    }

    /// Which devices could use which others' memory.
    #[must_use]
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// What evidence there is.
    #[must_use]
    pub const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    fn entry(&mut self, allocation: usize) -> &mut Uses {
        if allocation >= self.index.len() {
            self.index.resize(allocation + 1, 0);
        }
        let next = self.list.len();
        let place = match self.index.get_mut(allocation) {
            Some(place) if *place == 0 => {
                *place = u32::try_from(next + 1).unwrap_or(u32::MAX);
                self.list.push(Uses::default());
                next
            }
            Some(place) => (*place - 1) as usize,
            None => next,
        };
        &mut self.list[place]
    }
}

/// Which work a correlation id stands for: lane and row.
type Work = FxHashMap<u32, (u32, u32)>;

#[cfg(test)]
mod tests;
