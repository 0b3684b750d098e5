//! Reads `functions.txt`: for each function its signature, where its arguments lie, and where they go in the record.

use std::fmt::Write as _;

use super::convention::{Arguments, Class, Convention};

const ARGUMENTS_AT: usize = 28;
const SLOT: usize = 48;

/// One step of reading a call's arguments, as `table::Op`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    pub word: usize,
    pub access: &'static str,
    pub field: usize,
    pub at: usize,
}

/// One function, as `table::Function`.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub layer: &'static str,
    pub majors: (u8, u8),
    pub known: bool,
    pub returns: &'static str,
    pub stack_bytes: usize,
    pub extra: usize,
    pub ops: Vec<Op>,
    pub signature: String,
}

/// Base name, least version, symbol.
pub type Selection = (String, u32, String);

/// How one type is passed, and whether it is recorded.
enum Passing {
    Word { wide: bool, recorded: bool },
    Text,
    TwoWords { recorded: bool },
    Vector,
    Structure(usize),
    Digest(usize),
}

/// The state of laying out one function.
struct Layout {
    arguments: Arguments,
    used: Vec<bool>,
    ops: Vec<Op>,
    signature: String,
    /// Fields that are there for some values of an argument alone.
    branches: Vec<Branch>,
}

/// Fields that share a condition. Those of different ones are never there together, so they share places.
struct Branch {
    /// Where the argument lies in the record, and its values.
    which: (usize, Vec<usize>),
    used: Vec<bool>,
    ops: Vec<Op>,
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

