//! System calls, made directly: no errno, no cancellation points, no locks of the C library.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// What a system call returned: a number, or a negative errno.
pub type Outcome = isize;

/// Whether the call failed; the errno is then `-outcome`.
pub const fn failed(outcome: Outcome) -> bool {
    outcome < 0 && outcome > -4096
}

/// The errno of a call that failed.
pub fn errno(outcome: Outcome) -> Option<i32> {
    failed(outcome).then_some(outcome.unsigned_abs() as i32)
}

/// A system call with up to six arguments.
///
/// # Safety
/// As the system call itself: pointers among the arguments must be what it expects.
pub unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> Outcome {
    // SAFETY: as the caller says.
    unsafe { crate::arch::system_call(number, arguments) }
}

/// Opens a path.
pub fn open(path: &CStr, flags: i32, mode: u32) -> Outcome {
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: the path is a C string.
    unsafe {
        call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0])
    }
}

/// Closes a descriptor.
pub fn close(fd: i32) {
    // SAFETY: closing takes no memory.
    unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Reads into a buffer.
pub fn read(fd: i32, buffer: &mut [u8]) -> Outcome {
    // SAFETY: the buffer is ours for its length.
    unsafe { call(libc::SYS_read, [fd as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) }
}

/// Reads into a buffer from an offset.
pub fn read_at(fd: i32, buffer: &mut [u8], offset: u64) -> Outcome {
    // SAFETY: the buffer is ours for its length.
    unsafe { call(libc::SYS_pread64, [fd as usize, buffer.as_mut_ptr() as usize, buffer.len(), offset as usize, 0, 0]) }
}

/// Reserves bytes of a file on disk, growing it, so that a store to a mapping never meets a full disk.
/// Where the file system cannot reserve, zeros are written.
pub fn reserve(fd: i32, offset: u64, bytes: u64) -> Outcome {
    for _ in 0..INTERRUPTIONS {
        // SAFETY: no memory is passed.
        let outcome = unsafe { call(libc::SYS_fallocate, [fd as usize, 0, offset as usize, bytes as usize, 0, 0]) };
        match errno(outcome) {
            // On tmpfs of older kernels by any signal, also one that stops the process.
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => break,
            _ => return outcome,
        }
    }
    match write_zeros(fd, offset, bytes) {
        Ok(()) => 0,
        Err(errno) => (errno as Outcome).wrapping_neg(),
    }
}

/// How often a call that a signal has interrupted is made anew.
const INTERRUPTIONS: u32 = 100;

/// Writes zeros to a part of a file.
///
/// # Errors
/// The errno.
pub fn write_zeros(fd: i32, offset: u64, bytes: u64) -> Result<(), i32> {
    static ZEROS: [u8; 8192] = [0; 8192];
    let end = offset.saturating_add(bytes);
    let mut at = offset;
    while at < end {
        let wanted = (ZEROS.len() as u64).min(end.saturating_sub(at));
        write_at(fd, ZEROS.get(..wanted as usize).unwrap_or(&ZEROS), at)?;
        at = at.saturating_add(wanted);
    }
    Ok(())
}

/// Sets a file's length.
pub fn set_length(fd: i32, bytes: u64) -> Outcome {
    // SAFETY: no memory is passed.
    unsafe { call(libc::SYS_ftruncate, [fd as usize, bytes as usize, 0, 0, 0, 0]) }
}

/// Maps a part of a file, shared, for reading and writing.
pub fn map(fd: i32, offset: u64, bytes: usize) -> Result<*mut u8, i32> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the address; nothing that is mapped is touched.
    let outcome = unsafe {
        call(libc::SYS_mmap, [0, bytes, protection as usize, libc::MAP_SHARED as usize, fd as usize, offset as usize])
    };
    if failed(outcome) { Err(outcome.unsigned_abs() as i32) } else { Ok(outcome as *mut u8) }
}

/// Private memory, zeros.
pub fn map_private(bytes: usize) -> Result<*mut u8, i32> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel chooses the address; nothing that is mapped is touched.
    let outcome = unsafe { call(libc::SYS_mmap, [0, bytes, protection as usize, flags as usize, usize::MAX, 0]) };
    if failed(outcome) { Err(outcome.unsigned_abs() as i32) } else { Ok(outcome as *mut u8) }
}

