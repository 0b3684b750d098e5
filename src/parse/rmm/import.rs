//! A log into a native file.

use super::line::{Action, Columns, Entry, Moment, entry};
use crate::parse::ParseError;
use crate::parse::imported::{Call, Function, Imported, Key, Place, Process, Repair, Target};
use crate::parse::lines::{Line, Lines};
use crate::trace::Layer;
use crate::trace::activity::evidence::What;
use std::io::{self, Read};

/// Result of an allocation that failed: `cudaErrorMemoryAllocation`.
const OUT_OF_MEMORY: u32 = 2;
/// A time of the day that is so much earlier than the one before is of the next day, ns.
const NEXT_DAY: u64 = 12 * 3600 * 1_000_000_000;
/// What is further back than this is not the order of threads, ns.
const NEAR: u64 = 1_000_000_000;
const DAY: u64 = 24 * 3600 * 1_000_000_000;

/// Reads a log into `target`; `name` is what errors call it.
///
/// # Errors
/// When it cannot be read, or is no log of RMM.
pub fn import(input: impl Read, name: &str, mut target: Target) -> Result<Imported, ParseError> {
    let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
    for what in What::ALL {
        target.never(what);
    }
    let process = target.process(&Key::None);
    let mut function = |name, arguments: [&str; 2]| arguments.map(|text| target.function(Layer::Runtime, name, text));
    let allocate =
        function("rmm::allocate", ["ptr:*ptr@32 bytes:size@40", "ptr:*ptr@32 bytes:size@40 stream:handle@48"]);
    let release =
        function("rmm::deallocate", ["ptr:ptr@32 bytes:size@40", "ptr:ptr@32 bytes:size@40 stream:handle@48"]);
    let mut log = Log { target, process, allocate, release, days: 0, last: None, newest: 0 };
    let mut lines = Lines::new(input);
    let mut columns = None;
    while let Some((number, line)) = lines.next().map_err(io)? {
        let place = Place::At(number, 1);
        let text = match line {
            Line::Text(text) => text,
            Line::Long => {
                log.target.repair(Repair::Lost("lines that are too long"), place);
                continue;
            }
        };
        let text = String::from_utf8_lossy(text);
        let Some(known) = &columns else {
            // Some write a line about themselves first.
            match Columns::of(&text) {
                Some(found) => columns = Some(found),
                None if number < 20 => {}
                None => break,
            }
            continue;
        };
        if text.trim().is_empty() || (text.contains("Action") && Columns::of(&text).is_some()) {
            continue;
        }
        match entry(&text, known) {
            Ok(one) => log.take(&one, place).map_err(io)?,
            Err(why) => log.target.repair(Repair::Lost(why), place),
        }
    }
    if columns.is_none() {
        let what = "no header `Thread,Time,Action,Pointer,Size,Stream`, so no log of RMM".to_owned();
        return Err(ParseError::Format { file: name.to_owned(), what });
    }
    log.target.note(
        "of calls of RMM only the moment is known, not how long they took; kinds of memory are not in a log".to_owned(),
    );
    log.target.finish().map_err(io)
}

struct Log {
    target: Target,
    process: Process,
    /// Without and with a stream.
    allocate: [Function; 2],
    release: [Function; 2],
    days: u64,
    last: Option<u64>,
    newest: u64,
}

impl Log {
    /// Lines stand in the order in which things happened, times are as coarse as microseconds: of equal ones, and where
    /// one is a little earlier than the one before, each is a nanosecond later.
    const fn after(&mut self, time: u64) -> u64 {
        let is_near = time <= self.newest && time.saturating_add(NEAR) >= self.newest;
        let time = if is_near { self.newest.saturating_add(1) } else { time };
        self.newest = time;
        time
    }

    fn take(&mut self, entry: &Entry<'_>, place: Place) -> io::Result<()> {
        let time = match entry.time {
            Moment::Wall(ns) => {
                self.target.wall_clock(0);
                ns
            }
            Moment::OfDay(ns) => {
                if self.last.is_some_and(|last| last > ns.saturating_add(NEXT_DAY)) {
                    self.days += 1;
                }
                self.last = Some(ns);
                ns.saturating_add(self.days.saturating_mul(DAY))
            }
        };
        let time = self.after(time);
        let key = if entry.thread.is_empty() { Key::None } else { Key::text(entry.thread) };
        let thread = self.target.thread(self.process, &key);
        if entry.bytes.is_none() {
            self.target.repair(Repair::Mended("lines without a size"), place);
        }
        let words = [entry.pointer, entry.bytes.unwrap_or(0), entry.stream.unwrap_or(0)];
        let (function, status) = match entry.action {
            Action::Allocate => (self.allocate, 0),
            Action::Failure => (self.allocate, OUT_OF_MEMORY),
            Action::Free => (self.release, 0),
        };
        let [plain, with_stream] = function;
        let call = Call {
            function: if entry.stream.is_some() { with_stream } else { plain },
            start: time,
            end: Some(time),
            status: Some(status),
            words: Some(words),
            ..Call::default()
        };
        self.target.call(thread, &call)
    }
}
