//! Memory pools: which one each allocation in order of a stream came from, and what calls told of them.
//!
//! What a pool holds of the device's memory only the driver knows. It is known where the program asked for it, and for that
//! moment; otherwise nothing is said.

mod tell;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::allocation::{Allocation, AllocationKind, Allocations};
use crate::trace::{Bytes, NO_DEVICE, ProcessId, SiteId, StreamId, StreamKind, Trace};
use tell::{Told, What};

/// Of an allocation: no pool.
const NONE: u32 = u32::MAX;

/// Where a pool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolOrigin {
    /// Its device's own.
    Default,
    /// A call made it.
    Created,
    /// Another process's, imported here.
    Imported,
    /// Its handle was used, and no call was seen to make it.
    Unseen,
}

impl PoolOrigin {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Created => "created",
            Self::Imported => "imported",
            Self::Unseen => "unseen",
        }
    }
}

/// A figure of a pool that a call told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Bytes.
    pub bytes: u64,
    /// When the call returned, ns on the trace's axis.
    pub at_ns: u64,
}

/// What a pool held at a moment at which the program asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// When, ns on the trace's axis.
    pub at_ns: u64,
    /// Bytes of the device that the pool held.
    pub reserved: u64,
    /// Bytes of these that were in use.
    pub used: u64,
    /// Whether the driver told `used`, too; if not, it is the sum of what calls had asked for, without what the driver adds
    /// to each.
    pub used_is_told: bool,
}

impl Held {
    /// Bytes that were held and not in use.
    #[must_use]
    pub const fn unused(&self) -> u64 {
        self.reserved.saturating_sub(self.used)
    }

    /// Share of what was held that was not in use, in millionths: what the pool keeps for later, and what is broken up.
    /// Which of both it is no call tells. `None`: nothing was held.
    #[must_use]
    pub fn unused_ppm(&self) -> Option<u32> {
        let share = u128::from(self.unused()) * 1_000_000;
        u32::try_from(share.checked_div(u128::from(self.reserved))?).ok()
    }
}

/// Which device may use a pool's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolAccess {
    /// When the call returned, ns on the trace's axis.
    pub at_ns: u64,
    /// The device; [`NO_DEVICE`]: the host, or it is not known.
    pub device: u8,
    /// `cudaMemAccessFlags`: 0 none, 1 read, 3 read and write.
    pub flags: u32,
    /// The call named more devices, of which only the first is recorded.
    pub cut: bool,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its handle; `None`: a default pool for whose handle nobody asked.
    pub handle: Option<u64>,
    /// Where it comes from.
    pub origin: PoolOrigin,
    /// Its device, or [`NO_DEVICE`].
    pub device: u8,
    /// It is of managed memory.
    pub managed: bool,
    /// Code that made it.
    pub site: Option<SiteId>,
    /// When the call that made it returned, ns on the trace's axis; `None`: it was there, or nobody saw it.
    pub made_ns: Option<u64>,
    /// When the call that destroyed it began, ns.
    pub destroyed_ns: Option<u64>,
    /// Allocations from it.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Those that are in use.
    pub live_count: u64,
    /// Bytes of those, as calls asked for them.
    pub used_bytes: u64,
    /// The most bytes in use at a moment.
    pub peak_bytes: u64,
    /// The first such moment, ns on the trace's axis; zero if there was no allocation.
    pub peak_ns: u64,
    /// Bytes that it keeps when nothing waits for them, as last set or told. `None`: no call told it; the driver begins
    /// with zero.
    pub release_threshold: Option<Figure>,
    /// The driver's own maximum of [`Held::reserved`], as last told.
    pub reserved_high: Option<Figure>,
    /// The driver's own maximum of [`Held::used`], as last told.
    pub used_high: Option<Figure>,
    /// Bytes in use by the driver's count, as last told.
    pub used: Option<Figure>,
    /// What it held, whenever it was asked, in order of time.
    pub held: Vec<Held>,
    /// Calls that told it to give back what it does not use.
    pub trims: u64,
    /// What the last of them let it keep.
    pub last_trim: Option<Figure>,
    /// Who may use its memory beside its device, in order of time.
    pub access: Vec<PoolAccess>,
}

