//! What the recorder asks for, by environment variables.
//!
//! They are read from `/proc/self/environ`, the environment that the program was started with: programs clear
//! or change theirs, and reading it through the C library races with that.

use crate::clock::Wanted;
use crate::{sys, text};

/// What the recorder asks for.
pub struct Config {
    /// Folder in which the process's file is made; empty: do not record.
    pub folder: text::Path<2048>,
    /// Cap on the file's bytes, zero for none.
    pub max_bytes: u64,
    /// Which run this is.
    pub run: u64,
    /// Ticks a second, as the recorder measured it.
    pub ticks_per_second: Option<u64>,
    /// Which clock.
    pub clock: Wanted,
}

impl Config {
    const fn new() -> Self {
        Self { folder: text::Path::new(), max_bytes: 0, run: 0, ticks_per_second: None, clock: Wanted::Best }
    }

    fn set(&mut self, line: &[u8]) {
        if let Some(value) = line.strip_prefix(b"UMTUI_OUT=") {
            self.folder = text::Path::new();
            self.folder.push(value);
        } else if let Some(value) = line.strip_prefix(b"UMTUI_MAX_BYTES=") {
            self.max_bytes = text::number(value).unwrap_or(0);
        } else if let Some(value) = line.strip_prefix(b"UMTUI_RUN=") {
            self.run = text::number(value).unwrap_or(0);
        } else if let Some(value) = line.strip_prefix(b"UMTUI_TICKS_PER_SECOND=") {
            self.ticks_per_second = text::number(value).filter(|&rate| rate > 1_000_000);
        } else if let Some(value) = line.strip_prefix(b"UMTUI_CLOCK=") {
            self.clock = match value {
                b"ticks" => Wanted::Ticks,
                b"monotonic" => Wanted::Monotonic,
                _ => Wanted::Best,
            };
        }
    }
}

/// Reads the configuration.
pub fn read() -> Config {
    let mut config = Config::new();
    each_variable(|line| config.set(line));
    config
}

/// `LD_LIBRARY_PATH` as the loader saw it when the program was started.
pub fn library_path() -> text::Path<4096> {
    let mut path = text::Path::new();
    each_variable(|line| {
        if let Some(value) = line.strip_prefix(b"LD_LIBRARY_PATH=") {
            path.push(value);
        }
    });
    path
}

/// Calls `each` with every variable, `NAME=value`; long ones are cut.
fn each_variable(mut each: impl FnMut(&[u8])) {
    let fd = sys::open(c"/proc/self/environ", libc::O_RDONLY, 0);
    if sys::failed(fd) {
        return;
    }
    let fd = fd as i32;
    let mut line = [0u8; 4096];
    let mut length = 0usize;
    let mut buffer = [0u8; 4096];
    loop {
        let read = sys::read(fd, &mut buffer);
        if sys::failed(read) || read == 0 {
            break;
        }
        for &byte in buffer.iter().take(read as usize) {
            if byte == 0 {
                each(line.get(..length).unwrap_or_default());
                length = 0;
            } else if let Some(place) = line.get_mut(length) {
                *place = byte;
                length = length.wrapping_add(1);
            }
        }
    }
    each(line.get(..length).unwrap_or_default());
    sys::close(fd);
}
