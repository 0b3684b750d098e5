//! The process's trace file: made at the first CUDA call, its header mapped for as long as the process lives.
//!
//! No descriptor is kept: programs close all of theirs, ours with them, or get ours again under a number they
//! believe is their own. Whoever needs the file opens it anew, by path, and checks that it is still the same.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::{self, CHUNK_UNIT, FileHeader, HEADER_BYTES};

use crate::clock::{self, Clock};
use crate::config::{self, Config, Place};
use crate::{arch, evidence, itself, left_out, rank, space, sys, text, written};

#[unsafe(link_section = ".data.small")]
static HEADER: AtomicPtr<FileHeader> = AtomicPtr::new(core::ptr::null_mut());
#[unsafe(link_section = ".data.small")]
static DEVICE: AtomicU64 = AtomicU64::new(0);
#[unsafe(link_section = ".data.small")]
static INODE: AtomicU64 = AtomicU64::new(0);
/// How long the file was made at first: header, desks, window, place and definitions, which every process needs. Of the
/// pieces a part is reserved, and the rest once it is needed: most children of a fork make few calls.
const MADE_BYTES: u64 = 5 * CHUNK_UNIT;
/// Of these, those that are mapped at once: all but the place.
const MAPPED_BYTES: u64 = 4 * CHUNK_UNIT;
/// Bytes of a piece that are reserved at first, where the rest can follow.
pub const FIRST_BYTES: u64 = 8192;
/// Whether small parts are reserved by writing zeros, see [`sys::reserves_by_writing`].
#[unsafe(link_section = ".data.small")]
static WRITES_RESERVE: AtomicBool = AtomicBool::new(false);
/// Whether parts of a piece can be reserved: not where a page is as long as the piece.
const IN_PARTS: bool = (align_of::<arch::OwnPages>() as u64) < CHUNK_UNIT;

struct PathCell(core::cell::UnsafeCell<text::Path<2560>>);
// SAFETY: written only by process::begin, while no other thread records; read afterwards.
unsafe impl Sync for PathCell {}
static PATH: PathCell = PathCell(core::cell::UnsafeCell::new(text::Path::new()));

fn path() -> Option<&'static CStr> {
    // SAFETY: see PathCell.
    unsafe { (*PATH.0.get()).as_c_str() }
}

/// A live field of the header as an atomic. Null without a header.
macro_rules! live {
    ($field:ident, $atomic:ty) => {{
        let header = HEADER.load(Ordering::SeqCst);
        if header.is_null() {
            None
        } else {
            // SAFETY: the header stays mapped; the field is aligned and only ever accessed atomically.
            Some(unsafe { &*(&raw mut (*header).$field).cast::<$atomic>() })
        }
    }};
}

/// Makes the file `<folder>/<host>-<pid>.umt`; a number is added if there is one, as after exec or when a pid
/// comes round again. An errno if it cannot be.
pub fn create(config: &Config, clock: &Clock) -> Result<(), i32> {
    let pid = sys::pid();
    let mut host = [0u8; 64];
    sys::host(&mut host);
    let host_name = host.split(|&byte| byte == 0 || byte == b'/').next().unwrap_or_default();
    // SAFETY: see PathCell.
    let path = unsafe { &mut *PATH.0.get() };
    path.cut_to(0);
    config::push_folder(path);
    path.push(b"/").push(host_name).push(b"-").push_number(u64::from(pid));
    let base = path.as_bytes().len();
    for attempt in 1..1000u64 {
        path.cut_to(base);
        if attempt > 1 {
            path.push(b"-").push_number(attempt);
        }
        path.push(b".umt");
        let name = path.as_c_str().ok_or(libc::ENAMETOOLONG)?;
        let fd = sys::open(name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW, 0o600);
        if sys::errno(fd) == Some(libc::EEXIST) {
            continue;
        }
        if sys::failed(fd) {
            return Err(fd.unsigned_abs() as i32);
        }
        let begun = begin(fd as i32, config, clock, pid, &host);
        sys::close(fd as i32);
        if begun.is_err() {
            // An empty file would only puzzle.
            sys::remove(name);
        }
        return begun;
    }
    Err(libc::EEXIST)
}

