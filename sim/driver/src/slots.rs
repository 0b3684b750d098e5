//! Handles: addresses inside a reserved range, one fixed slot each, so that a wrong handle is told from a right one by
//! arithmetic instead of by a crash, and a lookup takes no lock.

use crate::sync::Lock;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const LIMIT: usize = 1 << 17;
const DEAD: u32 = 0;
const LIVE: u32 = 0x554d_5349;

struct Slot<T> {
    state: AtomicU32,
    made: AtomicU32,
    value: std::mem::MaybeUninit<T>,
}

/// A table of objects that are never moved and never freed, only retired and used again.
pub struct Slots<T: Default + Sync + 'static> {
    base: AtomicUsize,
    next: AtomicUsize,
    free: Lock<Vec<usize>>,
    _of: std::marker::PhantomData<fn() -> T>,
}

impl<T: Default + Sync + 'static> Slots<T> {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            base: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            free: Lock::new(Vec::new()),
            _of: std::marker::PhantomData,
        }
    }

    const STRIDE: usize = std::mem::size_of::<Slot<T>>().next_multiple_of(64);

    fn base(&self) -> Option<usize> {
        match self.base.load(Ordering::Acquire) {
            0 => self.reserve(),
            base => Some(base),
        }
    }

    #[cold]
    fn reserve(&self) -> Option<usize> {
        let _held = self.free.lock();
        let known = self.base.load(Ordering::Acquire);
        if known != 0 {
            return Some(known);
        }
        let length = Self::STRIDE.checked_mul(LIMIT)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping; nothing else refers to it.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        self.base.store(base as usize, Ordering::Release);
        Some(base as usize)
    }

    fn slot(&self, base: usize, index: usize) -> &'static Slot<T> {
        // SAFETY: the index is below LIMIT, so the slot lies in the mapping, which is zeroed (a valid dead slot), aligned
        // to 64 bytes and never unmapped.
        unsafe { &*((base + index * Self::STRIDE) as *const Slot<T>) }
    }

    /// Takes a slot and makes it live. The object may have been used before: the caller sets it up.
    pub fn create(&self) -> Option<(*mut c_void, &'static T)> {
        let base = self.base()?;
        let reused = self.free.lock().pop();
        let index = match reused {
            Some(index) => index,
            None => self.next.fetch_add(1, Ordering::Relaxed),
        };
        if index >= LIMIT {
            self.next.store(LIMIT, Ordering::Relaxed);
            return None;
        }
        let slot = self.slot(base, index);
        let value = slot.value.as_ptr().cast_mut();
        if slot.made.swap(1, Ordering::AcqRel) == 0 {
            // SAFETY: the slot belongs to this thread alone until its state says live, and was never made before.
            unsafe { value.write(T::default()) };
        }
        slot.state.store(LIVE, Ordering::Release);
        // SAFETY: made above, and never dropped.
        Some((std::ptr::from_ref(slot).cast_mut().cast(), unsafe { &*value }))
    }

    fn index(&self, handle: *const c_void) -> Option<(usize, usize)> {
        let base = self.base.load(Ordering::Acquire);
        let offset = (handle as usize).checked_sub(base)?;
        let index = offset / Self::STRIDE;
        let known = base != 0 && offset.is_multiple_of(Self::STRIDE);
        (known && index < self.next.load(Ordering::Relaxed).min(LIMIT)).then_some((base, index))
    }

    /// The object of a handle, if the handle is live.
    #[inline]
    pub fn get(&self, handle: *const c_void) -> Option<&'static T> {
        let (base, index) = self.index(handle)?;
        let slot = self.slot(base, index);
        // SAFETY: live slots were made, and are never dropped.
        (slot.state.load(Ordering::Acquire) == LIVE).then(|| unsafe { &*slot.value.as_ptr() })
    }

    /// Ends a handle's validity; true for the one caller who ended it. The slot is not used again until [`Self::recycle`].
    pub fn retire(&self, handle: *const c_void) -> bool {
        self.index(handle).is_some_and(|(base, index)| {
            let state = &self.slot(base, index).state;
            state.compare_exchange(LIVE, DEAD, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Lets a retired slot be used again.
    pub fn recycle(&self, handle: *const c_void) {
        if let Some((_, index)) = self.index(handle) {
            self.free.lock().push(index);
        }
    }

    /// Every live object with its handle.
    pub fn each(&self, mut visit: impl FnMut(*mut c_void, &'static T)) {
        let base = self.base.load(Ordering::Acquire);
        if base == 0 {
            return;
        }
        for index in 0..self.next.load(Ordering::Acquire).min(LIMIT) {
            let handle = (base + index * Self::STRIDE) as *mut c_void;
            if let Some(object) = self.get(handle) {
                visit(handle, object);
            }
        }
    }

    /// The bare lock of the free list, for the fork handlers.
    pub fn raw(&self) -> &crate::sync::RawLock {
        self.free.raw()
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn wrong_handles_are_told_apart() {
        static TABLE: Slots<AtomicU32> = Slots::new();
        assert!(TABLE.get(std::ptr::null()).is_none());
        let (handle, value) = TABLE.create().expect("a slot");
        value.store(7, Ordering::Relaxed);
        assert_eq!(TABLE.get(handle).expect("live").load(Ordering::Relaxed), 7);
        assert!(TABLE.get(handle.wrapping_byte_add(8)).is_none());
        assert!(TABLE.get(0xdead_beef_usize as *const _).is_none());
        assert!(TABLE.retire(handle));
        assert!(!TABLE.retire(handle));
        assert!(TABLE.get(handle).is_none());
        TABLE.recycle(handle);
        assert_eq!(TABLE.create().expect("again").0, handle);
    }
}
