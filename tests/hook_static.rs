//! What can be read off the built hook without running it: what it asks of a system, what it exports, and that nothing in
//! it can panic.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::HOOK;
use common::elf::Elf;
use std::collections::BTreeSet;
use umtui_wire::table::{self, FUNCTIONS, Layer};

/// What it may ask of other libraries: all of it in every glibc since 2.17, none of it allocates or locks.
const ASKED: [&str; 12] = [
    "__errno_location",
    "bcmp",
    "clock_gettime",
    "dl_iterate_phdr",
    "environ",
    "getauxval",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "sigaction",
    "strlen",
];
/// Names that it takes besides CUDA's: of the loader, those by which other programs are started, and NVTX's door.
const OTHERS: [&str; 23] = [
    "InitializeInjectionNvtx2",
    "_Exit",
    "_exit",
    "cuptiActivityRegisterCallbacks",
    "cuptiActivityRegisterCallbacks_v2",
    "cuptiFinalize",
    "cuptiSubscribe",
    "cuptiSubscribe_v2",
    "dlclose",
    "dlopen",
    "dlsym",
    "dlvsym",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "posix_spawn",
    "posix_spawnp",
];
const NAMES: [(&str, &str, Layer, u8); 5] = [
    ("cudart 11.8", include_str!("data/names/cudart-11.8.txt"), Layer::Runtime, 11),
    ("cudart 12.9", include_str!("data/names/cudart-12.9.txt"), Layer::Runtime, 12),
    ("cudart 13.0", include_str!("data/names/cudart-13.0.txt"), Layer::Runtime, 13),
    ("cudart 13.5", include_str!("data/names/cudart-13.5.txt"), Layer::Runtime, 13),
    ("libcuda 580", include_str!("data/names/libcuda-580.txt"), Layer::Driver, 0),
];

#[test]
fn it_runs_on_every_glibc_since_2_17() {
    let number = |version: &str| {
        let digits = version.strip_prefix("GLIBC_").unwrap_or_else(|| panic!("{version} is not glibc's"));
        digits.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    let versions = Elf::read(HOOK).versions_needed();
    assert!(!versions.is_empty());
    for version in &versions {
        assert!(number(version) <= vec![2, 17], "{version} of {versions:?}");
    }
}

#[test]
fn it_needs_nothing_but_the_c_library() {
    let elf = Elf::read(HOOK);
    let needed: BTreeSet<String> = elf.needed().into_iter().collect();
    assert_eq!(needed, ["libc.so.6", "libdl.so.2"].map(str::to_owned).into());
    for symbol in elf.dynamic_symbols().iter().filter(|symbol| !symbol.defined) {
        assert!(ASKED.contains(&symbol.name.as_str()), "it asks for {symbol:?}");
    }
}

#[test]
fn it_exports_the_tables_names_and_no_others() {
    let symbols = Elf::read(HOOK).dynamic_symbols();
    let exported: BTreeSet<&str> =
        symbols.iter().filter(|symbol| symbol.defined).map(|symbol| symbol.name.as_str()).collect();
    let table = FUNCTIONS.iter().map(|function| function.name).filter(|name| table::left_alone(name).is_none());
    let expected: BTreeSet<&str> = table.chain(OTHERS).collect();
    let missing: Vec<_> = expected.difference(&exported).collect();
    let surplus: Vec<_> = exported.difference(&expected).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:?}, surplus {surplus:?}");
    for symbol in symbols.iter().filter(|symbol| symbol.defined) {
        assert!(symbol.kind == 2 && symbol.binding == 1 && symbol.visibility == 0, "{symbol:?}");
    }
}

#[test]
fn nothing_in_it_can_panic_or_unwind() {
    let elf = Elf::read(HOOK);
    let symbols = elf.symbols();
    assert!(symbols.len() > 1000, "its symbols were stripped: nothing can be said");
    for symbol in &symbols {
        for machinery in
            ["rust_begin_unwind", "panicking", "panic_fmt", "rust_eh_personality", "_Unwind_", "rust_alloc", "malloc"]
        {
            assert!(!symbol.name.contains(machinery), "{}", symbol.name);
        }
    }
    for text in ["panicked at", "index out of bounds", "called `Option::unwrap()`"] {
        assert!(!elf.bytes().windows(text.len()).any(|window| window == text.as_bytes()), "{text:?} is in it");
    }
}

#[test]
fn it_is_loaded_for_good_bound_at_once_and_small_for_threads() {
    const SYMBOLIC_NOW_STATIC_TLS: usize = 2 | 8 | 16;
    const NOW_NODELETE: usize = 1 | 8;
    let elf = Elf::read(HOOK);
    let (flags, flags_1) = elf.flags();
    assert_eq!((flags & SYMBOLIC_NOW_STATIC_TLS, flags_1 & NOW_NODELETE), (SYMBOLIC_NOW_STATIC_TLS, NOW_NODELETE));
    // Static thread-local storage is scarce, and part of every thread's stack.
    assert!((1..=128).contains(&elf.thread_bytes()), "{}", elf.thread_bytes());
}

#[test]
fn every_function_of_the_cuda_libraries_is_in_the_table() {
    // Data objects of libcuda; a stub of such a name would break it.
    let source = include_str!("../wire/functions.txt");
    let note = source.split("# Exported by libcuda as well, but data objects").nth(1).unwrap();
    let objects: BTreeSet<&str> = note
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("# "))
        .flat_map(|line| line.trim_start_matches("# ").split_whitespace())
        .collect();
    assert!(objects.len() > 20 && objects.iter().all(|name| name.starts_with("cudbg")), "{objects:?}");
    for (library, names, layer, major) in NAMES {
        let mut count = 0;
        for name in names.lines().filter(|name| !objects.contains(name)) {
            let index =
                table::find(name.as_bytes(), major).unwrap_or_else(|| panic!("{library}: {name} is not in the table"));
            assert_eq!(FUNCTIONS[index].layer, layer, "{library}: {name}");
            count += 1;
        }
        assert!(count > 390, "{library}: {count} names");
    }
    assert!(objects.iter().all(|name| table::named(name.as_bytes()).is_empty()), "data objects are in the table");
}
