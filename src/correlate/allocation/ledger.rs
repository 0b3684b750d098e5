//! From what calls did to memory, in order of time, to allocations with a begin and an end.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Allocation, AllocationKind, End};
use crate::trace::TrackId;

/// What a call did to memory.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// It made some.
    Made(Allocation),
    /// It released some.
    Released(Release),
    /// A handle of physical memory was asked for, which holds it once more.
    Held {
        /// The handle.
        handle: u64,
        /// Where it is mapped.
        address: u64,
        /// When the call returned, ns.
        at_ns: u64,
        /// Thread and row of the call.
        by: (TrackId, u32),
    },
}

/// Memory that a call released.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// Which.
    pub what: Released,
    /// When the call began, ns.
    pub called_ns: u64,
    /// When it returned, ns.
    pub until_ns: u64,
    /// Thread and row of the call.
    pub by: (TrackId, u32),
}

/// Which memory a call released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// What begins at the address.
    At(u64),
    /// All that begins in so many bytes from an address on.
    Range(u64, u64),
    /// Physical memory: a handle of it.
    Physical(u64),
    /// An array.
    Array(u64),
    /// A caching allocator's block.
    Block(u64),
    /// All that was made on a device.
    Device(u8),
}

/// What events are in order of: their time, whether they release nothing, thread and row of their call.
pub type Moment = (u64, bool, TrackId, u32);

impl Event {
    /// Its place among others. A call does one thing, so no two have the same.
    pub const fn moment(&self) -> Moment {
        let (track, row) = match self {
            Self::Made(made) => (made.track, made.row),
            Self::Released(release) => release.by,
            Self::Held { by, .. } => *by,
        };
        (self.at_ns(), !matches!(self, Self::Released(_)), track, row)
    }

    /// An allocation is there once its call returns, and begins to go when its release is called.
    const fn at_ns(&self) -> u64 {
        match self {
            Self::Made(made) => made.made_ns,
            Self::Released(release) => release.called_ns,
            Self::Held { at_ns, .. } => *at_ns,
        }
    }
}

/// What is live while events are gone through.
#[derive(Debug, Default)]
pub struct Ledger {
    list: Vec<Allocation>,
    /// By first address.
    live: BTreeMap<u64, usize>,
    /// Physical memory by handle, and how often the handle holds it. A handle comes again once it is released, though what
    /// it stood for may still be mapped.
    handles: FxHashMap<u64, (usize, u32)>,
    /// What holds physical memory that is live.
    physical: FxHashMap<usize, Holds>,
    /// What is behind mappings that are live.
    behind: FxHashMap<usize, usize>,
    arrays: FxHashMap<u64, usize>,
    /// By address: they lie in segments, which are live too.
    blocks: FxHashMap<u64, usize>,
    /// How often memory that is opened more than once is open beyond the first.
    opened: FxHashMap<u64, u32>,
}

/// What holds physical memory.
#[derive(Clone, Copy, Debug, Default)]
struct Holds {
    handles: u32,
    mappings: u32,
}

