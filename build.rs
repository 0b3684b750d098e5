//! Builds what is loaded into other people's programs (the hook, and the stand-in CUDA of the demo) and makes
//! it available for embedding, in `$UMTUI_GUEST`.
//!
//! A nested cargo with a target folder of its own: the same folder would wait for the lock that the outer cargo
//! holds. `UMTUI_GUEST_DIR` names a folder with ready-made libraries instead.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a build that cannot go on must stop")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Variables of the outer build that would change the guest's.
const SCRUBBED: [&str; 7] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
];

/// Package, what cargo calls its product, what it must be called. The static one is for tests.
const LIBRARIES: [(&str, &str, &str); 6] = [
    ("umtui-hook", "libumtui_hook.so", "libumtui_hook.so"),
    ("umsim-driver", "libumsim_driver.so", "libcuda.so.1"),
    ("umsim-cupti", "libumsim_cupti.so", "libcupti.so.13"),
    ("umsim-cudart12", "libumsim_cudart12.so", "libcudart.so.12"),
    ("umsim-cudart13", "libumsim_cudart13.so", "libcudart.so.13"),
    ("umsim-cudart-static", "libumsim_cudart_static.a", "libumsim_cudart_static.a"),
];
const DEMO: (&str, &str, &str) = ("umtui-demo", "umtui-demo", "umtui-demo");

fn main() {
    for path in ["wire", "hook", "sim", "Cargo.toml", "Cargo.lock", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=UMTUI_GUEST_DIR");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let guest = match env::var_os("UMTUI_GUEST_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => build(&out),
    };
    println!("cargo:rustc-env=UMTUI_GUEST={}", guest.display());
}

fn build(out: &Path) -> PathBuf {
    let guest = out.join("guest");
    fs::create_dir_all(&guest).expect("OUT_DIR can be written");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let products = out.join("guest-target").join(&target).join("guest");
    cargo(out, &target, LIBRARIES.map(|library| library.0), &guest);
    for (_, made, name) in LIBRARIES {
        copy(&products.join(made), &guest.join(name));
    }
    // The demo links the stand-in under its real name, so it comes second.
    cargo(out, &target, [DEMO.0], &guest);
    copy(&products.join(DEMO.1), &guest.join(DEMO.2));
    guest
}

fn cargo<const N: usize>(out: &Path, target: &str, packages: [&str; N], guest: &Path) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--profile", "guest", "--target", target]);
    command.arg("--target-dir").arg(out.join("guest-target"));
    command.arg("--manifest-path").arg(manifest());
    for package in packages {
        command.args(["--package", package]);
    }
    // A package from a registry is built where nothing may be fetched or re-locked.
    for (variable, flag) in [("CARGO_NET_OFFLINE", "--offline"), ("UMTUI_LOCKED", "--locked")] {
        if env::var(variable).is_ok_and(|value| value == "true" || value == "1") {
            command.arg(flag);
        }
    }
    for (name, _) in env::vars_os() {
        let scrub = name.to_str().is_some_and(|name| SCRUBBED.contains(&name) || name.starts_with("CARGO_PROFILE_"));
        if scrub || name == OsStr::new("MAKEFLAGS") {
            command.env_remove(name);
        }
    }
    command.env("UMTUI_SIM_LIB_DIR", guest);
    let status = command.status().expect("cargo can be started");
    assert!(status.success(), "building {packages:?} failed: see above");
}

fn manifest() -> PathBuf {
    Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join("Cargo.toml")
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap_or_else(|error| panic!("{} cannot be copied: {error}", from.display()));
}
