//! Call sites that have been seen: the trampoline's cache, so that the work for a new site is done once.
//!
//! An entry is the site with the epoch above it. The epoch grows whenever the set of loaded objects may have
//! changed; every site is then looked at anew, since another object may lie at its address.

use core::sync::atomic::{AtomicU64, Ordering};
use umtui_wire::record::SITE_MASK;

/// Spreads the sites over the cache; the product's bits from [`SHIFT`] on choose the entry.
pub const MULTIPLIER: i32 = 0x61c8_8647;
/// See [`MULTIPLIER`].
pub const SHIFT: u32 = 20;
/// Entries less one.
pub const MASK: usize = 4095;

const EPOCH_STEP: u64 = 1 << 48;

/// The epoch, in the upper 16 bits.
pub static EPOCH: AtomicU64 = AtomicU64::new(0);
/// The cache.
pub static SEEN: [AtomicU64; MASK + 1] = [const { AtomicU64::new(0) }; MASK + 1];

/// Sites whose object needs another library than the exported names lead to: the site, and above it the slot of
/// the pool that serves it. Emptied when the epoch has changed.
static SERVED: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
static SERVED_EPOCH: AtomicU64 = AtomicU64::new(0);

fn served_entry(site: u64) -> Option<&'static AtomicU64> {
    SERVED.get((site.wrapping_mul(MULTIPLIER as u64) >> SHIFT) as usize & SERVED.len().wrapping_sub(1))
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

/// The set of loaded objects may have changed.
pub fn objects_changed() {
    EPOCH.fetch_add(EPOCH_STEP, Ordering::AcqRel);
}

/// The epoch now.
pub fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Whether a site has been remembered as of an epoch: what the trampoline asks.
pub fn is_known(site: u64, epoch: u64) -> bool {
    let index = (site.wrapping_mul(MULTIPLIER as u64) >> SHIFT) as usize & MASK;
    SEEN.get(index).is_some_and(|entry| entry.load(Ordering::Acquire) == site | epoch)
}

/// Remembers a site as of an epoch.
pub fn remember(site: u64, epoch: u64) {
    let index = (site.wrapping_mul(MULTIPLIER as u64) >> SHIFT) as usize & MASK;
    if let Some(entry) = SEEN.get(index) {
        entry.store(site | epoch, Ordering::Release);
    }
}