impl Ledger {
    /// Takes the next event in order of [`Event::moment`].
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Made(made) => self.make(*made),
            Event::Released(release) => self.release(release),
            Event::Held { handle, address, .. } => self.hold(*handle, *address),
        }
    }

    /// All allocations so far, in the order in which they were made.
    pub fn all(&self) -> &[Allocation] {
        &self.list
    }

    /// What was live by first address, which takes long to free; the rest is gone.
    pub fn into_live(self) -> BTreeMap<u64, usize> {
        self.live
    }

    fn make(&mut self, made: Allocation) {
        let index = self.list.len();
        let unseen = Release::unseen(&made);
        match made.kind {
            AllocationKind::Physical => {
                if let Some((old, times)) = self.handles.insert(made.address, (index, 1)) {
                    let less = |holds: &mut Holds| holds.handles = holds.handles.saturating_sub(times);
                    self.hold_less(old, &unseen, End::Unseen, less);
                }
                self.physical.insert(index, Holds { handles: 1, mappings: 0 });
            }
            AllocationKind::Array => {
                if let Some(old) = self.arrays.insert(made.address, index) {
                    self.end(old, &unseen, End::Unseen);
                }
            }
            AllocationKind::Block => {
                if let Some(old) = self.blocks.insert(made.address, index) {
                    self.end(old, &unseen, End::Unseen);
                }
            }
            AllocationKind::Static if made.address == 0 => {}
            _ => {
                if self.is_open_already(&made) {
                    return;
                }
                self.make_room(&made, &unseen);
                self.live.insert(made.address, index);
                if made.kind == AllocationKind::Mapped
                    && let Some(&(physical, _)) = self.handles.get(&made.owner)
                    && let Some(holds) = self.physical.get_mut(&physical)
                {
                    holds.mappings = holds.mappings.saturating_add(1);
                    self.behind.insert(index, physical);
                }
            }
        }
        self.list.push(made);
    }

    /// Another process's memory, and a variable, may be asked for again: the answer is the same memory.
    fn is_open_already(&mut self, made: &Allocation) -> bool {
        let Some(old) = self.live.get(&made.address).and_then(|&index| self.list.get_mut(index)) else { return false };
        let again = matches!(made.kind, AllocationKind::Shared | AllocationKind::Static) && old.kind == made.kind;
        if again && old.bytes == 0 {
            // Who asked before did not ask for the size.
            old.bytes = made.bytes;
        }
        if again && made.kind == AllocationKind::Shared {
            let times = self.opened.entry(made.address).or_default();
            *times = times.saturating_add(1);
        }
        again
    }

    /// Whatever lay there must have gone, though nobody saw it.
    fn make_room(&mut self, made: &Allocation, unseen: &Release) {
        while let Some((&address, &index)) =
            self.live.range(..made.end().max(made.address.saturating_add(1))).next_back()
            && self.list.get(index).is_some_and(|old| old.address == made.address || old.end() > made.address)
        {
            self.live.remove(&address);
            self.leave(index, unseen, End::Unseen);
        }
    }

    fn release(&mut self, release: &Release) {
        let end = End::Released(release.by.0, release.by.1);
        match release.what {
            Released::At(address) => {
                if let Some(times) = self.opened.get_mut(&address).filter(|times| **times > 0) {
                    *times -= 1;
                } else if let Some(index) = self.live.remove(&address) {
                    self.leave(index, release, end);
                }
            }
            Released::Range(address, bytes) => {
                let after = address.saturating_add(bytes.max(1));
                while let Some((&at, &index)) = self.live.range(address..after).next() {
                    self.live.remove(&at);
                    self.leave(index, release, end);
                }
            }
            Released::Physical(handle) => {
                let Some((index, times)) = self.handles.get_mut(&handle) else { return };
                let index = *index;
                *times = times.saturating_sub(1);
                if *times == 0 {
                    self.handles.remove(&handle);
                }
                self.hold_less(index, release, end, |holds| holds.handles = holds.handles.saturating_sub(1));
            }
            Released::Array(handle) => {
                if let Some(index) = self.arrays.remove(&handle) {
                    self.end(index, release, end);
                }
            }
            Released::Block(address) => {
                if let Some(index) = self.blocks.remove(&address) {
                    self.end(index, release, end);
                }
            }
            Released::Device(device) => self.reset(device, release),
        }
    }

    /// All that was made on the device goes. Variables stay: the next use of the device makes them anew.
    fn reset(&mut self, device: u8, release: &Release) {
        let list = &self.list;
        let goes = |index: usize| {
            list.get(index).is_some_and(|one| one.device == device && one.kind != AllocationKind::Static)
        };
        let addresses: Vec<(u64, usize)> =
            self.live.iter().map(|(&address, &index)| (address, index)).filter(|&(_, index)| goes(index)).collect();
        let physical: Vec<usize> = self.physical.keys().copied().filter(|&index| goes(index)).collect();
        let arrays: Vec<(u64, usize)> =
            self.arrays.iter().map(|(&handle, &index)| (handle, index)).filter(|&(_, index)| goes(index)).collect();
        for (address, index) in addresses {
            self.live.remove(&address);
            self.opened.remove(&address);
            self.leave(index, release, End::Unseen);
        }
        for index in physical {
            if self.physical.remove(&index).is_some() {
                self.end(index, release, End::Unseen);
            }
        }
        self.handles.retain(|_, (index, _)| self.physical.contains_key(index));
        for (handle, index) in arrays {
            self.arrays.remove(&handle);
            self.end(index, release, End::Unseen);
        }
    }

    fn hold(&mut self, handle: u64, address: u64) {
        let index = match self.handles.get_mut(&handle) {
            Some((index, times)) => {
                *times = times.saturating_add(1);
                *index
            }
            None => {
                let mapping = self.live.range(..=address).next_back().map(|(_, &index)| index);
                let reaches = |index: &usize| self.list.get(*index).is_some_and(|one| one.end() > address);
                let Some(&index) = mapping.filter(reaches).and_then(|mapping| self.behind.get(&mapping)) else {
                    return;
                };
                self.handles.insert(handle, (index, 1));
                index
            }
        };
        if let Some(holds) = self.physical.get_mut(&index) {
            holds.handles = holds.handles.saturating_add(1);
        }
    }

    /// Physical memory that nothing holds any more goes.
    fn hold_less(&mut self, index: usize, release: &Release, end: End, less: impl FnOnce(&mut Holds)) {
        let Some(holds) = self.physical.get_mut(&index) else { return };
        less(holds);
        if holds.handles == 0 && holds.mappings == 0 {
            self.physical.remove(&index);
            self.end(index, release, end);
        }
    }

    /// An allocation that is no longer among the live ones ends, and if it is a mapping lets go of what is behind it.
    fn leave(&mut self, index: usize, release: &Release, end: End) {
        self.end(index, release, end);
        if let Some(physical) = self.behind.remove(&index) {
            self.hold_less(physical, release, end, |holds| holds.mappings = holds.mappings.saturating_sub(1));
        }
    }

    fn end(&mut self, index: usize, release: &Release, end: End) {
        if let Some(old) = self.list.get_mut(index) {
            old.end = end;
            old.freed_ns = release.called_ns.max(old.made_ns);
            old.until_ns = release.until_ns.max(old.from_ns);
        }
    }
}

impl Release {
    /// What must have gone before something was made there.
    const fn unseen(made: &Allocation) -> Self {
        Self {
            what: Released::At(made.address),
            called_ns: made.from_ns,
            until_ns: made.from_ns,
            by: (made.track, made.row),
        }
    }
}
