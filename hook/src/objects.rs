//! The objects that the loader has loaded, found without it.
//!
//! Its own functions take its locks. The first call of a thread may come while another holds them for long (it runs a
//! constructor under `dlopen`, or a callback of `dl_iterate_phdr`), in a child that was forked meanwhile, and from a
//! signal handler that has interrupted their holder. So we read the list that the loader keeps for debuggers. Another
//! thread may be changing it and unmapping what it leads to: all of it is read through the kernel, and what was found
//! is kept for as long as it is in the list.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::link_map::{each_entry, each_header, headers_of, program_headers, walk};
use crate::lock::TryLock;
use crate::{arch, memory, sites, sys, text};

const PT_LOAD: usize = 1;
const DT_NEEDED: usize = 1;
const DT_HASH: usize = 4;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_SONAME: usize = 14;
const DT_GNU_HASH: usize = 0x6fff_fef5;
const DT_VERSYM: usize = 0x6fff_fff0;

/// Objects that are kept; of those beyond, each look is a new one.
const KEPT: usize = 1024;

/// A file name: what it begins with, and its hash.
#[derive(Clone, Copy)]
pub struct Name {
    hash: u64,
    head: [u8; 48],
    length: usize,
}

impl Name {
    const EMPTY: Self = Self { hash: 0, head: [0; 48], length: 0 };

    /// Of a path, of which what follows the last slash counts.
    pub fn of(path: &[u8]) -> Self {
        let mut name = Self::EMPTY;
        path.iter().for_each(|&byte| name.push(byte));
        name
    }

    /// The file name of the path at an address.
    fn at(address: usize) -> Self {
        let mut name = Self::EMPTY;
        if address != 0 && !memory::each_byte(address, |byte| name.push(byte)) {
            return Self::EMPTY;
        }
        name
    }

    fn push(&mut self, byte: u8) {
        if byte == b'/' {
            *self = Self::EMPTY;
            return;
        }
        self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        if let Some(place) = self.head.get_mut(self.length) {
            *place = byte;
        }
        self.length = self.length.wrapping_add(1);
    }

    /// Its hash, never zero.
    pub fn hash(&self) -> u64 {
        self.hash | 1
    }

    /// Whether both are the same.
    pub fn is(&self, other: &Self) -> bool {
        self.hash == other.hash && self.length == other.length
    }

    /// The bytes it begins with, 48 at most: all of those that matter to us.
    pub fn head(&self) -> &[u8] {
        self.head.get(..self.length.min(self.head.len())).unwrap_or_default()
    }
}

/// A loaded object, as its dynamic section and headers describe it. Numbers are addresses, zero where there is none.
#[derive(Clone, Copy)]
pub struct Object {
    /// What is added to the addresses in its file: where it begins, as a rule.
    pub base: usize,
    /// Where it lies; nothing if its headers could not be read.
    start: usize,
    end: usize,
    /// Its `struct link_map`, and what that holds first: base, name, dynamic section.
    map: usize,
    link: [usize; 3],
    /// Its place in the loader's list.
    pub order: usize,
    /// As of which number of [`sites::changes`].
    changes: u64,
    file_name: Name,
    soname: Name,
    /// Tables, see [`crate::symbols`].
    pub strings: usize,
    /// Likewise.
    pub symbols: usize,
    /// Likewise.
    pub versions: usize,
    /// Likewise.
    pub gnu_hash: usize,
    /// Likewise.
    pub hash: usize,
}

impl Object {
    const NONE: Self = Self {
        base: 0,
        start: 0,
        end: 0,
        map: 0,
        link: [0; 3],
        order: 0,
        changes: 0,
        file_name: Name::EMPTY,
        soname: Name::EMPTY,
        strings: 0,
        symbols: 0,
        versions: 0,
        gnu_hash: 0,
        hash: 0,
    };

    /// The object at an address, if there is one.
    pub fn at(address: usize) -> Option<Self> {
        find(|object| (object.start..object.end).contains(&address).then_some(*object))
    }

    /// An object that has its dynamic section at an address, whether it is in the list or not.
    pub fn lone(base: usize, dynamic: usize) -> Self {
        let mut object = Self { base, link: [base, 0, dynamic], ..Self::NONE };
        object.read_dynamic();
        object
    }

    fn read(map: usize, link: [usize; 3], order: usize, changes: u64) -> Self {
        let [base, name, _] = link;
        let mut object = Self { base, map, link, order, changes, ..Self::NONE };
        object.file_name = Name::at(name);
        object.read_dynamic();
        let headers = if order == 0 { program_headers() } else { headers_of(base) };
        if let Some((headers, count)) = headers {
            (object.start, object.end) = (usize::MAX, 0);
            each_header(headers, count, |[kind, _, address, _, _, bytes, _]| {
                if kind & 0xffff_ffff == PT_LOAD {
                    object.start = object.start.min(base.wrapping_add(address));
                    object.end = object.end.max(base.wrapping_add(address).saturating_add(bytes));
                }
            });
        }
        object
    }

