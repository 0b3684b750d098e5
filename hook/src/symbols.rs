//! Functions of loaded objects, found without the loader's own look-ups.
//!
//! Those allocate: `dlsym` for what it says when there is no such name, `dlopen` for a list of dependencies even where
//! it loads nothing. A signal handler that makes the first call of a process, or the first from a new place, may have
//! interrupted the allocator, which is then locked or halfway through a change.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::{arch, config, text};

const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;
const DT_NULL: i64 = 0;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_SONAME: i64 = 14;
const DT_DEBUG: i64 = 21;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
/// Of a symbol's version: only found by those who ask for that version.
const HIDDEN: u16 = 0x8000;
const STT_GNU_IFUNC: u8 = 10;

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: u64,
}

/// What the dynamic section of a loaded object leads to.
struct Object {
    base: usize,
    path: *const libc::c_char,
    soname: usize,
    strings: usize,
    symbols: usize,
    versions: usize,
    gnu_hash: usize,
    hash: usize,
}

impl Object {
    /// # Safety
    /// `info` is one that `dl_iterate_phdr` has handed out and not yet taken back.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Self> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the loader's own table; program headers are mapped with their object.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let dynamic = headers.iter().find(|header| header.p_type == PT_DYNAMIC)?;
        // SAFETY: the object's dynamic section.
        unsafe { Self::read(base, info.dlpi_name, base.wrapping_add(dynamic.p_vaddr as usize) as *const [usize; 2]) }
    }

    /// # Safety
    /// The object is loaded at `base` and has this dynamic section.
    unsafe fn read(base: usize, path: *const libc::c_char, mut entry: *const [usize; 2]) -> Option<Self> {
        let mut object =
            Self { base, path, soname: usize::MAX, strings: 0, symbols: 0, versions: 0, gnu_hash: 0, hash: 0 };
        loop {
            // SAFETY: the section ends with DT_NULL, which has not been seen yet.
            let [tag, value] = unsafe { entry.read() };
            // SAFETY: as above.
            entry = unsafe { entry.add(1) };
            // The loader makes addresses of these, except in objects that it may not write to.
            let address = if value < base { base.wrapping_add(value) } else { value };
            match tag as i64 {
                DT_NULL => break,
                DT_SONAME => object.soname = value,
                DT_STRTAB => object.strings = address,
                DT_SYMTAB => object.symbols = address,
                DT_VERSYM => object.versions = address,
                DT_GNU_HASH => object.gnu_hash = address,
                DT_HASH => object.hash = address,
                _ => {}
            }
        }
        (object.strings != 0 && object.symbols != 0).then_some(object)
    }

    fn string(&self, offset: usize) -> &[u8] {
        // SAFETY: offsets of the object's own tables lead into its string table.
        unsafe { CStr::from_ptr(self.strings.wrapping_add(offset) as *const libc::c_char) }.to_bytes()
    }

    fn path(&self) -> &[u8] {
        // SAFETY: the loader's own string.
        if self.path.is_null() { b"" } else { unsafe { CStr::from_ptr(self.path) }.to_bytes() }
    }

    fn file_name(&self) -> &[u8] {
        text::file_name(self.path())
    }

    /// Its soname, else its file name.
    fn name(&self) -> &[u8] {
        if self.soname == usize::MAX { self.file_name() } else { self.string(self.soname) }
    }

    fn is_called(&self, file_name: &[u8]) -> bool {
        self.name() == file_name || self.file_name() == file_name
    }

    /// The function's address, if symbol number `index` is this function.
    fn address(&self, index: u32, name: &[u8]) -> Option<usize> {
        // SAFETY: the index comes from the object's own hash table, which has none beyond the symbols.
        let symbol = unsafe { &*(self.symbols as *const Symbol).add(index as usize) };
        let hidden = || {
            let versions = self.versions as *const u16;
            // SAFETY: there is a version for each symbol.
            !versions.is_null() && unsafe { versions.add(index as usize).read() } & HIDDEN != 0
        };
        let usable = symbol.section != 0 && symbol.value != 0 && symbol.info & 15 != STT_GNU_IFUNC;
        (usable && self.string(symbol.name as usize) == name && !hidden())
            .then_some(self.base.wrapping_add(symbol.value))
    }

    fn function(&self, name: &[u8]) -> Option<usize> {
        if self.gnu_hash != 0 { self.by_gnu_hash(name) } else { self.by_hash(name) }
    }

    fn by_gnu_hash(&self, name: &[u8]) -> Option<usize> {
        let hash = name.iter().fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        let table = self.gnu_hash as *const u32;
        // SAFETY: the table's layout: buckets, first symbol, bloom words, shift; bloom words of 8 bytes, buckets, chains.
        unsafe {
            let [buckets, first, bloom, _shift] = table.cast::<[u32; 4]>().read();
            let bucket = table.add(4).add((bloom as usize).wrapping_mul(2));
            let chain = bucket.add(buckets as usize);
            let mut index = bucket.add(hash.checked_rem(buckets)? as usize).read();
            if index < first {
                return None;
            }
            loop {
                let found = chain.add(index.wrapping_sub(first) as usize).read();
                if found | 1 == hash | 1
                    && let Some(address) = self.address(index, name)
                {
                    return Some(address);
                }
                if found & 1 != 0 {
                    return None;
                }
                index = index.wrapping_add(1);
            }
        }
    }

    fn by_hash(&self, name: &[u8]) -> Option<usize> {
        let hash = name.iter().fold(0u32, |hash, &byte| {
            let hash = hash.wrapping_shl(4).wrapping_add(u32::from(byte));
            (hash ^ (hash >> 24 & 0xf0)) & 0x0fff_ffff
        });
        let table = self.hash as *const u32;
        if table.is_null() {
            return None;
        }
        // SAFETY: the table's layout: counts of buckets and chains, buckets, chains; a chain ends with zero.
        unsafe {
            let [buckets, _chains] = table.cast::<[u32; 2]>().read();
            let bucket = table.add(2);
            let mut index = bucket.add(hash.checked_rem(buckets)? as usize).read();
            while index != 0 {
                if let Some(address) = self.address(index, name) {
                    return Some(address);
                }
                index = bucket.add(buckets as usize).add(index as usize).read();
            }
        }
        None
    }
}

