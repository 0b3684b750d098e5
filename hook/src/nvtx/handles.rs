//! Handles that stand for names: registered strings, domains, and names given to threads.
//!
//! The texts are kept, since they must be written into the file of every child, too. The same text has the same handle.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use umtui_wire::definition::NO_STRING;

use super::event::NAME_MAX;
use super::filter;
use crate::{definitions, text};

/// Names there is room for.
const NAMES: usize = 8192;
/// Bytes of their texts there is room for.
const TEXTS: usize = 512 * 1024;
/// Places looked at for a name.
const PROBES: usize = 64;
/// The program's default domain.
pub const DEFAULT_DOMAIN: u32 = 0;
/// A domain whose name could not be kept, or a handle that is none of ours.
pub const OTHER_DOMAIN: u32 = u32::MAX - 1;
const OTHER_DOMAIN_NAME: &[u8] = b"(domain not kept)";
const WANTED_RANGE: u8 = 1;
const WANTED_DOMAIN: u8 = 2;

/// A name that a handle stands for; the handle is its address.
struct Named {
    /// Hash of the text; zero: free.
    hash: AtomicU64,
    /// Where the text begins and, above that, how long it is; [`KEPT`] once it is there.
    text: AtomicU64,
    /// String id, and above it the set of tables that it is of.
    id: AtomicU64,
    /// What recording waits for.
    marks: AtomicU8,
}

const KEPT: u64 = 1 << 63;
const _: () = assert!(size_of::<Named>().is_power_of_two());

static NAMED: [Named; NAMES] = [const {
    Named { hash: AtomicU64::new(0), text: AtomicU64::new(0), id: AtomicU64::new(0), marks: AtomicU8::new(0) }
}; NAMES];

struct Texts(UnsafeCell<[u8; TEXTS]>);
// SAFETY: each part is written once, by whoever has claimed it, before anybody learns of it.
unsafe impl Sync for Texts {}
static TEXT: Texts = Texts(UnsafeCell::new([0; TEXTS]));
static TEXT_USED: AtomicU32 = AtomicU32::new(0);
/// Handle of what could not be kept.
static OTHER: u64 = 0;

/// The number of a name: from 1. `None` if it cannot be kept.
pub fn keep(name: &[u8]) -> Option<u32> {
    let name = name.get(..NAME_MAX).unwrap_or(name);
    let hash = text::hash(name);
    let mut index = hash as usize % NAMES;
    for _ in 0..PROBES {
        let place = NAMED.get(index)?;
        match place.hash.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // Where there is no room for the text the place stays taken, and without a name.
                place.keep(name)?;
                return Some(index as u32).map(|index| index.wrapping_add(1));
            }
            // One whose text is not there is being written, or never was: the name gets a place more.
            Err(found) if found == hash && place.text() == Some(name) => return Some((index as u32).wrapping_add(1)),
            Err(_) => index = index.wrapping_add(1) % NAMES,
        }
    }
    None
}

impl Named {
    fn keep(&self, name: &[u8]) -> Option<()> {
        let room = |used: u32| used.checked_add(name.len() as u32).filter(|&end| end as usize <= TEXTS);
        let start = TEXT_USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        // SAFETY: within the texts, and ours alone.
        unsafe {
            let to = TEXT.0.get().cast::<u8>().add(start as usize);
            core::ptr::copy_nonoverlapping(name.as_ptr(), to, name.len());
        }
        let marks = if filter::range_fits(name) { WANTED_RANGE } else { 0 }
            | if filter::domain_fits(name) { WANTED_DOMAIN } else { 0 };
        self.marks.store(marks, Ordering::Relaxed);
        self.text.store(KEPT | (name.len() as u64).wrapping_shl(32) | u64::from(start), Ordering::Release);
        Some(())
    }

    fn text(&self) -> Option<&'static [u8]> {
        let word = self.text.load(Ordering::Acquire);
        if word & KEPT == 0 {
            return None;
        }
        let length = (word & !KEPT).wrapping_shr(32) as usize;
        // SAFETY: written before the word, and not changed any more.
        Some(unsafe { core::slice::from_raw_parts(TEXT.0.get().cast::<u8>().add(word as u32 as usize), length) })
    }

    /// String id in this file; `NO_STRING` if it cannot be written.
    #[inline]
    fn id(&self) -> u32 {
        let word = self.id.load(Ordering::Relaxed);
        if word.wrapping_shr(32) == u64::from(definitions::generation()) { word as u32 } else { self.write_down() }
    }

    #[cold]
    #[inline(never)]
    fn write_down(&self) -> u32 {
        let tables = definitions::generation();
        let id = definitions::string(self.text().unwrap_or_default());
        if id != NO_STRING {
            self.id.store(u64::from(tables).wrapping_shl(32) | u64::from(id), Ordering::Relaxed);
        }
        id
    }
}

