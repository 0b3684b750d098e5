//! `umtui doctor`: what can be seen on this machine, and why something cannot.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::arguments::Doctor;
use super::coverage;
use crate::launch;

/// A finding: fine, worth knowing, or in the way.
enum Verdict {
    Fine,
    Note,
    Bad,
}

/// Prints one line for each thing that recording depends on, or how a library's functions are traced.
///
/// # Errors
/// If the library whose coverage is asked for cannot be read or is not CUDA's; else what cannot be found out is said.
pub fn run(arguments: &Doctor) -> anyhow::Result<u8> {
    if let Some(library) = &arguments.coverage {
        return coverage::run(library, arguments.format);
    }
    let mut bad = false;
    for (verdict, subject, detail) in [hook(), loads(), clock(), driver(), gpu(), runtime(), cupti()] {
        let mark = match verdict {
            Verdict::Fine => "ok  ",
            Verdict::Note => "note",
            Verdict::Bad => "BAD ",
        };
        bad |= matches!(verdict, Verdict::Bad);
        println!("{mark}  {subject:<10} {detail}");
    }
    Ok(u8::from(bad))
}

fn hook() -> (Verdict, &'static str, String) {
    match launch::hook() {
        Ok(path) => (Verdict::Fine, "hook", format!("unpacked at {}", path.display())),
        Err(error) => (Verdict::Bad, "hook", error.to_string()),
    }
}

/// Starts a program with the hook and sees whether the loader complains: noexec mounts, old C libraries.
fn loads() -> (Verdict, &'static str, String) {
    let subject = "preload";
    let Ok(path) = launch::hook() else { return (Verdict::Bad, subject, "no hook to load".into()) };
    match Command::new("true").env("LD_PRELOAD", path).output() {
        Ok(output) if output.status.success() && output.stderr.is_empty() => {
            (Verdict::Fine, subject, "the loader takes the hook".into())
        }
        Ok(output) => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            (Verdict::Bad, subject, complaint.lines().next().unwrap_or("the loader refuses the hook").to_owned())
        }
        Err(error) => (Verdict::Note, subject, format!("cannot be tried: {error}")),
    }
}

fn clock() -> (Verdict, &'static str, String) {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(path).unwrap_or_default();
    match source.trim() {
        "tsc" => (Verdict::Fine, "clock", "tsc: two readings cost about 40 ns a call".into()),
        "arch_sys_counter" => (Verdict::Fine, "clock", "arch_sys_counter: the generic timer is read directly".into()),
        "" => (Verdict::Note, "clock", "the kernel does not say; CLOCK_MONOTONIC is used".into()),
        other => (Verdict::Note, "clock", format!("{other}: CLOCK_MONOTONIC is used, recording costs more a call")),
    }
}

fn driver() -> (Verdict, &'static str, String) {
    match fs::read_to_string("/proc/driver/nvidia/version") {
        Ok(text) => (Verdict::Fine, "driver", text.lines().next().unwrap_or_default().trim().to_owned()),
        Err(_) => {
            let why = "no NVIDIA kernel driver here: programs cannot use a GPU; `umtui demo` works without one";
            (Verdict::Note, "driver", why.into())
        }
    }
}

fn gpu() -> (Verdict, &'static str, String) {
    let devices = fs::read_dir("/dev").into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().and_then(|name| name.strip_prefix("nvidia")).is_some_and(|rest| rest.parse::<u32>().is_ok())
    });
    match devices.count() {
        0 => (Verdict::Note, "GPU", "no /dev/nvidiaN here; in a container, was it started with --gpus?".into()),
        count => (Verdict::Fine, "GPU", format!("{count} device{}", if count == 1 { "" } else { "s" })),
    }
}

fn runtime() -> (Verdict, &'static str, String) {
    let found = libraries("libcudart.so");
    if found.is_empty() {
        let what = "no shared libcudart in the usual places: programs with a static one show driver calls only";
        return (Verdict::Note, "runtime", what.into());
    }
    (Verdict::Fine, "runtime", found.join(", "))
}

fn cupti() -> (Verdict, &'static str, String) {
    let found = libraries("libcupti.so");
    let what = if found.is_empty() { "not found".to_owned() } else { found.join(", ") };
    let note = "kernels, copies, migrations and faults are not recorded by this version";
    (Verdict::Note, "CUPTI", format!("{what}; {note}"))
}

/// Libraries whose file names begin so, in the toolkit's and the system's folders.
pub fn libraries(name: &str) -> Vec<String> {
    let mut folders: Vec<PathBuf> = std::env::var_os("LD_LIBRARY_PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect();
    folders.extend([format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into(), "/usr/lib64".into()]);
    if let Some(home) = std::env::var_os("CUDA_HOME").map(PathBuf::from) {
        folders.push(home.join("lib64"));
        folders.push(home.join("extras/CUPTI/lib64"));
    }
    folders.push("/usr/local/cuda/lib64".into());
    folders.push("/usr/local/cuda/extras/CUPTI/lib64".into());
    let mut found: Vec<String> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            file.starts_with(name).then(|| entry.path().display().to_string())
        })
        .collect();
    found.sort();
    found.dedup();
    found
}
