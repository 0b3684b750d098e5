//! Recording is on while a range of a certain name is open, if that was asked for.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::event::{Event, Name};
use super::handles;
use crate::thread::Thread;
use crate::{arch, capture, text};

/// The range that is waited for, and its domain if one is asked for.
struct Wanted {
    range: text::Path<256>,
    domain: text::Path<256>,
}

struct Place(UnsafeCell<Wanted>);
// SAFETY: written at load, before any range is opened.
unsafe impl Sync for Place {}
static WANTED: Place = Place(UnsafeCell::new(Wanted { range: text::Path::new(), domain: text::Path::new() }));
#[unsafe(link_section = ".data.small")]
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Ranges of that name that are open, all threads together.
#[unsafe(link_section = ".data.small")]
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// Ids of open ranges of that name that any thread may end.
static STARTED: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// Recording is on while a range of this name is open: `NAME`, `NAME*`, `NAME@DOMAIN`.
pub fn wait_for(range: &[u8]) {
    let at = range.iter().rposition(|&byte| byte == b'@').unwrap_or(range.len());
    // SAFETY: see Place.
    let wanted = unsafe { &mut *WANTED.0.get() };
    wanted.range.push(range.get(..at).unwrap_or_default());
    wanted.domain.push(range.get(at.saturating_add(1)..).unwrap_or_default());
    IS_ON.store(true, Ordering::Release);
}

/// Whether recording waits for a range.
#[inline]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Acquire)
}

fn wanted() -> &'static Wanted {
    // SAFETY: see Place.
    unsafe { &*WANTED.0.get() }
}

/// Whether a name is the one of a pattern that may end with a star.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.strip_suffix(b"*") {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// Whether this is the name of a range that is waited for.
pub fn range_fits(name: &[u8]) -> bool {
    is_on() && fits(wanted().range.as_bytes(), name)
}

/// Whether this is the name of the domain that is asked for.
pub fn domain_fits(name: &[u8]) -> bool {
    is_on() && fits(wanted().domain.as_bytes(), name)
}

fn event_fits(domain: u32, event: &Event<'_>) -> bool {
    let in_domain = wanted().domain.as_bytes().is_empty() || handles::is_wanted_domain(domain);
    in_domain
        && match event.name {
            Name::None => false,
            Name::Text(text) => range_fits(text),
            Name::Handle(handle) => handles::is_wanted_range(handle),
        }
}

fn opened() {
    if OPEN.fetch_add(1, Ordering::SeqCst) == 0 {
        capture::follow(is_open);
    }
}

fn closed() {
    if OPEN.fetch_sub(1, Ordering::SeqCst) == 1 {
        capture::follow(is_open);
    }
}

fn is_open() -> bool {
    OPEN.load(Ordering::SeqCst) > 0
}

/// A range was pushed.
#[cold]
#[inline(never)]
pub fn pushed(thread: &mut Thread, domain: u32, event: &Event<'_>) {
    if thread.range_levels > 0 {
        if thread.range_domain == domain {
            thread.range_levels = thread.range_levels.wrapping_add(1);
        }
    } else if event_fits(domain, event) {
        thread.range_levels = 1;
        thread.range_domain = domain;
        opened();
    }
}

/// The innermost range of a domain was popped.
#[cold]
#[inline(never)]
pub fn popped(thread: &mut Thread, domain: u32) {
    if thread.range_levels > 0 && thread.range_domain == domain {
        thread.range_levels = thread.range_levels.wrapping_sub(1);
        if thread.range_levels == 0 {
            closed();
        }
    }
}

/// A range began that any thread may end.
#[cold]
#[inline(never)]
pub fn started(domain: u32, event: &Event<'_>, id: u64) {
    if event_fits(domain, event)
        && STARTED.iter().any(|place| place.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    {
        opened();
    }
}

/// It ended.
#[cold]
#[inline(never)]
pub fn ended(id: u64) {
    if id != 0 && STARTED.iter().any(|place| place.compare_exchange(id, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    {
        closed();
    }
}

/// The thread ends: what it has pushed is closed.
pub fn thread_ends(thread: &mut Thread) {
    if core::mem::take(&mut thread.range_levels) > 0 {
        closed();
    }
}

/// In a child after fork: ranges that other threads had pushed are open in the parent only.
pub fn after_fork() {
    // SAFETY: the calling thread's own state.
    let own = unsafe { (*arch::thread()).range_levels > 0 };
    let started = STARTED.iter().filter(|place| place.load(Ordering::Relaxed) != 0).count();
    OPEN.store(started.saturating_add(usize::from(own)), Ordering::SeqCst);
    capture::follow(is_open);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_at_the_end_fits_whatever_follows() {
        assert!(fits(b"step", b"step") && !fits(b"step", b"step 1") && !fits(b"step", b"ste"));
        assert!(fits(b"st*", b"st") && fits(b"st*", b"step 1") && !fits(b"st*", b"s"));
        assert!(fits(b"*", b"") && fits("Schritt ü".as_bytes(), "Schritt ü".as_bytes()));
    }
}
