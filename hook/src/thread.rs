//! A thread's state: where its next record goes, and how deep in calls it is.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering, compiler_fence};
use umtui_wire::chunk::{ChunkHeader, Desk, OpenCall};

use crate::{arch, chunks, desks, file, loader, nvtx, record, sys, written};

/// A thread's state, in static thread-local storage. Only its own thread (and its signal handlers) use it.
#[repr(C, align(64))]
pub struct Thread {
    /// The process's generation when this thread became ready; first, since the trampoline compares it.
    pub generation: u64,
    /// Place on the desk of the next call; what is before it is open.
    pub open: *mut OpenCall,
    /// End of the desk.
    pub desk_end: *mut OpenCall,
    /// The mapped chunk, or [`chunks::nowhere`].
    pub chunk: *mut ChunkHeader,
    /// Ticks up to which a call may be recorded the quick way. [`BUSY`] while a record is being written the
    /// quick way; zero while the slow way is at it.
    pub quick_until: u64,
    /// Where the room for records in the chunk ends, bytes from its beginning; zero without one.
    pub limit: u32,
    /// Open calls for which the desk had no place.
    pub deeper: u32,
    /// Ticks from which on a fresh clock reading is due.
    pub clock_due: u64,
    /// The desk.
    pub desk: *mut Desk,
    /// Nonzero while the slow way writes a record or changes the chunk: a signal handler that calls CUDA then
    /// finds its call counted as lost, not recorded.
    pub busy: u32,
    /// Nonzero inside [`crate::enter`]: calls made by what it calls are passed through.
    pub entering: u32,
    /// Thread id.
    pub id: u32,
    /// Calls of signal handlers that were lost while the chunk was busy, to be counted in it.
    pub lost_meanwhile: u32,
    /// Calls that a thread without a chunk lets pass before it tries to get one again.
    pub patience: u32,
    /// How many it let pass the last time; more each time.
    pub backoff: u32,
    /// Open ranges, of all domains.
    pub ranges: u32,
    /// Open ranges of [`Thread::range_domain`] from one on that is waited for.
    pub range_levels: u32,
    /// Domain of that range.
    pub range_domain: u32,
    /// Nonzero once the C library has told that the thread ends; it may not tell again.
    pub ending: u16,
    /// Open calls, plus one, when [`Thread::correlation`] was told.
    pub correlation_depth: u16,
    /// Id of the work that the thread has last handed to a device, by CUPTI; zero once it is written down.
    pub correlation: u32,
    /// Name as last recorded.
    pub name: [u8; 16],
    /// Where its open ranges are, see [`crate::nvtx::stacks`]; zero: nowhere yet.
    pub stack: u32,
}

/// Added to [`Thread::entering`] while we call CUPTI: what CUDA calls that makes are not the program's.
pub const WITH_CUPTI: u32 = 1 << 16;

/// See [`Thread::quick_until`].
pub const BUSY: u64 = 1;

static EXIT_KEY: AtomicU32 = AtomicU32::new(u32::MAX);
static SET_SPECIFIC: AtomicUsize = AtomicUsize::new(0);

impl Thread {
    /// Fills in what does not change while the thread lives.
    pub fn identify(&mut self) {
        self.id = sys::thread_id();
        self.name = sys::thread_name();
    }

    /// Asks to be told when this thread ends, so that another can go on in its chunk.
    pub fn watch_end(&mut self) {
        type SetSpecific = unsafe extern "C" fn(u32, *const c_void) -> i32;
        let set = SET_SPECIFIC.load(Ordering::Acquire);
        let key = EXIT_KEY.load(Ordering::Acquire);
        if set != 0 && key != u32::MAX && self.ending == 0 {
            // SAFETY: the address is that of pthread_setspecific, the key was made by pthread_key_create.
            unsafe { core::mem::transmute::<usize, SetSpecific>(set)(key, (&raw const *self).cast()) };
        }
    }

    /// Open calls.
    pub fn depth(&self) -> u8 {
        // SAFETY: the thread's desk is mapped.
        let first = unsafe { (&raw const (*self.desk).calls) } as usize;
        let on_desk = (self.open as usize).wrapping_sub(first) >> size_of::<OpenCall>().trailing_zeros();
        on_desk.wrapping_add(self.deeper as usize).min(255) as u8
    }

