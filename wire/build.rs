//! Turns `functions.txt` into the table of `src/table.rs`: registers and stack words by the System V calling
//! convention (aarch64's differs only in having eight registers, which `word` indexes alike), and the place of
//! each recorded argument in the record.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a build that cannot go on must stop")]

use std::fmt::Write as _;
use std::{env, fs, path::Path};

const ARGUMENTS_AT: usize = 28;
const SLOT: usize = 48;
const REGISTERS: usize = 6;
const FIRST_STACK_WORD: usize = 8;

struct Op {
    word: usize,
    access: &'static str,
    field: usize,
    at: usize,
}

/// How one type is passed and recorded.
enum Passing {
    Word { wide: bool, recorded: bool },
    Text,
    TwoWords { recorded: bool },
    Vector,
    Stack(usize),
}

/// The state of laying out one function.
#[derive(Default)]
struct Layout {
    registers: usize,
    vectors: usize,
    stack_words: usize,
    used: Vec<bool>,
    ops: Vec<Op>,
    signature: String,
}

impl Layout {
    /// Place for `cells` 4-byte cells, the first hole that fits, 8-byte values aligned.
    fn place(&mut self, bytes: usize) -> usize {
        let cells = bytes / 4;
        let step = if bytes == 8 { 8 } else { 4 };
        let mut at = ARGUMENTS_AT;
        loop {
            let first = (at - ARGUMENTS_AT) / 4;
            if at.is_multiple_of(step)
                && (first..first + cells).all(|cell| !self.used.get(cell).copied().unwrap_or(false))
            {
                if self.used.len() < first + cells {
                    self.used.resize(first + cells, false);
                }
                self.used[first..first + cells].fill(true);
                return at;
            }
            at += 4;
        }
    }

    fn words(&mut self, count: usize) -> usize {
        if self.registers + count <= REGISTERS {
            self.registers += count;
            self.registers - count
        } else {
            self.stack_words += count;
            FIRST_STACK_WORD + self.stack_words - count
        }
    }

    fn record(&mut self, role: &str, shown: &str, word: usize, access: &'static str, field: usize, bytes: usize) {
        let at = self.place(bytes);
        if bytes == 12 {
            let (first, rest) = match access {
                "Value" => ("Value8", "Value4"),
                _ => ("Pointee8", "Pointee4"),
            };
            let (next_word, next_field) = if access == "Value" { (word + 1, 0) } else { (word, field + 8) };
            self.ops.push(Op { word, access: first, field, at });
            self.ops.push(Op { word: next_word, access: rest, field: next_field, at: at + 8 });
        } else {
            let access = match (access, bytes) {
                ("Value", 4) => "Value4",
                ("Value", _) => "Value8",
                ("Pointee", 4) => "Pointee4",
                ("Pointee", _) => "Pointee8",
                (other, _) => other,
            };
            self.ops.push(Op { word, access, field, at });
        }
        if !self.signature.ends_with('(') {
            self.signature.push(' ');
        }
        write!(self.signature, "{role}:{shown}@{at}").unwrap();
    }
}

fn passing(kind: &str) -> Passing {
    match kind {
        "ptr" | "size" | "u64" | "i64" | "handle" | "loc" => Passing::Word { wide: true, recorded: true },
        "ref" => Passing::Word { wide: true, recorded: false },
        "skip" => Passing::Word { wide: false, recorded: false },
        "str" => Passing::Text,
        "dim3" => Passing::TwoWords { recorded: true },
        "pair16" => Passing::TwoWords { recorded: false },
        "f32" | "f64" => Passing::Vector,
        _ => match kind.strip_prefix("stack").and_then(|bytes| bytes.parse::<usize>().ok()) {
            Some(bytes) => Passing::Stack(bytes),
            None => Passing::Word { wide: false, recorded: true },
        },
    }
}

fn pointee_bytes(kind: &str) -> usize {
    match passing(kind) {
        Passing::Word { wide: true, .. } => 8,
        Passing::TwoWords { .. } => 12,
        _ => 4,
    }
}