fn begin(fd: i32, config: &Config, clock: &Clock, pid: u32, host: &[u8; 64]) -> Result<(), i32> {
    let (device, inode) = sys::identity(fd).ok_or(libc::EIO)?;
    let (mut made, mut mapped) = (Made::default(), None);
    let kind = sys::file_system(fd);
    if config.place == Place::Mapped || config.place == Place::Best && !sys::is_remote(kind) {
        WRITES_RESERVE.store(sys::reserves_by_writing(kind), Ordering::Relaxed);
        made = make(fd, config.max_bytes)?;
        mapped = sys::map(fd, 0, made.mapped as usize).ok();
    }
    written::begin(mapped.is_none());
    let mapped = match mapped {
        Some(mapped) => mapped,
        None => sys::map_private(HEADER_BYTES)?,
    };
    let mapped = mapped.cast::<FileHeader>();
    // SAFETY: a fresh page of zeros that nobody else has.
    let header = unsafe { &mut *mapped };
    header.version = header::VERSION;
    header.header_bytes = HEADER_BYTES as u32;
    header.endian = header::ENDIAN_MARK;
    header.arch = arch::HEADER_ARCH;
    header.pid = pid;
    header.parent_pid = sys::parent_pid();
    header.start_time = itself::start_time();
    header.run_id = config.run;
    header.clock = clock.kind;
    header.rate_error_ppb = clock.error_ppb;
    header.ticks_per_second = clock.ticks_per_second;
    header.start = clock::triple();
    header.last = header.start;
    header.max_bytes = config.max_bytes;
    header.end = CHUNK_UNIT;
    header.state = header::STATE_RECORDING;
    header.host = *host;
    header.written = if written::is_on() { header::WRITTEN_IN_PART } else { 0 };
    (header.rank, header.local_rank) = rank::ranks();
    sys::folder(&mut header.folder);
    header.groups_left_out = u32::from(!config.groups) & umtui_wire::group::ALL;
    left_out::write_text(&mut header.filter);
    let parent = PARENT.load(Ordering::Acquire);
    if parent.is_null() {
        header.boot_id = itself::boot_id();
        itself::arguments(&mut header.arguments);
        itself::program(&mut header.program);
    } else {
        // SAFETY: the parent's header page is mapped here as well; these fields do not change.
        unsafe {
            header.boot_id = (*parent).boot_id;
            header.arguments = (*parent).arguments;
            header.program = (*parent).program;
        }
    }
    core::sync::atomic::fence(Ordering::Release);
    header.magic = header::MAGIC;
    DEVICE.store(device, Ordering::Relaxed);
    INODE.store(inode, Ordering::Relaxed);
    space::begin(config.max_bytes, made.bytes, mapped.cast(), if written::is_on() { 0 } else { made.mapped });
    HEADER.store(mapped, Ordering::SeqCst);
    count_early();
    write_cost();
    if written::is_on() {
        within_limit(0, HEADER_BYTES as u64)?;
        // SAFETY: the header page, which stays.
        sys::write_at(fd, unsafe { core::slice::from_raw_parts(mapped.cast::<u8>(), HEADER_BYTES) }, 0)?;
    }
    Ok(())
}

/// What a new file has.
#[derive(Default)]
struct Made {
    /// Its length.
    bytes: u64,
    /// How much of it is mapped at once: the header, and pieces of which the first bytes are reserved.
    mapped: u64,
}

/// Gives the file its first length, and reserves the header and the beginnings of the first pieces. Nobody else has the
/// file yet; later it must only grow.
fn make(fd: i32, max_bytes: u64) -> Result<Made, i32> {
    let file = OpenFile(fd);
    let made = make_open(&file, max_bytes);
    // The caller's.
    core::mem::forget(file);
    made
}

fn make_open(file: &OpenFile, max_bytes: u64) -> Result<Made, i32> {
    let cap = if max_bytes == 0 { u64::MAX } else { max_bytes };
    let wanted = MADE_BYTES.min(cap).min(sys::file_size_limit());
    if !IN_PARTS || wanted < MADE_BYTES || sys::failed(sys::set_length(file.0, wanted)) {
        file.reserve(0, CHUNK_UNIT)?;
        return Ok(Made { bytes: 0, mapped: HEADER_BYTES as u64 });
    }
    file.reserve(0, HEADER_BYTES as u64)?;
    let mut made = Made { bytes: wanted, mapped: HEADER_BYTES as u64 };
    let mut at = CHUNK_UNIT;
    // Where there is no room for all, each piece is tried for when it is needed, and the header says why there was none.
    while at < MAPPED_BYTES && file.reserve(at, FIRST_BYTES).is_ok() {
        at = at.saturating_add(CHUNK_UNIT);
        made.mapped = at;
    }
    Ok(made)
}

