//! docs/limits.md is true: each of its numbers is there once, every test that it names exists, and it states no limits but
//! those that were agreed on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Numbers that may be stated as a limit.
const LIMITS: [u32; 3] = [7, 30, 31];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The table's rows: number and the last cell.
fn rows() -> Vec<(u32, String)> {
    let text = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let table = text.split("## The sixty-one").nth(1).expect("the table's heading");
    let rows = table.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        let number = cells.next()?.parse().ok()?;
        Some((number, cells.last()?.to_owned()))
    });
    rows.collect()
}

/// The tests that a cell names, as file and function.
fn named(cell: &str) -> Vec<(PathBuf, String)> {
    let names = cell.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::"));
    names
        .map(|(file, test)| {
            let path = if file.starts_with("src/") { file.to_owned() } else { format!("tests/{file}.rs") };
            (root().join(path), test.to_owned())
        })
        .collect()
}

/// Whether a file has a test function of this name.
fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with(&head) {
            return marked;
        }
        // Other attributes and comments may stand between.
        marked = line == "#[test]" || (marked && (line.starts_with("#[") || line.starts_with("//")));
    }
    false
}

#[test]
fn every_number_is_there_once() {
    let numbers: Vec<u32> = rows().into_iter().map(|(number, _)| number).collect();
    assert!(numbers.iter().copied().eq(1..=61), "{numbers:?}");
}

#[test]
fn every_test_that_is_named_exists() {
    let mut seen = BTreeSet::new();
    for (number, cell) in rows() {
        let tests = named(&cell);
        assert!(!tests.is_empty() && !cell.contains("pending"), "{number} names no test: {cell}");
        for (path, test) in tests {
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{number}: {}: {error}", path.display()));
            assert!(has_test(&text, &test), "{number}: no test {test} in {}", path.display());
            seen.insert(test);
        }
    }
    assert!(seen.len() > 60, "{} tests are named", seen.len());
}

#[test]
fn no_other_limits_are_stated() {
    let stated: Vec<u32> =
        rows().into_iter().filter(|(_, cell)| cell.starts_with("limit")).map(|(number, _)| number).collect();
    assert_eq!(stated, LIMITS);
}

#[test]
fn a_name_alone_is_no_test() {
    assert!(has_test("#[test]\nfn a() {}", "a"));
    assert!(has_test("#[test]\n#[ignore]\nfn a() {}", "a"));
    assert!(!has_test("#[test]\nfn b() {}\nfn a() {}", "a"));
    assert!(!has_test("// fn a()", "a"));
}
