//! The terminal's descriptors, and waiting on them. The only unsafe code of the screens is here.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What a descriptor is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ready {
    /// There is something to read, or the end.
    pub readable: bool,
    /// The other side is gone.
    pub hung_up: bool,
}

/// Waits until one of the descriptors is ready, or for so long. A signal may end the wait early.
pub fn wait<const N: usize>(fds: [BorrowedFd<'_>; N], timeout: Option<Duration>) -> io::Result<[Ready; N]> {
    let mut polled = fds.map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    // SAFETY: the pointer and the count describe an array that lives, mutably borrowed, until poll returns; the
    // descriptors are borrowed for as long, so none is closed meanwhile.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, milliseconds(timeout)) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok([Ready::default(); N]) } else { Err(error) };
    }
    Ok(polled.map(|fd| Ready {
        readable: fd.revents & libc::POLLIN != 0,
        hung_up: fd.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0,
    }))
}

/// Whether the other side of a descriptor is gone, without waiting for data.
pub fn hung_up(fd: BorrowedFd<'_>) -> bool {
    matches!(wait([fd], Some(Duration::ZERO)), Ok([ready]) if ready.hung_up)
}

fn milliseconds(timeout: Option<Duration>) -> libc::c_int {
    timeout.map_or(-1, |timeout| libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX))
}

/// The terminal that keys come from: standard input, or the controlling terminal if that is something else.
pub fn keyboard() -> io::Result<OwnedFd> {
    if io::stdin().is_terminal() {
        return io::stdin().as_fd().try_clone_to_owned();
    }
    Ok(File::open("/dev/tty")?.into())
}

/// The terminal to draw on: standard output, or the controlling terminal if that is something else.
pub fn screen() -> io::Result<File> {
    if io::stdout().is_terminal() {
        return Ok(io::stdout().as_fd().try_clone_to_owned()?.into());
    }
    OpenOptions::new().write(true).open("/dev/tty")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn says_what_is_ready_and_what_is_gone() {
        let (mut ours, theirs) = UnixStream::pair().expect("pair");
        let soon = Some(Duration::from_millis(1));
        assert_eq!(wait([theirs.as_fd()], soon).expect("poll"), [Ready::default()]);
        ours.write_all(b"x").expect("write");
        assert_eq!(wait([theirs.as_fd()], None).expect("poll"), [Ready { readable: true, hung_up: false }]);
        assert!(!hung_up(theirs.as_fd()));
        drop(ours);
        assert!(hung_up(theirs.as_fd()));
    }
}
