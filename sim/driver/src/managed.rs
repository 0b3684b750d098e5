//! Managed memory: two views of one memory file. The program's view carries the protections that make its touches
//! visible; the engine's view is always readable and writable, so that kernels and copies never fault.

use crate::config::{self, Rng};
use crate::counters::{self, Event, Totals, kind};
use crate::residency::{self, Advice, BLOCK, Change, HOST, PAGE, Place, Protection, Space, Step};
use crate::sync::{Guard, Lock, RawLock, SignalsBlocked};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

const HUGE: usize = BLOCK * PAGE;
/// Address space of an arena: tried in turn, because limits may forbid much.
const ARENA_SIZES: [usize; 3] = [1 << 38, 1 << 35, 1 << 32];
/// Arenas a process can have: one, and one more after each fork on the way to it.
const ARENAS: usize = 16;

struct Bounds {
    user: AtomicUsize,
    end: AtomicUsize,
    alias: AtomicUsize,
}

/// Where the arenas are, readable without a lock: the fault handler asks here first.
static BOUNDS: [Bounds; ARENAS] =
    [const { Bounds { user: AtomicUsize::new(0), end: AtomicUsize::new(0), alias: AtomicUsize::new(0) } }; ARENAS];

struct Region {
    bytes: usize,
    space: Space,
    totals: Totals,
}

struct State {
    /// Index of the arena that allocations come from; none before the first one and after a fork.
    arena: Option<usize>,
    next: usize,
    free: Vec<(usize, usize)>,
    regions: BTreeMap<usize, Region>,
    /// Blocks in the order they came to each device, for eviction.
    arrived: [VecDeque<(usize, usize)>; 8],
    resident: [u64; 8],
    rng: Option<Rng>,
}

static STATE: Lock<State> = Lock::new(State {
    arena: None,
    next: 0,
    free: Vec::new(),
    regions: BTreeMap::new(),
    arrived: [const { VecDeque::new() }; 8],
    resident: [0; 8],
    rng: None,
});

struct Held {
    state: Guard<'static, State>,
    _signals: SignalsBlocked,
}

fn hold() -> Held {
    let signals = SignalsBlocked::new();
    Held { state: STATE.lock(), _signals: signals }
}

fn arena_of(address: usize) -> Option<&'static Bounds> {
    BOUNDS.iter().find(|bounds| {
        let user = bounds.user.load(Ordering::Acquire);
        user != 0 && address >= user && address < bounds.end.load(Ordering::Relaxed)
    })
}

/// Whether an address lies where managed memory is given out.
pub fn is_managed(address: usize) -> bool {
    arena_of(address).is_some()
}

/// The address at which the engine itself reads and writes what the program sees at `address`.
pub fn view(address: usize) -> usize {
    arena_of(address)
        .map_or(address, |bounds| address - bounds.user.load(Ordering::Relaxed) + bounds.alias.load(Ordering::Relaxed))
}

fn map(length: usize, protection: i32, file: i32) -> Option<usize> {
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping of a file of ours.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, file, 0) };
    (base != libc::MAP_FAILED).then_some(base as usize)
}