fn lay_out(name: &str, returns_struct: bool, parameters: &[&str]) -> Layout {
    let mut layout = Layout { signature: format!("{name}("), ..Layout::default() };
    if returns_struct {
        layout.registers = 1; // the address of the result
    }
    let mut places: Vec<(&str, usize)> = Vec::new();
    for parameter in parameters {
        let (role, kind) = parameter.split_once(':').unwrap_or_else(|| panic!("{name}: {parameter} has no type"));
        if let Some((kind, source)) = kind.split_once('<') {
            let (other, offset) = source.split_once('+').unwrap_or_else(|| panic!("{name}: {parameter}"));
            let offset = offset.parse().unwrap_or_else(|_| panic!("{name}: {parameter}"));
            let word = places.iter().find(|(role, _)| *role == other).unwrap_or_else(|| panic!("{name}: no {other}")).1;
            layout.record(role, &format!("*{kind}"), word, "Pointee", offset, pointee_bytes(kind));
        } else if let Some(pointee) = kind.strip_prefix('*') {
            let word = layout.words(1);
            places.push((role, word));
            if pointee == "str" {
                layout.record(role, kind, word, "PointeeText", 0, 4);
            } else {
                layout.record(role, kind, word, "Pointee", 0, pointee_bytes(pointee));
            }
        } else {
            match passing(kind) {
                Passing::Word { wide, recorded } => {
                    let word = layout.words(1);
                    places.push((role, word));
                    if recorded {
                        layout.record(role, kind, word, "Value", 0, if wide { 8 } else { 4 });
                    }
                }
                Passing::Text => {
                    let word = layout.words(1);
                    layout.record(role, kind, word, "Text", 0, 4);
                }
                Passing::TwoWords { recorded } => {
                    let word = layout.words(2);
                    if recorded {
                        layout.record(role, kind, word, "Value", 0, 12);
                    }
                }
                Passing::Vector if layout.vectors < 8 => layout.vectors += 1,
                Passing::Vector => layout.stack_words += 1,
                Passing::Stack(bytes) => layout.stack_words += bytes.div_ceil(8),
            }
        }
    }
    layout.signature.push(')');
    layout
}

fn majors(token: &str) -> (u8, u8) {
    let number = |text: &str| text.parse::<u8>().unwrap_or_else(|_| panic!("bad majors {token}"));
    match token.split_once('-') {
        None => (number(token), number(token)),
        Some(("", last)) => (0, number(last)),
        Some((first, "")) => (number(first), u8::MAX),
        Some((first, last)) => (number(first), number(last)),
    }
}

fn function(section: &str, line: &str, out: &mut Vec<((String, u8), String)>) {
    let mut tokens = line.split_whitespace().peekable();
    let base = tokens.next().unwrap_or_default();
    let mut range = (0, u8::MAX);
    let mut suffixes = vec![""];
    let mut returns = "Status";
    let mut returns_struct = false;
    while let Some(token) = tokens.peek() {
        if let Some(text) = token.strip_prefix('@') {
            range = majors(text);
        } else if *token == "+ptsz" {
            suffixes.push("_ptsz");
        } else if *token == "+ptds" {
            suffixes.push("_ptds");
        } else if let Some(kind) = token.strip_prefix('=') {
            returns = "Other";
            returns_struct = kind == "struct";
        } else {
            break;
        }
        tokens.next();
    }
    let parameters: Vec<&str> = tokens.collect();
    let known = parameters != ["unknown"];
    for suffix in suffixes {
        let name = format!("{base}{suffix}");
        let layout = if known { lay_out(&name, returns_struct, &parameters) } else { lay_out(&name, false, &[]) };
        let end = ARGUMENTS_AT + 4 * layout.used.len();
        let mut ops = String::new();
        for Op { word, access, field, at } in &layout.ops {
            write!(ops, "Op {{ word: {word}, access: Access::{access}, field: {field}, at: {at} }}, ").unwrap();
        }
        let layer = if section == "driver" { "Driver" } else { "Runtime" };
        let text = format!(
            "    Function {{ name: \"{name}\", layer: Layer::{layer}, majors: ({}, {}), known: {known}, returns: Returns::{returns}, \
             stack_bytes: {}, extra: {}, ops: &[{ops}], signature: \"{}\" }},\n",
            range.0,
            range.1,
            layout.stack_words * 8,
            end.saturating_sub(SLOT).div_ceil(SLOT),
            layout.signature,
        );
        out.push(((name, range.0), text));
    }
}

fn main() {
    println!("cargo:rerun-if-changed=functions.txt");
    let source = fs::read_to_string("functions.txt").expect("functions.txt lies beside build.rs");
    let mut section = "";
    let mut functions = Vec::new();
    let mut selections = Vec::new();
    for line in source.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
        } else if line.is_empty() {
        } else if section == "getproc" {
            let tokens: Vec<&str> = line.split_whitespace().collect();
            let [base, version, symbol] = tokens[..] else { panic!("bad selection: {line}") };
            let version: u32 = version.parse().unwrap_or_else(|_| panic!("bad version: {line}"));
            selections.push((base.to_owned(), version, symbol.to_owned()));
        } else {
            function(section, line, &mut functions);
        }
    }
    functions.sort();
    selections.sort();
    let mut out = String::from("/// Every function, sorted by name.\npub static FUNCTIONS: &[Function] = &[\n");
    out.extend(functions.into_iter().map(|(_, text)| text));
    out.push_str("];\n\n/// What cuGetProcAddress selects: base name, least version, symbol; sorted.\npub static SELECTIONS: &[(&str, u32, &str)] = &[\n");
    for (base, version, symbol) in selections {
        writeln!(out, "    (\"{base}\", {version}, \"{symbol}\"),").unwrap();
    }
    out.push_str("];\n");
    let target = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("functions.rs");
    fs::write(target, out).expect("OUT_DIR can be written");
}