/// Puts private memory, zeros, in the place of what is mapped.
///
/// # Safety
/// Whoever uses what is there must be content with zeros.
pub unsafe fn map_private_over(address: *mut u8, bytes: usize) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: as the caller says; where it fails, all stays as it was.
    unsafe { call(libc::SYS_mmap, [address as usize, bytes, protection as usize, flags as usize, usize::MAX, 0]) };
}

/// Writes all bytes at an offset of a file.
pub fn write_at(fd: i32, bytes: &[u8], offset: u64) -> Result<(), i32> {
    let mut done = 0usize;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(done as u64) as usize;
        // SAFETY: the bytes are ours for their length.
        let outcome = unsafe { call(libc::SYS_pwrite64, [fd as usize, rest.as_ptr() as usize, rest.len(), at, 0, 0]) };
        match errno(outcome) {
            Some(libc::EINTR) => {}
            Some(errno) => return Err(errno),
            None if outcome == 0 => return Err(libc::ENOSPC),
            None => done = done.saturating_add(outcome as usize),
        }
    }
    Ok(())
}

/// Kinds of file systems, as statfs(2) tells them, whose files are not to be mapped for sharing: a server that is full
/// or gone would end the program with SIGBUS. NFS, Lustre, FUSE, SMB and its second version, CIFS, 9P, AFS, Ceph, GPFS,
/// BeeGFS, PanFS, OrangeFS, Coda, OCFS2, GFS2.
const REMOTE: [u32; 16] = [
    0x6969,
    0x0bd0_0bd0,
    0x6573_5546,
    0x517b,
    0xfe53_4d42,
    0xff53_4d42,
    0x0102_1997,
    0x5346_414f,
    0x00c3_6400,
    0x4750_4653,
    0x1983_0326,
    0xaad7_aaea,
    0x2003_0528,
    0x7375_7245,
    0x7461_636f,
    0x0116_1970,
];