/// Calls `each` with the loaded objects, in the loader's order, until it says that that is enough. No object goes while
/// it is looked at.
fn each_object<F: FnMut(&Object) -> bool>(mut each: F) {
    unsafe extern "C" fn call<F: FnMut(&Object) -> bool>(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        each: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's own structure, and the closure that is handed through below.
        unsafe {
            let each = &mut *each.cast::<F>();
            Object::of(&*info).is_some_and(|object| each(&object)).into()
        }
    }
    let iterate = match ITERATE.load(Ordering::Acquire) {
        0 => find_iterate(),
        address => address,
    };
    // SAFETY: the address is that of dl_iterate_phdr; the closure lives until the loader has called for the last time.
    unsafe { core::mem::transmute::<usize, Iterate>(iterate)(Some(call::<F>), (&raw mut each).cast()) };
}

type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;
type Iterate = unsafe extern "C" fn(Option<Callback>, *mut c_void) -> c_int;

/// The C library's own `dl_iterate_phdr`: what stands before it in the global scope may not be ready, as with a sanitizer
/// that looks functions up while it begins.
static ITERATE: AtomicUsize = AtomicUsize::new(0);

/// The head of glibc's `struct r_debug` and `struct link_map` (link.h).
#[repr(C)]
struct Debug {
    version: c_int,
    map: *const LinkMap,
}

#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const libc::c_char,
    dynamic: *const [usize; 2],
    next: *const LinkMap,
}

/// Finds it by the list that the loader keeps for debuggers, without its lock: the first objects, of which the C library
/// is one, stay.
#[cold]
fn find_iterate() -> usize {
    let mut map = first_map().unwrap_or(core::ptr::null());
    let mut found = None;
    while !map.is_null() && found.is_none() {
        // SAFETY: an entry of the loader's list, and the dynamic section of its object.
        unsafe {
            let LinkMap { address, name, dynamic, next } = map.read();
            map = next;
            if !dynamic.is_null() {
                let object = Object::read(address, name, dynamic).filter(|object| object.is_called(b"libc.so.6"));
                found = object.and_then(|object| object.function(b"dl_iterate_phdr"));
            }
        }
    }
    let found = found.unwrap_or(libc::dl_iterate_phdr as *const () as usize);
    ITERATE.store(found, Ordering::Release);
    found
}

