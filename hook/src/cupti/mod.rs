//! The second door: what the GPU and the driver do, by CUPTI.
//!
//! It opens when the program's `cuInit` has returned, and only then loads libcupti: a process that never uses CUDA pays
//! nothing, and variables by which the driver loads other tools stay theirs. Each kind of evidence that cannot be had is
//! said with its reason; API calls are recorded all the same.

mod buffers;
mod clock;
mod collector;
mod decode;
mod library;
mod names;
mod others;
mod pauses;
mod submits;
mod writer;

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use umtui_wire::activity::{
    EVIDENCE_ACTIVITY, EVIDENCE_CORRELATION, EVIDENCE_FAULTS, EVIDENCE_MEMORY, EVIDENCE_MIGRATIONS, EVIDENCE_POINTERS,
    EVIDENCE_WAITS, WHY_NO_DEVICE, WHY_NO_LIBRARY, WHY_NO_THREAD, WHY_NOT_ASKED, WHY_RECORDED, WHY_REFUSED,
    WHY_STEPPED_ASIDE, WHY_TAKEN, WHY_UNUSABLE_LIBRARY,
};

use crate::config::Gpu;
use crate::thread::WITH_CUPTI;
use crate::{arch, capture, config, copier, definitions, devices, evidence, kernels, sites, slots, spawn, sys};
use library::{CounterConfig, Functions};

pub use others::instead_of;
pub use submits::submits;

/// All that comes through this door.
const ALL: [u16; 6] =
    [EVIDENCE_ACTIVITY, EVIDENCE_MIGRATIONS, EVIDENCE_FAULTS, EVIDENCE_CORRELATION, EVIDENCE_MEMORY, EVIDENCE_WAITS];

/// Nothing has been tried.
const NONE: u32 = 0;
/// Somebody is at it.
const STARTING: u32 = 1;
/// Records come.
const ON: u32 = 2;
/// No records come, or none any more.
const OFF: u32 = 3;

#[unsafe(link_section = ".data.small")]
static STATE: AtomicU32 = AtomicU32::new(NONE);
/// The process that records come from: a child of vfork shares our memory.
#[unsafe(link_section = ".data.small")]
static OWNER: AtomicU32 = AtomicU32::new(0);
#[unsafe(link_section = ".data.small")]
static SUBSCRIBER: AtomicUsize = AtomicUsize::new(0);
/// Kinds of activity that were enabled, a bit for each.
#[unsafe(link_section = ".data.small")]
static ENABLED: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);
/// Somebody else began to use CUPTI before us.
#[unsafe(link_section = ".data.small")]
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// `CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`.
const MULTIPLE_SUBSCRIBERS: i32 = 39;
/// First version whose callbacks fit drivers of CUDA 12 and later. 11.8's name other functions there, and give every
/// call the same id (seen with driver 580).
const FITS_NEW_DRIVERS: u32 = 18 + 1;

/// How long somebody else who begins to use CUPTI may be kept waiting, ns. To disable unified memory takes CUPTI 2.0 s
/// (12.9 to 13.5, driver 580), in which nobody else can register callbacks.
const ASIDE_NS: u64 = 6_000_000_000;
/// How long the end of the process may be put off for what is still to be handed over, ns.
const AT_EXIT_NS: u64 = 2_000_000_000;
/// The same before the program becomes another one, or ends without its exit handlers.
const AT_ONCE_NS: u64 = 500_000_000;

/// Between two looks whether another thread has come to an end with it, ns.
const LOOK_NS: u64 = 1_000_000;
/// Bytes of the stack on which the door is opened: the program's thread may have little, and the loader and CUPTI take
/// what they take.
const STACK_BYTES: usize = 1 << 20;

struct Place(UnsafeCell<MaybeUninit<Functions>>);
// SAFETY: written once, by whoever has set STATE to STARTING, before anybody reads it.
unsafe impl Sync for Place {}
static FUNCTIONS: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));

/// Whether it is still to be tried.
pub fn is_due() -> bool {
    STATE.load(Ordering::Relaxed) == NONE
}

/// What kept it from being recorded.
struct Trouble {
    why: u32,
    result: i32,
    detail: u32,
}

impl Trouble {
    const fn new(why: u32) -> Self {
        Self { why, result: 0, detail: 0 }
    }

    /// CUPTI has said no.
    const fn refused(result: i32) -> Self {
        Self { why: if result == MULTIPLE_SUBSCRIBERS { WHY_TAKEN } else { WHY_REFUSED }, result, detail: 0 }
    }
}

