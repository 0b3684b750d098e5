//! What a fork needs: consistent tables in the child, and no belief in threads that are not there.

use crate::sync::{Lock, RawLock};
use crate::{context, event, graph, managed, module, pool, ranges, stream, vmm};
use std::sync::Once;

/// The locks that the forking thread took, in that order.
static TAKEN: Lock<Vec<&'static RawLock>> = Lock::new(Vec::new());

fn locks(visit: &mut dyn FnMut(&'static RawLock)) {
    // Outer locks before inner ones, so that the fork waits for calls under way instead of meeting them head-on.
    context::raw().into_iter().for_each(&mut *visit);
    pool::raw().into_iter().for_each(&mut *visit);
    module::raw().into_iter().for_each(&mut *visit);
    graph::raw().into_iter().for_each(&mut *visit);
    visit(event::raw());
    visit(vmm::raw());
    stream::raw(visit);
    visit(ranges::raw());
    visit(managed::raw());
}

extern "C" fn prepare() {
    let mut taken = Vec::new();
    locks(&mut |lock| {
        lock.acquire();
        taken.push(lock);
    });
    *TAKEN.lock() = taken;
}

fn give_back() {
    let taken = std::mem::take(&mut *TAKEN.lock());
    for lock in taken.into_iter().rev() {
        lock.release();
    }
}

extern "C" fn parent() {
    give_back();
}

extern "C" fn child() {
    give_back();
    stream::after_fork();
    managed::after_fork();
}

/// Registers the handlers, once a process.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handlers are functions of this library, which is never unloaded while the process may fork: the real
        // driver cannot be unloaded either.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    });
}
