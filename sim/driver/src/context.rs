//! Initialisation, devices, contexts and each thread's stack of them.

use crate::abi::{Handle, Result32, code, put};
use crate::activity;
use crate::config::{self, MAX_DEVICES};
use crate::residency::Place;
use crate::slots::Slots;
use crate::stream;
use crate::sync::Lock;
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};

/// One context.
#[derive(Default)]
pub struct Context {
    pub device: AtomicUsize,
    pub id: AtomicU32,
    pub flags: AtomicU32,
    /// A kernel's illegal access breaks the context for good.
    pub error: AtomicI32,
    /// Handle of the legacy default stream, 0 until first used.
    pub legacy: AtomicUsize,
    /// Devices whose memory may be used, one bit each.
    pub peers: AtomicU32,
    primary: AtomicBool,
}

static CONTEXTS: Slots<Context> = Slots::new();
static NEXT_ID: AtomicU32 = AtomicU32::new(1);
static INITIALIZED: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy)]
struct Primary {
    handle: usize,
    references: u32,
    flags: u32,
}

static PRIMARIES: Lock<[Primary; MAX_DEVICES]> =
    Lock::new([Primary { handle: 0, references: 0, flags: 0 }; MAX_DEVICES]);

const DEPTH: usize = 16;

thread_local! {
    /// In the first `cuInit`, while what is injected is loaded.
    static INJECTING: Cell<bool> = const { Cell::new(false) };
    static STACK: [Cell<usize>; DEPTH] = const { [const { Cell::new(0) }; DEPTH] };
    static TOP: Cell<usize> = const { Cell::new(0) };
}

/// A context in use by a call.
#[derive(Clone, Copy)]
pub struct Current {
    pub handle: usize,
    pub context: &'static Context,
}

impl Current {
    /// Its device.
    pub fn device(&self) -> usize {
        self.context.device.load(Ordering::Relaxed)
    }
}

fn top() -> usize {
    let depth = TOP.get();
    STACK.with(|stack| depth.checked_sub(1).and_then(|i| stack.get(i)).map_or(0, Cell::get))
}

/// The calling thread's context, or why there is none.
#[inline]
pub fn current() -> Result<Current, Result32> {
    let handle = top();
    match CONTEXTS.get(handle as *const c_void) {
        Some(context) => match context.error.load(Ordering::Relaxed) {
            0 => Ok(Current { handle, context }),
            error => Err(error),
        },
        None if !INITIALIZED.load(Ordering::Acquire) => Err(code::NOT_INITIALIZED),
        None => Err(code::INVALID_CONTEXT),
    }
}

/// The context of a handle.
pub fn lookup(handle: usize) -> Option<&'static Context> {
    CONTEXTS.get(handle as *const c_void)
}

/// Initialised, or the error to return.
pub fn initialized() -> Result<(), Result32> {
    if INITIALIZED.load(Ordering::Acquire) { Ok(()) } else { Err(code::NOT_INITIALIZED) }
}

/// A device ordinal that exists, or the error to return.
pub fn device(ordinal: c_int) -> Result<usize, Result32> {
    initialized()?;
    usize::try_from(ordinal).ok().filter(|d| *d < config::get().devices).ok_or(code::INVALID_DEVICE)
}