/// The kind of the file system that an open file lies on; zero if it cannot be told.
pub fn file_system(fd: i32) -> u32 {
    let mut status = core::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the kernel fills the structure.
    let outcome = unsafe { call(libc::SYS_fstatfs, [fd as usize, status.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    // SAFETY: it was zeroed before.
    if failed(outcome) { 0 } else { unsafe { status.assume_init() }.f_type as u32 }
}

/// Whether files on such a file system had better not be mapped.
pub fn is_remote(kind: u32) -> bool {
    REMOTE.contains(&kind)
}

/// Whether zeros that are written reserve room for good, and quicker than to ask for it where it is little: on ext4 and
/// XFS, which choose the place later and keep it. Not on those that write every change to a new place.
pub fn reserves_by_writing(kind: u32) -> bool {
    const EXT4: u32 = 0xef53;
    const XFS: u32 = 0x5846_5342;
    kind == EXT4 || kind == XFS
}

/// Unmaps what [`map`] mapped.
///
/// # Safety
/// Nothing may use the mapping any more.
pub unsafe fn unmap(address: *mut u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { call(libc::SYS_munmap, [address as usize, bytes, 0, 0, 0, 0]) };
}

/// Asks that a page be zero in a child after fork or clone.
pub fn wipe_on_fork(page: *mut u8, bytes: usize) {
    // SAFETY: advice; it fails where it does not apply.
    unsafe { call(libc::SYS_madvise, [page as usize, bytes, libc::MADV_WIPEONFORK as usize, 0, 0, 0]) };
}

/// Gives whole pages of private memory back, which are then zero; false if that cannot be.
///
/// # Safety
/// Nobody else uses them, and no file is mapped there.
pub unsafe fn make_zero(pages: *mut u8, bytes: usize) -> bool {
    // SAFETY: as the caller says.
    let outcome = unsafe { call(libc::SYS_madvise, [pages as usize, bytes, libc::MADV_DONTNEED as usize, 0, 0, 0]) };
    !failed(outcome)
}

/// Device and inode of an open file.
pub fn identity(fd: i32) -> Option<(u64, u64)> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the structure.
    let outcome = unsafe { call(libc::SYS_fstat, [fd as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    if failed(outcome) {
        return None;
    }
    // SAFETY: it was zeroed and then filled.
    let stat = unsafe { stat.assume_init() };
    Some((stat.st_dev, stat.st_ino))
}

/// The soft limit on the size of files: growing beyond it would send SIGXFSZ.
pub fn file_size_limit() -> u64 {
    let mut limit = [u64::MAX; 2];
    // SAFETY: the kernel fills the two words.
    let outcome =
        unsafe { call(libc::SYS_prlimit64, [0, libc::RLIMIT_FSIZE as usize, 0, limit.as_mut_ptr() as usize, 0, 0]) };
    let [soft, _] = limit;
    if failed(outcome) { u64::MAX } else { soft }
}

/// Sets a file's times to now: a sign for watchers, who do not see writes through a mapping.
pub fn touch(path: &CStr) {
    // SAFETY: the path is a C string; no times means now.
    unsafe { call(libc::SYS_utimensat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// Removes a file.
pub fn remove(path: &CStr) {
    // SAFETY: the path is a C string.
    unsafe { call(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// The calling thread has descriptors of its own from here on, none at first: what it opens is never among the program's,
/// which may close or reuse any number at any time, and no child inherits it. Where the kernel cannot, before 5.9, it goes
/// on sharing them.
pub fn share_no_descriptors() {
    let flags = libc::CLOSE_RANGE_UNSHARE as usize;
    // SAFETY: nothing of ours is open, and what is the program's stays open for it.
    unsafe { call(libc::SYS_close_range, [0, u32::MAX as usize, flags, 0, 0, 0]) };
}

/// Process id.
pub fn pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getpid, [0; 6]) as u32 }
}

/// Parent's process id.
pub fn parent_pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getppid, [0; 6]) as u32 }
}

/// Thread id.
pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Whether this process has a thread of that id.
pub fn is_thread(id: u32) -> bool {
    // SAFETY: signal 0 is never sent.
    unsafe { call(libc::SYS_tgkill, [pid() as usize, id as usize, 0, 0, 0, 0]) == 0 }
}

/// The calling thread's name, 16 bytes with a NUL.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { call(libc::SYS_prctl, [libc::PR_GET_NAME as usize, name.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    name
}

/// Sleeps for about so long; a signal may end it earlier.
pub fn sleep_ns(ns: u64) {
    let time = [0u64, ns];
    // SAFETY: two words of ours, the second below a second.
    unsafe { call(libc::SYS_nanosleep, [(&raw const time) as usize, 0, 0, 0, 0, 0]) };
}

/// Sleeps until [`wake`] is called for `word`, as long as it holds `value`, and no longer than `limit_ns`.
pub fn wait(word: &core::sync::atomic::AtomicU32, value: u32, limit_ns: u64) {
    let time = [limit_ns / 1_000_000_000, limit_ns % 1_000_000_000];
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let words = [word.as_ptr() as usize, operation, value as usize, (&raw const time) as usize, 0, 0];
    // SAFETY: the word is static or outlives the call, the time is ours.
    unsafe { call(libc::SYS_futex, words) };
}

/// Wakes all that [`wait`] for `word`.
pub fn wake(word: &core::sync::atomic::AtomicU32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the word is only looked up by its address.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, operation, i32::MAX as usize, 0, 0, 0]) };
}

/// Gives the calling thread a name, of at most 15 bytes.
pub fn set_thread_name(name: &CStr) {
    // SAFETY: the kernel reads the C string.
    unsafe { call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, name.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// Ends the process at once.
pub fn exit(status: i32) -> ! {
    loop {
        // SAFETY: does not come back.
        unsafe { call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Gives the processor to another thread.
pub fn yield_now() {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

/// Waits for a signal.
#[cfg(panic = "abort")]
pub fn pause() {
    // SAFETY: waits for no descriptors, for ever. Newer machines have no call of this name.
    unsafe { call(libc::SYS_ppoll, [0; 6]) };
}

/// Host name, folder and the like: a system call that fills a buffer.
pub fn folder(buffer: &mut [u8]) {
    // SAFETY: the buffer is ours for its length.
    unsafe { call(libc::SYS_getcwd, [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0]) };
}

/// The host's name.
pub fn host(buffer: &mut [u8; 64]) {
    let mut names = core::mem::MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the kernel fills the structure.
    unsafe { call(libc::SYS_uname, [names.as_mut_ptr() as usize, 0, 0, 0, 0, 0]) };
    // SAFETY: it was zeroed before.
    let names = unsafe { names.assume_init() };
    for (to, from) in buffer.iter_mut().zip(names.nodename.iter()) {
        *to = *from as u8;
    }
}

/// The C library's own `clock_gettime`; zero before it has been looked for.
#[unsafe(link_section = ".data.small")]
static CLOCK: AtomicUsize = AtomicUsize::new(0);

/// Whether [`clock_ns`] has yet to be told where the C library's function is.
pub fn wants_clock() -> bool {
    CLOCK.load(Ordering::Relaxed) == 0
}

/// Says where it is. What a program is made to believe by a library that takes the name is for the program: such a clock
/// may stand still, or go backwards.
///
/// # Safety
/// The address is that of a function like it.
pub unsafe fn use_clock(address: usize) {
    CLOCK.store(address, Ordering::Relaxed);
}

/// A clock, ns.
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    type ClockGettime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours, the address as it was told; the C library's form costs no system call.
    let outcome = unsafe {
        match CLOCK.load(Ordering::Relaxed) {
            0 => libc::clock_gettime(clock, &mut time),
            address => core::mem::transmute::<usize, ClockGettime>(address)(clock, &mut time),
        }
    };
    if outcome != 0 {
        // Whoever waits for a time to come must not wait for ever.
        return crate::arch::ticks();
    }
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Whether the calling code runs on an alternate signal stack.
pub fn on_signal_stack() -> bool {
    let mut stack = core::mem::MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: the kernel fills the structure.
    unsafe { call(libc::SYS_sigaltstack, [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    // SAFETY: it was zeroed before.
    unsafe { stack.assume_init() }.ss_flags & libc::SS_ONSTACK != 0
}

/// Holds signals back while we are inside the loader or the allocator, whose locks a handler that calls CUDA would
/// wait for in vain. Faults are not held back: they cannot wait.
pub struct SignalsHeld(u64);

/// All signals but SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS, as the kernel's set. The last is how a sandbox
/// answers for the system calls that it forbids.
const HELD: u64 = !(1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30);

impl SignalsHeld {
    /// From here on.
    pub fn hold() -> Self {
        Self::of(HELD)
    }

    /// All of them, for a thread that begins meanwhile: it is to take none.
    pub fn hold_all() -> Self {
        Self::of(u64::MAX)
    }

    fn of(held: u64) -> Self {
        let mut before = 0u64;
        // SAFETY: both are sets of 8 bytes, the second ours to be filled.
        unsafe {
            call(
                libc::SYS_rt_sigprocmask,
                [libc::SIG_BLOCK as usize, (&raw const held) as usize, (&raw mut before) as usize, 8, 0, 0],
            )
        };
        Self(before)
    }
}

impl Drop for SignalsHeld {
    fn drop(&mut self) {
        // SAFETY: a set of 8 bytes.
        unsafe {
            call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, (&raw const self.0) as usize, 0, 8, 0, 0])
        };
    }
}

/// Keeps the C library's errno over what we call.
pub struct Errno(i32);

impl Errno {
    /// Remembers it.
    pub fn save() -> Self {
        // SAFETY: the calling thread's errno.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: the calling thread's errno.
        unsafe { *libc::__errno_location() = self.0 };
    }
}
