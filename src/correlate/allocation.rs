//! Allocations by address and time, from the calls that made and released them.
//!
//! An address comes again after it was released, and then it is another allocation. Between the release's call and its
//! return work that is under way may still use the memory: it counts as the old one's.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::trace::{Api, Argument, Bytes, CallFlags, ProcessId, SiteId, Trace, TrackId};

use super::calls::{Found, Record, Records, bare, choose, each};

/// Bases that are looked at for one address. A program does not come near; a damaged trace must not make it slow.
const MOST_BASES: usize = 1024;

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
    /// Physical memory mapped to reserved addresses.
    Mapped,
}

impl AllocationKind {
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
            Self::Mapped => "mapped",
        }
    }
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// When the call that made it began, ns on the trace's axis.
    pub from_ns: u64,
    /// When that call returned, ns. Before that, an allocation at the same address may still be there.
    pub returned_ns: u64,
    /// When the call that released it returned, ns; `u64::MAX`: it was not released.
    pub until_ns: u64,
    /// Thread of the call that made it.
    pub track: TrackId,
    /// Row of that call.
    pub row: u32,
    /// Code that called.
    pub site: SiteId,
    /// Kind.
    pub kind: AllocationKind,
}

impl Allocation {
    /// First address after it; saturates.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

/// Allocations that begin at one address: part of the list.
#[derive(Clone, Copy, Debug)]
struct Base {
    address: u64,
    first: usize,
}

/// All allocations of a process, to be looked up by address and time.
#[derive(Debug, Default)]
pub struct Allocations {
    /// By address, and in order of time where it is the same.
    list: Vec<Allocation>,
    bases: Vec<Base>,
    /// Largest end of the allocations of each base, and above them of each two: a tree, the root at 1.
    ends: Vec<u64>,
}

impl Allocations {
    /// Those of a process. `files` are those of the trace.
    #[must_use]
    pub fn of(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>]) -> Self {
        let chosen = choose(trace, Use::of);
        let mut records = Records::of(trace, process, files);
        let mut events = Vec::new();
        each(trace, process, &chosen, |found: Found<'_, Use>| {
            // Calls inside others say the same again.
            if found.call.depth == 0
                && !found.call.flags.failed()
                && let Some(record) = records.read(&found)
            {
                events.extend(found.what.event(&found, &record));
            }
        });
        Self::of_events(events)
    }

    fn of_events(mut events: Vec<Event>) -> Self {
        // An allocation is there once its call returns, and begins to go when its release is called.
        events.sort_by_key(|event| (event.moment(), matches!(event, Event::Made(..))));
        let mut list: Vec<Allocation> = Vec::new();
        let mut live: BTreeMap<u64, usize> = BTreeMap::new();
        for event in events {
            match event {
                Event::Made(made) => {
                    // Whatever lay there must have gone, though nobody saw it.
                    while let Some((&address, &index)) =
                        live.range(..made.end().max(made.address.saturating_add(1))).next_back()
                        && list.get(index).is_some_and(|old| old.address == made.address || old.end() > made.address)
                    {
                        live.remove(&address);
                        if let Some(old) = list.get_mut(index) {
                            old.until_ns = made.from_ns.max(old.from_ns);
                        }
                    }
                    live.insert(made.address, list.len());
                    list.push(made);
                }
                Event::Released { address, bytes, until_ns, .. } => {
                    let end = address.saturating_add(bytes.max(1));
                    while let Some((&at, &index)) = live.range(address..end).next() {
                        live.remove(&at);
                        if let Some(old) = list.get_mut(index) {
                            old.until_ns = until_ns;
                        }
                    }
                }
            }
        }
        list.sort_by_key(|one| (one.address, one.from_ns));
        Self::indexed(list)
    }

    fn indexed(list: Vec<Allocation>) -> Self {
        let mut bases: Vec<Base> = Vec::new();
        let mut ends: Vec<u64> = Vec::new();
        for (first, one) in list.iter().enumerate() {
            if bases.last().is_none_or(|base| base.address != one.address) {
                bases.push(Base { address: one.address, first });
                ends.push(0);
            }
            if let Some(end) = ends.last_mut() {
                *end = one.end().max(*end);
            }
        }
        // One more than there are, so that there is a leaf behind the last.
        let leaves = (bases.len() + 1).next_power_of_two();
        let mut tree = vec![0; leaves];
        tree.extend(ends);
        tree.resize(2 * leaves, 0);
        for node in (1..leaves).rev() {
            let of = |at: usize| tree.get(at).copied().unwrap_or(0);
            let largest = of(2 * node).max(of(2 * node + 1));
            if let Some(place) = tree.get_mut(node) {
                *place = largest;
            }
        }
        Self { list, bases, ends: tree }
    }

    /// All of them, by address and in order of time.
    #[must_use]
    pub fn all(&self) -> &[Allocation] {
        &self.list
    }

    /// Which one held an address at a moment, ns: index into [`Allocations::all`]. It takes a few steps for each address
    /// below at which an allocation ever began that reached that far, which are few.
    #[must_use]
    pub fn find(&self, address: u64, at_ns: u64) -> Option<usize> {
        let mut before = self.bases.partition_point(|base| base.address <= address);
        // The newest that has been handed out, while another one is being released or asked for.
        let newest = |one: &Allocation| (one.returned_ns <= at_ns, one.from_ns);
        let mut best: Option<((bool, u64), usize)> = None;
        for _ in 0..MOST_BASES {
            let Some(base) = self.last_reaching(before, address) else { break };
            let first = self.bases.get(base)?.first;
            let end = self.bases.get(base + 1).map_or(self.list.len(), |next| next.first);
            let lives = self.list.get(first..end)?;
            let begun = lives.partition_point(|one| one.from_ns <= at_ns);
            let fits = |at: &usize| lives.get(*at).is_some_and(|one| one.end() > address && one.until_ns >= at_ns);
            let near = (begun.saturating_sub(2)..begun).filter(fits);
            if let Some(at) = near.max_by_key(|&at| lives.get(at).map(newest))
                && let Some(one) = lives.get(at)
                && best.is_none_or(|(since, _)| since < newest(one))
            {
                best = Some((newest(one), first + at));
            }
            before = base;
        }
        best.map(|(_, index)| index)
    }

    /// The one at an address that a call made, by when that began, ns, and its thread and row: index into
    /// [`Allocations::all`].
    #[must_use]
    pub fn made(&self, address: u64, from_ns: u64, by: (TrackId, usize)) -> Option<usize> {
        let first = self.list.partition_point(|one| (one.address, one.from_ns) < (address, from_ns));
        let same = self.list.iter().enumerate().skip(first);
        let mut same = same.take_while(|(_, one)| (one.address, one.from_ns) == (address, from_ns));
        same.find(|(_, one)| (one.track, one.row as usize) == by).map(|(index, _)| index)
    }

    /// The last of the first `before` bases that has an allocation which ends behind `address`.
    fn last_reaching(&self, before: usize, address: u64) -> Option<usize> {
        let leaves = self.ends.len() / 2;
        let reaches = |node: usize| self.ends.get(node).is_some_and(|&end| end > address);
        // Up from the leaf behind the last one, until a left neighbour reaches far enough; then down its right side.
        let mut node = leaves + before;
        while node > 1 {
            if node % 2 == 1 && reaches(node - 1) {
                node -= 1;
                while node < leaves {
                    node = if reaches(2 * node + 1) { 2 * node + 1 } else { 2 * node };
                }
                return Some(node - leaves);
            }
            node /= 2;
        }
        None
    }
}