    fn read_dynamic(&mut self) {
        let mut soname = None;
        let base = self.base;
        let [_, _, dynamic] = self.link;
        each_entry(dynamic, |tag, value| {
            // The loader makes addresses of these, except in objects that it may not write to.
            let address = if value < base { base.wrapping_add(value) } else { value };
            match tag {
                DT_SONAME => soname = Some(value),
                DT_STRTAB => self.strings = address,
                DT_SYMTAB => self.symbols = address,
                DT_VERSYM => self.versions = address,
                DT_GNU_HASH => self.gnu_hash = address,
                DT_HASH => self.hash = address,
                _ => {}
            }
        });
        if let Some(offset) = soname.filter(|_| self.strings != 0) {
            self.soname = Name::at(self.strings.wrapping_add(offset));
        }
    }

    /// Appends its path as the loader knows it.
    pub fn push_path<const N: usize>(&self, path: &mut text::Path<N>) {
        let [_, name, _] = self.link;
        if name != 0 {
            memory::each_byte(name, |byte| {
                path.push(&[byte]);
            });
        }
    }

    /// Its soname, else its file name.
    pub fn name(&self) -> &[u8] {
        if self.soname.length == 0 { self.file_name.head() } else { self.soname.head() }
    }

    /// Its file name.
    pub fn file_name(&self) -> &[u8] {
        self.file_name.head()
    }

    /// Its soname and file name.
    pub fn names(&self) -> [&Name; 2] {
        [&self.soname, &self.file_name]
    }

    /// Whether its soname or file name is this one.
    pub fn is_called(&self, name: &Name) -> bool {
        self.names().iter().any(|own| own.is(name))
    }

    /// The first library it needs whose name begins so.
    pub fn needs(&self, prefix: &[u8]) -> Option<Name> {
        let mut found = None;
        let [_, _, dynamic] = self.link;
        each_entry(dynamic, |tag, value| {
            if tag == DT_NEEDED && found.is_none() && self.strings != 0 {
                found = Some(Name::at(self.strings.wrapping_add(value))).filter(|name| name.head().starts_with(prefix));
            }
        });
        found
    }

    /// Whether it comes before us in the loader's list, as the program and libraries preloaded before us do.
    pub fn comes_before_us(&self) -> bool {
        own_place().is_some_and(|own| self.order < own)
    }

    /// Whether it lies behind place `own` of the list, came with the program and stays. Such objects are the global scope's.
    pub fn stays_after(&self, own: usize) -> bool {
        own < self.order && self.order < STAYING.load(Ordering::Relaxed)
    }

    fn is_listed(&self) -> bool {
        self.map == 0 || memory::words::<3>(self.map) == Some(self.link)
    }
}

/// How many objects there were when we were loaded, if we were loaded with the program.
#[unsafe(link_section = ".data.small")]
static STAYING: AtomicUsize = AtomicUsize::new(0);

/// Our own place in the list.
pub fn own_place() -> Option<usize> {
    find(|object| arch::is_ours(object.base).then_some(object.order))
}

/// At load: which objects stay.
pub fn prepare() {
    let c_library = Name::of(b"libc.so.6");
    let Some(c_library) = find(|object| object.is_called(&c_library).then_some(object.order)) else { return };
    if own_place().is_some_and(|own| own < c_library) {
        let mut count = 0usize;
        walk(false, |_, _| {
            count = count.wrapping_add(1);
            true
        });
        STAYING.store(count, Ordering::Relaxed);
    }
}

#[unsafe(link_section = ".data.small")]
static LOCK: TryLock = TryLock::new();

struct Place(UnsafeCell<Table>);
// SAFETY: used only by the holder of LOCK.
unsafe impl Sync for Place {}
static TABLE: Place =
    Place(UnsafeCell::new(Table { objects: [Object::NONE; KEPT], count: 0, cut: false, is_read: false, changes: 0 }));

/// The objects in the order of the list.
struct Table {
    objects: [Object; KEPT],
    count: usize,
    /// There are more.
    cut: bool,
    /// The list has been read, as of which number of [`sites::changes`].
    is_read: bool,
    changes: u64,
}

impl Table {
    fn kept(&self) -> &[Object] {
        self.objects.get(..self.count).unwrap_or_default()
    }

    fn exchange(&mut self, one: usize, other: usize) {
        if let (Some(&first), Some(&second)) = (self.objects.get(one), self.objects.get(other)) {
            for (index, object) in [(one, second), (other, first)] {
                if let Some(place) = self.objects.get_mut(index) {
                    *place = object;
                }
            }
        }
    }

    /// Whether nothing has been added to the list since: not all that loads objects comes past us.
    fn is_whole(&self) -> bool {
        let Some(last) = self.kept().last() else { return false };
        matches!(memory::words::<5>(last.map), Some([a, b, c, 0, _]) if [a, b, c] == last.link)
    }