/// Makes the arena: both views of a sparse memory file.
fn make_arena(state: &mut State) -> Option<usize> {
    let slot = BOUNDS.iter().position(|bounds| bounds.user.load(Ordering::Relaxed) == 0)?;
    // SAFETY: a constant name; the descriptor is closed below.
    let file = unsafe { libc::memfd_create(c"umsim managed".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return None;
    }
    let made = ARENA_SIZES.iter().find_map(|&size| {
        // SAFETY: our own descriptor.
        if unsafe { libc::ftruncate(file, size as libc::off_t) } != 0 {
            return None;
        }
        let alias = map(size, libc::PROT_READ | libc::PROT_WRITE, file)?;
        // Nothing promises that mmap aligns to 2 MiB: the blocks are counted from the first aligned address.
        match map(size, libc::PROT_NONE, file) {
            Some(user) => Some((user, alias, size)),
            None => {
                // SAFETY: the mapping made just above.
                unsafe { libc::munmap(alias as *mut _, size) };
                None
            }
        }
    });
    // SAFETY: the mappings keep the file alive.
    unsafe { libc::close(file) };
    let (user, alias, size) = made?;
    let bounds = BOUNDS.get(slot)?;
    bounds.alias.store(alias, Ordering::Relaxed);
    bounds.end.store(user + size, Ordering::Relaxed);
    bounds.user.store(user, Ordering::Release);
    state.arena = Some(slot);
    state.next = user.next_multiple_of(HUGE);
    state.free.clear();
    Some(slot)
}

/// Allocates managed memory: whole 2 MiB blocks of address space, unpopulated.
pub fn allocate(bytes: usize) -> Option<usize> {
    let length = bytes.checked_next_multiple_of(HUGE)?;
    let mut held = hold();
    let state = &mut *held.state;
    let slot = match state.arena {
        Some(slot) => slot,
        None => make_arena(state)?,
    };
    let reused = state.free.iter().position(|(_, free)| *free == length);
    let base = match reused {
        Some(index) => state.free.swap_remove(index).0,
        None => {
            let base = state.next;
            let end = base.checked_add(length)?;
            if end > BOUNDS.get(slot)?.end.load(Ordering::Relaxed) {
                return None;
            }
            state.next = end;
            base
        }
    };
    let space = Space::new(bytes.div_ceil(PAGE));
    state.regions.insert(base, Region { bytes, space, totals: Totals::default() });
    Some(base)
}

/// Frees managed memory; its bytes, or `None` where no allocation begins there.
pub fn release(base: usize) -> Option<usize> {
    let mut held = hold();
    let state = &mut *held.state;
    let region = state.regions.remove(&base)?;
    for (place, resident) in state.resident.iter_mut().enumerate() {
        *resident = resident.saturating_sub(region.space.resident(place as Place));
    }
    let length = region.bytes.next_multiple_of(HUGE);
    // SAFETY: both views of this region belong to the arena; after this no allocation uses them.
    unsafe {
        libc::mprotect(base as *mut _, length, libc::PROT_NONE);
        libc::madvise(view(base) as *mut _, length, libc::MADV_REMOVE);
    }
    let ours = state.arena.and_then(|slot| BOUNDS.get(slot)).is_some_and(|bounds| {
        (bounds.user.load(Ordering::Relaxed)..bounds.end.load(Ordering::Relaxed)).contains(&base)
    });
    if ours {
        state.free.push((base, length));
    }
    Some(region.bytes)
}

/// Gives the CPU's mapping the protections that the pages now ask for.
fn protect(base: usize, space: &mut Space) {
    let dirty = space.take_dirty();
    let mut index = dirty.start;
    while index < dirty.end {
        let wanted = space.page(index).protection();
        let mut end = index;
        let mut stale = false;
        while end < dirty.end && space.page(end).protection() == wanted {
            stale |= space.page(end).mapped != wanted as u8;
            space.set_mapped(end, wanted);
            end += 1;
        }
        if stale {
            let flags = match wanted {
                Protection::None => libc::PROT_NONE,
                Protection::Read => libc::PROT_READ,
                Protection::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
            };
            // SAFETY: pages of a live managed region, in the program's view.
            unsafe { libc::mprotect((base + index * PAGE) as *mut _, (end - index) * PAGE, flags) };
        }
        index = end;
    }
}

const fn ordinal(place: Place) -> i32 {
    place as i32 - 1
}

/// Turns a step into a record, if it is one that a tool could see.
fn record(base: usize, step: &Step, counter: u64) -> Option<Event> {
    let now = config::now();
    let bytes = (step.count * PAGE) as u64;
    let mut event = match step.change {
        Change::Moved { from, to, cause } | Change::Copied { from, to, cause } => Event {
            src: ordinal(from),
            dst: ordinal(to),
            cause: cause as u32,
            bytes,
            // 25 bytes a nanosecond, about what the link carries.
            end: now + bytes / 25 + 1,
            ..Event::new(kind::MIGRATION)
        },
        Change::CpuFault { write } => {
            Event { access: 1 + u32::from(write), value: counter, end: 0, ..Event::new(kind::CPU_FAULT) }
        }
        Change::GpuFaultGroup { who, write } => Event {
            access: 1 + u32::from(write),
            src: ordinal(who),
            value: 1,
            end: now + 20_000,
            ..Event::new(kind::GPU_FAULT_GROUP)
        },
        Change::Remote { who, at } => {
            Event { src: ordinal(who), dst: ordinal(at), bytes, end: now, ..Event::new(kind::REMOTE_MAP) }
        }
        Change::Populated { .. } | Change::Collapsed { .. } => return None,
    };
    event.start = now;
    event.address = (base + step.first * PAGE) as u64;
    event.device = u32::try_from(event.src.max(event.dst)).unwrap_or(0);
    Some(event)
}

/// Runs an operation on a region, records its steps, keeps the sums and sets the protections.
fn operate<R>(
    state: &mut State,
    base: usize,
    counter: u64,
    operation: impl FnOnce(&mut Space, &mut Rng, &mut dyn FnMut(Step)) -> R,
) -> Option<R> {
    let region = state.regions.get_mut(&base)?;
    let before: [u64; 8] = std::array::from_fn(|place| region.space.resident(place as Place));
    let rng = state.rng.get_or_insert_with(|| Rng::new(config::get().seed));
    let totals = &mut region.totals;
    let result = operation(&mut region.space, rng, &mut |step| {
        if let Some(event) = record(base, &step, counter) {
            totals.add(&event);
            counters::emit(&event);
        }
    });
    for (place, (sum, old)) in state.resident.iter_mut().zip(before).enumerate() {
        *sum = sum.saturating_sub(old) + region.space.resident(place as Place);
    }
    protect(base, &mut region.space);
    Some(result)
}

fn region_at(state: &State, address: usize) -> Option<usize> {
    let (base, region) = state.regions.range(..=address).next_back()?;
    (address < base + region.space.len() * PAGE).then_some(*base)
}

/// Serves a CPU fault. False where the address is no live managed memory: the fault is somebody else's.
pub fn cpu_fault(address: usize, write: bool, counter: u64) -> bool {
    let mut held = hold();
    let Some(base) = region_at(&held.state, address) else { return false };
    let page = (address - base) / PAGE;
    operate(&mut held.state, base, counter, |space, _, sink| space.cpu_access(page, write, sink)).is_some()
}

fn make_room(state: &mut State, place: Place, keep: (usize, usize)) {
    let Some(device) = usize::from(place).checked_sub(1) else { return };
    let room = config::get().memory.saturating_sub(crate::heap::used(device)) / PAGE as u64;
    let mut tries = state.arrived.get(usize::from(place)).map_or(0, VecDeque::len);
    while tries > 0 && state.resident.get(usize::from(place)).is_some_and(|held| *held > room) {
        tries -= 1;
        let Some((base, block)) = state.arrived.get_mut(usize::from(place)).and_then(VecDeque::pop_front) else {
            return;
        };
        if (base, block) == keep {
            if let Some(queue) = state.arrived.get_mut(usize::from(place)) {
                queue.push_back(keep);
            }
            continue;
        }
        operate(state, base, 0, |space, _, sink| space.evict(place, block, sink));
    }
}

/// Visits the 2 MiB blocks of `address..address + bytes`, one lock hold each, so that CPU faults get their turn.
fn blocks(address: usize, bytes: usize, mut visit: impl FnMut(&mut State, usize, usize, usize) -> usize) -> usize {
    let Some(end) = address.checked_add(bytes) else { return 0 };
    let mut changed = 0;
    let mut at = address;
    while at < end {
        let mut held = hold();
        let Some(base) = region_at(&held.state, at) else { break };
        let first = (at - base) / PAGE;
        let stop = ((first / BLOCK + 1) * BLOCK).min((end - base).div_ceil(PAGE));
        changed += visit(&mut held.state, base, first, stop);
        at = base + stop * PAGE;
    }
    changed
}

/// A kernel on `place` touches a range. Returns the bytes that came to the device.
pub fn device_touch(place: Place, address: usize, bytes: usize, write: bool) -> u64 {
    let pages = blocks(address, bytes, |state, base, first, last| {
        let moved = operate(state, base, 0, |space, rng, sink| space.gpu_access(place, first, last, write, rng, sink))
            .unwrap_or(0);
        arrive(state, place, base, first, moved);
        moved
    });
    (pages * PAGE) as u64
}

fn arrive(state: &mut State, place: Place, base: usize, first: usize, moved: usize) {
    if moved > 0 && place != HOST {
        let block = (base, first / BLOCK * BLOCK);
        if let Some(queue) = state.arrived.get_mut(usize::from(place)) {
            queue.push_back(block);
        }
        make_room(state, place, block);
    }
}

/// An explicit prefetch. Returns the bytes that changed place.
pub fn prefetch(address: usize, bytes: usize, to: Place) -> u64 {
    let pages = blocks(address, bytes, |state, base, first, last| {
        let moved = operate(state, base, 0, |space, _, sink| space.prefetch(first, last, to, sink)).unwrap_or(0);
        arrive(state, to, base, first, moved);
        moved
    });
    (pages * PAGE) as u64
}

/// Takes advice.
pub fn advise(address: usize, bytes: usize, advice: Advice) {
    blocks(address, bytes, |state, base, first, last| {
        operate(state, base, 0, |space, _, sink| space.advise(first, last, advice, sink));
        0
    });
}

/// Visits the pages of a range without changing them.
pub fn inspect(address: usize, bytes: usize, mut visit: impl FnMut(residency::Page)) {
    blocks(address, bytes, |state, base, first, last| {
        if let Some(region) = state.regions.get(&base) {
            (first..last).for_each(|index| visit(region.space.page(index)));
        }
        0
    });
}

/// Whether a range lies in one managed allocation.
pub fn covers(address: usize, bytes: usize) -> bool {
    let held = hold();
    region_at(&held.state, address)
        .and_then(|base| held.state.regions.get(&base).map(|region| base + region.bytes.next_multiple_of(PAGE)))
        .is_some_and(|end| address.checked_add(bytes).is_some_and(|last| last <= end))
}

/// Bytes of managed memory that are on a device.
pub fn resident_bytes(device: usize) -> u64 {
    let held = hold();
    held.state.resident.get(device + 1).map_or(0, |pages| pages * PAGE as u64)
}

/// Fills the totals of the managed allocation that contains an address. Returns 0, or 1 where there is none.
///
/// # Safety
/// `out` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn umsim_allocation_counters(address: u64, out: *mut Totals) -> i32 {
    let held = hold();
    let totals = region_at(&held.state, address as usize)
        .and_then(|base| held.state.regions.get(&base))
        .map(|region| Totals { size: std::mem::size_of::<Totals>() as u64, ..region.totals });
    match totals {
        // SAFETY: by the caller's contract.
        Some(totals) => unsafe { crate::abi::put(out, totals) },
        None => return 1,
    }
    0
}

/// The bare lock, for the fork handlers.
pub fn raw() -> &'static RawLock {
    STATE.raw()
}

/// In a forked child: the old arena is shared with the parent, so new allocations come from a new one.
pub fn after_fork() {
    // The lock was held over the fork by the forking thread, and has been given back.
    let mut state = STATE.lock();
    state.arena = None;
    state.free.clear();
}