impl Pool {
    const fn new(handle: Option<u64>, origin: PoolOrigin, device: u8) -> Self {
        Self {
            handle,
            origin,
            device,
            managed: false,
            site: None,
            made_ns: None,
            destroyed_ns: None,
            count: 0,
            bytes: 0,
            live_count: 0,
            used_bytes: 0,
            peak_bytes: 0,
            peak_ns: 0,
            release_threshold: None,
            reserved_high: None,
            used_high: None,
            used: None,
            held: Vec::new(),
            trims: 0,
            last_trim: None,
            access: Vec::new(),
        }
    }

    /// What it held when it was asked last; `None`: never.
    #[must_use]
    pub fn last_held(&self) -> Option<&Held> {
        self.held.last()
    }
}

/// All pools of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    list: Vec<Pool>,
    of: Vec<u32>,
}

impl Pools {
    /// Those of a process. `files` are those of the trace, `allocations` those of the process.
    #[must_use]
    pub fn of(trace: &Trace, process: ProcessId, files: &[Arc<dyn Bytes>], allocations: &Allocations) -> Self {
        let mut finder = PoolsFinder::new(process);
        finder.advance(trace, files, &mut || true);
        finder.ready(trace).pools(allocations)
    }

    /// Likewise, of what calls have told. `device` says of an allocation which device's pool it is from, if the call did not
    /// name one.
    fn of_told(told: Vec<Told>, allocations: &[Allocation], device: impl Fn(&Allocation) -> u8) -> Self {
        let mut walk = Walk::default();
        // A device's own pool is the same all the time, so it does not matter when its handle is told.
        for one in &told {
            if let What::Default { device, managed, handle } = one.what {
                let pool = walk.own(device, managed);
                walk.name(pool, handle);
            }
        }
        let mut steps: Vec<(u64, u8, Step)> = told.iter().map(|one| (one.at_ns, 1, Step::Told(one))).collect();
        for (index, one) in allocations.iter().enumerate().filter(|(_, one)| one.kind == AllocationKind::Pool) {
            steps.push((one.made_ns, 2, Step::Made(index)));
            if one.has_ended() {
                // What is gone at once goes after it has come.
                steps.push((one.freed_ns, if one.freed_ns > one.made_ns { 0 } else { 3 }, Step::Freed(index)));
            }
        }
        if steps.iter().any(|(.., step)| matches!(step, Step::Made(_))) {
            walk.of = vec![NONE; allocations.len()];
        }
        steps.sort_by_key(|&(at_ns, order, _)| (at_ns, order));
        for (at_ns, _, step) in steps {
            match step {
                Step::Told(told) => walk.tell(told),
                Step::Made(index) => {
                    if let Some(one) = allocations.get(index) {
                        walk.make(index, one, device(one), at_ns);
                    }
                }
                Step::Freed(index) => {
                    if let Some(one) = allocations.get(index) {
                        walk.free(index, one);
                    }
                }
            }
        }
        Self { list: walk.list, of: walk.of }
    }

    /// All of them, in the order in which they were first heard of.
    #[must_use]
    pub fn all(&self) -> &[Pool] {
        &self.list
    }

    /// The pool that an allocation is from, by its index: index into [`Pools::all`]. `None`: it is from none.
    #[must_use]
    pub fn pool_of(&self, allocation: usize) -> Option<usize> {
        self.of.get(allocation).filter(|&&pool| pool != NONE).map(|&pool| pool as usize)
    }
}

/// Finds the pools of a process in two steps: what calls tell, in slices and while the trace grows, and what follows from it,
/// which needs the trace no longer.
pub struct PoolsFinder(tell::Telling);

impl PoolsFinder {
    /// One that has not begun.
    #[must_use]
    pub const fn new(process: ProcessId) -> Self {
        Self(tell::Telling::new(process))
    }

