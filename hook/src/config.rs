//! What the recorder asks for, by environment variables.
//!
//! They are as they were when the program was started, from [`kept`] or from `/proc/self/environ`: programs
//! clear or change their environment, and reading it through the C library races with that.

use umtui_wire::group;

use crate::clock::Wanted;
use crate::{kept, sys, text};

/// What the recorder asks for.
pub struct Config {
    /// Whether a folder is named in which the process's file is to be made.
    pub wanted: bool,
    /// Cap on the file's bytes, zero for none.
    pub max_bytes: u64,
    /// Which run this is.
    pub run: u64,
    /// Ticks a second, as the recorder measured it.
    pub ticks_per_second: Option<u64>,
    /// Which clock.
    pub clock: Wanted,
    /// How the file is written.
    pub place: Place,
    /// Whether arguments are recorded.
    pub arguments: bool,
    /// Groups of functions that are recorded, and of ranges: a bit for each.
    pub groups: u16,
    /// Whether ranges are recorded, if their group is.
    pub ranges: bool,
}

/// What is wanted of the GPU's side.
pub struct Gpu {
    /// Anything.
    pub on: bool,
    /// Page faults, which slow the program.
    pub faults: bool,
    /// Allocations as the driver sees them.
    pub memory: bool,
    /// Waits and events as the driver sees them, which makes every call dearer.
    pub waits: bool,
    /// Graphs as a whole, not node by node.
    pub whole_graphs: bool,
}

/// Reads what is wanted of the GPU's side.
pub fn gpu() -> Gpu {
    Gpu {
        on: number(b"UMTUI_GPU") != Some(0),
        faults: number(b"UMTUI_FAULTS") == Some(1),
        memory: number(b"UMTUI_GPU_MEMORY") == Some(1),
        waits: number(b"UMTUI_GPU_WAITS") == Some(1),
        whole_graphs: number(b"UMTUI_WHOLE_GRAPHS") == Some(1),
    }
}

/// How the file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Mapped, but written by system calls where the file system is remote or cannot map.
    Best,
    /// Mapped if it can be.
    Mapped,
    /// By system calls.
    Written,
}

/// Reads the configuration.
pub fn read() -> Config {
    let mut wanted = false;
    variable(b"UMTUI_OUT", |_| wanted = true);
    let (mut clock, mut place, mut only) = (text::Path::<16>::new(), text::Path::<16>::new(), text::Path::<128>::new());
    variable(b"UMTUI_ONLY", |byte| {
        only.push(&[byte]);
    });
    variable(b"UMTUI_CLOCK", |byte| {
        clock.push(&[byte]);
    });
    variable(b"UMTUI_PLACE", |byte| {
        place.push(&[byte]);
    });
    Config {
        wanted,
        max_bytes: number(b"UMTUI_MAX_BYTES").unwrap_or(0),
        run: number(b"UMTUI_RUN").unwrap_or(0),
        ticks_per_second: number(b"UMTUI_TICKS_PER_SECOND").filter(|&rate| rate > 1_000_000),
        clock: match clock.as_bytes() {
            b"ticks" => Wanted::Ticks,
            b"monotonic" => Wanted::Monotonic,
            _ => Wanted::Best,
        },
        place: match place.as_bytes() {
            b"mapped" => Place::Mapped,
            b"written" => Place::Written,
            _ => Place::Best,
        },
        arguments: number(b"UMTUI_ARGUMENTS") != Some(0),
        groups: groups(only.as_bytes()),
        ranges: number(b"UMTUI_NVTX") != Some(0),
    }
}

/// Names of groups with commas between; none means all.
fn groups(names: &[u8]) -> u16 {
    let groups = names.split(|&byte| byte == b',').filter_map(group::named);
    match groups.fold(0, |bits, group| bits | 1u16.wrapping_shl(group as u32)) {
        0 => u16::MAX,
        bits => bits,
    }
}

/// Appends the folder in which the process's file is to be made.
pub fn push_folder<const N: usize>(path: &mut text::Path<N>) {
    variable(b"UMTUI_OUT", |byte| {
        path.push(&[byte]);
    });
}

/// Calls `each` with the bytes of a variable's value as it was when the program was started.
pub fn each_byte(name: &[u8], each: impl FnMut(u8)) {
    variable(name, each);
}

/// Appends a variable's value as it was when the program was started.
pub fn push_variable<const N: usize>(name: &[u8], path: &mut text::Path<N>) {
    variable(name, |byte| {
        path.push(&[byte]);
    });
}

/// `LD_LIBRARY_PATH` as the loader saw it when the program was started.
pub fn library_path() -> text::Path<4096> {
    let mut path = text::Path::new();
    variable(b"LD_LIBRARY_PATH", |byte| {
        path.push(&[byte]);
    });
    path
}

/// Whether `LD_PRELOAD` names a file of this name.
pub fn is_preloaded(file_name: &[u8]) -> bool {
    let mut found = false;
    // How much of the name the part since the last separator has begun with, as long as it does.
    let mut matched = Some(0usize);
    variable(b"LD_PRELOAD", |byte| match byte {
        b':' | b' ' => {
            found |= matched == Some(file_name.len());
            matched = Some(0);
        }
        b'/' => matched = Some(0),
        _ => {
            let goes_on = |&at: &usize| file_name.get(at) == Some(&byte);
            matched = matched.filter(goes_on).map(|at| at.wrapping_add(1));
        }
    });
    found || matched == Some(file_name.len())
}

fn number(name: &[u8]) -> Option<u64> {
    let mut digits = text::Path::<24>::new();
    variable(name, |byte| {
        digits.push(&[byte]);
    });
    text::number(digits.as_bytes())
}

/// Calls `each` with the bytes of a variable's value, if there is such a variable. The environment may be long and
/// the thread's stack short, so it is read in small pieces.
fn variable(name: &[u8], mut each: impl FnMut(u8)) {
    if let Some(value) = kept::at_start(name) {
        value.iter().copied().for_each(each);
        return;
    }
    let fd = sys::open(c"/proc/self/environ", libc::O_RDONLY, 0);
    if sys::failed(fd) {
        return;
    }
    // How much of `NAME=` the line has begun with, as long as it does.
    let mut matched = Some(0usize);
    let mut found = false;
    let mut buffer = [0u8; 512];
    while !found {
        let read = sys::read(fd as i32, &mut buffer);
        if sys::failed(read) || read == 0 {
            break;
        }
        for &byte in buffer.iter().take(read as usize) {
            match matched {
                Some(at) if at > name.len() && byte == 0 => {
                    found = true;
                    break;
                }
                Some(at) if at > name.len() => each(byte),
                _ if byte == 0 => matched = Some(0),
                Some(at) if name.get(at).copied().unwrap_or(b'=') == byte => matched = Some(at.wrapping_add(1)),
                _ => matched = None,
            }
        }
    }
    sys::close(fd as i32);
}
