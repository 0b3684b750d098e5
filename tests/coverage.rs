//! `umtui doctor --coverage`: what it says of a library's names, against libraries whose names are known.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::GUEST;
use common::elf::Elf;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Lists of names that real libraries export, with the soname of each.
const REAL: [(&str, &str); 5] = [
    ("cudart-11.8", "libcudart.so.11.0"),
    ("cudart-12.9", "libcudart.so.12"),
    ("cudart-13.0", "libcudart.so.13"),
    ("cudart-13.5", "libcudart.so.13"),
    ("libcuda-580", "libcuda.so.1"),
];
/// Functions that NVIDIA exports and describes nowhere.
const NOT_PUBLIC: [&str; 6] = [
    "cuEGLApiInit",
    "cuMemGetAttribute",
    "cuMemGetAttribute_v2",
    "cudaSubgridCreate",
    "cudaSubgridWorkerGridCreate",
    "cudaSubgridWorksetCreate",
];

fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(common::UMTUI);
    command.args(["doctor", "--coverage"]).args(arguments);
    command.env_remove("LD_PRELOAD").env_remove("CUDA_HOME").env("LD_LIBRARY_PATH", GUEST).output().unwrap()
}

fn said(arguments: &[&str]) -> String {
    let output = doctor(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// How each name is traced, and the rest of its line.
fn names(text: &str) -> BTreeMap<&str, (&str, &str)> {
    let lines = text.lines().filter_map(|line| {
        let (traced, rest) = line.split_once(' ')?;
        let rest = rest.trim_start();
        let (name, detail) = rest.split_once(' ').unwrap_or((rest, ""));
        ["arguments", "duration", "entry", "none"].contains(&traced).then(|| (name, (traced, detail.trim_start())))
    });
    lines.collect()
}

/// A library that exports these functions and variables; `None` and a message where there is no C compiler.
fn library(folder: &Path, soname: &str, functions: &[&str], variables: &[&str]) -> Option<PathBuf> {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: no C compiler (cc)");
        return None;
    }
    let mut source = "static int cudaHidden(void) { return 0; }\nint (*used)(void) = cudaHidden;\n".to_owned();
    functions.iter().for_each(|name| writeln!(source, "int {name}(void) {{ return 0; }}").unwrap());
    variables.iter().for_each(|name| writeln!(source, "int {name} = 1;").unwrap());
    let (c, path) = (folder.join("lib.c"), folder.join(soname));
    std::fs::write(&c, source).unwrap();
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-w", "-fno-builtin"]).arg(format!("-Wl,-soname,{soname}"));
    let built = command.arg("-o").arg(&path).arg(&c).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(path)
}

#[test]
fn each_way_of_tracing_is_told_apart_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let functions = [
        "cudaMalloc",
        "cudaMemPrefetchAsync",
        "cudaDeviceSynchronize",
        "cudaSubgridCreate",
        "cudaNotYetInvented",
        "__cudaLaunchKernel",
        "__cudaRegisterFatBinary",
        "__cudaPushCallConfiguration",
        "cudbgApiInit",
        "helper",
    ];
    let Some(path) = library(folder.path(), "libcudart.so.12", &functions, &["cudaVersionString"]) else { return };
    let text = said(&[path.to_str().unwrap()]);
    let names = names(&text);
    let how = |name: &str| names.get(name).unwrap_or_else(|| panic!("{name} in {text}"));
    assert_eq!(how("cudaMalloc"), &("arguments", "ptr bytes"));
    assert_eq!(how("__cudaLaunchKernel").0, "arguments");
    // The arguments are those of the library's own major.
    assert!(how("cudaMemPrefetchAsync").1.contains("device"), "{text}");
    assert_eq!(how("cudaDeviceSynchronize"), &("duration", ""));
    assert_eq!(how("cudaSubgridCreate"), &("entry", "prototype not public"));
    assert_eq!(how("cudaNotYetInvented").0, "entry");
    assert!(how("cudaNotYetInvented").1.contains("dlsym"), "{text}");
    for (name, reason) in [
        ("__cudaRegisterFatBinary", "static constructors"),
        ("__cudaPushCallConfiguration", "kernel launch"),
        ("cudbgApiInit", "debugger"),
        ("cudaVersionString", "data"),
        ("helper", "not of CUDA's"),
    ] {
        assert!(how(name).0 == "none" && how(name).1.contains(reason), "{name} in {text}");
    }
    assert!(!names.contains_key("cudaHidden"), "others cannot see it: {text}");
    // What it says first is what follows; `used` is exported, too.
    assert_eq!(names.len(), functions.len() + 2, "{text}");
    assert!(text.lines().next().unwrap().ends_with("libcudart.so.12, 12 exported names"), "{text}");
    for traced in ["arguments", "duration", "entry", "none"] {
        let count = names.values().filter(|name| name.0 == traced).count();
        let line = format!("{count:>6}  {traced}");
        assert!(text.lines().any(|at| at.starts_with(&line)), "{line} in {text}");
    }
    let newer = tempfile::tempdir().unwrap();
    let Some(newer) = library(newer.path(), "libcudart.so.13", &functions, &[]) else { return };
    assert!(
        said(&[newer.to_str().unwrap()]).lines().any(|line| line.contains("Prefetch") && line.contains("location"))
    );
}