/// Whether there is a file, and recording goes on.
pub fn is_open() -> bool {
    live!(state, AtomicU32).is_some_and(|state| state.load(Ordering::Relaxed) == header::STATE_RECORDING)
}

/// Whether the process has ended in order, as far as its destructors say.
pub fn has_ended() -> bool {
    live!(state, AtomicU32).is_some_and(|state| state.load(Ordering::Relaxed) == header::STATE_ENDED)
}

/// The file is now at least this long.
pub fn reaches(bytes: u64) {
    if let Some(end) = live!(end, AtomicU64) {
        end.fetch_max(bytes, Ordering::AcqRel);
    }
}

/// There is no room for another thread. Those that have a chunk go on; without any, recording stops.
pub fn full() {
    if !space::is_begun() {
        stop(header::STATE_FULL);
    }
}

/// Recording stops because of an error.
pub fn failed(errno: i32) {
    if let Some(reason) = live!(reason, AtomicU32) {
        reason.store(errno as u32, Ordering::Relaxed);
    }
    stop(header::STATE_FAILED);
    // What is said here must be in the file if the process is killed later.
    written::flush(HEADER.load(Ordering::Acquire));
}

fn stop(state: u32) {
    if let Some(live) = live!(state, AtomicU32) {
        let _ = live.compare_exchange(header::STATE_RECORDING, state, Ordering::Release, Ordering::Relaxed);
    }
}

/// Ticks that recording adds to a thousand calls, as measured; children inherit it.
#[unsafe(link_section = ".data.small")]
static COST: AtomicU64 = AtomicU64::new(0);
/// The same for a thousand calls' share of moving on to the next chunk: the least seen.
#[unsafe(link_section = ".data.small")]
static CHUNK_COST: AtomicU64 = AtomicU64::new(u64::MAX);

/// Says what recording adds to a call, in ticks for a thousand calls; zero: not measured.
pub fn costs(ticks: u64) {
    COST.store(ticks, Ordering::Relaxed);
    write_cost();
}

/// Says how long it took to move on to the next chunk, which holds so many calls.
pub fn chunk_costs(ticks: u64, calls: u64) {
    let share = ticks.saturating_mul(1000).checked_div(calls).unwrap_or(0);
    if CHUNK_COST.fetch_min(share, Ordering::Relaxed) > share && COST.load(Ordering::Relaxed) != 0 {
        write_cost();
    }
}

fn write_cost() {
    let (Some(cost), Some(rate)) = (live!(cost_ps, AtomicU64), live!(ticks_per_second, AtomicU64)) else { return };
    let of_chunks = Some(CHUNK_COST.load(Ordering::Relaxed)).filter(|&ticks| ticks != u64::MAX).unwrap_or(0);
    let ticks = u128::from(COST.load(Ordering::Relaxed).saturating_add(of_chunks));
    let ps = ticks.wrapping_mul(1_000_000_000).checked_div(u128::from(rate.load(Ordering::Relaxed))).unwrap_or(0);
    cost.store(ps as u64, Ordering::Relaxed);
}

/// Says that recording is paused, or goes on.
pub fn paused(paused: bool) {
    if let Some(live) = live!(paused, AtomicU32) {
        live.store(u32::from(paused), Ordering::Release);
    }
}

/// Counts events that have made room for newer ones.
pub fn discarded(events: u64) {
    if let Some(discarded) = live!(discarded, AtomicU64) {
        discarded.fetch_add(events, Ordering::Relaxed);
    }
    evidence::repeat();
}

/// The file, opened anew.
pub struct OpenFile(i32);

impl OpenFile {
    /// Opens it by its path, if it is still the same.
    ///
    /// # Errors
    /// The errno; `ESTALE` for another file.
    pub fn again() -> Result<Self, i32> {
        let path = path().ok_or(libc::ENOENT)?;
        let fd = sys::open(path, libc::O_RDWR | libc::O_NOFOLLOW, 0);
        if sys::failed(fd) {
            return Err(fd.unsigned_abs() as i32);
        }
        let file = Self(fd as i32);
        let same = sys::identity(file.0) == Some((DEVICE.load(Ordering::Relaxed), INODE.load(Ordering::Relaxed)));
        if same { Ok(file) } else { Err(libc::ESTALE) }
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> i32 {
        self.0
    }

    /// Reserves a part of it on disk, growing it. A small one must not have been written to.
    ///
    /// # Errors
    /// The errno.
    pub fn reserve(&self, offset: u64, bytes: u64) -> Result<(), i32> {
        within_limit(offset, bytes)?;
        if bytes <= FIRST_BYTES && WRITES_RESERVE.load(Ordering::Relaxed) {
            return sys::write_zeros(self.0, offset, bytes);
        }
        let reserved = sys::reserve(self.0, offset, bytes);
        if sys::failed(reserved) { Err(reserved.unsigned_abs() as i32) } else { Ok(()) }
    }

    /// Writes zeros over a part of it.
    ///
    /// # Errors
    /// The errno.
    pub fn clear(&self, offset: u64, bytes: u64) -> Result<(), i32> {
        within_limit(offset, bytes)?;
        sys::write_zeros(self.0, offset, bytes)
    }

    /// Writes all of `bytes` at an offset.
    ///
    /// # Errors
    /// The errno.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), i32> {
        within_limit(offset, bytes.len() as u64)?;
        sys::write_at(self.0, bytes, offset)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        sys::close(self.0);
    }
}