/// `cuInit`.
pub unsafe fn init(flags: c_uint) -> Result<(), Result32> {
    if flags != 0 {
        return Err(code::INVALID_VALUE);
    }
    if config::get().devices == 0 {
        return Err(code::NO_DEVICE);
    }
    if INITIALIZED.load(Ordering::Acquire) || INJECTING.get() {
        return Ok(());
    }
    static FIRST: AtomicBool = AtomicBool::new(true);
    if FIRST.swap(false, Ordering::AcqRel) {
        crate::fork::register();
        crate::fault::install();
        INJECTING.set(true);
        crate::inject::load();
        INJECTING.set(false);
        INITIALIZED.store(true, Ordering::Release);
    }
    // Another thread is at it; it calls nothing that could wait for this one.
    for _ in 0..10_000 {
        if INITIALIZED.load(Ordering::Acquire) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

fn make(device: usize, flags: u32, primary: bool) -> Result<usize, Result32> {
    let (handle, context) = CONTEXTS.create().ok_or(code::OUT_OF_MEMORY)?;
    context.device.store(device, Ordering::Relaxed);
    context.id.store(NEXT_ID.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    context.flags.store(flags, Ordering::Relaxed);
    context.error.store(0, Ordering::Relaxed);
    context.legacy.store(0, Ordering::Relaxed);
    context.peers.store(0, Ordering::Relaxed);
    context.primary.store(primary, Ordering::Relaxed);
    activity::tell_context(1, handle as usize);
    Ok(handle as usize)
}

fn push(handle: usize) -> Result<(), Result32> {
    let depth = TOP.get();
    STACK.with(|stack| {
        stack.get(depth).ok_or(code::INVALID_VALUE)?.set(handle);
        TOP.set(depth + 1);
        Ok(())
    })
}

fn pop() -> usize {
    let handle = top();
    TOP.set(TOP.get().saturating_sub(1));
    handle
}

/// `cuCtxCreate` and its versions.
pub unsafe fn create(out: *mut Handle, flags: c_uint, ordinal: c_int) -> Result<(), Result32> {
    let device = device(ordinal)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let handle = make(device, flags, false)?;
    push(handle)?;
    // SAFETY: checked above.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuCtxCreate_v3` and `_v4`: what the parameters ask for (affinity, CIG) is not imitated.
pub unsafe fn create_with(out: *mut Handle, _p: *mut c_void, flags: c_uint, device: c_int) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { create(out, flags, device) }
}

/// `cuCtxCreate_v3`.
pub unsafe fn create_affine(
    out: *mut Handle,
    _params: *mut c_void,
    _count: c_int,
    flags: c_uint,
    device: c_int,
) -> Result<(), Result32> {
    // SAFETY: passed through.
    unsafe { create(out, flags, device) }
}

/// `cuCtxDestroy`.
pub unsafe fn destroy(handle: Handle) -> Result<(), Result32> {
    initialized()?;
    let context = CONTEXTS.get(handle).ok_or(code::INVALID_CONTEXT)?;
    if context.primary.load(Ordering::Relaxed) {
        return Err(code::INVALID_CONTEXT);
    }
    teardown(handle as usize);
    if top() == handle as usize {
        pop();
    }
    Ok(())
}

fn teardown(handle: usize) {
    activity::tell_context(2, handle);
    stream::drain_context(handle);
    crate::memory::free_context(handle);
    CONTEXTS.retire(handle as *const c_void);
    // Not recycled: another thread's stack may still name it, and must find it dead.
}

/// `cuCtxPushCurrent`.
pub unsafe fn push_current(handle: Handle) -> Result<(), Result32> {
    initialized()?;
    CONTEXTS.get(handle).ok_or(code::INVALID_CONTEXT)?;
    push(handle as usize)
}

/// `cuCtxPopCurrent`.
pub unsafe fn pop_current(out: *mut Handle) -> Result<(), Result32> {
    initialized()?;
    if top() == 0 {
        return Err(code::INVALID_CONTEXT);
    }
    let handle = pop();
    // SAFETY: out-pointer by the API's contract, checked for null.
    unsafe { put(out, handle as Handle) };
    Ok(())
}

/// `cuCtxSetCurrent`.
pub unsafe fn set_current(handle: Handle) -> Result<(), Result32> {
    initialized()?;
    if handle.is_null() {
        pop();
        return Ok(());
    }
    CONTEXTS.get(handle).ok_or(code::INVALID_CONTEXT)?;
    if TOP.get() > 0 {
        pop();
    }
    push(handle as usize)
}

/// `cuCtxGetCurrent`.
pub unsafe fn get_current(out: *mut Handle) -> Result<(), Result32> {
    initialized()?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { put(out, top() as Handle) };
    Ok(())
}

/// `cuCtxGetDevice`.
pub unsafe fn get_device(out: *mut c_int) -> Result<(), Result32> {
    let current = current()?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null.
    unsafe { put(out, current.device() as c_int) };
    Ok(())
}

/// `cuCtxGetDevice_v2`.
pub unsafe fn get_device_of(out: *mut c_int, handle: Handle) -> Result<(), Result32> {
    if handle.is_null() {
        // SAFETY: passed through.
        return unsafe { get_device(out) };
    }
    let context = CONTEXTS.get(handle).ok_or(code::INVALID_CONTEXT)?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, context.device.load(Ordering::Relaxed) as c_int) };
    Ok(())
}

/// `cuCtxGetFlags`.
pub unsafe fn get_flags(out: *mut c_uint) -> Result<(), Result32> {
    let current = current()?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, current.context.flags.load(Ordering::Relaxed)) };
    Ok(())
}

