//! Turns `functions.txt` into the table of `src/table.rs`: registers and stack words by the target's calling
//! convention, and the place of each recorded argument in the record, which is the same on all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a build that cannot go on must stop")]

#[path = "build/convention.rs"]
mod convention;
#[path = "build/functions.rs"]
mod functions;

use std::fmt::Write as _;
use std::{env, fs, path::Path};

use convention::Convention;
use functions::{Function, Op};

/// Registers that an open call keeps, see `chunk::OpenCall`.
const OPEN_CALL_REGISTERS: usize = 3;

fn write_function(out: &mut String, function: &Function) {
    let Function { name, layer, majors, known, returns, stack_bytes, extra, ops, signature } = function;
    let mut steps = String::new();
    for Op { word, access, field, at } in ops {
        write!(steps, "Op {{ word: {word}, access: Access::{access}, field: {field}, at: {at} }}, ").unwrap();
    }
    writeln!(
        out,
        "    Function {{ name: \"{name}\", layer: Layer::{layer}, majors: ({}, {}), known: {known}, returns: Returns::{returns}, \
         stack_bytes: {stack_bytes}, extra: {extra}, ops: &[{steps}], signature: \"{signature}\" }},",
        majors.0, majors.1,
    )
    .unwrap();
}

/// Indices of the functions that have an argument in the first three registers on one machine, and elsewhere on another.
fn moved(source: &str) -> Vec<usize> {
    let words = |convention| {
        let (functions, _) = functions::read(source, convention);
        let of =
            |function: &Function| function.ops.iter().map(|op| op.word.min(OPEN_CALL_REGISTERS)).collect::<Vec<_>>();
        functions.iter().map(of).collect::<Vec<_>>()
    };
    let both = words(Convention::SystemV).into_iter().zip(words(Convention::Aapcs64));
    both.enumerate().filter(|(_, (one, other))| one != other).map(|(index, _)| index).collect()
}

fn main() {
    println!("cargo:rerun-if-changed=functions.txt");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    let Some(convention) = Convention::of(&architecture) else {
        panic!("the calling convention of {architecture} is not known: add it to wire/build/convention.rs");
    };
    let source = fs::read_to_string("functions.txt").expect("functions.txt lies beside build.rs");
    let (functions, selections) = functions::read(&source, convention);
    let moved = moved(&source);
    let mut out = format!(
        "/// Functions whose first three registers do not hold the same arguments on all machines; sorted.\n\
         pub static MOVED: &[u16] = &{moved:?};\n\
         /// Integer registers for arguments: the words before the caller's frame.\n\
         pub const REGISTER_WORDS: usize = {};\n\
         /// The first of the words that lie on the stack.\n\
         pub const FIRST_STACK_WORD: usize = {};\n\n\
         /// Every function, sorted by name.\npub static FUNCTIONS: &[Function] = &[\n",
        convention.registers(),
        convention.first_stack_word(),
    );
    for function in &functions {
        write_function(&mut out, function);
    }
    out.push_str("];\n\n/// What cuGetProcAddress selects: base name, least version, symbol; sorted.\npub static SELECTIONS: &[(&str, u32, &str)] = &[\n");
    for (base, version, symbol) in selections {
        writeln!(out, "    (\"{base}\", {version}, \"{symbol}\"),").unwrap();
    }
    out.push_str("];\n");
    let target = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("functions.rs");
    fs::write(target, out).expect("OUT_DIR can be written");
}
