//! Call sites that have been seen: the trampoline's cache, so that the work for a new site is done once.
//!
//! The epoch grows whenever the set of loaded objects may have changed, and the cache is emptied: every site is
//! then looked at anew, since another object may lie at its address.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use umtui_wire::record::SITE_MASK;

use crate::{arch, text};

const EPOCH_STEP: u64 = 1 << 48;

/// The epoch, in the upper 16 bits.
#[unsafe(link_section = ".data.small")]
static EPOCH: AtomicU64 = AtomicU64::new(0);
/// The cache: each site lies where [`arch::site_place`] puts it, which the trampoline computes too. Large, so that two
/// sites of a program seldom share a place: they would push each other out at every call. Its pages are only used where
/// sites fall.
pub static SEEN: [AtomicU64; arch::SITE_PLACES] = [const { AtomicU64::new(0) }; arch::SITE_PLACES];
/// Places that may be in use, so that not all need be emptied; more than fit here mean all.
static USED: [AtomicU32; 4096] = [const { AtomicU32::new(0) }; 4096];
#[unsafe(link_section = ".data.small")]
static USED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Sites whose object needs another library than the exported names lead to: the site, and above it the slot of
/// the pool that serves it. Emptied when the epoch has changed.
static SERVED: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
#[unsafe(link_section = ".data.small")]
static SERVED_EPOCH: AtomicU64 = AtomicU64::new(0);

fn served_entry(site: u64) -> Option<&'static AtomicU64> {
    SERVED.get(text::mix(site) as usize & SERVED.len().wrapping_sub(1))
}

/// The slot of the pool that serves a site, and the slot of the name it serves it for.
pub fn served_by(site: u64) -> Option<usize> {
    if SERVED_EPOCH.load(Ordering::Acquire) != epoch() {
        return None;
    }
    let entry = served_entry(site)?.load(Ordering::Acquire);
    (entry & SITE_MASK == site && entry != 0).then_some((entry >> 48) as usize)
}

/// Remembers the slot of the pool that serves a site, as of an epoch.
pub fn serve(site: u64, slot: usize, as_of: u64) {
    if SERVED_EPOCH.swap(as_of, Ordering::AcqRel) != as_of {
        for entry in &SERVED {
            entry.store(0, Ordering::Release);
        }
    }
    if let Some(entry) = served_entry(site) {
        entry.store(site & SITE_MASK | (slot as u64).wrapping_shl(48), Ordering::Release);
    }
}

/// How often the set of loaded objects may have changed.
#[unsafe(link_section = ".data.small")]
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// See [`CHANGES`].
pub fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// The set of loaded objects may have changed.
pub fn objects_changed() {
    CHANGES.fetch_add(1, Ordering::SeqCst);
    forget();
}

/// Every site is to be looked at anew.
pub fn forget() {
    EPOCH.fetch_add(EPOCH_STEP, Ordering::SeqCst);
    let count = USED_COUNT.swap(0, Ordering::SeqCst);
    if count > USED.len() {
        SEEN.iter().for_each(|place| place.store(0, Ordering::Relaxed));
        return;
    }
    for used in USED.iter().take(count) {
        if let Some(place) = SEEN.get(used.load(Ordering::Relaxed) as usize) {
            place.store(0, Ordering::Relaxed);
        }
    }
}

/// The epoch now.
pub fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Whether a site is remembered: what the trampoline asks.
pub fn is_known(site: u64) -> bool {
    SEEN.get(arch::site_place(site)).is_some_and(|place| place.load(Ordering::Acquire) == site)
}

/// Remembers a site as of an epoch.
pub fn remember(site: u64, as_of: u64) {
    let index = arch::site_place(site);
    let Some(place) = SEEN.get(index) else { return };
    if place.load(Ordering::SeqCst) == site {
        return;
    }
    if place.swap(site, Ordering::SeqCst) == 0 {
        let used = USED_COUNT.fetch_add(1, Ordering::SeqCst);
        if let Some(used) = USED.get(used) {
            used.store(index as u32, Ordering::SeqCst);
        }
    }
    // Whoever changes the epoch from here on sees the site in the cache. One who has done so just now may not, nor one
    // who has read the count and not yet the place: both have changed the epoch.
    if EPOCH.load(Ordering::SeqCst) != as_of {
        place.store(0, Ordering::SeqCst);
    }
}
