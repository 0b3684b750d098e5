//! Stream-ordered allocation: memory pools.

use crate::abi::{AccessDesc, DevicePtr, Handle, PoolProps, Result32, code, put};
use crate::config::MAX_DEVICES;
use crate::context;
use crate::heap;
use crate::memory;
use crate::ranges::{self, Kind, Range};
use crate::slots::Slots;
use crate::stream::{self, Lane, Stream};
use crate::sync::Lock;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// A block that the pool holds but nobody uses.
#[derive(Clone, Copy)]
struct Spare {
    base: usize,
    /// The stream that freed it and the ticket after which others may have it, if any.
    after: Option<(&'static Stream, u64)>,
}

#[derive(Default)]
struct State {
    device: usize,
    /// Spare blocks by size.
    spare: BTreeMap<usize, Vec<Spare>>,
    reserved: u64,
    reserved_high: u64,
    used: u64,
    used_high: u64,
    threshold: u64,
    reuse: [c_int; 3],
}

struct Pool {
    state: Lock<State>,
}

impl Default for Pool {
    fn default() -> Self {
        Self { state: Lock::new(State::default()) }
    }
}

static POOLS: Slots<Pool> = Slots::new();
/// Default and current pool of each device, 0 until first asked for.
static DEVICES: Lock<[(usize, usize); MAX_DEVICES]> = Lock::new([(0, 0); MAX_DEVICES]);
/// Set by a free, so that a synchronisation without any looks no further.
static TRIMMABLE: AtomicBool = AtomicBool::new(false);

fn make(device: usize) -> Result<usize, Result32> {
    let (handle, pool) = POOLS.create().ok_or(code::OUT_OF_MEMORY)?;
    *pool.state.lock() = State { device, reuse: [1; 3], ..State::default() };
    Ok(handle as usize)
}

fn get(handle: Handle) -> Result<&'static Pool, Result32> {
    POOLS.get(handle).ok_or(code::INVALID_VALUE)
}

fn pool_of(device: usize, current: bool) -> Result<usize, Result32> {
    let mut devices = DEVICES.lock();
    let pair = devices.get_mut(device).ok_or(code::INVALID_DEVICE)?;
    if pair.0 == 0 {
        let made = make(device)?;
        *pair = (made, made);
    }
    Ok(if current { pair.1 } else { pair.0 })
}

impl State {
    fn take(&mut self, size: usize, stream: &Stream) -> Option<usize> {
        let list = self.spare.get_mut(&size)?;
        let index = list.iter().position(|spare| {
            spare.after.is_none_or(|(freed, ticket)| std::ptr::eq(freed, stream) || freed.reached(ticket))
        })?;
        Some(list.swap_remove(index).base)
    }

    /// Gives spare memory back until no more than `keep` bytes are held.
    fn trim(&mut self, keep: u64) {
        for (size, list) in &mut self.spare {
            list.retain(|spare| {
                let settled = spare.after.is_none_or(|(stream, ticket)| stream.reached(ticket));
                if self.reserved <= keep || !settled {
                    return true;
                }
                heap::give(spare.base, *size);
                heap::refund(self.device, heap::rounded(*size) as u64);
                self.reserved -= *size as u64;
                false
            });
        }
    }
}

fn allocate(pool: usize, bytes: usize, target: stream::Target) -> Result<usize, Result32> {
    let size = bytes.checked_next_multiple_of(heap::ALIGN).ok_or(code::OUT_OF_MEMORY)?;
    let mut state = get(pool as Handle)?.state.lock();
    let base = match state.take(size, target.stream) {
        Some(base) => base,
        None => {
            let cost = heap::rounded(size) as u64;
            if !heap::charge(state.device, cost) {
                // Under pressure the pools give up what they hold.
                state.trim(0);
                if !heap::charge(state.device, cost) {
                    return Err(code::OUT_OF_MEMORY);
                }
            }
            let Some(base) = heap::take(size) else {
                heap::refund(state.device, cost);
                return Err(code::OUT_OF_MEMORY);
            };
            state.reserved += size as u64;
            state.reserved_high = state.reserved_high.max(state.reserved);
            base
        }
    };
    state.used += size as u64;
    state.used_high = state.used_high.max(state.used);
    let device = state.device;
    drop(state);
    let context = target.now.handle;
    ranges::insert(Range { base, bytes, kind: Kind::Pool, device, context, flags: 0, owner: pool, id: 0 });
    Ok(base)
}