/// An allocation made or released.
#[derive(Clone, Copy, Debug)]
enum Event {
    Made(Allocation),
    Released {
        address: u64,
        /// All that begin in so many bytes go; zero: the one that begins at the address.
        bytes: u64,
        called_ns: u64,
        until_ns: u64,
    },
}

impl Event {
    const fn moment(&self) -> u64 {
        match self {
            Self::Made(made) => made.returned_ns,
            Self::Released { called_ns, .. } => *called_ns,
        }
    }
}

/// What a function does to memory, with its arguments.
enum Use {
    Make { kind: AllocationKind, address: Argument, bytes: Size },
    Release { address: Argument, bytes: Option<Argument> },
}

/// Where the size lies.
enum Size {
    Bytes(Argument),
    /// Bytes of a row, rows. Of three dimensions the third is not recorded: the size is that of one layer.
    Rows(Argument, Argument),
}

impl Use {
    fn of(api: &Api, base: &str) -> Option<Self> {
        use AllocationKind::{Device, Graph, Managed, Mapped, Pinned, Pool, Registered};
        let argument = |role| api.signature.role(role).cloned();
        let kind = match bare(base) {
            "Malloc" | "MallocPitch" | "Malloc3D" | "MemAlloc" | "MemAllocPitch" => Device,
            "MallocManaged" | "MemAllocManaged" => Managed,
            "MallocHost" | "HostAlloc" | "MemAllocHost" | "MemHostAlloc" => Pinned,
            "HostRegister" | "MemHostRegister" => Registered,
            "MallocAsync" | "MallocFromPoolAsync" | "MemAllocAsync" | "MemAllocFromPoolAsync" => Pool,
            "GraphAddMemAllocNode" => Graph,
            "MemMap" => Mapped,
            "Free" | "FreeHost" | "FreeAsync" | "HostUnregister" | "MemFree" | "MemFreeHost" | "MemFreeAsync"
            | "MemHostUnregister" => return Some(Self::Release { address: argument("ptr")?, bytes: None }),
            "MemUnmap" => return Some(Self::Release { address: argument("ptr")?, bytes: argument("bytes") }),
            _ => return None,
        };
        let rows = || Some(Size::Rows(argument("pitch")?, argument("height")?));
        let bytes = argument("bytes").map(Size::Bytes).or_else(rows)?;
        Some(Self::Make { kind, address: argument("ptr")?, bytes })
    }

