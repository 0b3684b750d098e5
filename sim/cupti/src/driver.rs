//! The stand-in driver in this process: found once it is needed, asked to tell what happens.

use crate::sync::Lock;
use crate::told::{Driver, Sink};
use crate::{activity, callbacks};
use std::ffi::c_void;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

type SetSink = unsafe extern "C" fn(*mut Sink) -> *const Driver;

static DRIVER: AtomicPtr<Driver> = AtomicPtr::new(std::ptr::null_mut());
static SET: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static FINDING: Lock<()> = Lock::new(());
/// In a child of a process that had begun, nothing works any more, as with the real library.
static FORKED: AtomicBool = AtomicBool::new(false);

static SINK: Shared = Shared(Sink {
    size: std::mem::size_of::<Sink>(),
    call: callbacks::on_call,
    event: activity::on_event,
    context: callbacks::on_context,
});

struct Shared(Sink);
// SAFETY: never written.
unsafe impl Sync for Shared {}

fn set(sink: *mut Sink) -> *const Driver {
    let set = SET.load(Ordering::Acquire);
    if set.is_null() {
        return std::ptr::null();
    }
    // SAFETY: the stand-in driver's function of this type.
    unsafe { std::mem::transmute::<*mut c_void, SetSink>(set)(sink) }
}

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
    set(std::ptr::null_mut());
}

/// Whether this is a child of a process that had begun.
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// The driver, from now on telling us what happens; `None` where it is not the stand-in.
pub fn attach() -> Option<&'static Driver> {
    let known = DRIVER.load(Ordering::Acquire);
    if known.is_null() {
        let _held = FINDING.lock();
        if DRIVER.load(Ordering::Acquire).is_null() {
            find();
        }
    }
    // SAFETY: null or the driver's static table.
    unsafe { DRIVER.load(Ordering::Acquire).as_ref() }
}

fn find() {
    static FORKS: Once = Once::new();
    // SAFETY: plain calls of the loader. The library stays loaded.
    let found = unsafe {
        let name = c"libcuda.so.1".as_ptr();
        let loaded = libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let library = if loaded.is_null() { libc::dlopen(name, libc::RTLD_LAZY) } else { loaded };
        if library.is_null() { library } else { libc::dlsym(library, c"umsim_set_activity_sink".as_ptr()) }
    };
    SET.store(found, Ordering::Release);
    let driver = set((&raw const SINK.0).cast_mut());
    // SAFETY: a function of this library, which is never unloaded once it has threads.
    FORKS.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(forked));
    });
    DRIVER.store(driver.cast_mut(), Ordering::Release);
}

/// The driver tells us nothing any more.
pub fn detach() {
    let _held = FINDING.lock();
    set(std::ptr::null_mut());
    DRIVER.store(std::ptr::null_mut(), Ordering::Release);
}