    /// Goes on with the first step, as long as `more` says so, which is asked now and then; true when all calls have been
    /// looked at. `files` are those of the trace.
    pub fn advance(&mut self, trace: &Trace, files: &[Arc<dyn Bytes>], more: &mut dyn FnMut() -> bool) -> bool {
        tell::go_on(&mut self.0, trace, files, more)
    }

    /// What the second step needs.
    #[must_use]
    pub fn ready(&self, trace: &Trace) -> PoolsReady {
        let streams = (0..).map(StreamId).zip(trace.streams.all());
        let created = streams.filter(|(_, stream)| stream.kind == StreamKind::Created && stream.device != NO_DEVICE);
        let devices = created.map(|(id, stream)| (id, stream.device)).collect();
        PoolsReady { told: self.0.found().to_vec(), devices }
    }
}

/// What the pools of a process follow from, beside its allocations.
pub struct PoolsReady {
    told: Vec<Told>,
    /// Of streams that were created.
    devices: FxHashMap<StreamId, u8>,
}

impl PoolsReady {
    /// The pools. `allocations` are those of the process.
    #[must_use]
    pub fn pools(self, allocations: &Allocations) -> Pools {
        let device = |one: &Allocation| self.devices.get(&one.stream).copied().unwrap_or(one.device);
        Pools::of_told(self.told, allocations.all(), device)
    }
}

/// What happens to pools.
#[derive(Clone, Copy)]
enum Step<'a> {
    Told(&'a Told),
    Made(usize),
    Freed(usize),
}

/// What is known while all of it is gone through in order of time.
#[derive(Default)]
struct Walk {
    list: Vec<Pool>,
    of: Vec<u32>,
    by_handle: FxHashMap<u64, usize>,
    /// By device, and whether it is of managed memory.
    defaults: FxHashMap<(u8, bool), usize>,
    /// What allocations of a device come from, if that was set.
    current: FxHashMap<u8, usize>,
    /// Of a pool that was asked for what it uses, and has not changed since.
    used: FxHashMap<usize, u64>,
    /// Pools that were asked for what they hold, and have not changed since.
    fresh: FxHashMap<usize, ()>,
}

impl Walk {
    fn add(&mut self, pool: Pool) -> usize {
        self.list.push(pool);
        self.list.len() - 1
    }

    fn own(&mut self, device: u8, managed: bool) -> usize {
        if let Some(&known) = self.defaults.get(&(device, managed)) {
            return known;
        }
        let pool = self.add(Pool { managed, ..Pool::new(None, PoolOrigin::Default, device) });
        self.defaults.insert((device, managed), pool);
        pool
    }

    /// The pool has this handle.
    fn name(&mut self, pool: usize, handle: u64) {
        self.by_handle.insert(handle, pool);
        if let Some(pool) = self.list.get_mut(pool) {
            pool.handle = Some(handle);
        }
    }

    fn handle(&mut self, handle: u64) -> usize {
        if let Some(&known) = self.by_handle.get(&handle) {
            return known;
        }
        let pool = self.add(Pool::new(Some(handle), PoolOrigin::Unseen, NO_DEVICE));
        self.by_handle.insert(handle, pool);
        pool
    }

