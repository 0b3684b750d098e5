//! Which objects are mapped where, so that return addresses can be named later.
//!
//! `/proc/self/maps` is read instead of asking the loader: it takes no lock, and it also shows what the loader
//! does not know.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::lock::TryLock;
use crate::{definitions, elf, sites, sys, text};

const MOST: usize = 4096;

#[derive(Clone, Copy)]
struct Known {
    start: u64,
    end: u64,
    inode: u64,
}

struct Table {
    modules: Modules,
    line: [u8; 4608],
    buffer: [u8; 16384],
    /// The first bytes of an object.
    page: [u8; 4096],
}

struct Modules {
    known: [Known; MOST],
    count: usize,
}

struct Place(UnsafeCell<Table>);
// SAFETY: used only by the holder of LOCK.
unsafe impl Sync for Place {}
static TABLE: Place = Place(UnsafeCell::new(Table {
    modules: Modules { known: [Known { start: 0, end: 0, inode: 0 }; MOST], count: 0 },
    line: [0; 4608],
    buffer: [0; 16384],
    page: [0; 4096],
}));
#[unsafe(link_section = ".data.small")]
static LOCK: TryLock = TryLock::new();
/// Epoch of the last look plus one, so that zero means never.
#[unsafe(link_section = ".data.small")]
static LOOKED_AT: AtomicU64 = AtomicU64::new(0);

/// Makes sure that the module around a site is written down, if there is one.
pub fn describe(site: u64) {
    let epoch = sites::epoch().wrapping_add(1);
    let Some(_held) = LOCK.try_for_a_while() else { return };
    // SAFETY: the lock is held.
    let table = unsafe { &mut *TABLE.0.get() };
    if LOOKED_AT.load(Ordering::Relaxed) == epoch && table.modules.covers(site) {
        return;
    }
    LOOKED_AT.store(epoch, Ordering::Relaxed);
    table.look();
}

impl Table {
    /// Reads the map and writes down what is new.
    fn look(&mut self) {
        let maps = sys::open(c"/proc/self/maps", libc::O_RDONLY, 0);
        if sys::failed(maps) {
            return;
        }
        let memory = sys::open(c"/proc/self/mem", libc::O_RDONLY, 0);
        let mut length = 0usize;
        // Where the file of the line before is mapped from its beginning: its headers lie there.
        let mut first = (0u64, 0u64);
        loop {
            let read = sys::read(maps as i32, &mut self.buffer);
            if sys::failed(read) || read == 0 {
                break;
            }
            for at in 0..read as usize {
                let Some(&byte) = self.buffer.get(at) else { break };
                if byte != b'\n' {
                    if let Some(place) = self.line.get_mut(length) {
                        *place = byte;
                        length = length.wrapping_add(1);
                    }
                    continue;
                }
                if let Some(mapping) = Mapping::parse(self.line.get(..length).unwrap_or_default()) {
                    if mapping.offset == 0 {
                        first = (mapping.inode, mapping.start);
                    }
                    let base = (first.0 == mapping.inode).then_some(first.1);
                    self.modules.note(&mapping, memory as i32, base, &mut self.page);
                }
                length = 0;
            }
        }
        sys::close(maps as i32);
        if !sys::failed(memory) {
            sys::close(memory as i32);
        }
    }
}

impl Modules {
    fn covers(&self, site: u64) -> bool {
        self.known.iter().take(self.count).any(|known| (known.start..known.end).contains(&site))
    }

    fn note(&mut self, mapping: &Mapping, memory: i32, base: Option<u64>, page: &mut [u8]) {
        if !mapping.executable || mapping.path.is_empty() {
            return;
        }
        let entry = Known { start: mapping.start, end: mapping.end, inode: mapping.inode };
        let mut seen = self.known.iter_mut().take(self.count);
        match seen.find(|known| known.start == entry.start) {
            Some(known) if known.end == entry.end && known.inode == entry.inode => return,
            Some(known) => *known = entry,
            None => {
                let Some(place) = self.known.get_mut(self.count) else { return };
                *place = entry;
                self.count = self.count.wrapping_add(1);
            }
        }
        let build_id = base.filter(|_| memory >= 0).and_then(|base| elf::build_id(memory, base, page));
        definitions::module(mapping.path, mapping.start, mapping.end, mapping.offset, build_id);
    }
}

/// A line of `/proc/self/maps`: `start-end perms offset device inode path`.
struct Mapping<'a> {
    start: u64,
    end: u64,
    executable: bool,
    offset: u64,
    inode: u64,
    path: &'a [u8],
}

impl<'a> Mapping<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let (start, rest) = text::hex(line);
        let (end, rest) = text::hex(rest.strip_prefix(b"-")?);
        let mut fields = rest.strip_prefix(b" ")?.splitn(5, |&byte| byte == b' ');
        let executable = fields.next()?.get(2) == Some(&b'x');
        let (offset, _) = text::hex(fields.next()?);
        let _device = fields.next()?;
        let inode = text::number(fields.next()?)?;
        let path = fields.next().unwrap_or_default().trim_ascii_start();
        Some(Self { start, end, executable, offset, inode, path })
    }
}

/// In a child after fork: whoever held the lock is not here.
pub fn after_fork() {
    LOCK.reset();
}

/// Nothing is written down yet.
pub fn forget() {
    LOOKED_AT.store(0, Ordering::Relaxed);
    // SAFETY: recording begins: no other thread is here.
    unsafe { (*TABLE.0.get()).modules.count = 0 };
}
