//! What the kernel says of the process in `/proc`, for the header of its file. Zeros where it says nothing.

use core::ffi::CStr;

use crate::{sys, text};

/// The arguments that it was started with, each ended by a NUL, as many as there is room for.
pub fn arguments(buffer: &mut [u8]) {
    fill(c"/proc/self/cmdline", buffer);
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

/// The path of its program.
pub fn program(buffer: &mut [u8; 512]) {
    let path = c"/proc/self/exe";
    let room = buffer.len().wrapping_sub(1);
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, room, 0, 0];
    // SAFETY: the buffer is ours for its length.
    unsafe { sys::call(libc::SYS_readlinkat, arguments) };
}

/// Which boot of this machine it runs in.
pub fn boot_id() -> [u8; 16] {
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

/// When it was started, clock ticks since boot: field 22 of `/proc/self/stat`, counted after the parenthesis that ends the name.
pub fn start_time() -> u64 {
    // Long before its end, which costs the kernel a read of its own to find.
    let mut text = [0u8; 256];
    let length = fill(c"/proc/self/stat", &mut text);
    let text = text.get(..length).unwrap_or_default();
    let Some(after) = text.iter().rposition(|&byte| byte == b')') else { return 0 };
    let mut fields = text.get(after..).unwrap_or_default().split(|&byte| byte == b' ');
    fields.nth(20).and_then(text::number).unwrap_or(0)
}
