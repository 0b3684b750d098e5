//! Call sites that have been seen: the trampoline's cache, so that the work for a new site is done once.
//!
//! An entry is the site with the epoch above it. The epoch grows whenever the set of loaded objects may have
//! changed; every site is then looked at anew, since another object may lie at its address.

use core::sync::atomic::{AtomicU64, Ordering};

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

/// The set of loaded objects may have changed.
pub fn objects_changed() {
    EPOCH.fetch_add(EPOCH_STEP, Ordering::AcqRel);
}

/// The epoch now.
pub fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Remembers a site as of an epoch.
pub fn remember(site: u64, epoch: u64) {
    let index = (site.wrapping_mul(MULTIPLIER as u64) >> SHIFT) as usize & MASK;
    if let Some(entry) = SEEN.get(index) {
        entry.store(site | epoch, Ordering::Release);
    }
}
