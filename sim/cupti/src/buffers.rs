//! The client's buffers: asked for, filled with records, handed over.

use crate::records::{self, Record};
use crate::sync::Lock;
use crate::{activity, clock, ring};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// `CUpti_BuffersCallbackRequestFunc`.
pub type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`.
pub type Completed = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

static REQUESTED: AtomicUsize = AtomicUsize::new(0);
static COMPLETED: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
/// The buffer that is being filled. Also held while the client's functions run.
static FILLING: Lock<Filling> = Lock::new(Filling::NONE);
/// Something was written since the last time that more than overheads was handed over.
static NEWS: AtomicBool = AtomicBool::new(false);

struct Filling {
    buffer: usize,
    size: usize,
    used: usize,
    records: usize,
    /// Records that the client wants at most, 0 for any number.
    limit: usize,
}

/// Registers the client's functions, instead of those before.
pub fn register(requested: Requested, completed: Completed) {
    REQUESTED.store(requested as usize, Ordering::Release);
    COMPLETED.store(completed as usize, Ordering::Release);
}

/// Records that found no room since the last time that somebody asked.
pub fn take_dropped() -> usize {
    DROPPED.swap(0, Ordering::Relaxed)
}

/// Counts a record that found no room.
pub fn drop_one() {
    DROPPED.fetch_add(1, Ordering::Relaxed);
}

/// Writes what has happened into buffers, and hands over those that are full.
pub fn drain() {
    let mut filling = FILLING.lock();
    // What comes in meanwhile is for the next time.
    for event in std::iter::from_fn(ring::pop).take(ring::CELLS) {
        NEWS.fetch_or(!records::is_overhead(&event), Ordering::Relaxed);
        records::write(&event, &mut |record| filling.put(record));
    }
}

/// As [`drain`], and hands over what there is.
pub fn flush() {
    drain();
    let start = clock::monotonic();
    FILLING.lock().hand_over();
    // A flush is told of if it did something, else it would find the news of the flush before it for ever.
    if NEWS.swap(false, Ordering::Relaxed) {
        activity::overhead(records::BUFFER_FLUSH, start);
    }
}

impl Filling {
    const NONE: Self = Self { buffer: 0, size: 0, used: 0, records: 0, limit: 0 };

    fn put(&mut self, record: &Record) {
        let bytes = record.bytes();
        if self.buffer != 0 && !self.fits(bytes.len()) {
            self.hand_over();
        }
        if self.buffer == 0 {
            self.request();
        }
        if self.buffer == 0 || !self.fits(bytes.len()) {
            drop_one();
            return;
        }
        // SAFETY: the client's buffer has `size` bytes, and the record fits behind what is used.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (self.buffer + self.used) as *mut u8, bytes.len()) };
        self.used += bytes.len();
        self.records += 1;
    }

    fn fits(&self, bytes: usize) -> bool {
        self.used + bytes <= self.size && (self.limit == 0 || self.records < self.limit)
    }

    fn request(&mut self) {
        let function = REQUESTED.load(Ordering::Acquire);
        if function == 0 {
            return;
        }
        let (mut buffer, mut size, mut limit) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: only `register` stores here, and it stores a function of this type; the out-pointers are valid.
        unsafe {
            let function = std::mem::transmute::<usize, Requested>(function);
            function(&raw mut buffer, &raw mut size, &raw mut limit);
        }
        if !buffer.is_null() && buffer.addr().is_multiple_of(8) {
            *self = Self { buffer: buffer.expose_provenance(), size, limit, ..Self::NONE };
        }
    }

    /// Gives the buffer back, unless nothing is in it.
    fn hand_over(&mut self) {
        let function = COMPLETED.load(Ordering::Acquire);
        if self.buffer == 0 || self.used == 0 || function == 0 {
            return;
        }
        let full = std::mem::replace(self, Self::NONE);
        // SAFETY: only `register` stores here, and it stores a function of this type; the buffer is the client's own.
        unsafe {
            let function = std::mem::transmute::<usize, Completed>(function);
            let buffer = std::ptr::with_exposed_provenance_mut(full.buffer);
            function(std::ptr::null_mut(), 0, buffer, full.size, full.used);
        }
    }
}