    fn tell(&mut self, told: &Told) {
        match told.what {
            What::Made { handle, device, managed, imported } => {
                let origin = if imported { PoolOrigin::Imported } else { PoolOrigin::Created };
                let made = Pool {
                    managed,
                    site: Some(told.site),
                    made_ns: Some(told.at_ns),
                    ..Pool::new(Some(handle), origin, device)
                };
                let pool = self.add(made);
                self.by_handle.insert(handle, pool);
            }
            What::Destroyed { handle } => {
                let pool = self.handle(handle);
                self.by_handle.remove(&handle);
                // A device whose pool goes has its own again.
                self.current.retain(|_, current| *current != pool);
                if let Some(pool) = self.list.get_mut(pool) {
                    pool.destroyed_ns = Some(told.at_ns);
                }
            }
            What::Default { .. } => {}
            What::Current { device, handle } => {
                if !self.by_handle.contains_key(&handle) && !self.current.contains_key(&device) {
                    let pool = self.own(device, false);
                    if self.list.get(pool).is_some_and(|pool| pool.handle.is_none()) {
                        self.name(pool, handle);
                        return;
                    }
                }
                // Somebody may have set it unseen.
                let pool = self.handle(handle);
                self.set(device, pool);
            }
            What::Set { device, handle } => {
                let pool = self.handle(handle);
                self.set(device, pool);
            }
            What::Attribute { handle, attribute, bytes } => {
                let pool = self.handle(handle);
                self.attribute(pool, attribute, Figure { bytes, at_ns: told.at_ns });
            }
            What::Trim { handle, keep } => {
                let pool = self.handle(handle);
                self.fresh.remove(&pool);
                if let Some(pool) = self.list.get_mut(pool) {
                    pool.trims += 1;
                    pool.last_trim = Some(Figure { bytes: keep, at_ns: told.at_ns });
                }
            }
            What::Access { handle, device, flags, cut } => {
                let pool = self.handle(handle);
                if let Some(pool) = self.list.get_mut(pool) {
                    pool.access.push(PoolAccess { at_ns: told.at_ns, device, flags, cut });
                }
            }
        }
    }

    fn set(&mut self, device: u8, pool: usize) {
        self.current.insert(device, pool);
        if let Some(pool) = self.list.get_mut(pool).filter(|pool| pool.device == NO_DEVICE) {
            pool.device = device;
        }
    }

    fn attribute(&mut self, index: usize, attribute: u32, figure: Figure) {
        let Some(pool) = self.list.get_mut(index) else { return };
        match attribute {
            tell::RELEASE_THRESHOLD => pool.release_threshold = Some(figure),
            tell::RESERVED_HIGH => pool.reserved_high = Some(figure),
            tell::USED_HIGH => pool.used_high = Some(figure),
            tell::USED => {
                pool.used = Some(figure);
                self.used.insert(index, figure.bytes);
                if let Some(held) = pool.held.last_mut().filter(|_| self.fresh.contains_key(&index)) {
                    (held.used, held.used_is_told) = (figure.bytes, true);
                }
            }
            tell::RESERVED => {
                let told = self.used.get(&index);
                pool.held.push(Held {
                    at_ns: figure.at_ns,
                    reserved: figure.bytes,
                    used: told.copied().unwrap_or(pool.used_bytes),
                    used_is_told: told.is_some(),
                });
                self.fresh.insert(index, ());
            }
            _ => {}
        }
    }

    fn make(&mut self, index: usize, one: &Allocation, device: u8, at_ns: u64) {
        let pool = match (one.owner, self.current.get(&device)) {
            (0, Some(&current)) => current,
            (0, None) => self.own(device, false),
            (handle, _) => self.handle(handle),
        };
        if let (Some(of), Ok(pool)) = (self.of.get_mut(index), u32::try_from(pool)) {
            *of = pool;
        }
        self.changed(pool);
        let Some(pool) = self.list.get_mut(pool) else { return };
        if pool.device == NO_DEVICE {
            pool.device = device;
        }
        pool.count += 1;
        pool.bytes = pool.bytes.saturating_add(one.bytes);
        pool.live_count += 1;
        pool.used_bytes = pool.used_bytes.saturating_add(one.bytes);
        if pool.used_bytes > pool.peak_bytes {
            (pool.peak_bytes, pool.peak_ns) = (pool.used_bytes, at_ns);
        }
    }

    fn free(&mut self, index: usize, one: &Allocation) {
        let Some(pool) = self.of.get(index).map(|&pool| pool as usize) else { return };
        self.changed(pool);
        if let Some(pool) = self.list.get_mut(pool) {
            pool.live_count = pool.live_count.saturating_sub(1);
            pool.used_bytes = pool.used_bytes.saturating_sub(one.bytes);
        }
    }

    /// What was told of it is of before.
    fn changed(&mut self, pool: usize) {
        self.used.remove(&pool);
        self.fresh.remove(&pool);
    }
}

#[cfg(test)]
mod tests;