    fn event(&self, found: &Found<'_, Self>, record: &Record<'_>) -> Option<Event> {
        let call = &found.call;
        let captured = call.flags.has(CallFlags::CAPTURED);
        match self {
            Self::Make { kind, address, bytes } => {
                let bytes = match bytes {
                    Size::Bytes(bytes) => record.number(bytes)?,
                    Size::Rows(pitch, rows) => record.number(pitch)?.saturating_mul(record.number(rows)?),
                };
                let address = record.number(address).filter(|&address| address != 0 && bytes != 0)?;
                let allocation = Allocation {
                    address,
                    bytes,
                    from_ns: call.start_ns,
                    returned_ns: call.end_ns(),
                    until_ns: u64::MAX,
                    track: found.track,
                    row: u32::try_from(found.row).unwrap_or(u32::MAX),
                    site: call.site,
                    kind: if captured { AllocationKind::Graph } else { *kind },
                };
                Some(Event::Made(allocation))
            }
            // A graph's memory comes again with each launch.
            Self::Release { .. } if captured => None,
            Self::Release { address, bytes } => Some(Event::Released {
                address: record.number(address).filter(|&address| address != 0)?,
                bytes: bytes.as_ref().and_then(|bytes| record.number(bytes)).unwrap_or(0),
                called_ns: call.start_ns,
                until_ns: call.end_ns(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(address: u64, bytes: u64, (start, end): (u64, u64)) -> Event {
        let allocation = Allocation {
            address,
            bytes,
            from_ns: start,
            returned_ns: end,
            until_ns: u64::MAX,
            track: TrackId(0),
            row: start as u32,
            site: SiteId(0),
            kind: AllocationKind::Device,
        };
        Event::Made(allocation)
    }

    fn released(address: u64, (called_ns, until_ns): (u64, u64)) -> Event {
        Event::Released { address, bytes: 0, called_ns, until_ns }
    }

    #[test]
    fn an_address_that_comes_again_is_another_allocation() {
        let all = Allocations::of_events(vec![
            made(0x1000, 0x800, (10, 11)),
            released(0x1000, (20, 25)),
            made(0x1000, 0x100, (30, 31)),
            made(0x1400, 0x100, (32, 33)),
            released(0x1000, (40, 41)),
        ]);
        let at = |address, ns| all.find(address, ns).map(|index| all.all()[index].from_ns);
        assert_eq!((at(0x1000, 9), at(0x1000, 10), at(0x17ff, 19)), (None, Some(10), Some(10)));
        assert_eq!((at(0x1800, 19), at(0x1000, 24), at(0x1000, 26)), (None, Some(10), None));
        assert_eq!((at(0x10ff, 35), at(0x1100, 35), at(0x1410, 35)), (Some(30), None, Some(32)));
        assert_eq!((at(0x1000, 50), at(0x1410, u64::MAX)), (None, Some(32)));
    }

    #[test]
    fn what_is_being_asked_for_is_not_there_before_what_is_being_released_has_gone() {
        // The second is asked for while the first is still there, and gets its address.
        let all = Allocations::of_events(vec![
            made(0x1000, 0x100, (10, 11)),
            made(0x1000, 0x100, (15, 30)),
            released(0x1000, (20, 25)),
        ]);
        let at = |ns| all.find(0x1000, ns).map(|index| all.all()[index].from_ns);
        assert_eq!(
            (at(14), at(16), at(22), at(25), at(26), at(31)),
            (Some(10), Some(10), Some(10), Some(10), Some(15), Some(15))
        );
        let made = |from, row| all.made(0x1000, from, (TrackId(0), row)).map(|index| all.all()[index].from_ns);
        assert_eq!((made(15, 15), made(15, 16), made(10, 10), made(11, 11)), (Some(15), None, Some(10), None));
    }

    #[test]
    fn what_was_released_unseen_ends_where_something_else_begins() {
        let all = Allocations::of_events(vec![
            made(0x1000, 0x1000, (10, 11)),
            made(0x1800, 0x1000, (20, 21)),
            made(u64::MAX - 5, 100, (30, 31)),
        ]);
        assert_eq!(all.all().iter().map(|one| one.until_ns).collect::<Vec<_>>(), [20, u64::MAX, u64::MAX]);
        assert_eq!(all.find(u64::MAX - 1, 40), Some(2));
        assert_eq!(Allocations::default().find(0, 0), None);
        assert_eq!(Allocations::of_events(Vec::new()).find(7, 7), None);
    }

    proptest! {
        /// Against a walk over all of them.
        #[test]
        fn the_same_is_found_as_by_looking_at_each(
            steps in prop::collection::vec((0u64..40, 1u64..12, any::<bool>()), 0..120),
            asked in prop::collection::vec((0u64..60, 0u64..1300), 0..60),
        ) {
            let mut events = Vec::new();
            // Start, bytes, from, until.
            let mut twin: Vec<(u64, u64, u64, u64)> = Vec::new();
            for (index, &(address, bytes, make)) in steps.iter().enumerate() {
                let now = 10 * (index as u64 + 1);
                // Zero is no address.
                let address = address + 1;
                if make {
                    events.push(made(address, bytes, (now, now + 2)));
                    for old in &mut twin {
                        if old.3 == u64::MAX && old.0 < address + bytes && address < old.0 + old.1 {
                            old.3 = now;
                        }
                    }
                    twin.push((address, bytes, now, u64::MAX));
                } else {
                    events.push(released(address, (now, now + 5)));
                    for old in &mut twin {
                        if old.3 == u64::MAX && old.0 == address {
                            old.3 = now + 5;
                        }
                    }
                }
            }
            let all = Allocations::of_events(events);
            prop_assert_eq!(all.all().len(), twin.len());
            for (address, at) in asked {
                let holds = |one: &&(u64, u64, u64, u64)| {
                    one.0 <= address && address < one.0 + one.1 && one.2 <= at && at <= one.3
                };
                let newest = |one: &&(u64, u64, u64, u64)| (one.2 + 2 <= at, one.2);
                let expected = twin.iter().filter(holds).max_by_key(newest).map(|one| one.2);
                prop_assert_eq!(all.find(address, at).map(|index| all.all()[index].from_ns), expected);
            }
        }
    }
}
