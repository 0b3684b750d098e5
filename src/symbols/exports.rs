//! The names that a shared library exports, from its dynamic symbol table.
//!
//! Read by hand: blazesym gives all symbols of a file alike, also those that no other object can see.

use std::io;
use std::path::Path;

/// A name that a library offers to others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Export {
    /// The name, without a version.
    pub name: String,
    /// A variable rather than a function.
    pub is_data: bool,
}

/// What a library exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exports {
    /// The name that programs ask for it by, if it has one.
    pub soname: Option<String>,
    /// Its names, sorted, each once.
    pub names: Vec<Export>,
}

/// Why a file has no exports to show.
#[derive(Debug, thiserror::Error)]
pub enum ExportsError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is something else.
    #[error("is no 64-bit little-endian ELF file")]
    NotElf,
    /// Sections or symbols lie outside the file, or there is no dynamic symbol table.
    #[error("has no readable dynamic symbol table: it is static, cut short or stripped of its section headers")]
    NoSymbols,
}

const SHT_DYNAMIC: u64 = 6;
const SHT_DYNSYM: u64 = 11;
const SYMBOL_BYTES: usize = 24;
const DYNAMIC_BYTES: usize = 16;
const DT_SONAME: u64 = 14;
const SHN_UNDEF: u64 = 0;
/// Names of symbol versions stand there, too.
const SHN_ABS: u64 = 0xfff1;
const STB_LOCAL: u8 = 0;
const STT_OBJECT: u8 = 1;
const STT_COMMON: u8 = 5;
const STT_TLS: u8 = 6;
const STV_INTERNAL: u8 = 1;
const STV_HIDDEN: u8 = 2;

impl Exports {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is no shared library with a dynamic symbol table.
    pub fn read(path: &Path) -> Result<Self, ExportsError> {
        // Reading a FIFO may wait for good, a device may have no end.
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file").into());
        }
        Self::of(&std::fs::read(path)?)
    }

    fn of(bytes: &[u8]) -> Result<Self, ExportsError> {
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return Err(ExportsError::NotElf);
        }
        let file = File(bytes);
        let sections = file.sections().ok_or(ExportsError::NoSymbols)?;
        let of_kind = |kind| sections.iter().find(|section| section.kind == kind);
        let with_strings = |section: &Section| {
            let strings = sections.get(section.link)?;
            Some((file.part(section.offset, section.bytes)?, file.part(strings.offset, strings.bytes)?))
        };
        let (symbols, strings) = of_kind(SHT_DYNSYM).and_then(with_strings).ok_or(ExportsError::NoSymbols)?;
        let mut names: Vec<Export> =
            symbols.chunks_exact(SYMBOL_BYTES).filter_map(|symbol| export(symbol, strings)).collect();
        names.sort();
        names.dedup_by(|later, first| later.name == first.name);
        let soname = of_kind(SHT_DYNAMIC).and_then(with_strings).and_then(|(entries, strings)| {
            let entry = entries.chunks_exact(DYNAMIC_BYTES).find(|entry| number(entry, 0, 8) == Some(DT_SONAME))?;
            text(strings, usize::try_from(number(entry, 8, 8)?).ok()?)
        });
        Ok(Self { soname, names })
    }
}

/// A symbol, if others can see and use it.
fn export(symbol: &[u8], strings: &[u8]) -> Option<Export> {
    let (info, visibility) = (*symbol.get(4)?, symbol.get(5)? & 3);
    let is_elsewhere = matches!(number(symbol, 6, 2)?, SHN_UNDEF | SHN_ABS);
    if is_elsewhere || info >> 4 == STB_LOCAL || matches!(visibility, STV_INTERNAL | STV_HIDDEN) {
        return None;
    }
    let name = text(strings, usize::try_from(number(symbol, 0, 4)?).ok()?)?;
    Some(Export { name, is_data: matches!(info & 15, STT_OBJECT | STT_COMMON | STT_TLS) })
}

struct Section {
    kind: u64,
    offset: u64,
    bytes: u64,
    /// Number of the section that holds its strings.
    link: usize,
}

/// The bytes of an ELF file, 64 bits, little endian.
struct File<'a>(&'a [u8]);

impl File<'_> {
    fn part(&self, offset: u64, bytes: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.0.get(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }

    fn sections(&self) -> Option<Vec<Section>> {
        let (size, count) = (number(self.0, 58, 2)?, number(self.0, 60, 2)?);
        let headers = self.part(number(self.0, 40, 8)?, size.checked_mul(count)?)?;
        let section = |header: &[u8]| {
            Some(Section {
                kind: number(header, 4, 4)?,
                offset: number(header, 24, 8)?,
                bytes: number(header, 32, 8)?,
                link: usize::try_from(number(header, 40, 4)?).ok()?,
            })
        };
        headers.chunks_exact(usize::try_from(size).ok().filter(|&size| size > 0)?).map(section).collect()
    }
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

fn text(strings: &[u8], at: usize) -> Option<String> {
    let rest = strings.get(at..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(rest.get(..end)?).into_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str) -> Vec<u8> {
        std::fs::read(Path::new(env!("UMTUI_GUEST")).join(name)).unwrap()
    }

    #[test]
    fn the_stand_in_runtime_exports_its_functions_under_its_soname() {
        let exports = Exports::of(&library("libcudart.so.12")).unwrap();
        assert_eq!(exports.soname.as_deref(), Some("libcudart.so.12"));
        let malloc = Export { name: "cudaMalloc".into(), is_data: false };
        assert!(exports.names.contains(&malloc));
        assert!(exports.names.is_sorted());
        assert!(!exports.names.iter().any(|export| export.name.starts_with("lib")), "a version is no symbol");
        assert!(!exports.names.iter().any(|export| export.name == "memcpy"), "it asks for it, it does not offer it");
    }

    #[test]
    fn what_is_no_library_is_refused() {
        assert!(matches!(Exports::of(b""), Err(ExportsError::NotElf)));
        assert!(matches!(Exports::of(b"\x7fELF\x01\x01 of 32 bits"), Err(ExportsError::NotElf)));
        assert!(matches!(Exports::of(b"\x7fELF\x02\x01"), Err(ExportsError::NoSymbols)));
        assert!(matches!(Exports::read(Path::new("/no/such/file")), Err(ExportsError::Unreadable(_))));
    }

    #[test]
    fn damaged_bytes_are_an_error_or_fewer_names() {
        let whole = library("libcuda.so.1");
        let count = Exports::of(&whole).unwrap().names.len();
        // The head, the section headers and the tables, each byte in turn where it matters most.
        for at in 16..64 {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            if let Ok(exports) = Exports::of(&damaged) {
                assert!(exports.names.len() <= count);
            }
        }
        for length in (0..whole.len()).step_by(whole.len() / 64) {
            assert!(Exports::of(&whole[..length]).is_err(), "the section headers come last");
        }
    }
}
