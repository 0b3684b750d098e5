//! The process's trace file: made at the first CUDA call, its header mapped for as long as the process lives.
//!
//! No descriptor is kept: programs close all of theirs, ours with them, or get ours again under a number they
//! believe is their own. Every chunk opens the file anew, by path, and checks that it is still the same.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::{self, CHUNK_UNIT, FileHeader, HEADER_BYTES};

use crate::clock::{self, Clock};
use crate::config::{self, Config};
use crate::{rank, sys, text};

static HEADER: AtomicPtr<FileHeader> = AtomicPtr::new(core::ptr::null_mut());
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
/// End of what is claimed. The header learns of it once the file is as long, so that a process killed in between
/// leaves no file that looks cut.
static CLAIMED: AtomicU64 = AtomicU64::new(CHUNK_UNIT);
/// How long the file was made at first, with room for the pieces that every process needs. Of those a part is reserved, and
/// the rest once it is needed: most children of a fork make few calls.
static MADE: AtomicU64 = AtomicU64::new(0);
const MADE_BYTES: u64 = 4 * CHUNK_UNIT;
/// Whether parts of a piece can be reserved: not where a page is as long as the piece.
const IN_PARTS: bool = cfg!(target_arch = "x86_64");
static MAX_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);

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
        let header = HEADER.load(Ordering::Acquire);
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
    let made = make(fd, config.max_bytes)?;
    let (device, inode) = sys::identity(fd).ok_or(libc::EIO)?;
    let mapped = sys::map(fd, 0, HEADER_BYTES)?.cast::<FileHeader>();
    // SAFETY: a fresh page of zeros that nobody else has.
    let header = unsafe { &mut *mapped };
    header.version = header::VERSION;
    header.header_bytes = HEADER_BYTES as u32;
    header.endian = header::ENDIAN_MARK;
    header.arch = header::ARCH_X86_64;
    header.pid = pid;
    header.parent_pid = sys::parent_pid();
    header.start_time = start_time();
    header.boot_id = boot_id();
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
    (header.rank, header.local_rank) = rank::ranks();
    sys::folder(&mut header.folder);
    fill(c"/proc/self/cmdline", &mut header.arguments);
    program(&mut header.program);
    core::sync::atomic::fence(Ordering::Release);
    header.magic = header::MAGIC;
    DEVICE.store(device, Ordering::Relaxed);
    INODE.store(inode, Ordering::Relaxed);
    CLAIMED.store(CHUNK_UNIT, Ordering::Relaxed);
    MADE.store(made, Ordering::Relaxed);
    MAX_BYTES.store(if config.max_bytes == 0 { u64::MAX } else { config.max_bytes }, Ordering::Relaxed);
    HEADER.store(mapped, Ordering::Release);
    Ok(())
}

/// Gives the file its first length, and reserves the header. Nobody else has the file yet; later it must only grow.
fn make(fd: i32, max_bytes: u64) -> Result<u64, i32> {
    let cap = if max_bytes == 0 { u64::MAX } else { max_bytes };
    let wanted = MADE_BYTES.min(cap).min(sys::file_size_limit());
    if !IN_PARTS || wanted < MADE_BYTES || sys::failed(sys::set_length(fd, wanted)) {
        reserve(fd, 0, CHUNK_UNIT)?;
        return Ok(0);
    }
    reserve(fd, 0, HEADER_BYTES as u64)?;
    Ok(wanted)
}

/// A piece of the file that has been claimed, reserved on disk and mapped.
pub struct Piece {
    /// Where it is mapped.
    pub address: *mut u8,
    /// Where it lies in the file.
    pub offset: u64,
    /// Its number among the pieces.
    pub sequence: u64,
    /// How much of it is reserved, from its beginning.
    pub reserved: u64,
}

/// Claims the next `bytes` of the file, of which the `first` are needed at once. An error stops recording, and the header
/// says why.
pub fn claim(bytes: u64, first: u64) -> Option<Piece> {
    static SEQUENCE: AtomicU64 = AtomicU64::new(0);
    let end = live!(end, AtomicU64)?;
    let state = live!(state, AtomicU32)?;
    if state.load(Ordering::Relaxed) != header::STATE_RECORDING {
        return None;
    }
    let limit = MAX_BYTES.load(Ordering::Relaxed);
    let claimed = CLAIMED
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |end| end.checked_add(bytes).filter(|&end| end <= limit));
    let Ok(offset) = claimed else {
        let _ =
            state.compare_exchange(header::STATE_RECORDING, header::STATE_FULL, Ordering::Relaxed, Ordering::Relaxed);
        return None;
    };
    let is_made = offset.saturating_add(bytes) <= MADE.load(Ordering::Relaxed);
    let reserved = if is_made { first.min(bytes) } else { bytes };
    match open_and(|fd| reserve(fd, offset, reserved).and_then(|()| sys::map(fd, offset, bytes as usize))) {
        Ok(address) => {
            end.fetch_max(offset.saturating_add(bytes), Ordering::AcqRel);
            Some(Piece { address, offset, sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed), reserved })
        }
        Err(errno) => {
            failed(errno);
            None
        }
    }
}