    fn take(&mut self, class: Class) -> usize {
        self.arguments.take(class).unwrap_or_default()
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

    /// Where the argument with this role lies in the record: the first step that reads it.
    fn place_of(&self, role: &str) -> Option<usize> {
        let mut arguments = self.signature.split(['(', ' ']);
        let own = arguments.find_map(|argument| argument.strip_prefix(role)?.strip_prefix(':'))?;
        own.split_once('@')?.1.parse().ok()
    }

    /// Lays out what `record` records so that it is there only if `condition`, `which=N|M`, holds.
    fn only_if(&mut self, name: &str, condition: &str, record: impl FnOnce(&mut Self)) {
        let bad = || -> ! { panic!("{name}: {condition} is no condition on an argument of 4 bytes before") };
        let (role, values) = condition.split_once('=').unwrap_or_else(|| bad());
        let at = self.place_of(role).unwrap_or_else(|| bad());
        assert!(self.ops.iter().any(|op| op.at == at && op.access.ends_with('4')), "{name}: {condition}");
        let values: Vec<usize> = values.split('|').map(|value| value.parse().unwrap_or_else(|_| bad())).collect();
        assert!(values.iter().all(|&value| value < 256), "{name}: {condition}");
        let known = self.branches.iter().position(|branch| branch.which == (at, values.clone()));
        let index = known.unwrap_or_else(|| {
            let apart =
                |branch: &Branch| branch.which.0 == at && !values.iter().any(|one| branch.which.1.contains(one));
            assert!(self.branches.iter().all(apart), "{name}: {condition} holds together with another one");
            let used = self.used.clone();
            self.branches.push(Branch { which: (at, values), used, ops: Vec::new() });
            self.branches.len() - 1
        });
        let swap = |layout: &mut Self| {
            let branch = &mut layout.branches[index];
            std::mem::swap(&mut layout.used, &mut branch.used);
            std::mem::swap(&mut layout.ops, &mut branch.ops);
        };
        swap(self);
        record(self);
        swap(self);
        write!(self.signature, "?{condition}").unwrap();
    }

    /// Puts the steps of all conditions behind the others, each with one before them that says when they are taken.
    fn join(&mut self) {
        for Branch { which: (at, values), used, ops } in std::mem::take(&mut self.branches) {
            let Some(first) = ops.first() else { continue };
            for value in values {
                self.ops.push(Op { word: first.word, access: "Only", field: ops.len() << 8 | value, at });
                self.ops.extend(ops.iter().cloned());
            }
            if self.used.len() < used.len() {
                self.used.resize(used.len(), false);
            }
        }
    }
}

fn passing(kind: &str) -> Passing {
    match kind {
        "ptr" | "size" | "u64" | "i64" | "handle" | "loc" => Passing::Word { wide: true, recorded: true },
        "ref" => Passing::Word { wide: true, recorded: false },
        "skip" => Passing::Word { wide: false, recorded: false },
        "str" => Passing::Text,
        "dim3" => Passing::TwoWords { recorded: true },
        "f32" | "f64" => Passing::Vector,
        _ if kind.starts_with("digest") => match kind.strip_prefix("digest").and_then(|bytes| bytes.parse().ok()) {
            Some(bytes @ 17..) => Passing::Digest(bytes),
            _ => panic!("{kind}: structures of over 16 bytes have digests"),
        },
        _ => match kind.strip_prefix("struct").and_then(|bytes| bytes.parse::<usize>().ok()) {
            Some(..=8) => Passing::Word { wide: false, recorded: false },
            Some(9..=16) => Passing::TwoWords { recorded: false },
            Some(bytes) => Passing::Structure(bytes),
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

fn lay_out(name: &str, arguments: Arguments, parameters: &[&str]) -> Layout {
    let mut layout =
        Layout { arguments, used: Vec::new(), ops: Vec::new(), signature: format!("{name}("), branches: Vec::new() };
    let mut places: Vec<(&str, usize)> = Vec::new();
    // Structures that are passed themselves, and not their address.
    let mut values: Vec<&str> = Vec::new();
    for parameter in parameters {
        let (role, kind) = parameter.split_once(':').unwrap_or_else(|| panic!("{name}: {parameter} has no type"));
        if let Some((kind, source)) = kind.split_once('<') {
            let (source, condition) =
                source.split_once('?').map_or((source, None), |(source, only)| (source, Some(only)));
            let (other, offset) = source.split_once('+').unwrap_or_else(|| panic!("{name}: {parameter}"));
            let offset: usize = offset.parse().unwrap_or_else(|_| panic!("{name}: {parameter}"));
            let word = places.iter().find(|(role, _)| *role == other).unwrap_or_else(|| panic!("{name}: no {other}")).1;
            if let Some(condition) = condition {
                assert!(!values.contains(&other), "{name}: {parameter} is no field behind an address");
                layout.only_if(name, condition, |layout| {
                    layout.record(role, &format!("*{kind}"), word, "Pointee", offset, pointee_bytes(kind));
                });
                continue;
            }
            assert!(layout.branches.is_empty(), "{name}: {parameter} comes after fields that have a condition");
            if values.contains(&other) {
                // Shown as if it lay behind an address: where it does, it is read after success only.
                assert!(offset.is_multiple_of(8) && pointee_bytes(kind) == 8, "{name}: {parameter} is no word");
                layout.record(role, &format!("*{kind}"), word + offset / 8, "Value", 0, 8);
            } else {
                layout.record(role, &format!("*{kind}"), word, "Pointee", offset, pointee_bytes(kind));
            }
        } else if let Some(pointee) = kind.strip_prefix('*') {
            let word = layout.take(Class::Word);
            places.push((role, word));
            if pointee == "str" {
                layout.record(role, kind, word, "PointeeText", 0, 4);
            } else if pointee == "attr" {
                layout.record(role, "*u64", word, "PoolAttribute", 0, 8);
            } else if let Passing::Digest(bytes) = passing(pointee) {
                layout.record(role, "*handle", word, "DigestAt", bytes, 8);
            } else {
                layout.record(role, kind, word, "Pointee", 0, pointee_bytes(pointee));
            }
        } else {
            match passing(kind) {
                Passing::Word { wide, recorded } => {
                    let word = layout.take(Class::Word);
                    places.push((role, word));
                    if recorded {
                        layout.record(role, kind, word, "Value", 0, if wide { 8 } else { 4 });
                    }
                }
                Passing::Text => {
                    let word = layout.take(Class::Word);
                    layout.record(role, kind, word, "Text", 0, 4);
                }
                Passing::TwoWords { recorded } => {
                    let word = layout.take(Class::TwoWords);
                    if recorded {
                        layout.record(role, kind, word, "Value", 0, 12);
                    }
                }
                Passing::Vector => {
                    layout.take(Class::Vector);
                }
                Passing::Structure(bytes) => {
                    let word = layout.take(Class::Structure(bytes));
                    places.push((role, word));
                    if layout.arguments.passes_structures() {
                        values.push(role);
                    }
                }
                Passing::Digest(bytes) => {
                    let access = layout.arguments.structure_access();
                    let word = layout.take(Class::Structure(bytes));
                    layout.record(role, "handle", word, access, bytes, 8);
                }
            }
        }
    }
    layout.signature.push(')');
    layout.join();
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

/// Names for lists of fields, of the lines before.
type Named = Vec<(String, Vec<String>)>;

fn function(convention: Convention, section: &str, line: &str, named: &Named, out: &mut Vec<Function>) {
    let mut tokens = line.split_whitespace().peekable();
    let base = tokens.next().unwrap_or_default();
    let mut range = (0, u8::MAX);
    let mut suffixes = vec![""];
    let mut returns = "Status";
    let mut returns_structure = false;
    while let Some(token) = tokens.peek() {
        if let Some(text) = token.strip_prefix('@') {
            range = majors(text);
        } else if *token == "+ptsz" {
            suffixes.push("_ptsz");
        } else if *token == "+ptds" {
            suffixes.push("_ptds");
        } else if let Some(kind) = token.strip_prefix('=') {
            returns = "Other";
            returns_structure = kind == "struct";
        } else {
            break;
        }
        tokens.next();
    }
    let mut parameters: Vec<&str> = Vec::new();
    for token in tokens {
        if token.starts_with('$') {
            // The nearest one of that name.
            let list = named.iter().rfind(|(name, _)| name == token).unwrap_or_else(|| panic!("{base}: no {token}"));
            parameters.extend(list.1.iter().map(String::as_str));
        } else {
            parameters.push(token);
        }
    }
    let known = parameters != ["unknown"];
    for suffix in suffixes {
        let name = format!("{base}{suffix}");
        let none = Arguments::new(convention, known && returns_structure);
        let layout = lay_out(&name, none, if known { &parameters } else { &[] });
        let end = ARGUMENTS_AT + 4 * layout.used.len();
        out.push(Function {
            name,
            layer: if section == "driver" { "Driver" } else { "Runtime" },
            majors: range,
            known,
            returns,
            stack_bytes: layout.arguments.stack_bytes(),
            extra: end.saturating_sub(SLOT).div_ceil(SLOT),
            ops: layout.ops,
            signature: layout.signature,
        });
    }
}

/// Everything that a text in the form of `functions.txt` says, sorted by name.
pub fn read(source: &str, convention: Convention) -> (Vec<Function>, Vec<Selection>) {
    let mut section = "";
    let mut functions = Vec::new();
    let mut named = Named::new();
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
        } else if line.starts_with('$') {
            let mut tokens = line.split_whitespace().map(str::to_owned);
            named.push((tokens.next().unwrap_or_default(), tokens.collect()));
        } else {
            function(convention, section, line, &named, &mut functions);
        }
    }
    functions.sort_by(|a, b| (&a.name, a.majors.0).cmp(&(&b.name, b.majors.0)));
    selections.sort();
    (functions, selections)
}