#[test]
fn json_says_the_same() {
    let text = said(&["libcuda.so.1"]);
    let json: serde_json::Value = serde_json::from_str(&said(&["libcuda.so.1", "--format", "json"])).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["soname"], "libcuda.so.1");
    let listed = json["names"].as_array().unwrap();
    let names = names(&text);
    assert_eq!(listed.len(), names.len());
    for name in listed {
        assert_eq!(names[name["name"].as_str().unwrap()].0, name["traced"].as_str().unwrap());
    }
    let sum: u64 = json["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, names.len() as u64);
}

#[test]
fn stand_in_libraries_are_found_by_name_and_all_in_all_traced() {
    for soname in ["libcuda.so.1", "libcudart.so.12", "libcudart.so.13"] {
        let text = said(&[soname]);
        let names = names(&text);
        let symbols = Elf::read(&format!("{GUEST}/{soname}")).dynamic_symbols();
        let exported: BTreeSet<&str> = symbols
            .iter()
            .filter(|symbol| symbol.defined && symbol.binding != 0 && symbol.visibility == 0)
            .map(|symbol| symbol.name.as_str())
            .filter(|name| *name != soname) // the symbols' version
            .collect();
        assert_eq!(names.keys().copied().collect::<BTreeSet<_>>(), exported, "{soname}");
        let cuda = |name: &str| name.starts_with("cu");
        let untraced: Vec<_> = names.iter().filter(|(name, how)| cuda(name) && how.0 == "none").collect();
        assert!(untraced.is_empty(), "{soname}: {untraced:?}");
    }
    assert!(said(&["libcuda.so.1"]).contains("cuGetExportTable hands out"), "what cannot be seen is said");
}

#[test]
fn what_is_no_cuda_library_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("text"), "no library").unwrap();
    let mut cut = std::fs::read(Path::new(GUEST).join("libcuda.so.1")).unwrap();
    cut.truncate(10_000);
    std::fs::write(path("cut"), cut).unwrap();
    let cases = [
        (path("absent"), "cannot be read"),
        (path("text"), "is no 64-bit"),
        ("/dev/zero".to_owned(), "not a regular file"),
        (path("cut"), "has no readable dynamic symbol table"),
        (folder.path().to_str().unwrap().to_owned(), "cannot be read"),
        (format!("{GUEST}/libumtui_hook.so"), ""),
        ("libcudart.so".to_owned(), "may be any of"),
        ("libcublas.so.99".to_owned(), "LD_LIBRARY_PATH"),
    ];
    for (given, wanted) in &cases {
        let output = doctor(&[given]);
        if wanted.is_empty() {
            assert!(output.status.success(), "the hook exports CUDA's names, too");
            continue;
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{given}: {text}");
        assert!(text.starts_with("umtui: ") && text.trim_end().lines().count() == 1, "{given}: {text}");
        assert!(text.contains(wanted), "{given}: {text}");
        assert!(output.stdout.is_empty());
    }
    if let Some(other) = library(folder.path(), "libother.so.1", &["curl_easy_init", "cublasCreate"], &[]) {
        let output = doctor(&[other.to_str().unwrap()]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("exports no function of CUDA's"), "{text}");
    }
}

#[test]
fn every_function_of_the_real_libraries_is_traced_with_its_duration() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/names");
    for (list, soname) in REAL {
        let all = std::fs::read_to_string(data.join(format!("{list}.txt"))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // The debugger's way in, and its variables, which a list of names does not tell apart from functions.
        let functions: Vec<&str> = all.lines().filter(|name| !name.starts_with("cudbg")).collect();
        let variables: Vec<&str> = all.lines().filter(|name| name.starts_with("cudbg")).collect();
        let Some(path) = library(folder.path(), soname, &functions, &variables) else { return };
        let text = said(&[path.to_str().unwrap()]);
        let names = names(&text);
        for name in functions {
            let (traced, detail) = names[name];
            let left_alone = name.starts_with("__") && !name.starts_with("__cudaLaunchKernel");
            match traced {
                "arguments" | "duration" => assert!(!left_alone, "{list}: {name}"),
                "entry" => assert!(NOT_PUBLIC.contains(&name) && detail == "prototype not public", "{list}: {name}"),
                _ => assert!(left_alone && !detail.is_empty(), "{list}: {name} {detail}"),
            }
        }
    }
}
