//! Call sites that an input knows by name and not by address.
//!
//! Each name becomes an address in a module of its own, made up; what it is called goes beside the files.

use rustc_hash::FxHashMap;

/// Sites of an input at most.
const SITES: usize = 1 << 20;
/// Bytes of their names at most.
const BYTES: usize = 128 << 20;
/// Modules of an input at most.
const MODULES: usize = 1 << 16;
/// The first module's address, and how far modules lie apart.
const FIRST: u64 = 0x1000_0000_0000;
const APART: u64 = 1 << 24;

/// What a call site is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SiteName {
    /// The module, or the source file.
    pub module: String,
    /// Offset in the module.
    pub offset: u64,
    /// Function.
    pub function: String,
    /// Source file; empty if it is not known.
    pub file: String,
    /// Line, zero if it is not known.
    pub line: u32,
}

/// All of an input.
#[derive(Debug, Default)]
pub struct Sites {
    known: FxHashMap<(u32, Box<str>, u32), u64>,
    modules: FxHashMap<Box<str>, u32>,
    list: Vec<SiteName>,
    bytes: usize,
}

impl Sites {
    /// The address of one; zero where there is no room for more.
    pub fn of(&mut self, module: &str, function: &str, file: &str, line: u32) -> u64 {
        let cut = |text: &str| text.chars().take(1024).collect::<String>();
        let module = if module.is_empty() { "?".to_owned() } else { cut(module) };
        let module = module.as_str();
        let next = self.modules.len();
        let number = match self.modules.get(module) {
            Some(&number) => number,
            None if next < MODULES && self.bytes < BYTES => {
                self.bytes += 2 * module.len() + 64;
                self.modules.insert(module.into(), next as u32);
                next as u32
            }
            None => return 0,
        };
        let key = (number, Box::from(function), line);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        if self.list.len() >= SITES || self.bytes >= BYTES {
            return 0;
        }
        let offset = self.list.len() as u64 + 1;
        let address = FIRST + u64::from(number) * APART + offset;
        let name = SiteName { module: module.to_owned(), offset, function: cut(function), file: cut(file), line };
        self.bytes += 2 * function.len() + name.module.len() + name.file.len() + 160;
        self.list.push(name);
        self.known.insert(key, address);
        address
    }

    /// Each module: its name, first address and first address after it.
    pub fn modules(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.modules.iter().map(|(name, &number)| {
            let start = FIRST + u64::from(number) * APART;
            (&**name, start, start + APART)
        })
    }

    /// What they are called.
    pub fn into_names(self) -> Vec<SiteName> {
        self.list
    }
}