/// Growing a file beyond this limit would send SIGXFSZ; programs may lower it at any time.
fn within_limit(offset: u64, bytes: u64) -> Result<(), i32> {
    if sys::file_size_limit() < offset.saturating_add(bytes) { Err(libc::EFBIG) } else { Ok(()) }
}

/// Calls that were lost before there was a file.
#[unsafe(link_section = ".data.small")]
static LOST_EARLY: AtomicU64 = AtomicU64::new(0);

/// Counts calls that no chunk could count.
pub fn lost(calls: u64) {
    match live!(lost, AtomicU64) {
        Some(lost) => _ = lost.fetch_add(calls, Ordering::Relaxed),
        None => {
            LOST_EARLY.fetch_add(calls, Ordering::SeqCst);
            // There may be one just now.
            count_early();
        }
    }
}

fn count_early() {
    if let Some(lost) = live!(lost, AtomicU64) {
        lost.fetch_add(LOST_EARLY.swap(0, Ordering::SeqCst), Ordering::Relaxed);
    }
}

/// In a child after fork: what has no file was lost in the parent.
pub fn after_fork() {
    LOST_EARLY.store(0, Ordering::Relaxed);
}

/// Counts a call that the filter has left out once it had returned.
pub fn left_out() {
    if let Some(calls) = live!(left_out, AtomicU64) {
        calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// Publishes a clock reading, and wakes watchers.
pub fn nudge(now: ClockTriple) {
    let Some(sequence) = live!(last_sequence, AtomicU32) else { return };
    let before = sequence.load(Ordering::Relaxed);
    let odd = before.wrapping_add(1);
    if before & 1 != 0 || sequence.compare_exchange(before, odd, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    // Not every machine keeps the stores in order by itself.
    core::sync::atomic::fence(Ordering::Release);
    let header = HEADER.load(Ordering::Acquire);
    // SAFETY: the header stays mapped; the odd sequence keeps other writers out and readers away.
    unsafe { (&raw mut (*header).last).write_volatile(now) };
    sequence.store(before.wrapping_add(2), Ordering::Release);
    written::flush(header);
    if let Some(path) = path() {
        sys::touch(path);
    }
}

/// The process ends in order.
pub fn ended() {
    if let Some(state) = live!(state, AtomicU32) {
        let _ =
            state.compare_exchange(header::STATE_RECORDING, header::STATE_ENDED, Ordering::Release, Ordering::Relaxed);
        nudge(clock::triple());
    }
}

/// The process is about to become another one, or to end at once: what a file has not got that is written from time to time
/// is written now.
pub fn write_at_once() {
    if !written::is_on() {
        return;
    }
    let (Some(pid), Some(written)) = (live!(pid, AtomicU32), live!(written, AtomicU32)) else { return };
    // Not in a child of vfork, which has the parent's memory.
    if pid.load(Ordering::Relaxed) == sys::pid() {
        let _held = sys::SignalsHeld::hold();
        written.store(header::WRITTEN_WHOLE, Ordering::Relaxed);
        nudge(clock::triple());
        // It may go on, as after an exec that failed: what it writes later says so.
        written.store(header::WRITTEN_IN_PART, Ordering::Relaxed);
    }
}

/// The parent's header, in a child after fork: what does not change need not be asked again.
#[unsafe(link_section = ".data.small")]
static PARENT: AtomicPtr<FileHeader> = AtomicPtr::new(core::ptr::null_mut());

/// In a child after fork: forget the parent's file.
pub fn forget() {
    let header = HEADER.swap(core::ptr::null_mut(), Ordering::AcqRel);
    if !header.is_null() {
        PARENT.store(header, Ordering::Release);
    }
}
