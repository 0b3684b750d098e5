//! Writes the exported stubs: one naked function for each name of the table, which loads the number of its
//! slot and jumps to the trampoline.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a build that cannot go on must stop"
)]

use std::fmt::Write as _;
use std::{env, fs, path::Path};
use umtui_wire::table::{FUNCTIONS, left_alone};

fn main() {
    let mut stubs = String::new();
    let mut firsts = String::new();
    let mut count = 0;
    let mut last = "";
    for (index, function) in FUNCTIONS.iter().enumerate() {
        if function.name == last || left_alone(function.name).is_some() {
            continue;
        }
        last = function.name;
        writeln!(stubs, "export!({}, {count});", function.name).expect("a string takes all");
        write!(firsts, "{index}, ").expect("a string takes all");
        count += 1;
    }
    let text = format!(
        "{stubs}\n/// Exported names.\npub const COUNT: usize = {count};\n\n\
         /// For each exported name, the first of its functions in the table.\n\
         pub static FIRST: [u16; COUNT] = [{firsts}];\n"
    );
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("exports.rs"), text).expect("OUT_DIR can be written");
    // Once in, always in: threads may be inside the trampoline, and function pointers to it may be kept.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,now");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo:rustc-cdylib-link-arg=-nostartfiles");
    // Before glibc 2.34 dlvsym lives there; since then the file is an empty shell that every system keeps.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed,-l:libdl.so.2,-lc");
    println!("cargo:rerun-if-changed=build.rs");
}
