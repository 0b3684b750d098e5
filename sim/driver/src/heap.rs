//! Memory behind device and pinned allocations, and what each device has left.

use crate::config::{self, MAX_DEVICES};
use std::alloc::Layout;
use std::sync::atomic::{AtomicU64, Ordering};

const LARGE: usize = 1 << 20;
const HUGE: usize = 2 << 20;
/// What `cudaMalloc` aligns to.
pub const ALIGN: usize = 512;

static USED: [AtomicU64; MAX_DEVICES] = [const { AtomicU64::new(0) }; MAX_DEVICES];

/// Bytes of explicit allocations on a device.
pub fn used(device: usize) -> u64 {
    USED.get(device).map_or(0, |used| used.load(Ordering::Relaxed))
}

/// Takes `bytes` from a device's budget; false where it has not got them.
pub fn charge(device: usize, bytes: u64) -> bool {
    let Some(used) = USED.get(device) else { return false };
    let limit = config::get().memory;
    used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| now.checked_add(bytes).filter(|sum| *sum <= limit))
        .is_ok()
}

/// Gives bytes back to a device's budget.
pub fn refund(device: usize, bytes: u64) {
    if let Some(used) = USED.get(device) {
        let _ = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(now.saturating_sub(bytes)));
    }
}

/// What an allocation of `bytes` costs: whole alignment units, whole 2 MiB blocks when large.
pub fn rounded(bytes: usize) -> usize {
    let unit = if bytes >= LARGE { HUGE } else { ALIGN };
    bytes.max(1).checked_next_multiple_of(unit).unwrap_or(bytes)
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(rounded(bytes), ALIGN).ok()
}

/// Gets zeroed memory; large pieces are reserved only, and committed when touched.
pub fn take(bytes: usize) -> Option<usize> {
    if bytes < LARGE {
        let layout = layout(bytes)?;
        // SAFETY: the layout's size is at least one alignment unit.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        return (!memory.is_null()).then_some(memory as usize);
    }
    let size = rounded(bytes);
    let whole = size.checked_add(HUGE)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh anonymous mapping.
    let map = unsafe { libc::mmap(std::ptr::null_mut(), whole, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if map == libc::MAP_FAILED {
        return None;
    }
    let base = (map as usize).next_multiple_of(HUGE);
    let head = base - map as usize;
    // SAFETY: head and tail are parts of the mapping made above that nothing refers to.
    unsafe {
        if head > 0 {
            libc::munmap(map, head);
        }
        let tail = whole - head - size;
        if tail > 0 {
            libc::munmap((base + size) as *mut _, tail);
        }
    }
    Some(base)
}

/// Gives memory of [`take`] back.
pub fn give(base: usize, bytes: usize) {
    if bytes >= LARGE {
        // SAFETY: exactly the mapping that `take` left.
        unsafe { libc::munmap(base as *mut _, rounded(bytes)) };
    } else if let Some(layout) = layout(bytes) {
        // SAFETY: allocated by `take` with the same layout.
        unsafe { std::alloc::dealloc(base as *mut u8, layout) };
    }
}
