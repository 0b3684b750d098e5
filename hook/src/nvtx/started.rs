//! Open ranges that any thread may end, kept as those on a thread's stack are.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::event::Event;
use super::stacks::Open;
use super::write;
use crate::clock;
use crate::thread::Thread;

/// Ranges that are kept.
const PLACES: usize = 256;
/// Bit of an id: the place is being looked at or filled in.
const HELD: u64 = 1 << 63;

struct Place {
    /// Zero: free.
    id: AtomicU64,
    /// The thread that began it.
    thread: AtomicUsize,
    open: UnsafeCell<Open>,
}
// SAFETY: `open` is used only by whoever has set HELD.
unsafe impl Sync for Place {}

static STARTED: [Place; PLACES] =
    [const { Place { id: AtomicU64::new(0), thread: AtomicUsize::new(0), open: UnsafeCell::new(Open::new()) } };
        PLACES];
static NEXT: AtomicU64 = AtomicU64::new(1);
/// Whether a place has ever been used: to look at them all costs a child a dozen pages.
#[unsafe(link_section = ".data.small")]
static USED: AtomicBool = AtomicBool::new(false);

/// An id for a range.
pub fn next_id() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed) & !HELD
}

impl Place {
    fn take(&self, from: u64, id: u64) -> bool {
        self.id.compare_exchange(from, id | HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// Places, the likeliest for an id first.
fn places(id: u64) -> impl Iterator<Item = &'static Place> {
    let first = id as usize % PLACES;
    STARTED.iter().cycle().skip(first).take(PLACES)
}

/// A range began.
pub fn start(thread: &mut Thread, domain: u32, event: &Event<'_>, id: u64) {
    let level = thread.ranges;
    if !USED.load(Ordering::Relaxed) {
        USED.store(true, Ordering::Release);
    }
    let Some(place) = places(id).find(|place| place.take(0, id)) else {
        // No place to keep it: it is written now or not at all.
        let mut open = Open::new();
        open.set(event, clock::now(), level);
        (open.domain, open.range.id) = (domain, id);
        write::start(thread, &mut open, Some(event.name));
        return;
    };
    place.thread.store(&raw const *thread as usize, Ordering::Relaxed);
    // SAFETY: HELD is set.
    let open = unsafe { &mut *place.open.get() };
    open.set(event, clock::now(), level);
    (open.domain, open.range.id, open.written) = (domain, id, 0);
    write::start(thread, open, Some(event.name));
    place.id.store(id, Ordering::Release);
}

/// A range ends, in this domain if it is not known.
pub fn end(thread: &mut Thread, domain: u32, id: u64) {
    let now = clock::now();
    if id == 0 || id & HELD != 0 {
        return;
    }
    // Whoever holds it writes one record.
    for _ in 0..1000 {
        if let Some(place) = places(id).find(|place| place.take(id, id)) {
            // SAFETY: HELD is set.
            let open = unsafe { &mut *place.open.get() };
            if write::start(thread, open, None) {
                write::end(thread, open.domain, id, now, open.written);
            }
            place.id.store(0, Ordering::Release);
            return;
        }
        if !places(id).any(|place| place.id.load(Ordering::Relaxed) == id | HELD) {
            break;
        }
        core::hint::spin_loop();
    }
    write::end(thread, domain, id, now, 0);
}

/// Recording has begun in this thread: what it has begun before is written.
pub fn catch_up(thread: &mut Thread) {
    if !USED.load(Ordering::Acquire) {
        return;
    }
    let own = &raw const *thread as usize;
    for place in STARTED.iter().filter(|place| place.thread.load(Ordering::Relaxed) == own) {
        let id = place.id.load(Ordering::Relaxed);
        if id != 0 && id & HELD == 0 && place.take(id, id) {
            // SAFETY: HELD is set.
            let open = unsafe { &mut *place.open.get() };
            write::start(thread, open, None);
            place.id.store(id, Ordering::Release);
        }
    }
}

/// In a child after fork: whoever was looking at a place is not here.
pub fn after_fork() {
    if !USED.load(Ordering::Relaxed) {
        return;
    }
    for place in &STARTED {
        let id = place.id.load(Ordering::Relaxed);
        if id & HELD != 0 {
            place.id.store(0, Ordering::Relaxed);
        }
    }
}
