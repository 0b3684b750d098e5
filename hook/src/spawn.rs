//! Threads of ours in somebody else's program, detached and deaf to signals, and what is done as it ends.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::{loader, sys};

/// What a thread runs.
pub type Run = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
/// `pthread_attr_t` is shorter on all machines.
type Attributes = MaybeUninit<[u64; 16]>;

/// The C library's functions that are used. Before glibc 2.34 they are in a library that the driver needs, but not we.
struct Threads {
    create: unsafe extern "C" fn(*mut usize, *const Attributes, Run, *mut c_void) -> i32,
    begin: unsafe extern "C" fn(*mut Attributes) -> i32,
    set_stack: unsafe extern "C" fn(*mut Attributes, usize) -> i32,
    set_detached: unsafe extern "C" fn(*mut Attributes, i32) -> i32,
    end: unsafe extern "C" fn(*mut Attributes) -> i32,
}

impl Threads {
    fn find() -> Option<Self> {
        let find = |name| Some(loader::own(name)).filter(|address| !address.is_null());
        // SAFETY: the functions of these names have these signatures.
        unsafe {
            Some(Self {
                create: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(_, _, _, _) -> i32>(find(
                    c"pthread_create",
                )?),
                begin: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(_) -> i32>(find(c"pthread_attr_init")?),
                set_stack: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(_, _) -> i32>(find(
                    c"pthread_attr_setstacksize",
                )?),
                set_detached: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(_, _) -> i32>(find(
                    c"pthread_attr_setdetachstate",
                )?),
                end: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(_) -> i32>(find(
                    c"pthread_attr_destroy",
                )?),
            })
        }
    }
}

/// Starts a thread with so many bytes of stack; false if there can be none. Not from a handler that may have interrupted
/// the allocator.
pub fn detached(run: Run, stack_bytes: usize) -> bool {
    let Some(threads) = Threads::find() else { return false };
    let (mut thread, mut attributes) = (0, Attributes::uninit());
    // It inherits the mask.
    let _held = sys::SignalsHeld::hold_all();
    // SAFETY: the C library's functions by their signatures; what they fill is ours.
    unsafe {
        if (threads.begin)(&mut attributes) != 0 {
            return false;
        }
        (threads.set_stack)(&mut attributes, stack_bytes);
        (threads.set_detached)(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let failed = (threads.create)(&mut thread, &attributes, run, core::ptr::null_mut());
        (threads.end)(&mut attributes);
        failed == 0
    }
}

/// ns: how long the end of the process waits for a thread that has nothing more to do.
pub const GOING_NS: u64 = 100_000_000;

/// Whether a thread is still there for the kernel. One that is about to return from its function is: until it has gone,
/// its stack and its thread-local storage look lost to whoever searches for leaks.
pub struct Life(AtomicU32);

impl Life {
    const NONE: u32 = 0;
    const STARTS: u32 = u32::MAX;
    /// ns between two looks at a thread that is about to go.
    const LOOK_NS: u64 = 10_000;

    /// There is no thread.
    pub const fn new() -> Self {
        Self(AtomicU32::new(Self::NONE))
    }

    /// A thread is about to be started.
    pub fn starts(&self) {
        self.0.store(Self::STARTS, Ordering::Release);
    }

    /// Called by the thread itself.
    pub fn begins(&self) {
        self.0.store(sys::thread_id(), Ordering::Release);
    }

    /// It could not be started, or it is another process's.
    pub fn forget(&self) {
        self.0.store(Self::NONE, Ordering::Release);
    }

    /// Waits until it has gone, but no longer than `limit_ns`. It has to have been asked to end.
    pub fn wait_for_end(&self, limit_ns: u64) {
        let end = sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_add(limit_ns);
        loop {
            match self.0.load(Ordering::Acquire) {
                Self::NONE => return,
                Self::STARTS => {}
                thread if !sys::is_thread(thread) => return,
                _ => {}
            }
            if sys::clock_ns(libc::CLOCK_MONOTONIC) >= end {
                return;
            }
            sys::sleep_ns(Self::LOOK_NS);
        }
    }
}

/// What is called at exit.
pub type AtExit = unsafe extern "C" fn(*mut c_void);

/// Has the function called at `exit` and `quick_exit`. Exit handlers run backwards, so one that is registered when the
/// driver has been initialised runs before the driver's and CUPTI's own.
pub fn at_exit(function: AtExit) {
    type Register = unsafe extern "C" fn(AtExit, *mut c_void, *mut c_void) -> i32;
    let register = loader::own(c"__cxa_atexit");
    let nothing = core::ptr::null_mut();
    if !register.is_null() {
        // SAFETY: the C library's function; we are never unloaded.
        unsafe { core::mem::transmute::<*mut c_void, Register>(register)(function, nothing, nothing) };
    }
    at_quick_exit(function);
}

/// Has the function called at `quick_exit`.
pub fn at_quick_exit(function: AtExit) {
    type Register = unsafe extern "C" fn(AtExit, *mut c_void) -> i32;
    let register = loader::own(c"__cxa_at_quick_exit");
    if !register.is_null() {
        // SAFETY: the C library's function; we are never unloaded.
        unsafe { core::mem::transmute::<*mut c_void, Register>(register)(function, core::ptr::null_mut()) };
    }
}