/// Returns a block to its pool, usable by others when `after` is reached.
pub fn give_back(base: usize, after: Option<(&'static Stream, u64)>) -> Result<(), Result32> {
    let range = ranges::remove(base, |r| r.kind == Kind::Pool).ok_or(code::INVALID_VALUE)?;
    memory::tell(&range, memory::RELEASED, after.map(|(stream, _)| stream));
    let size = range.bytes.next_multiple_of(heap::ALIGN);
    let Ok(pool) = get(range.owner as Handle) else {
        heap::give(base, size);
        heap::refund(range.device, heap::rounded(size) as u64);
        return Ok(());
    };
    let mut state = pool.state.lock();
    state.used = state.used.saturating_sub(size as u64);
    state.spare.entry(size).or_default().push(Spare { base, after });
    TRIMMABLE.store(true, Ordering::Release);
    Ok(())
}

/// A synchronisation happened: pools give back what exceeds their release threshold.
pub fn synchronized() {
    if !TRIMMABLE.swap(false, Ordering::AcqRel) {
        return;
    }
    POOLS.each(|_, pool| {
        let mut state = pool.state.lock();
        let keep = state.threshold.max(state.used);
        state.trim(keep);
        if state.spare.values().flatten().any(|spare| spare.after.is_some_and(|(s, t)| !s.reached(t))) {
            TRIMMABLE.store(true, Ordering::Release);
        }
    });
}

/// `cuMemAllocAsync`.
pub unsafe fn alloc(lane: Lane, out: *mut DevicePtr, bytes: usize, stream: Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let pool = pool_of(target.now.device(), true)?;
    // SAFETY: passed through.
    unsafe { alloc_from(lane, out, bytes, pool as Handle, stream) }
}

/// `cuMemAllocFromPoolAsync`.
pub unsafe fn alloc_from(
    lane: Lane,
    out: *mut DevicePtr,
    bytes: usize,
    pool: Handle,
    stream: Handle,
) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let base = if bytes == 0 { 0 } else { allocate(pool as usize, bytes, target)? };
    if let Some(range) = ranges::find(base).filter(|range| range.base == base) {
        memory::tell(&range, memory::ALLOCATED, Some(target.stream));
    }
    // SAFETY: not null.
    unsafe { put(out, base as DevicePtr) };
    Ok(())
}

/// `cuMemFreeAsync`.
pub unsafe fn free(lane: Lane, pointer: DevicePtr, stream: Handle) -> Result<(), Result32> {
    let target = stream::resolve(lane, stream)?;
    let base = pointer as usize;
    if base == 0 {
        return Ok(());
    }
    let range = ranges::find(base).filter(|r| r.base == base).ok_or(code::INVALID_VALUE)?;
    match range.kind {
        // Under capture the memory stays with the graph: it is not given to others.
        Kind::Pool if target.stream.captured().is_some() => Ok(()),
        Kind::Pool => give_back(base, Some((target.stream, target.stream.latest()))),
        // Memory of cuMemAlloc may be freed in stream order too.
        Kind::Device => {
            target.stream.wait(target.stream.latest());
            crate::memory::drop_device(base, range.bytes);
            Ok(())
        }
        _ => Err(code::INVALID_VALUE),
    }
}

