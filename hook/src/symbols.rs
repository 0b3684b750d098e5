//! Functions of loaded objects, found without the loader's own look-ups.
//!
//! Those allocate: `dlsym` for what it says when there is no such name, `dlopen` for a list of dependencies even where
//! it loads nothing. A signal handler that makes the first call of a process, or the first from a new place, may have
//! interrupted the allocator, which is then locked or halfway through a change. And they take the loader's locks, see
//! [`crate::objects`].

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::objects::{Name, Object, find, own_place};
use crate::{arch, config, memory, text};

/// Of a symbol's version: only found by those who ask for that version.
const HIDDEN: u16 = 0x8000;
const STT_GNU_IFUNC: u8 = 10;
/// Bytes of an `Elf64_Sym`.
const SYMBOL_BYTES: usize = 24;
/// More symbols than lie in one bucket of a table.
const LONGEST_CHAIN: u32 = 65536;

impl Object {
    /// The symbol's address, if number `index` is this symbol.
    fn address(&self, index: u32, name: &[u8]) -> Option<usize> {
        let index = index as usize;
        let [first, value, _] = memory::words(self.symbols.wrapping_add(index.wrapping_mul(SYMBOL_BYTES)))?;
        // Offset of the name, info, visibility, section.
        let (offset, info, section) = (first & 0xffff_ffff, (first >> 32) as u8, first >> 48);
        if section == 0 || value == 0 || info & 15 == STT_GNU_IFUNC {
            return None;
        }
        if !memory::is_text(self.strings.wrapping_add(offset), name) {
            return None;
        }
        let version = match self.versions {
            0 => 0,
            // There is one of two bytes for each symbol; more lies behind them.
            versions => memory::number(versions.wrapping_add(index.wrapping_mul(2)))? as u16,
        };
        (version & HIDDEN == 0).then_some(self.base.wrapping_add(value))
    }

    /// The address of the symbol of this name, if the object has it.
    pub fn symbol(&self, name: &[u8]) -> Option<usize> {
        if self.strings == 0 || self.symbols == 0 {
            return None;
        }
        if self.gnu_hash != 0 { self.by_gnu_hash(name) } else { self.by_hash(name) }
    }

    /// The table: buckets, first symbol, bloom words, shift; bloom words of 8 bytes, buckets, chains.
    fn by_gnu_hash(&self, name: &[u8]) -> Option<usize> {
        let hash = name.iter().fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        let [counts, blooms] = memory::words(self.gnu_hash)?;
        let (buckets, first) = (counts as u32, (counts >> 32) as u32);
        let bucket = place(self.gnu_hash, 4u32.wrapping_add((blooms as u32).wrapping_mul(2)));
        let chain = place(bucket, buckets);
        let mut index = memory::number(place(bucket, hash.checked_rem(buckets)?))?;
        for _ in 0..LONGEST_CHAIN {
            if index < first {
                return None;
            }
            let found = memory::number(place(chain, index.wrapping_sub(first)))?;
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
        None
    }

    /// The table: counts of buckets and chains, buckets, chains; a chain ends with zero.
    fn by_hash(&self, name: &[u8]) -> Option<usize> {
        let hash = name.iter().fold(0u32, |hash, &byte| {
            let hash = hash.wrapping_shl(4).wrapping_add(u32::from(byte));
            (hash ^ (hash >> 24 & 0xf0)) & 0x0fff_ffff
        });
        let buckets = memory::number(self.hash).filter(|_| self.hash != 0)?;
        let bucket = place(self.hash, 2);
        let mut index = memory::number(place(bucket, hash.checked_rem(buckets)?))?;
        for _ in 0..LONGEST_CHAIN {
            if index == 0 {
                return None;
            }
            if let Some(address) = self.address(index, name) {
                return Some(address);
            }
            index = memory::number(place(place(bucket, buckets), index))?;
        }
        None
    }
}

/// Where a number of a table of numbers of four bytes lies.
fn place(table: usize, index: u32) -> usize {
    table.wrapping_add((index as usize).wrapping_mul(4))
}

/// A function of the loaded library with this file name or soname.
pub fn of_library(library: &[u8], name: &[u8]) -> Option<usize> {
    of_named(&Name::of(library), name)
}

/// As [`of_library`].
pub fn of_named(library: &Name, name: &[u8]) -> Option<usize> {
    find(|object| if object.is_called(library) { object.symbol(name) } else { None })
}

/// A function of the first object that came with the program after us and has one of this name; then [`for_all`]. This is
/// what `RTLD_NEXT` leads us to.
pub fn after_us(name: &[u8]) -> Option<usize> {
    let own = own_place()?;
    find(|object| if object.stays_after(own) { object.symbol(name) } else { None }).or_else(|| for_all(name))
}

/// File names of what was opened for all, by hash.
static FOR_ALL: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// A library is being opened with `RTLD_GLOBAL`. What it brings along is for all as well, but is not known here.
pub fn opened_for_all(path: &[u8]) {
    let hash = Name::of(path).hash();
    for place in &FOR_ALL {
        let known = place.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire);
        if known.is_ok() || known == Err(hash) {
            return;
        }
    }
}

