//! The hook's assembly for aarch64, assembled by the cross compiler and run in an emulator: tests/c/aarch64 plays the
//! hook's other side in C, so that no Rust for that machine is needed. On an aarch64 machine it runs as it is.
#![cfg(target_os = "linux")]
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests; shared code in parts")]

mod common;
#[path = "../wire/build/convention.rs"]
mod convention;
#[path = "../wire/build/functions.rs"]
mod functions;

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

use convention::Convention;

const LAYOUT: &str = include_str!("../hook/src/arch/aarch64/layout.inc");
const TRAMPOLINE: &str = include_str!("../hook/src/arch/aarch64/trampoline.s");
const FUNCTIONS: &str = include_str!("../wire/functions.txt");
/// Functions of tests/c/aarch64/conventions.c that CUDA does not have.
const MORE_FUNCTIONS: &str = "
[driver]
testFull a:u64 b:u64 c:u64 d:u64 e:u64 f:u64 g:u64 grid:dim3 h:u64
testFloats a:f64 b:f64 c:f64 d:f64 e:f64 f:f64 g:f64 h:f64 i:u64 j:f32 k:u64
testMany a:u64 b:u64 c:u64 d:u64 e:u64 f:u64 g:u64 h:u64 i:u32 j:u64 k:struct64 l:f32 m:dim3 n:u64
";
const STUBS: usize = 8;
/// `bti c`, by the number that assemblers know without the extension.
const LANDING_PAD: &str = "hint #34";
const SIGILL: i32 = 4;

const NATIVE: bool = cfg!(target_arch = "aarch64");
const COMPILER: &str = if NATIVE { "cc" } else { "aarch64-linux-gnu-gcc" };
const EMULATOR: &str = "qemu-aarch64";
/// Where Debian's cross packages put the libraries.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The folder of the harness, built once; `None` and a message where a tool is missing.
fn harness() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let needed: &[&str] = if NATIVE { &[COMPILER] } else { &[COMPILER, EMULATOR] };
        let missing = needed.iter().copied().find(|program| !is_there(program));
        let no_library = !NATIVE && !Path::new(LIBRARIES).join("lib/libc.so.6").exists();
        if let Some(missing) = missing.or(no_library.then_some("C library for it")) {
            eprintln!("skipped: no {missing} (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user)");
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aarch64");
        build(&folder, TRAMPOLINE);
        Some(folder)
    });
    folder.as_deref()
}

/// What Rust says to the assembly before it begins, and what rustc adds itself.
fn assembly(trampoline: &str) -> String {
    format!(
        "{LAYOUT}\n.set umtui_pool_first, 0\n.set umtui_pool_count, {STUBS}\n{trampoline}\n\
         .section .note.GNU-stack, \"\", @progbits\n"
    )
}

/// The layout's names for C.
fn layout_header() -> String {
    let names = LAYOUT.lines().filter_map(|line| line.strip_prefix(".set ")?.split_once(", "));
    names.map(|(name, value)| format!("#define {name} {value}\n")).collect()
}

/// Where the table says that the arguments lie.
fn words_header() -> String {
    let (functions, _) = functions::read(&format!("{FUNCTIONS}{MORE_FUNCTIONS}"), Convention::Aapcs64);
    let mut text = String::from("#pragma GCC diagnostic ignored \"-Wunused-variable\"\n");
    for name in [
        "cuLaunchKernel",
        "cudaLaunchKernel",
        "cudaMemset3D",
        "cudaMemset3DAsync",
        "cudaIpcOpenMemHandle",
        "cudaMalloc3DArray",
        "cudaMemcpy2DAsync",
        "cuParamSetf",
        "cudaCreateChannelDesc",
        "testFull",
        "testFloats",
        "testMany",
    ] {
        let function = functions.iter().find(|function| function.name == name).unwrap();
        let words: Vec<String> = function.ops.iter().map(|op| op.word.to_string()).collect();
        writeln!(text, "enum {{ {name}_stack = {} }};", function.stack_bytes).unwrap();
        writeln!(text, "static const unsigned char {name}_words[] = {{{}}};", words.join(", ")).unwrap();
    }
    text
}

