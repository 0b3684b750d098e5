//! Reads of our own memory through the kernel, which answers where a pointer would crash: what another thread may be
//! unmapping, and what may be no address at all.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// Bytes of the smallest page.
const PAGE: usize = 4096;

/// Reads up to the end of the page at first, then the rest. Returns how many bytes were read.
pub fn peek(address: u64, buffer: &mut [u8]) -> usize {
    let to_page_end = PAGE.wrapping_sub(address as usize & PAGE.wrapping_sub(1));
    let mut done = 0usize;
    for wanted in [to_page_end.min(buffer.len()), buffer.len()] {
        let Some(rest) = buffer.get_mut(done..wanted).filter(|rest| !rest.is_empty()) else { break };
        if !copy((address as usize).wrapping_add(done), rest) {
            break;
        }
        done = wanted;
    }
    done
}

/// So many words, if all of them can be read.
pub fn words<const N: usize>(address: usize) -> Option<[usize; N]> {
    let mut words = [0usize; N];
    // SAFETY: the words' own bytes, any of which make words.
    let bytes = unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size_of::<[usize; N]>()) };
    copy(address, bytes).then_some(words)
}

/// The number of four bytes at an address.
pub fn number(address: usize) -> Option<u32> {
    let mut bytes = [0; 4];
    copy(address, &mut bytes).then(|| u32::from_ne_bytes(bytes))
}

/// Whether a C string at an address is this one.
pub fn is_text(address: usize, text: &[u8]) -> bool {
    let mut rest = text.iter();
    let mut same = true;
    let mut buffer = [0u8; 64];
    let mut at = address;
    while same {
        let read = peek(at as u64, &mut buffer);
        for &byte in buffer.iter().take(read) {
            same &= match rest.next() {
                Some(&expected) => byte == expected,
                None => return same && byte == 0,
            };
        }
        same &= read > 0;
        at = at.wrapping_add(read);
    }
    false
}

/// Hands out the bytes of a C string in order, without its NUL; whether that was reached.
pub fn each_byte(mut address: usize, mut each: impl FnMut(u8)) -> bool {
    /// Longer than any path.
    const MOST: usize = 8192;
    let end = address.saturating_add(MOST);
    let mut buffer = [0u8; 64];
    while address < end {
        let read = peek(address as u64, &mut buffer);
        for &byte in buffer.iter().take(read) {
            if byte == 0 {
                return true;
            }
            each(byte);
        }
        if read == 0 {
            return false;
        }
        address = address.wrapping_add(read);
    }
    false
}

/// Whether all of it could be read.
fn copy(address: usize, buffer: &mut [u8]) -> bool {
    /// The kernel refuses to read a process's memory this way, even to itself.
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if !REFUSED.load(Ordering::Relaxed) {
        let local = [buffer.as_mut_ptr() as usize, buffer.len()];
        let remote = [address, buffer.len()];
        let arguments = [sys::pid() as usize, (&raw const local) as usize, 1, (&raw const remote) as usize, 1, 0];
        // SAFETY: both describe `buffer.len()` bytes, the local ones ours.
        let read = unsafe { sys::call(libc::SYS_process_vm_readv, arguments) };
        match sys::errno(read) {
            None => return read as usize == buffer.len(),
            Some(libc::EFAULT) => return false,
            // Whatever a sandbox says, as it does who we are.
            Some(_) => REFUSED.store(true, Ordering::Relaxed),
        }
    }
    copy_by_file(address, buffer)
}

/// As containers of older kinds need it.
#[cold]
fn copy_by_file(address: usize, buffer: &mut [u8]) -> bool {
    let memory = sys::open(c"/proc/self/mem", libc::O_RDONLY, 0);
    if sys::failed(memory) {
        return copy_if_mapped(address, buffer);
    }
    let read = sys::read_at(memory as i32, buffer, address as u64);
    sys::close(memory as i32);
    match sys::errno(read) {
        None => read as usize == buffer.len(),
        // Nothing lies there, or at no address of that kind.
        Some(libc::EIO | libc::EFAULT | libc::EINVAL) => false,
        Some(_) => copy_if_mapped(address, buffer),
    }
}

/// Where the kernel reads nothing for us, nothing is left but to look where something was a moment ago.
fn copy_if_mapped(address: usize, buffer: &mut [u8]) -> bool {
    let last = address.saturating_add(buffer.len()).saturating_sub(1);
    if address < PAGE || !is_mapped(address as u64) || !is_mapped(last as u64) {
        return false;
    }
    for (at, byte) in buffer.iter_mut().enumerate() {
        // SAFETY: it is mapped, unless another thread has unmapped it just now.
        *byte = unsafe { (address as *const u8).wrapping_add(at).read_volatile() };
    }
    true
}

/// Whether something lies at an address. Where the kernel does not answer, there is.
pub fn is_mapped(address: u64) -> bool {
    let page = address as usize & !PAGE.wrapping_sub(1);
    let mut resident = [0u8; 16];
    // SAFETY: the kernel writes a byte for each page, of which there is one at least.
    let outcome = unsafe { sys::call(libc::SYS_mincore, [page, 1, resident.as_mut_ptr() as usize, 0, 0, 0]) };
    !matches!(sys::errno(outcome), Some(libc::ENOMEM | libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_not() {
        let numbers = [7usize, 8, 9];
        let at = numbers.as_ptr() as usize;
        assert_eq!(words::<3>(at), Some(numbers));
        assert_eq!(words::<1>(0), None);
        let (mut one, mut other) = ([0; 24], [0; 24]);
        assert!(copy_by_file(at, &mut one) && copy(at, &mut other) && one == other);
        assert!(!copy_by_file(8, &mut one));
        let mut text = Vec::new();
        assert!(each_byte(
            c"a path that is longer than what is read at once, by some bytes at least".as_ptr() as usize,
            |byte| {
                text.push(byte);
            }
        ));
        assert!(text.ends_with(b"some bytes at least") && text.len() == 71, "{}", text.len());
        assert!(!each_byte(4, |_| {}));
        assert!(is_text(c"cuInit".as_ptr() as usize, b"cuInit") && !is_text(c"cuInit".as_ptr() as usize, b"cuIni"));
        assert!(!is_text(c"cuIni".as_ptr() as usize, b"cuInit") && !is_text(4, b"cuInit"));
    }
}