/// The loader's list begins where the program's dynamic section says.
fn first_map() -> Option<*const LinkMap> {
    // SAFETY: the kernel's numbers: the program's headers, and how many there are.
    let (headers, count) = unsafe {
        (libc::getauxval(libc::AT_PHDR) as *const libc::Elf64_Phdr, libc::getauxval(libc::AT_PHNUM) as usize)
    };
    if headers.is_null() {
        return None;
    }
    // SAFETY: as above.
    let table = unsafe { core::slice::from_raw_parts(headers, count) };
    let find = |kind| table.iter().find(|header| header.p_type == kind);
    let base = find(PT_PHDR).map_or(0, |own| (headers as usize).wrapping_sub(own.p_vaddr as usize));
    let mut entry = base.wrapping_add(find(PT_DYNAMIC)?.p_vaddr as usize) as *const [usize; 2];
    loop {
        // SAFETY: the section ends with DT_NULL, which has not been seen yet.
        let [tag, value] = unsafe { entry.read() };
        match tag as i64 {
            DT_NULL => return None,
            DT_DEBUG if value != 0 => {
                // SAFETY: the loader has put its structure's address there.
                return Some(unsafe { (*(value as *const Debug)).map });
            }
            // SAFETY: as above.
            _ => entry = unsafe { entry.add(1) },
        }
    }
}

/// A function of the loaded library with this file name or soname.
pub fn of_library(library: &[u8], name: &[u8]) -> Option<usize> {
    let library = text::file_name(library);
    let mut found = None;
    each_object(|object| {
        if object.is_called(library) {
            found = object.function(name);
        }
        found.is_some()
    });
    found
}

/// A function of the first loaded library whose file name begins so and that has one of this name; of the one of which
/// `last` is a function only if there is no other.
pub fn of_prefix(beginning: &[u8], name: &[u8], last: usize) -> Option<usize> {
    let (mut found, mut left) = (None, None);
    each_object(|object| {
        if object.file_name().starts_with(beginning) {
            let function = object.function(name);
            if last != 0 && function == Some(last) {
                left = function;
            } else {
                found = function;
            }
        }
        found.is_some()
    });
    found.or(left)
}

/// Appends the path of the first loaded library whose file name begins so; whether there is one.
pub fn path_of_loaded<const N: usize>(beginning: &[u8], path: &mut text::Path<N>) -> bool {
    let mut found = false;
    each_object(|object| {
        found = object.file_name().starts_with(beginning);
        if found {
            path.push(object.path());
        }
        found
    });
    found
}

/// A function of the first object but ours that has one of this name: where the C library is another than glibc, as in
/// a child that was built with musl. Its loader takes us, since it knows glibc's names for its own, so we must do no
/// harm there.
pub fn of_another(name: &[u8]) -> Option<usize> {
    let mut found = None;
    each_object(|object| {
        if !arch::is_ours(object.base) {
            found = object.function(name);
        }
        found.is_some()
    });
    found
}

/// Where other tools that are preloaded after us begin.
static TOOLS: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
static TOOLS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Finds the other tools, once. At load, since the environment has to be read.
pub fn prepare() {
    if TOOLS_KNOWN.load(Ordering::Acquire) {
        return;
    }
    let mut after_us = false;
    let mut places = TOOLS.iter();
    each_object(|object| {
        if !after_us {
            after_us = arch::is_ours(object.base);
            return false;
        }
        // Preloaded libraries lie next to each other.
        if !config::is_preloaded(object.file_name()) {
            return true;
        }
        if !object.name().starts_with(b"libcuda")
            && let Some(place) = places.next()
        {
            place.store(object.base, Ordering::Relaxed);
        }
        false
    });
    TOOLS_KNOWN.store(true, Ordering::Release);
}

/// A function of this name of another tool that is preloaded after us.
pub fn of_tool(name: &[u8]) -> Option<usize> {
    prepare();
    if TOOLS.first()?.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let mut found = None;
    each_object(|object| {
        if TOOLS.iter().any(|tool| tool.load(Ordering::Relaxed) == object.base) {
            found = object.function(name);
        }
        found.is_some()
    });
    found
}