/// Reserves a part of a piece that was claimed before. An error stops recording.
pub fn reserve_more(offset: u64, bytes: u64) -> bool {
    match open_and(|fd| reserve(fd, offset, bytes)) {
        Ok(()) => true,
        Err(errno) => {
            failed(errno);
            false
        }
    }
}

fn failed(errno: i32) {
    if let Some(reason) = live!(reason, AtomicU32) {
        reason.store(errno as u32, Ordering::Relaxed);
    }
    if let Some(state) = live!(state, AtomicU32) {
        state.store(header::STATE_FAILED, Ordering::Release);
    }
}

/// Does something with the file if it is still there.
fn open_and<R>(work: impl FnOnce(i32) -> Result<R, i32>) -> Result<R, i32> {
    let path = path().ok_or(libc::ENOENT)?;
    let fd = sys::open(path, libc::O_RDWR | libc::O_NOFOLLOW, 0);
    if sys::failed(fd) {
        return Err(fd.unsigned_abs() as i32);
    }
    let fd = fd as i32;
    let same = sys::identity(fd) == Some((DEVICE.load(Ordering::Relaxed), INODE.load(Ordering::Relaxed)));
    let outcome = if same { work(fd) } else { Err(libc::ESTALE) };
    sys::close(fd);
    outcome
}

/// Reserves a part of the file, unless growing it so far would send SIGXFSZ; programs may lower that limit at any
/// time.
fn reserve(fd: i32, offset: u64, bytes: u64) -> Result<(), i32> {
    if sys::file_size_limit() < offset.saturating_add(bytes) {
        return Err(libc::EFBIG);
    }
    let reserved = sys::reserve(fd, offset, bytes);
    if sys::failed(reserved) { Err(reserved.unsigned_abs() as i32) } else { Ok(()) }
}

/// Counts calls that no chunk could count.
pub fn lost(calls: u64) {
    if let Some(lost) = live!(lost, AtomicU64) {
        lost.fetch_add(calls, Ordering::Relaxed);
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
    let header = HEADER.load(Ordering::Acquire);
    // SAFETY: the header stays mapped; the odd sequence keeps other writers out and readers away.
    unsafe { (&raw mut (*header).last).write_volatile(now) };
    sequence.store(before.wrapping_add(2), Ordering::Release);
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

/// In a child after fork: forget the parent's file.
pub fn forget() {
    HEADER.store(core::ptr::null_mut(), Ordering::Release);
}

fn fill(path: &CStr, buffer: &mut [u8]) -> usize {
    let fd = sys::open(path, libc::O_RDONLY, 0);
    if sys::failed(fd) {
        return 0;
    }
    let mut length = 0usize;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        let read = sys::read(fd as i32, rest);
        if sys::failed(read) || read == 0 {
            break;
        }
        length = length.wrapping_add(read as usize);
    }
    sys::close(fd as i32);
    length
}

fn program(buffer: &mut [u8; 512]) {
    let path = c"/proc/self/exe";
    let room = buffer.len().wrapping_sub(1);
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, room, 0, 0];
    // SAFETY: the buffer is ours for its length.
    unsafe { sys::call(libc::SYS_readlinkat, arguments) };
}

fn boot_id() -> [u8; 16] {
    let mut text = [0u8; 40];
    fill(c"/proc/sys/kernel/random/boot_id", &mut text);
    let mut id = [0u8; 16];
    let mut digits = text.iter().filter_map(|&byte| char::from(byte).to_digit(16));
    for byte in &mut id {
        let (Some(high), Some(low)) = (digits.next(), digits.next()) else { break };
        *byte = (high.wrapping_shl(4) | low) as u8;
    }
    id
}

/// Field 22 of `/proc/self/stat`, counted after the parenthesis that ends the name.
fn start_time() -> u64 {
    let mut text = [0u8; 1024];
    let length = fill(c"/proc/self/stat", &mut text);
    let text = text.get(..length).unwrap_or_default();
    let Some(after) = text.iter().rposition(|&byte| byte == b')') else { return 0 };
    let mut fields = text.get(after..).unwrap_or_default().split(|&byte| byte == b' ');
    fields.nth(20).and_then(text::number).unwrap_or(0)
}