/// `cuMemPoolCreate`.
pub unsafe fn create(out: *mut Handle, props: *const PoolProps) -> Result<(), Result32> {
    context::initialized()?;
    // SAFETY: null, or valid by the API's contract.
    let props = unsafe { props.as_ref() }.ok_or(code::INVALID_VALUE)?;
    if out.is_null() || props.location.kind != 1 {
        return Err(code::INVALID_VALUE);
    }
    let handle = make(context::device(props.location.id)?)?;
    // SAFETY: not null.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuMemPoolDestroy`.
pub unsafe fn destroy(handle: Handle) -> Result<(), Result32> {
    let pool = get(handle)?;
    if DEVICES.lock().iter().any(|pair| pair.0 == handle as usize) {
        return Err(code::INVALID_VALUE);
    }
    for pair in DEVICES.lock().iter_mut().filter(|pair| pair.1 == handle as usize) {
        pair.1 = pair.0;
    }
    pool.state.lock().trim(0);
    POOLS.retire(handle);
    POOLS.recycle(handle);
    Ok(())
}

/// `cuMemPoolTrimTo`.
pub unsafe fn trim_to(handle: Handle, keep: usize) -> Result<(), Result32> {
    let mut state = get(handle)?.state.lock();
    let keep = (keep as u64).max(state.used);
    state.trim(keep);
    Ok(())
}

/// `cuMemPoolSetAttribute`.
pub unsafe fn set_attribute(handle: Handle, attribute: c_int, value: *mut c_void) -> Result<(), Result32> {
    let mut state = get(handle)?.state.lock();
    if value.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: each attribute's value has the size read here.
    unsafe {
        match attribute {
            1..=3 => {
                if let Some(slot) = state.reuse.get_mut(attribute as usize - 1) {
                    *slot = value.cast::<c_int>().read_unaligned();
                }
            }
            4 => state.threshold = value.cast::<u64>().read_unaligned(),
            // The high-water marks can be reset to zero only.
            6 if value.cast::<u64>().read_unaligned() == 0 => state.reserved_high = state.reserved,
            8 if value.cast::<u64>().read_unaligned() == 0 => state.used_high = state.used,
            _ => return Err(code::INVALID_VALUE),
        }
    }
    Ok(())
}

/// `cuMemPoolGetAttribute`.
pub unsafe fn get_attribute(handle: Handle, attribute: c_int, value: *mut c_void) -> Result<(), Result32> {
    let state = get(handle)?.state.lock();
    if value.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let wide = match attribute {
        1..=3 => {
            let flag = state.reuse.get(attribute as usize - 1).copied().unwrap_or(0);
            // SAFETY: an int by the API's contract.
            unsafe { put(value.cast::<c_int>(), flag) };
            return Ok(());
        }
        4 => state.threshold,
        5 => state.reserved,
        6 => state.reserved_high,
        7 => state.used,
        8 => state.used_high,
        _ => return Err(code::INVALID_VALUE),
    };
    // SAFETY: a cuuint64_t by the API's contract.
    unsafe { put(value.cast::<u64>(), wide) };
    Ok(())
}

/// `cuMemPoolSetAccess`: accepted.
pub unsafe fn set_access(handle: Handle, _map: *const AccessDesc, _count: usize) -> Result<(), Result32> {
    get(handle).map(drop)
}

/// `cuMemPoolGetAccess`.
pub unsafe fn get_access(
    out: *mut c_int,
    handle: Handle,
    _location: *mut crate::abi::MemLocation,
) -> Result<(), Result32> {
    get(handle)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, 3) };
    Ok(())
}

/// `cuDeviceGetDefaultMemPool`.
pub unsafe fn default_pool(out: *mut Handle, device: c_int) -> Result<(), Result32> {
    let pool = pool_of(context::device(device)?, false)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, pool as Handle) };
    Ok(())
}

/// `cuDeviceGetMemPool`.
pub unsafe fn current_pool(out: *mut Handle, device: c_int) -> Result<(), Result32> {
    let pool = pool_of(context::device(device)?, true)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, pool as Handle) };
    Ok(())
}

/// `cuDeviceSetMemPool`.
pub unsafe fn set_pool(device: c_int, handle: Handle) -> Result<(), Result32> {
    let device = context::device(device)?;
    get(handle)?;
    pool_of(device, false)?;
    if let Some(pair) = DEVICES.lock().get_mut(device) {
        pair.1 = handle as usize;
    }
    Ok(())
}

/// `cuDeviceGraphMemTrim` and the like.
pub unsafe fn graph_trim(device: c_int) -> Result<(), Result32> {
    context::device(device).map(drop)
}

/// The bare locks, for the fork handlers.
pub fn raw() -> [&'static crate::sync::RawLock; 2] {
    [DEVICES.raw(), POOLS.raw()]
}
