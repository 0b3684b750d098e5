//! Names from the file on disk, by blazesym. The only place that knows that crate.

use blazesym::helper::read_elf_build_id;
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolizer};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::path::Path;

use super::{Place, Symbol};

/// Files, without their ending, that hold CUDA's own inline functions or a language's bindings to it: a wrapper from
/// there that was inlined is not what called.
const WRAPPERS: [&str; 7] =
    ["cuda_runtime", "cuda_runtime_api", "host_runtime", "cuda", "cudart", "cuda_api", "cuda_sys"];

/// Looks places up in the files they are in.
pub struct Resolver {
    symbolizer: Symbolizer,
    /// For each module whether the file on disk is the one that ran.
    same: RefCell<FxHashMap<(String, Vec<u8>), bool>>,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolver {
    /// A resolver without anything looked up.
    #[must_use]
    pub fn new() -> Self {
        // A file that is replaced while it is looked at must not be taken for the old one.
        let symbolizer = Symbolizer::builder()
            .enable_auto_reload(false)
            .enable_code_info(true)
            .enable_inlined_fns(true)
            .enable_demangling(true)
            .build();
        Self { symbolizer, same: RefCell::default() }
    }

    /// What the place is called; `None` if the file is not there, is another build, or does not say.
    #[must_use]
    pub fn resolve(&self, place: &Place) -> Option<Symbol> {
        if !self.is_same(place) {
            return None;
        }
        let source = Source::Elf(Elf::new(&*place.path));
        // A return address belongs to the line after the call.
        let call = Input::FileOffset(place.offset.checked_sub(1)?);
        let found = self.symbolizer.symbolize_single(&source, call).ok()?;
        Some(symbol(found.as_sym()?))
    }

    fn is_same(&self, place: &Place) -> bool {
        let key = (place.path.to_string(), place.build_id.to_vec());
        *self.same.borrow_mut().entry(key).or_insert_with_key(|(path, build_id)| {
            let regular = std::fs::metadata(path).is_ok_and(|data| data.is_file());
            let absolute = Path::new(path).is_absolute();
            let on_disk = || read_elf_build_id(path).ok().flatten();
            // Without a build id nothing tells whether it is the same: better no name than a wrong one.
            regular && absolute && !build_id.is_empty() && on_disk().is_some_and(|id| *id == **build_id)
        })
    }
}

/// The innermost function that is not a wrapper.
fn symbol(sym: &Sym<'_>) -> Symbol {
    let inlined = sym.inlined.iter().rev().map(|inlined| (&*inlined.name, inlined.code_info.as_ref()));
    let outer = (&*sym.name, sym.code_info.as_deref());
    let mut frames = inlined.chain(std::iter::once(outer));
    let (function, code) = frames.find(|(_, code)| !code.is_some_and(is_wrapper)).unwrap_or(outer);
    Symbol {
        function: function.to_owned(),
        file: code.map(|code| code.to_path().to_string_lossy().into_owned()).unwrap_or_default(),
        line: code.and_then(|code| code.line).unwrap_or(0),
    }
}

fn is_wrapper(code: &CodeInfo<'_>) -> bool {
    let stem = Path::new(&*code.file).file_stem();
    stem.and_then(|stem| stem.to_str()).is_some_and(|stem| WRAPPERS.contains(&stem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[inline(never)]
    fn somewhere() -> u64 {
        std::hint::black_box(somewhere as fn() -> u64 as usize as u64)
    }

    /// File offset of an address in this program, by `/proc/self/maps`.
    fn file_offset(address: u64) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        maps.lines()
            .find_map(|line| {
                let mut words = line.split_whitespace();
                let (start, end) = words.next()?.split_once('-')?;
                let offset = words.nth(1)?;
                let inside = (number(start)..number(end)).contains(&address);
                inside.then(|| address - number(start) + number(offset))
            })
            .unwrap()
    }

    #[test]
    fn a_function_of_this_program_has_its_name_and_line() {
        let path = std::env::current_exe().unwrap();
        let path = path.to_str().unwrap();
        let Some(build_id) = read_elf_build_id(path).unwrap() else {
            return; // The linker was told to leave it out.
        };
        let place = Place { path: path.into(), build_id: Arc::from(&*build_id), offset: file_offset(somewhere()) + 5 };
        let resolver = Resolver::new();
        let symbol = resolver.resolve(&place).unwrap();
        assert!(symbol.function.contains("somewhere"), "{symbol:?}");
        assert!(symbol.file.ends_with("elf.rs") && symbol.line > 0, "{symbol:?}");
        let other = Place { build_id: Arc::from([9, 9].as_slice()), ..place.clone() };
        assert_eq!(resolver.resolve(&other), None);
        let unknown = Place { build_id: Arc::from([].as_slice()), ..place.clone() };
        assert_eq!(resolver.resolve(&unknown), None);
        assert_eq!(resolver.resolve(&Place { path: "/no/such/file".into(), ..place }), None);
    }
}