fn build(folder: &Path, trampoline: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("layout.h"), layout_header()).unwrap();
    fs::write(folder.join("words.h"), words_header()).unwrap();
    fs::write(folder.join("trampoline.s"), assembly(trampoline)).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/aarch64");
    let library = folder.join("libharness.so");
    let mut command = Command::new(COMPILER);
    command.args([
        "-O1",
        "-g",
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-fexceptions",
        "-fvisibility=hidden",
    ]);
    // Its pages let indirect jumps land on landing pads alone, where the processor looks.
    command.args(["-shared", "-fPIC", "-pthread", "-nostartfiles", "-mbranch-protection=bti"]);
    command.args(["-Wl,-z,force-bti", "-Wl,-z,defs"]);
    command.arg("-I").arg(folder).arg("-o").arg(&library);
    command.args(["hook.c", "cases.c", "conventions.c", "probe.s"].map(|name| sources.join(name)));
    compile(command.arg(folder.join("trampoline.s")));
    let mut command = Command::new(COMPILER);
    command.arg("-o").arg(folder.join("main")).arg(sources.join("main.c")).arg(&library);
    compile(command.arg("-Wl,-rpath,$ORIGIN"));
}

fn compile(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn run(folder: &Path, case: &str) -> Output {
    let main = folder.join("main");
    let mut command = if NATIVE { Command::new(&main) } else { Command::new(EMULATOR) };
    if !NATIVE {
        command.args(["-cpu", "max", "-L", LIBRARIES]).arg(&main);
    }
    command.arg(case).env_remove("LD_PRELOAD");
    common::run(command)
}

fn passes(case: &str) {
    let Some(folder) = harness() else { return };
    let output = run(folder, case);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.trim() == format!("done {case}"), "{output:?}");
}

#[test]
fn every_register_arrives_and_every_result_comes_back() {
    passes("registers");
}

#[test]
fn stack_arguments_are_copied_by_their_number() {
    passes("stack");
}

#[test]
fn what_is_not_recorded_is_jumped_to() {
    passes("pass");
}

#[test]
fn a_function_whose_stack_is_not_known_is_jumped_to() {
    passes("unknown");
}

#[test]
fn a_function_that_is_nowhere_returns_an_error() {
    passes("missing");
}

#[test]
fn when_off_known_sites_go_straight_through() {
    passes("off");
}

#[test]
fn when_off_what_may_begin_the_recording_asks() {
    passes("asks");
}

#[test]
fn a_function_that_is_left_out_is_jumped_to() {
    passes("left_out");
}

#[test]
fn the_hook_can_measure_itself() {
    passes("measure");
}

#[test]
fn what_is_new_asks_first() {
    passes("cache");
}

#[test]
fn calls_nest() {
    passes("nested");
}

#[test]
fn longjmp_leaves_no_call_open() {
    passes("longjmp");
}

#[test]
fn structures_come_back_by_their_address() {
    passes("structure");
}

#[test]
fn unwinding_passes_the_trampoline() {
    passes("unwinding");
}

#[test]
fn a_thread_that_ends_inside_a_call_is_unwound() {
    passes("thread_exit");
}

#[test]
fn threads_have_states_of_their_own() {
    passes("threads");
}

#[test]
fn the_loaders_functions_see_their_caller() {
    passes("tail_jumps");
}

#[test]
fn the_tables_words_are_where_the_compiler_puts_arguments() {
    passes("conventions");
}

/// Without landing pads the harness dies at its first stub: with them, it has shown that none is missing.
#[test]
fn indirect_jumps_find_landing_pads() {
    let Some(folder) = harness() else { return };
    assert!(TRAMPOLINE.contains(LANDING_PAD));
    let without = folder.join("without");
    build(&without, &TRAMPOLINE.replace(LANDING_PAD, "nop"));
    let output = run(&without, "registers");
    if output.status.success() {
        eprintln!("skipped: neither this processor nor its emulator minds where a jump lands");
        return;
    }
    // The emulator dies of the same signal, or says so by its status.
    let died = output.status.signal() == Some(SIGILL) || output.status.code() == Some(128 + SIGILL);
    assert!(died, "{output:?}");
}