/// A function of the first library that was opened for all and has one of this name.
fn for_all(name: &[u8]) -> Option<usize> {
    if FOR_ALL.first()?.load(Ordering::Acquire) == 0 {
        return None;
    }
    let is_open = |object: &Object| {
        let hashes = object.names().map(|name| name.hash());
        FOR_ALL.iter().any(|place| hashes.contains(&place.load(Ordering::Acquire)))
    };
    find(|object| if is_open(object) { object.symbol(name) } else { None })
}

/// A function of the first loaded library whose file name begins so and that has one of this name; of the one of which
/// `last` is a function only if there is no other.
pub fn of_prefix(beginning: &[u8], name: &[u8], last: usize) -> Option<usize> {
    let of = |object: &Object| if object.file_name().starts_with(beginning) { object.symbol(name) } else { None };
    find(|object| of(object).filter(|&found| last == 0 || found != last)).or_else(|| find(of))
}

/// Appends the path of the first loaded library whose file name begins so; whether there is one.
pub fn path_of_loaded<const N: usize>(beginning: &[u8], path: &mut text::Path<N>) -> bool {
    let found = find(|object| object.file_name().starts_with(beginning).then_some(*object));
    if let Some(object) = &found {
        object.push_path(path);
    }
    found.is_some()
}

/// A function of the first object but ours that has one of this name: where the C library is another than glibc, as in
/// a child that was built with musl. Its loader takes us, since it knows glibc's names for its own, so we must do no
/// harm there.
pub fn of_another(name: &[u8]) -> Option<usize> {
    find(|object| if arch::is_ours(object.base) { None } else { object.symbol(name) })
}

/// Where other tools that are preloaded after us begin.
static TOOLS: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
static TOOLS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Finds the other tools, once. At load, since the environment has to be read.
pub fn prepare() {
    if TOOLS_KNOWN.load(Ordering::Acquire) {
        return;
    }
    let own = own_place().unwrap_or(usize::MAX);
    let mut path = text::Path::<512>::new();
    find(|object| {
        // Preloaded libraries lie next to each other.
        let place = TOOLS.get(object.order.checked_sub(own)?.checked_sub(1)?)?;
        path.cut_to(0);
        object.push_path(&mut path);
        if !config::is_preloaded(text::file_name(path.as_bytes())) {
            return Some(());
        }
        if !object.name().starts_with(b"libcuda") {
            place.store(object.base, Ordering::Relaxed);
        }
        None
    });
    TOOLS_KNOWN.store(true, Ordering::Release);
}

/// A function of this name of another tool that is preloaded after us.
pub fn of_tool(name: &[u8]) -> Option<usize> {
    prepare();
    if TOOLS.iter().all(|tool| tool.load(Ordering::Relaxed) == 0) {
        return None;
    }
    find(|object| {
        let is_tool = TOOLS.iter().any(|tool| tool.load(Ordering::Relaxed) == object.base);
        if is_tool { object.symbol(name) } else { None }
    })
}