fn named(number: u32) -> Option<&'static Named> {
    NAMED.get((number as usize).checked_sub(1)?)
}

/// The handle that stands for a number, and the other way round.
fn handle(number: Option<u32>) -> *const c_void {
    match number.and_then(named) {
        Some(place) => (&raw const *place).cast(),
        None => (&raw const OTHER).cast(),
    }
}

/// The handle of a name that is to be registered.
pub fn register(name: &[u8]) -> *const c_void {
    handle(keep(name))
}

/// The number that a handle stands for; `None` if it is none of ours, or could not be kept.
pub fn registered(handle: *const c_void) -> Option<u32> {
    let distance = (handle as usize).checked_sub(NAMED.as_ptr() as usize)?;
    let index = distance >> size_of::<Named>().trailing_zeros();
    let is_one = distance & size_of::<Named>().wrapping_sub(1) == 0 && index < NAMES;
    (is_one && NAMED.get(index)?.text.load(Ordering::Acquire) & KEPT != 0).then(|| (index as u32).wrapping_add(1))
}

/// The domain that a handle stands for.
#[inline]
pub fn domain(handle: *const c_void) -> u32 {
    if handle.is_null() { DEFAULT_DOMAIN } else { registered(handle).unwrap_or(OTHER_DOMAIN) }
}

/// String id of a name by its number.
#[inline]
pub fn id(number: u32) -> u32 {
    named(number).map_or(NO_STRING, Named::id)
}

/// String id of a domain; that of the default one is zero.
#[inline]
pub fn domain_id(domain: u32) -> u32 {
    match domain {
        DEFAULT_DOMAIN => NO_STRING,
        OTHER_DOMAIN => definitions::string(OTHER_DOMAIN_NAME),
        number => id(number),
    }
}

/// Whether recording waits for ranges of this name.
pub fn is_wanted_range(number: u32) -> bool {
    named(number).is_some_and(|named| named.marks.load(Ordering::Relaxed) & WANTED_RANGE != 0)
}

/// Whether recording waits for ranges of this domain.
pub fn is_wanted_domain(domain: u32) -> bool {
    named(domain).is_some_and(|named| named.marks.load(Ordering::Relaxed) & WANTED_DOMAIN != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::format;
    use std::string::String;

    #[test]
    fn the_same_text_has_the_same_handle_and_others_are_none_of_ours() {
        let mut handles = HashMap::<String, *const c_void>::new();
        for round in 0..2 {
            for number in 0..500 {
                let name = format!("name {number}");
                let handle = register(name.as_bytes());
                assert_eq!(*handles.entry(name.clone()).or_insert(handle), handle, "{round}");
                let kept = registered(handle).and_then(named).and_then(Named::text);
                assert_eq!(kept, Some(name.as_bytes()));
                assert_eq!(Some(domain(handle)), registered(handle));
                assert_eq!(registered(handle.wrapping_byte_add(1)), None);
            }
        }
        assert_eq!(handles.values().collect::<std::collections::HashSet<_>>().len(), 500);
        for foreign in [0usize, 1, 0x7fff_0000_0000, usize::MAX, NAMED.as_ptr() as usize - 32] {
            assert_eq!(registered(foreign as *const c_void), None, "{foreign:x}");
        }
        let free = NAMED.iter().find(|named| named.text().is_none()).map(|named| (&raw const *named).cast());
        assert_eq!(free.and_then(registered), None, "a place that was never given out");
        assert_eq!(domain(core::ptr::null()), DEFAULT_DOMAIN);
        assert_eq!(domain((&raw const OTHER).cast()), OTHER_DOMAIN);
    }

    #[test]
    fn threads_that_register_the_same_agree() {
        let all: std::vec::Vec<std::vec::Vec<u32>> = std::thread::scope(|scope| {
            let register = || (0..300).map(|number| keep(format!("shared {number}").as_bytes()).unwrap_or(0)).collect();
            let threads: std::vec::Vec<_> = (0..4).map(|_| scope.spawn(register)).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        for numbers in &all {
            for (index, &number) in numbers.iter().enumerate() {
                // Two may have got a place each, if they came at the same moment.
                let text = named(number).and_then(Named::text);
                assert_eq!(text, Some(format!("shared {index}").as_bytes()));
            }
        }
    }
}