/// `cuCtxGetId`.
pub unsafe fn get_id(handle: Handle, out: *mut u64) -> Result<(), Result32> {
    let context =
        if handle.is_null() { current()?.context } else { CONTEXTS.get(handle).ok_or(code::INVALID_CONTEXT)? };
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, u64::from(context.id.load(Ordering::Relaxed))) };
    Ok(())
}

/// `cuCtxGetApiVersion`.
pub unsafe fn api_version(_handle: Handle, out: *mut c_uint) -> Result<(), Result32> {
    initialized()?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, 3020) };
    Ok(())
}

/// `cuCtxGetStreamPriorityRange`.
pub unsafe fn priority_range(least: *mut c_int, greatest: *mut c_int) -> Result<(), Result32> {
    current()?;
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(least, 0);
        put(greatest, -5);
    }
    Ok(())
}

/// `cuCtxGetLimit`: one plausible number for all.
pub unsafe fn get_limit(out: *mut usize, _limit: c_int) -> Result<(), Result32> {
    current()?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, 1024) };
    Ok(())
}

/// `cuCtxSetLimit`, `cuCtxSetCacheConfig` and the like: accepted, without effect.
pub unsafe fn set_limit(_limit: c_int, _value: usize) -> Result<(), Result32> {
    current().map(drop)
}

/// `cuCtxSetCacheConfig`, `cuCtxSetSharedMemConfig`.
pub unsafe fn set_config(_config: c_int) -> Result<(), Result32> {
    current().map(drop)
}

/// `cuCtxGetCacheConfig`, `cuCtxGetSharedMemConfig`.
pub unsafe fn get_config(out: *mut c_int) -> Result<(), Result32> {
    current()?;
    // SAFETY: out-pointer by the API's contract.
    unsafe { put(out, 0) };
    Ok(())
}

/// `cuCtxSynchronize`.
pub unsafe fn synchronize() -> Result<(), Result32> {
    let now = current()?;
    stream::not_on_worker()?;
    stream::refuse_while_capturing(now.handle)?;
    let start = config::now();
    stream::drain_context(now.handle);
    crate::pool::synchronized();
    activity::tell_wait(None, crate::told::sync::CONTEXT, start, None);
    current().map(drop)
}

/// `cuCtxSynchronize_v2`.
pub unsafe fn synchronize_of(handle: Handle) -> Result<(), Result32> {
    if handle.is_null() {
        // SAFETY: passed through.
        return unsafe { synchronize() };
    }
    CONTEXTS.get(handle).ok_or(code::INVALID_CONTEXT)?;
    stream::drain_context(handle as usize);
    crate::pool::synchronized();
    Ok(())
}

/// `cuDevicePrimaryCtxRetain`.
pub unsafe fn primary_retain(out: *mut Handle, ordinal: c_int) -> Result<(), Result32> {
    let device = device(ordinal)?;
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let mut primaries = PRIMARIES.lock();
    let primary = primaries.get_mut(device).ok_or(code::INVALID_DEVICE)?;
    if primary.handle == 0 {
        primary.handle = make(device, primary.flags, true)?;
    }
    primary.references += 1;
    // SAFETY: not null.
    unsafe { put(out, primary.handle as Handle) };
    Ok(())
}

