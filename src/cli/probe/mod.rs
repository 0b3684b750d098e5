//! `umtui probe`: uses the driver a little, so that `umtui doctor` can see what is recorded of it. Not for people.
#![allow(unsafe_code, reason = "managed memory is touched where the driver has put it")]

mod library;

use std::fs;
use std::io::Write as _;

use library::{Driver, Library, confidential, touch};

/// Bytes of managed memory, and of what is copied.
const MANAGED: usize = 4 << 20;
const COPIED: usize = 256 << 10;
/// Devices that are asked for what they can do.
const MOST: i32 = 64;

/// `CU_DEVICE_ATTRIBUTE_*`: what a device says of itself, by the words that doctor reads.
const ATTRIBUTES: [(&str, i32); 6] = [
    ("integrated", 18),
    ("compute_mode", 20),
    ("managed", 83),
    ("pageable", 88),
    ("concurrent", 89),
    ("host_page_tables", 100),
];

/// Prints a line for each step: its name, `ok`, a status, or `missing`, and what there is to say, with tabs between.
///
/// # Errors
/// If stdout cannot be written.
pub fn run() -> anyhow::Result<u8> {
    if let Some([environment, feature, tools]) = confidential() {
        say("confidential", &format!("{feature} {tools} {environment}"))?;
    }
    let library = match Library::open(c"libcuda.so.1") {
        Ok(library) => library,
        Err(why) => {
            say("library", &format!("missing\t{why}"))?;
            return Ok(0);
        }
    };
    say("library", &format!("ok\t{}", loaded_from("libcuda.so").unwrap_or_default()))?;
    let driver = Driver::new(library);
    if step("init", driver.init())? {
        if let Some(path) = loaded_from("libcupti.so") {
            say("cupti", &path)?;
        }
        devices(&driver)?;
    }
    Ok(0)
}

fn devices(driver: &Driver) -> anyhow::Result<()> {
    if let Some(version) = driver.version() {
        say("version", &version.to_string())?;
    }
    let pointers = driver.library().has("cuFuncGetParamInfo");
    say("parameters", if pointers { "ok" } else { "missing" })?;
    let count = match driver.device_count() {
        Ok(count) => count,
        Err(status) => return step("count", status).map(drop),
    };
    say("count", &format!("ok\t{count}"))?;
    for device in 0..count.clamp(0, MOST) {
        let can = |&(word, which): &(&str, i32)| Some(format!("{word}={}", driver.attribute(device, which)?));
        let can: Vec<String> = ATTRIBUTES.iter().filter_map(can).collect();
        say("device", &format!("{device}\t{}\t{}", one_line(&driver.device_name(device)), can.join(" ")))?;
        for peer in (0..count.clamp(0, MOST)).filter(|&peer| peer != device) {
            if let Some(can) = driver.can_access_peer(device, peer) {
                say("peer", &format!("{device} {peer} {}", u8::from(can)))?;
            }
        }
    }
    if count > 0 && step("context", driver.use_device(0))? {
        work(driver)?;
        step("release", driver.release_device(0))?;
    }
    Ok(())
}

/// Pages go to the device by a prefetch and come back by a touch; then there is one copy.
fn work(driver: &Driver) -> anyhow::Result<()> {
    match driver.alloc_managed(MANAGED) {
        Err(status) => drop(step("managed", status)?),
        Ok(address) => {
            step("managed", Some(0))?;
            // SAFETY: fresh memory of that size, and no work is under way.
            unsafe { touch(address, MANAGED) };
            if step("prefetch", driver.prefetch(address, MANAGED, 0))? && step("wait", driver.synchronize())? {
                // SAFETY: as above; the prefetch is over.
                unsafe { touch(address, MANAGED) };
                step("touch", Some(0))?;
            }
            step("free", driver.free(address))?;
        }
    }
    match driver.alloc(COPIED) {
        Err(status) => drop(step("memory", status)?),
        Ok(address) => {
            step("copy", driver.copy_to_device(address, &vec![1; COPIED]))?;
            step("free", driver.free(address))?;
        }
    }
    step("synchronize", driver.synchronize())?;
    Ok(())
}

/// Tells of a step; whether it went well.
fn step(name: &str, status: Option<i32>) -> anyhow::Result<bool> {
    match status {
        Some(0) => say(name, "ok")?,
        Some(status) => say(name, &status.to_string())?,
        None => say(name, "missing")?,
    }
    Ok(status == Some(0))
}

fn say(name: &str, what: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{name}\t{what}")?;
    // What comes next may never return.
    out.flush()?;
    Ok(())
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\t'], " ")
}

/// Where a library lies that is loaded and whose name begins so.
fn loaded_from(name: &str) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let is_it = |path: &&str| path.rsplit('/').next().is_some_and(|file| file.starts_with(name));
    let paths = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    paths.filter(is_it).map(one_line).next()
}
