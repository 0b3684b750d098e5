//! Where the C library is another than glibc, as in a child that was built with musl. Its loader takes us, since it knows
//! glibc's names for its own; so we must do no harm there. CUDA needs glibc: nothing is recorded.
//!
//! There is no `dlvsym` to find the real `dlsym` by, so it is read from the C library's own table of symbols.

use core::ffi::{CStr, c_int, c_void};

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const SYMBOL_BYTES: usize = 24;
/// More dynamic entries than any object has.
const MANY: usize = 4096;

/// What is looked for, and found.
struct Search<'a> {
    /// An address within the C library.
    within: usize,
    name: &'a CStr,
    found: usize,
}

/// The address of a function of the C library; zero if there is none. Not for glibc, whose tables look different once
/// it is loaded.
pub fn function(name: &CStr) -> usize {
    let within = libc::clock_gettime as *const () as usize;
    let mut search = Search { within, name, found: 0 };
    // SAFETY: the callback is called with the loader's description of each object, and our search.
    unsafe { libc::dl_iterate_phdr(Some(object), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn object(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr promises; the search is ours.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    let base = info.dlpi_addr as usize;
    // SAFETY: the object's program headers.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let address = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
    let covers = |header: &libc::Elf64_Phdr| {
        header.p_type == PT_LOAD && search.within.wrapping_sub(address(header)) < header.p_memsz as usize
    };
    if !headers.iter().any(covers) {
        return 0;
    }
    if let Some(dynamic) = headers.iter().find(|header| header.p_type == PT_DYNAMIC) {
        // SAFETY: the dynamic section of a loaded object.
        search.found = unsafe { find(base, address(dynamic) as *const [u64; 2], search.name) }.unwrap_or(0);
    }
    1
}

/// # Safety
/// The dynamic section of an object loaded at `base`, whose entries are as they are in the file.
unsafe fn find(base: usize, dynamic: *const [u64; 2], name: &CStr) -> Option<usize> {
    let entry = |wanted: u64| {
        // SAFETY: the section ends with an entry of tag zero.
        let entries = (0..MANY).map(|index| unsafe { *dynamic.add(index) }).take_while(|entry| entry[0] != 0);
        entries.filter(|entry| entry[0] == wanted).map(|entry| base.wrapping_add(entry[1] as usize)).last()
    };
    let (symbols, strings) = (entry(DT_SYMTAB)?, entry(DT_STRTAB)?);
    let count = match entry(DT_HASH) {
        // SAFETY: buckets and chains are counted first, and there is a chain for each symbol.
        Some(hash) => unsafe { *(hash as *const u32).add(1) as usize },
        // As linkers lay them out.
        None => strings.checked_sub(symbols)? / SYMBOL_BYTES,
    };
    for index in 0..count {
        // SAFETY: within the table of symbols.
        let symbol = unsafe { &*(symbols as *const libc::Elf64_Sym).add(index) };
        // SAFETY: names lie in the table of strings.
        let found = unsafe { CStr::from_ptr((strings as *const libc::c_char).add(symbol.st_name as usize)) };
        if symbol.st_value != 0 && symbol.st_shndx != 0 && found == name {
            return Some(base.wrapping_add(symbol.st_value as usize));
        }
    }
    None
}
