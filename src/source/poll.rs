//! Waiting for descriptors, and what the system knows of pipes.
#![allow(unsafe_code, reason = "poll, ioctl and fcntl on descriptors that are borrowed meanwhile")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What a descriptor is ready for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// There is something to read, or the end.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The other side is gone.
    pub hung_up: bool,
}

/// Waits until a descriptor can be read, or written, for at most so long. A signal may end the wait early.
///
/// # Errors
/// When the system will not wait on it.
pub fn wait(fd: BorrowedFd<'_>, write: bool, limit: Duration) -> io::Result<Ready> {
    let events = if write { libc::POLLOUT } else { libc::POLLIN };
    let mut polled = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    let limit = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: one entry that lives, mutably borrowed, until poll returns; the descriptor is borrowed as long.
    if unsafe { libc::poll(&raw mut polled, 1, limit) } < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(Ready::default()) } else { Err(error) };
    }
    Ok(Ready {
        readable: polled.revents & libc::POLLIN != 0,
        writable: polled.revents & libc::POLLOUT != 0,
        hung_up: polled.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0,
    })
}

/// Bytes in a pipe that nobody has read yet.
#[must_use]
pub fn unread(fd: BorrowedFd<'_>) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, which lives until ioctl returns.
    let failed = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    if failed < 0 { 0 } else { usize::try_from(bytes).unwrap_or(0) }
}

/// Makes a pipe as long as unprivileged users may, so that its ends need not run in step.
pub fn widen(fd: BorrowedFd<'_>) {
    // SAFETY: fcntl with a number touches no memory of ours. Where it is refused the pipe stays as it was.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETPIPE_SZ, 1 << 20) };
}

/// Writes to a socket as much as there is room for, without waiting and without SIGPIPE.
///
/// # Errors
/// When there is no room, or nobody reads any more.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: pointer and length describe bytes that live until send returns.
    let sent = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Takes the lock of an open file, if nobody else has it. It ends with the descriptor.
#[must_use]
pub fn lock(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: flock touches no memory of ours.
    unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}