/// What is known of versions.
#[derive(Clone, Copy, Default)]
struct Versions {
    driver: u32,
    library: u32,
}

impl Versions {
    fn tell(self, what: u16, trouble: &Trouble) {
        evidence::tell(what, trouble.why, trouble.detail, trouble.result as u32, self.driver, self.library);
    }

    fn recorded(self, what: u16, detail: u32) {
        evidence::tell(what, WHY_RECORDED, detail, 0, self.driver, self.library);
    }
}

/// Recording begins, perhaps in the middle of the run: the driver may be initialised already.
#[cold]
pub fn begin_if_late() {
    if capture::may_be_late() && is_due() && devices::count().is_some() {
        begin();
    }
}

/// The program has initialised the driver, and the call is over. Once.
#[cold]
#[inline(never)]
pub fn begin() {
    if STATE.compare_exchange(NONE, STARTING, Ordering::SeqCst, Ordering::Acquire).is_err() {
        return;
    }
    let _errno = sys::Errno::save();
    // The loader and CUPTI take locks that a handler which calls CUDA would wait for.
    let _held = sys::SignalsHeld::hold();
    // SAFETY: the calling thread's own state.
    let thread = unsafe { &mut *arch::thread() };
    thread.entering = thread.entering.wrapping_add(WITH_CUPTI);
    match sys::map_private(STACK_BYTES) {
        Ok(stack) => {
            // SAFETY: fresh memory, which nobody uses any more when the function has returned.
            unsafe {
                arch::call_on_stack(open, stack.add(STACK_BYTES));
                sys::unmap(stack, STACK_BYTES);
            }
        }
        Err(_) => open(),
    }
    thread.entering = thread.entering.wrapping_sub(WITH_CUPTI);
}

extern "C" fn open() {
    copier::start();
    let wanted = config::gpu();
    let devices = devices::describe();
    let mut versions = Versions { driver: devices::driver_version(), library: 0 };
    let begun = if !wanted.on {
        Err(Trouble::new(WHY_NOT_ASKED))
    } else if devices == Some(0) {
        Err(Trouble::new(WHY_NO_DEVICE))
    } else if TAKEN.load(Ordering::SeqCst) != 0 {
        Err(Trouble::new(WHY_TAKEN))
    } else {
        connect(&wanted, &mut versions)
    };
    versions.tell(EVIDENCE_POINTERS, &pointers(devices));
    // Where somebody else has meanwhile made us step aside, that stands.
    let state = if begun.is_ok() { ON } else { OFF };
    let _ = STATE.compare_exchange(STARTING, state, Ordering::AcqRel, Ordering::Acquire);
    if let Err(trouble) = begun {
        for what in ALL {
            versions.tell(what, &trouble);
        }
    }
}

/// Whether pointers among the parameters of kernels are recorded. They come with the calls, and not from CUPTI.
fn pointers(devices: Option<u32>) -> Trouble {
    Trouble::new(if !slots::arguments_wanted() || !slots::launches_wanted() {
        WHY_NOT_ASKED
    } else if devices == Some(0) {
        WHY_NO_DEVICE
    } else if kernels::tell_parameters() {
        WHY_RECORDED
    } else {
        WHY_UNUSABLE_LIBRARY
    })
}

/// Finds the library and has it record. Whatever it refuses beyond the activity itself is said, and no hindrance.
fn connect(wanted: &Gpu, versions: &mut Versions) -> Result<(), Trouble> {
    let found = library::find(versions.driver).ok_or(Trouble::new(WHY_NO_LIBRARY))?;
    sites::objects_changed();
    if !found.was_loaded {
        others::is_ours(&found.library);
    }
    let path = definitions::string(found.path.as_bytes());
    let functions = Functions::of(&found.library).map_err(|lacking| Trouble {
        detail: definitions::string(lacking.to_bytes()),
        ..Trouble::new(WHY_UNUSABLE_LIBRARY)
    })?;
    // SAFETY: see Place; nobody reads it before the collector is started.
    let functions: &'static Functions = unsafe { (*FUNCTIONS.0.get()).write(functions) };
    let mut subscriber: *mut c_void = core::ptr::null_mut();
    // SAFETY: CUPTI's functions; what they fill and call back is ours and stays.
    unsafe {
        check((functions.get_version)(&mut versions.library))?;
        check((functions.subscribe)(&mut subscriber, submits::called, core::ptr::null_mut()))?;
    }
    SUBSCRIBER.store(subscriber as usize, Ordering::Release);
    OWNER.store(sys::pid(), Ordering::Release);
    if !collector::start(functions) {
        leave_quietly(functions);
        return Err(Trouble::new(WHY_NO_THREAD));
    }
    if let Err(trouble) = enable(functions, wanted, *versions, path) {
        collector::ask(collector::GIVE_UP, ASIDE_NS);
        return Err(trouble);
    }
    if versions.library >= FITS_NEW_DRIVERS || versions.driver < 12_000 {
        match submits::enable(functions, subscriber) {
            Ok(()) => versions.recorded(EVIDENCE_CORRELATION, path),
            Err(result) => versions.tell(EVIDENCE_CORRELATION, &Trouble::refused(result)),
        }
    } else {
        versions.tell(EVIDENCE_CORRELATION, &Trouble { detail: path, ..Trouble::new(WHY_UNUSABLE_LIBRARY) });
    }
    spawn::at_exit(exiting);
    Ok(())
}

