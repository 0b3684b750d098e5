//! Holds the arrows between rooms: a room may only use rooms below it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Room, and what it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("trace", &[]),
    ("launch", &[]),
    ("files", &[]),
    ("filter", &["trace", "files"]),
    ("parse", &["trace"]),
    ("source", &["trace"]),
    ("forward", &["trace", "parse", "source"]),
    ("correlate", &["trace"]),
    ("symbols", &["trace"]),
    ("memory", &["trace", "correlate"]),
    ("lens", &["trace", "filter", "correlate", "symbols"]),
    ("graph", &["trace", "correlate", "symbols", "filter", "lens"]),
    ("session", &["trace", "parse", "source", "correlate", "symbols", "memory", "graph", "launch", "filter", "lens"]),
    ("report", &["trace", "correlate", "symbols", "memory", "graph", "session", "filter", "lens"]),
    ("export", &["trace", "parse", "symbols", "graph", "session", "filter", "lens"]),
    ("config", &["files"]),
    ("ui", &["session", "config", "filter", "files"]),
    (
        "cli",
        &[
            "trace", "parse", "source", "forward", "symbols", "graph", "session", "report", "export", "config", "ui",
            "launch", "filter", "lens",
        ],
    ),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Names after `crate::` in the code, tests and comments left out.
fn used(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.collect::<Vec<_>>().join("\n");
    let mut rooms = Vec::new();
    for after in code.split("crate::").skip(1) {
        if let Some(list) = after.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for char in list.chars() {
                match char {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => rooms.push(std::mem::take(&mut word)),
                    _ if depth == 0 => word.push(char),
                    _ => {}
                }
            }
            rooms.push(word);
        } else {
            rooms.push(after.to_owned());
        }
    }
    let name = |text: &String| text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    rooms.iter().map(name).filter(|name| !name.is_empty()).collect()
}

#[test]
fn rooms_use_only_rooms_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        let Some(room) = inside.components().next().and_then(|part| part.as_os_str().to_str()) else { continue };
        let room = room.trim_end_matches(".rs");
        if matches!(room, "lib" | "main") {
            continue;
        }
        let Some(may) = allowed.get(room) else {
            wrong.push(format!("{}: the room {room} has no line in ARROWS", inside.display()));
            continue;
        };
        for other in used(&fs::read_to_string(&path).unwrap()) {
            let is_room = allowed.contains_key(other.as_str());
            if is_room && other != room && !may.contains(&other.as_str()) {
                wrong.push(format!("{}: {room} must not use {other}", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn screens_know_no_other_screen() {
    let screens = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/screens");
    let names: Vec<String> = fs::read_dir(&screens)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    for name in &names {
        for path in sources(&screens.join(name)) {
            let text = fs::read_to_string(&path).unwrap();
            for other in names.iter().filter(|other| *other != name) {
                let direct = format!("screens::{other}");
                let sideways = format!("super::super::{other}");
                assert!(!text.contains(&direct) && !text.contains(&sideways), "{} uses {other}", path.display());
            }
        }
    }
}

#[test]
fn the_hook_knows_only_wire_and_libc() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("hook/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names: Vec<&str> =
        dependencies.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim()).collect();
    assert_eq!(names, ["umtui-wire", "libc"]);
}

/// What names a processor, its instructions or its registers.
fn is_of_a_machine(word: &str) -> bool {
    const NAMES: [&str; 20] = [
        "target_arch",
        "x86",
        "x86_64",
        "aarch64",
        "asm",
        "global_asm",
        "naked_asm",
        "naked",
        "syscall",
        "svc",
        "rdtsc",
        "_rdtsc",
        "cpuid",
        "cntvct_el0",
        "tpidr_el0",
        "endbr64",
        "GLIBC_2",
        "ARCH_X86_64",
        "ARCH_AARCH64",
        "CLOCK_TSC",
    ];
    const REGISTERS: [&str; 11] = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "sil", "dil"];
    let numbered = |prefix: &str| {
        let digits = word.strip_prefix(prefix).map(|rest| rest.trim_end_matches(['d', 'w'])).unwrap_or_default();
        digits.parse::<u8>().is_ok_and(|number| number < 32 && digits == number.to_string())
    };
    let letters = ["r", "e"].iter().any(|first| word.strip_prefix(first).is_some_and(|rest| REGISTERS.contains(&rest)));
    NAMES.contains(&word) || letters || ["r", "x", "w", "q", "xmm", "ymm", "mm"].iter().any(|prefix| numbered(prefix))
}

/// Its words that name a machine, comments left out.
fn of_a_machine(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = code.flat_map(|line| line.split(|char: char| !char.is_alphanumeric() && char != '_'));
    words.filter(|word| is_of_a_machine(word)).collect()
}

#[test]
fn only_one_folder_of_the_hook_knows_the_machine() {
    let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("hook/src");
    let mut seen = 0;
    for path in sources(&hook).into_iter().filter(|path| !path.starts_with(hook.join("arch"))) {
        let text = fs::read_to_string(&path).unwrap();
        let found = of_a_machine(&text);
        assert!(found.is_empty(), "{} names {found:?}: that belongs into hook/src/arch", path.display());
        seen += 1;
    }
    assert!(seen > 15, "{seen} files");
    let asm = "fn now() -> u64 {\n    unsafe { core::arch::asm!(\"mov rax, rdi\", out(\"r11\") _) }\n}\n// rdx\n";
    assert_eq!(of_a_machine(asm), ["asm", "rax", "rdi", "r11"]);
}

#[test]
fn the_list_of_arrows_finds_what_it_should() {
    assert_eq!(used("use crate::trace::Call;\nuse crate::{graph::Tree, session};"), ["trace", "graph", "session"]);
    assert_eq!(used("fn x() { crate::ui::run() }\n// crate::cli\n"), ["ui"]);
}