    /// Whether it writes a record just now: a signal handler, or a child that one has forked, has come in between.
    #[inline(always)]
    pub fn is_writing(&self) -> bool {
        self.busy != 0 || self.quick_until == BUSY
    }

    /// Whether it has a call open or writes a record.
    pub fn is_amid_a_call(&self) -> bool {
        self.is_writing() || self.depth() > 0
    }

    /// Its chunk may be written to again, the quick way too if that can be: up to the next clock reading, and as long
    /// as the duration of no open call outgrows 32 bits.
    pub fn go_on(&mut self) {
        let quick = self.has_chunk() && self.deeper == 0 && self.ending == 0 && !written::is_last(self);
        self.quick_until = if quick { self.clock_due.min(self.longest_quick()) } else { 0 };
        self.busy = 0;
        // At once, since a handler may come in between and do the same.
        // SAFETY: an aligned field of our own.
        let lost = unsafe { AtomicU32::from_ptr(&raw mut self.lost_meanwhile) }.swap(0, Ordering::Relaxed);
        if lost > 0 {
            record::lost_many(self, u64::from(lost));
        }
    }

    /// When the outermost open call has lasted as long as 32 bits can say, ticks.
    fn longest_quick(&self) -> u64 {
        // SAFETY: the thread's desk is mapped.
        let OpenCall { head, start, .. } = unsafe { (&raw const (*self.desk).calls).cast::<OpenCall>().read() };
        if head == 0 { u64::MAX } else { start.saturating_add(u64::from(u32::MAX)) }
    }

    /// Leaves desk and chunk to others. Destructors that run later may call CUDA: the thread then begins anew, and
    /// hands on again after each of its calls, since the C library goes round its destructors only so often.
    pub fn hand_on(&mut self) {
        self.busy = 1;
        self.quick_until = 0;
        compiler_fence(Ordering::SeqCst);
        // It is no longer ready before it gives anything away: a signal handler must not use what may be another
        // thread's by then.
        self.generation = u64::MAX;
        compiler_fence(Ordering::SeqCst);
        desks::stand_up(self);
        chunks::hand_back(self);
        compiler_fence(Ordering::SeqCst);
        self.go_on();
    }

    /// After a call: a thread that could get no chunk tries again now and then, since what was in the way may be gone.
    pub fn try_again_if_due(&mut self) {
        if self.has_chunk() || self.deeper > 0 || !file::is_open() {
            return;
        }
        match self.patience.checked_sub(1) {
            Some(left) => self.patience = left,
            None => self.generation = u64::MAX,
        }
    }

    /// After a call: hands on if the thread is ending and this was its outermost call; and sees to it that the file has the
    /// call if the process is.
    pub fn hand_on_if_ending(&mut self) {
        if self.ending != 0 && self.depth() == 0 {
            self.hand_on();
        }
        if written::is_last(self) {
            file::write_at_once();
        }
    }

    /// Whether it has a chunk of the file, not the stand-in for one.
    pub fn has_chunk(&self) -> bool {
        self.limit != 0
    }
}

/// Makes the key by which a thread's end is seen. At load, since the C library allocates for late keys.
pub fn prepare() {
    type KeyCreate = unsafe extern "C" fn(*mut u32, unsafe extern "C" fn(*mut c_void)) -> i32;
    let create = loader::own(c"pthread_key_create");
    let set = loader::own(c"pthread_setspecific");
    if create.is_null() || set.is_null() {
        return;
    }
    let mut key = 0;
    // SAFETY: the address is that of pthread_key_create.
    let failed = unsafe { core::mem::transmute::<*mut c_void, KeyCreate>(create)(&mut key, ended) };
    if failed == 0 {
        EXIT_KEY.store(key, Ordering::Release);
        SET_SPECIFIC.store(set as usize, Ordering::Release);
    }
}

unsafe extern "C" fn ended(thread: *mut c_void) {
    let thread = thread.cast::<Thread>();
    if thread != arch::thread() {
        return;
    }
    // SAFETY: the calling thread's own state.
    let thread = unsafe { &mut *thread };
    nvtx::thread_ends(thread);
    if thread.generation != crate::process::generation() {
        return;
    }
    // The thread was cancelled, or left by pthread_exit, inside a call.
    record::abandon_from(thread, 0);
    thread.ending = 1;
    thread.hand_on();
}