fn check(result: i32) -> Result<(), Trouble> {
    if result == 0 { Ok(()) } else { Err(Trouble::refused(result)) }
}

/// Enables kinds of activity; only that of kernels must work.
fn enable(functions: &Functions, wanted: &Gpu, versions: Versions, path: u32) -> Result<(), Trouble> {
    // SAFETY: CUPTI's function; what it calls back is ours.
    check(unsafe { (functions.register_callbacks)(requested, completed) })?;
    let enable = |kind: u32| {
        // SAFETY: CUPTI's function takes a number.
        let result = unsafe { (functions.enable)(kind) };
        if result == 0 {
            ENABLED.fetch_or(1u64.wrapping_shl(kind), Ordering::Relaxed);
        }
        check(result)
    };
    if wanted.whole_graphs {
        // Before kernels, or graphs are traced node by node.
        let _ = enable(decode::GRAPH_TRACE);
    }
    enable(decode::CONCURRENT_KERNEL)?;
    for kind in [decode::MEMCPY, decode::MEMCPY2, decode::MEMSET, decode::OVERHEAD] {
        let _ = enable(kind);
    }
    versions.recorded(EVIDENCE_ACTIVITY, path);
    let on_request = |what, asked: bool, kinds: &[u32]| {
        let enabled =
            if asked { kinds.iter().try_for_each(|&kind| enable(kind)) } else { Err(Trouble::new(WHY_NOT_ASKED)) };
        match enabled {
            Ok(()) => versions.recorded(what, path),
            Err(trouble) => versions.tell(what, &trouble),
        }
    };
    // Either of these two makes each call of the program dearer by 200 to 300 ns (CUPTI 13.0 on an H200), and stays so
    // after it is disabled; none of the others does.
    on_request(EVIDENCE_WAITS, wanted.waits, &[decode::SYNCHRONIZATION, decode::CUDA_EVENT]);
    on_request(EVIDENCE_MEMORY, wanted.memory, &[decode::MEMORY2]);
    let counters = counters(functions, wanted.faults);
    let migrations = counters.and_then(|faults| enable(decode::UNIFIED_MEMORY_COUNTER).map(|()| faults));
    match migrations {
        Ok(faults) => {
            versions.recorded(EVIDENCE_MIGRATIONS, path);
            match faults {
                Some(Ok(())) => versions.recorded(EVIDENCE_FAULTS, path),
                Some(Err(trouble)) => versions.tell(EVIDENCE_FAULTS, &trouble),
                None => versions.tell(EVIDENCE_FAULTS, &Trouble::new(WHY_NOT_ASKED)),
            }
        }
        Err(trouble) => {
            versions.tell(EVIDENCE_MIGRATIONS, &trouble);
            versions.tell(EVIDENCE_FAULTS, &trouble);
        }
    }
    Ok(())
}

/// Chooses what is recorded of unified memory; of faults, if they are asked for, whether they can be.
fn counters(functions: &Functions, faults: bool) -> Result<Option<Result<(), Trouble>>, Trouble> {
    const TO_DEVICE: u32 = 1;
    const TO_HOST: u32 = 2;
    const BETWEEN_DEVICES: u32 = 8;
    const FAULTS: [u32; 5] = [3, 4, 5, 6, 7];
    let configure = |kinds: &[u32]| {
        let mut configs = [CounterConfig { scope: 1, kind: 0, device: 0, enable: 1 }; 8];
        for (config, kind) in configs.iter_mut().zip(kinds) {
            config.kind = *kind;
        }
        // SAFETY: as many structures as are passed.
        check(unsafe { (functions.configure_counters)(configs.as_ptr(), kinds.len() as u32) })
    };
    configure(&[TO_DEVICE, TO_HOST, BETWEEN_DEVICES]).or_else(|_| configure(&[TO_DEVICE, TO_HOST]))?;
    Ok(faults.then(|| configure(&FAULTS).or_else(|_| configure(&[3, 4]))))
}

