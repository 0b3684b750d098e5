//! As much of ELF as the static checks of the hook need: its own names, whose it needs, and which versions.

use std::collections::BTreeSet;

/// A shared object of 64 bits, little endian.
pub struct Elf(Vec<u8>);

/// A symbol of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// In this object, rather than asked for.
    pub defined: bool,
    /// STB_LOCAL is 0, STB_GLOBAL 1, STB_WEAK 2.
    pub binding: u8,
    /// STT_FUNC is 2.
    pub kind: u8,
    /// STV_DEFAULT is 0.
    pub visibility: u8,
    /// Its address, if it is defined.
    pub value: usize,
}

/// A section: kind, address, offset, bytes, and the section that goes with it.
struct Section {
    kind: u32,
    offset: usize,
    bytes: usize,
    link: usize,
    info: usize,
}

const SYMBOLS: u32 = 2;
const DYNAMIC: u32 = 6;
const DYNAMIC_SYMBOLS: u32 = 11;
const VERSIONS_NEEDED: u32 = 0x6fff_fffe;
const TLS: u32 = 7;

impl Elf {
    pub fn read(path: &str) -> Self {
        let bytes = std::fs::read(path).unwrap();
        assert!(bytes.starts_with(b"\x7fELF\x02\x01"), "{path} is no ELF object of 64 bits");
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn number(&self, at: usize, width: usize) -> u64 {
        self.0[at..at + width].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    fn at(&self, at: usize) -> usize {
        self.number(at, 8) as usize
    }

    fn half(&self, at: usize) -> usize {
        self.number(at, 2) as usize
    }

    fn word(&self, at: usize) -> usize {
        self.number(at, 4) as usize
    }

    /// What lies at an address once the object is loaded: up to the end of its segment's part of the file.
    pub fn at_address(&self, address: usize) -> &[u8] {
        let (first, size, count) = (self.at(32), self.half(54), self.half(56));
        let segments = (0..count).map(|index| first + index * size);
        let loaded = segments.filter(|&at| self.word(at) == 1);
        for (offset, start, bytes) in loaded.map(|at| (self.at(at + 8), self.at(at + 16), self.at(at + 32))) {
            if (start..start + bytes).contains(&address) {
                return &self.0[offset + address - start..offset + bytes];
            }
        }
        panic!("nothing is loaded at {address:#x}");
    }

    fn text(&self, at: usize) -> String {
        let end = at + self.0[at..].iter().position(|&byte| byte == 0).unwrap();
        String::from_utf8(self.0[at..end].to_vec()).unwrap()
    }

    fn sections(&self) -> Vec<Section> {
        let (first, size, count) = (self.at(40), self.half(58), self.half(60));
        let section = |at| Section {
            kind: self.number(at + 4, 4) as u32,
            offset: self.at(at + 24),
            bytes: self.at(at + 32),
            link: self.word(at + 40),
            info: self.word(at + 44),
        };
        (0..count).map(|index| section(first + index * size)).collect()
    }

    /// Sections of a kind, and where the strings lie that go with them.
    fn of_kind(&self, kind: u32) -> Vec<(Section, usize)> {
        let all = self.sections();
        let strings: Vec<usize> = all.iter().map(|section| section.offset).collect();
        all.into_iter()
            .filter(|section| section.kind == kind)
            .map(|section| {
                let at = strings[section.link];
                (section, at)
            })
            .collect()
    }

    fn symbols_of(&self, kind: u32) -> Vec<Symbol> {
        let mut symbols = Vec::new();
        for (section, strings) in self.of_kind(kind) {
            for at in (section.offset + 24..section.offset + section.bytes).step_by(24) {
                let info = self.0[at + 4];
                symbols.push(Symbol {
                    name: self.text(strings + self.word(at)),
                    defined: self.half(at + 6) != 0,
                    binding: info >> 4,
                    kind: info & 15,
                    visibility: self.0[at + 5] & 3,
                    value: self.at(at + 8),
                });
            }
        }
        symbols
    }

    /// Symbols for other objects.
    pub fn dynamic_symbols(&self) -> Vec<Symbol> {
        self.symbols_of(DYNAMIC_SYMBOLS)
    }

    /// All symbols, if they were not stripped.
    pub fn symbols(&self) -> Vec<Symbol> {
        self.symbols_of(SYMBOLS)
    }

    /// Entries of the dynamic section.
    fn dynamic(&self) -> Vec<(usize, usize, usize)> {
        let sections = self.of_kind(DYNAMIC).into_iter();
        sections
            .flat_map(|(section, strings)| {
                (section.offset..section.offset + section.bytes).step_by(16).map(move |at| (at, strings))
            })
            .map(|(at, strings)| (self.at(at), self.at(at + 8), strings))
            .collect()
    }

    /// Sonames of the libraries it needs.
    pub fn needed(&self) -> Vec<String> {
        self.dynamic()
            .into_iter()
            .filter(|entry| entry.0 == 1)
            .map(|(_, value, strings)| self.text(strings + value))
            .collect()
    }

    /// Its DT_FLAGS and DT_FLAGS_1.
    pub fn flags(&self) -> (usize, usize) {
        let flag = |wanted| self.dynamic().into_iter().find(|entry| entry.0 == wanted).map_or(0, |entry| entry.1);
        (flag(30), flag(0x6fff_fffb))
    }

    /// Version names that it asks of others.
    pub fn versions_needed(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (section, strings) in self.of_kind(VERSIONS_NEEDED) {
            let mut file = section.offset;
            for _ in 0..section.info {
                let mut version = file + self.word(file + 8);
                for _ in 0..self.half(file + 2) {
                    names.insert(self.text(strings + self.word(version + 8)));
                    version += self.word(version + 12);
                }
                file += self.word(file + 12);
            }
        }
        names
    }

    /// Bytes of the block that each thread gets.
    pub fn thread_bytes(&self) -> usize {
        let (first, size, count) = (self.at(32), self.half(54), self.half(56));
        let headers = (0..count).map(|index| first + index * size);
        headers.filter(|&at| self.word(at) == TLS as usize).map(|at| self.at(at + 40)).sum()
    }
}