/// `cuDevicePrimaryCtxRelease`.
pub unsafe fn primary_release(ordinal: c_int) -> Result<(), Result32> {
    let device = device(ordinal)?;
    let gone = {
        let mut primaries = PRIMARIES.lock();
        let primary = primaries.get_mut(device).ok_or(code::INVALID_DEVICE)?;
        if primary.references == 0 {
            return Err(code::INVALID_CONTEXT);
        }
        primary.references -= 1;
        if primary.references == 0 { std::mem::take(&mut primary.handle) } else { 0 }
    };
    if gone != 0 {
        teardown(gone);
    }
    Ok(())
}

/// `cuDevicePrimaryCtxReset`.
pub unsafe fn primary_reset(ordinal: c_int) -> Result<(), Result32> {
    let device = device(ordinal)?;
    let gone = {
        let mut primaries = PRIMARIES.lock();
        let primary = primaries.get_mut(device).ok_or(code::INVALID_DEVICE)?;
        std::mem::take(&mut primary.handle)
    };
    if gone != 0 {
        teardown(gone);
    }
    Ok(())
}

/// `cuDevicePrimaryCtxGetState`.
pub unsafe fn primary_state(ordinal: c_int, flags: *mut c_uint, active: *mut c_int) -> Result<(), Result32> {
    let device = device(ordinal)?;
    let primary = PRIMARIES.lock().get(device).copied().ok_or(code::INVALID_DEVICE)?;
    // SAFETY: out-pointers by the API's contract.
    unsafe {
        put(flags, primary.flags);
        put(active, c_int::from(primary.handle != 0));
    }
    Ok(())
}

/// `cuDevicePrimaryCtxSetFlags`.
pub unsafe fn primary_set_flags(ordinal: c_int, flags: c_uint) -> Result<(), Result32> {
    let device = device(ordinal)?;
    if let Some(primary) = PRIMARIES.lock().get_mut(device) {
        primary.flags = flags;
    }
    Ok(())
}

/// `cuCtxEnablePeerAccess`.
pub unsafe fn enable_peer(peer: Handle, flags: c_uint) -> Result<(), Result32> {
    let now = current()?;
    let other = CONTEXTS.get(peer).ok_or(code::INVALID_CONTEXT)?;
    if flags != 0 || std::ptr::eq(other, now.context) {
        return Err(code::INVALID_VALUE);
    }
    let bit = 1u32 << other.device.load(Ordering::Relaxed);
    match now.context.peers.fetch_or(bit, Ordering::Relaxed) & bit {
        0 => Ok(()),
        _ => Err(code::PEER_ACCESS_ALREADY_ENABLED),
    }
}

/// `cuCtxDisablePeerAccess`.
pub unsafe fn disable_peer(peer: Handle) -> Result<(), Result32> {
    let now = current()?;
    let other = CONTEXTS.get(peer).ok_or(code::INVALID_CONTEXT)?;
    let bit = 1u32 << other.device.load(Ordering::Relaxed);
    match now.context.peers.fetch_and(!bit, Ordering::Relaxed) & bit {
        0 => Err(code::PEER_ACCESS_NOT_ENABLED),
        _ => Ok(()),
    }
}

/// Whether one of two devices' primary contexts may access the other's memory.
pub fn peers(one: Place, other: Place) -> bool {
    let may = |from: Place, to: Place| {
        let (from, to) = (usize::from(from).checked_sub(1), usize::from(to).checked_sub(1));
        let (Some(from), Some(to)) = (from, to) else { return false };
        let handle = PRIMARIES.lock().get(from).map_or(0, |primary| primary.handle);
        lookup(handle).is_some_and(|context| context.peers.load(Ordering::Relaxed) & (1 << to) != 0)
    };
    may(one, other) || may(other, one)
}

/// The bare locks, for the fork handlers.
pub fn raw() -> [&'static crate::sync::RawLock; 2] {
    [PRIMARIES.raw(), CONTEXTS.raw()]
}