    /// Reads the list anew. What is known is not read again, unless something else may have taken its place.
    fn renew(&mut self) {
        let changes = sites::changes();
        let staying = STAYING.load(Ordering::Relaxed);
        // Consistent as a rule at the first look. If not later either, this very thread is in the midst of changing it.
        for strict in [true, true, true, false] {
            let mut known = self.count;
            let mut order = 0usize;
            let whole = walk(strict, |map, link| {
                let is_it = |kept: &Object| {
                    kept.map == map && kept.link == link && (kept.changes == changes || kept.order < staying)
                };
                let rest = self.objects.get(order..known.max(order)).unwrap_or_default();
                match rest.iter().position(is_it) {
                    Some(0) => {}
                    Some(further) => self.exchange(order, order.wrapping_add(further)),
                    None => {
                        if let (Some(&here), true) = (self.objects.get(order), order < known)
                            && let Some(place) = self.objects.get_mut(known)
                        {
                            *place = here;
                            known = known.wrapping_add(1);
                        }
                        if let Some(place) = self.objects.get_mut(order) {
                            *place = Object::read(map, link, order, changes);
                        }
                    }
                }
                if let Some(place) = self.objects.get_mut(order) {
                    place.order = order;
                }
                order = order.wrapping_add(1);
                order < KEPT
            });
            self.count = order;
            self.cut = order == KEPT;
            if whole {
                break;
            }
            sys::yield_now();
        }
        (self.is_read, self.changes) = (true, changes);
    }
}

/// What `want` says of the first object of which it says something. It may be asked of all of them more than once, and
/// must not ask for objects itself.
pub fn find<R>(mut want: impl FnMut(&Object) -> Option<R>) -> Option<R> {
    // A handler that calls would find the lock taken by its own thread.
    let _signals = sys::SignalsHeld::hold();
    {
        let Some(_held) = LOCK.try_for_a_while() else { return find_anew(want) };
        // SAFETY: the lock is held.
        let table = unsafe { &mut *TABLE.0.get() };
        let mut is_new = !table.is_read || table.changes != sites::changes();
        if is_new {
            table.renew();
        }
        loop {
            let found = table.kept().iter().find_map(|object| Some((object, want(object)?)));
            match found {
                Some((object, found)) if is_new || object.is_listed() => return Some(found),
                None if is_new || table.is_whole() => break,
                _ => {}
            }
            table.renew();
            is_new = true;
        }
        if !table.cut {
            return None;
        }
    }
    find_anew(want)
}

/// The same, with nothing known.
#[cold]
#[inline(never)]
fn find_anew<R>(mut want: impl FnMut(&Object) -> Option<R>) -> Option<R> {
    let mut found = None;
    for strict in [true, true, true, false] {
        let mut order = 0usize;
        let whole = walk(strict, |map, link| {
            found = want(&Object::read(map, link, order, 0));
            order = order.wrapping_add(1);
            found.is_none()
        });
        if whole || found.is_some() {
            break;
        }
        sys::yield_now();
    }
    found
}

/// In a child after fork: whoever held the lock is not here.
pub fn after_fork() {
    LOCK.reset();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        let name = Name::of(b"/usr/lib/libcudart.so.12");
        assert!(name.is(&Name::of(b"libcudart.so.12")) && !name.is(&Name::of(b"libcudart.so.13")));
        assert_eq!(name.head(), b"libcudart.so.12");
        assert_eq!(Name::of(&[b'a'; 100]).head().len(), 48);
    }

    #[test]
    fn what_is_loaded_is_found_by_address_and_by_name() {
        let here = Object::at(names_are_those_of_files as *const () as usize);
        assert!(here.is_some_and(|object| object.order == 0), "the program comes first");
        let libc = Object::at(libc::getpid as *const () as usize).unwrap();
        assert!(libc.is_called(&Name::of(b"libc.so.6")) && libc.is_listed());
        let mut path = text::Path::<512>::new();
        libc.push_path(&mut path);
        assert!(path.as_bytes().ends_with(b"/libc.so.6"));
        assert!(Object::at(8).is_none());
        let anew = find_anew(|object| object.is_called(&Name::of(b"libc.so.6")).then_some(object.base));
        assert_eq!(anew, Some(libc.base));
        assert!(here.unwrap().needs(b"libc.so").is_some_and(|name| name.head() == b"libc.so.6"));
    }

    #[test]
    fn objects_come_and_go() {
        // SAFETY: opening and closing a library of the C library's.
        unsafe {
            for _ in 0..3 {
                let handle = libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW);
                assert!(!handle.is_null());
                let named = Name::of(b"libresolv.so.2");
                assert!(find(|object| object.is_called(&named).then_some(())).is_some());
                libc::dlclose(handle);
                assert!(find(|object| object.is_called(&named).then_some(())).is_none());
            }
        }
    }
}