unsafe extern "C" fn requested(buffer: *mut *mut u8, bytes: *mut usize, records: *mut usize) {
    let lent = if OWNER.load(Ordering::Relaxed) == sys::pid() { buffers::lend() } else { core::ptr::null_mut() };
    // SAFETY: CUPTI's places for the answer.
    unsafe {
        *buffer = lent;
        *bytes = if lent.is_null() { 0 } else { buffers::BYTES };
        *records = 0;
    }
}

unsafe extern "C" fn completed(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if buffers::hand_over(buffer, valid) && valid > 0 {
        collector::wake();
    }
}

/// The collector leaves CUPTI to somebody else.
fn leave(functions: &Functions) {
    let result = leave_quietly(functions);
    for what in ALL {
        evidence::tell(what, WHY_STEPPED_ASIDE, 0, result as u32, 0, 0);
    }
}

/// CUPTI's answer to that we leave.
fn leave_quietly(functions: &Functions) -> i32 {
    let enabled = ENABLED.swap(0, Ordering::AcqRel);
    // SAFETY: CUPTI's functions, with what it has given us.
    unsafe {
        for kind in (0..64).filter(|&kind| enabled.wrapping_shr(kind) & 1 != 0) {
            (functions.disable)(kind);
        }
        match SUBSCRIBER.swap(0, Ordering::AcqRel) {
            0 => 0,
            subscriber => (functions.unsubscribe)(subscriber as *mut c_void),
        }
    }
}

/// Somebody else is about to use CUPTI, whose buffers and subscription are one a process. When this returns we are out of
/// the way, or it has taken too long.
fn step_aside() {
    // SAFETY: the calling thread's own state.
    if unsafe { (*arch::thread()).entering } >= WITH_CUPTI {
        // CUPTI itself, called by us.
        return;
    }
    // Before STATE is looked at, and begin() does it the other way round: one of us sees the other.
    TAKEN.store(1, Ordering::SeqCst);
    let _errno = sys::Errno::save();
    let end = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_add(ASIDE_NS);
    loop {
        let left = end.saturating_sub(sys::clock_ns(libc::CLOCK_MONOTONIC));
        match STATE.load(Ordering::SeqCst) {
            STARTING if left > 0 => sys::sleep_ns(LOOK_NS),
            ON if OWNER.load(Ordering::Acquire) == sys::pid() => {
                if STATE.compare_exchange(ON, OFF, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    collector::ask(collector::ASIDE, left);
                    return;
                }
            }
            OFF if OWNER.load(Ordering::Acquire) == sys::pid() => {
                // Another of its threads has made us go, or the process ends.
                collector::wait_for_end(left);
                return;
            }
            _ => return,
        }
    }
}

/// The process is about to become another one, or to end at once: what is complete is written down, if that is quick.
pub fn flush_at_once() {
    if STATE.load(Ordering::Acquire) == ON && OWNER.load(Ordering::Acquire) == sys::pid() {
        let _errno = sys::Errno::save();
        collector::ask(collector::FLUSH, AT_ONCE_NS);
    }
}

unsafe extern "C" fn exiting(_: *mut c_void) {
    // Registered before the loader's own handler, where a library's constructor has called cuInit: then all destructors
    // have run by now, CUPTI's among them, and the file has ended.
    if crate::file::has_ended() {
        STATE.store(OFF, Ordering::Release);
        return;
    }

    if OWNER.load(Ordering::Acquire) == sys::pid()
        && STATE.swap(OFF, Ordering::AcqRel) == ON
        && collector::ask(collector::FINISH, AT_EXIT_NS)
    {
        collector::wait_for_end(spawn::GOING_NS);
    }
}

/// In a child after fork: the driver does not work there, if it was initialised before.
pub fn after_fork() {
    collector::after_fork();
    if STATE.load(Ordering::Acquire) != NONE {
        STATE.store(OFF, Ordering::Release);
        SUBSCRIBER.store(0, Ordering::Release);
        ENABLED.store(0, Ordering::Release);
    }
}
