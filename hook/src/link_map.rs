//! The loader's list of objects, which it keeps for debuggers, and the headers and dynamic sections that it leads to: all
//! read through the kernel, since another thread may be changing them.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::memory;
use crate::objects::Object;

const PT_DYNAMIC: usize = 2;
const PT_PHDR: usize = 6;
const DT_NULL: usize = 0;
const DT_DEBUG: usize = 21;
/// Words of a program header, and of an ELF header.
const HEADER_WORDS: usize = 7;
const ELF_WORDS: usize = 8;
/// More objects, dynamic entries or program headers than there are.
const MANY: usize = 8192;

/// Hands out the entries of the loader's list, each with what it holds first, until `each` says that that is enough. False
/// where an entry does not lead back to the one before it, which only matters where that is asked for: the list was being
/// changed.
pub fn walk(strict: bool, mut each: impl FnMut(usize, [usize; 3]) -> bool) -> bool {
    let (mut map, mut before) = (first_map(), 0);
    for _ in 0..MANY {
        if map == 0 {
            return true;
        }
        let Some([base, name, dynamic, next, previous]) = memory::words(map) else { return false };
        if strict && previous != before {
            return false;
        }
        if !each(map, [base, name, dynamic]) {
            return true;
        }
        (before, map) = (map, next);
    }
    true
}

/// Where the loader's list begins; zero if it cannot be found.
fn first_map() -> usize {
    /// Where the loader keeps what debuggers ask for (`struct r_debug`), whose second word is the list.
    static DEBUG: AtomicUsize = AtomicUsize::new(0);
    let mut debug = DEBUG.load(Ordering::Relaxed);
    if debug == 0 {
        debug = debug_of_program().or_else(debug_of_loader).unwrap_or(0);
        DEBUG.store(debug, Ordering::Relaxed);
    }
    if debug == 0 {
        return 0;
    }
    memory::words::<2>(debug).map_or(0, |[_, list]| list)
}

/// The loader writes it into the program's dynamic section.
fn debug_of_program() -> Option<usize> {
    let (headers, count) = program_headers()?;
    let (mut base, mut dynamic, mut debug) = (0, None, 0);
    each_header(headers, count, |[kind, _, address, ..]| match kind & 0xffff_ffff {
        PT_PHDR => base = headers.wrapping_sub(address),
        PT_DYNAMIC => dynamic = Some(address),
        _ => {}
    });
    each_entry(base.wrapping_add(dynamic?), |tag, value| {
        if tag == DT_DEBUG {
            debug = value;
        }
    });
    Some(debug).filter(|&debug| debug != 0)
}

/// Where the program's section has no place for it: the loader's own symbol.
fn debug_of_loader() -> Option<usize> {
    // SAFETY: one of the kernel's numbers.
    let base = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    let (headers, count) = headers_of(base)?;
    let mut dynamic = None;
    each_header(headers, count, |[kind, _, address, ..]| {
        if kind & 0xffff_ffff == PT_DYNAMIC {
            dynamic = Some(base.wrapping_add(address));
        }
    });
    Object::lone(base, dynamic?).symbol(b"_r_debug")
}

/// The program's headers, and how many there are, by the kernel.
pub fn program_headers() -> Option<(usize, usize)> {
    // SAFETY: the kernel's numbers.
    let (headers, count) = unsafe { (libc::getauxval(libc::AT_PHDR), libc::getauxval(libc::AT_PHNUM)) };
    (headers != 0).then_some((headers as usize, count as usize))
}

/// The headers of an object whose file begins at an address.
pub fn headers_of(base: usize) -> Option<(usize, usize)> {
    let [ident, _, _, _, headers, _, _, counts] = memory::words::<ELF_WORDS>(base).filter(|_| base != 0)?;
    let is_ours = ident.to_le_bytes().starts_with(b"\x7fELF\x02");
    // How many there are, then numbers of sections.
    is_ours.then_some((base.wrapping_add(headers), counts & 0xffff))
}

/// Hands out program headers: type and flags, offset, address, physical address, bytes in the file and in memory, alignment.
pub fn each_header(headers: usize, count: usize, mut each: impl FnMut([usize; HEADER_WORDS])) {
    const BYTES: usize = size_of::<[usize; HEADER_WORDS]>();
    let mut done = 0usize;
    while done < count.min(MANY) {
        let mut room = [[0usize; HEADER_WORDS]; 12];
        let wanted = count.wrapping_sub(done).min(room.len());
        // SAFETY: the words' own bytes.
        let bytes = unsafe { core::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), wanted.wrapping_mul(BYTES)) };
        let read = memory::peek(headers.wrapping_add(done.wrapping_mul(BYTES)) as u64, bytes) / BYTES;
        if read == 0 {
            return;
        }
        room.into_iter().take(read).for_each(&mut each);
        done = done.wrapping_add(read);
    }
}

/// Hands out the tags and values of a dynamic section.
pub fn each_entry(dynamic: usize, mut each: impl FnMut(usize, usize)) {
    const BYTES: usize = size_of::<[usize; 2]>();
    let (mut at, mut done) = (dynamic, 0usize);
    while at != 0 && done < MANY {
        let mut room = [[0usize; 2]; 32];
        // SAFETY: the words' own bytes.
        let bytes = unsafe { core::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), size_of_val(&room)) };
        // The section may end near the end of what is mapped.
        let read = memory::peek(at as u64, bytes) / BYTES;
        for [tag, value] in room.into_iter().take(read) {
            if tag == DT_NULL {
                return;
            }
            each(tag, value);
        }
        if read == 0 {
            return;
        }
        at = at.wrapping_add(read.wrapping_mul(BYTES));
        done = done.wrapping_add(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_lead_to_the_list() {
        assert!(first_map() != 0);
        assert_eq!(debug_of_program(), debug_of_loader());
    }
}
