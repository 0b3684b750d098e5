//! The document around the events.

use super::event::Event;
use super::mapping::Mapping;
use super::meta;
use crate::parse::ParseError;
use crate::parse::imported::{Imported, Place, Repair, Target};
use crate::parse::json::{Flaw, Flaws, Scanner, Stop, Window};
use std::io::{self, Read};

/// Longest value beside the events that is looked at, bytes.
const META: usize = 1 << 20;

const CUT: Repair = Repair::Lost("the file ends in the middle of an event or value");
const UNCLOSED: Repair = Repair::Lost("the file ends before its brackets are closed; all whole events are there");
const NO_EVENTS: Repair = Repair::Mended("values among the events that are none");
const SKIPPED: Repair = Repair::Lost("places where the JSON is damaged; reading went on at the next event");
const AFTER: Repair = Repair::Mended("text after the end of the JSON, left out");
const MISSING_COMMA: Repair = Repair::Mended("commas that are missing between events");
const OTHER_BASE: Repair =
    Repair::Lost("documents with another baseTimeNanoseconds than the first, whose times are not right");
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a flaw is called.
const fn words(flaw: Flaw) -> Repair {
    Repair::Mended(match flaw {
        Flaw::Comma => "commas too many",
        Flaw::NotFinite => "NaN or Infinity for a number",
        Flaw::Escape => "backslashes that begin no escape, read as they stand",
        Flaw::Utf8 => "strings that are not UTF-8",
        Flaw::Surrogate => "halves of surrogate pairs",
        Flaw::Control => "control characters in strings",
        Flaw::Number => "numbers that JSON does not write so",
    })
}

/// Reads a document called `file` from its beginning.
///
/// # Errors
/// When it cannot be read, a temporary file cannot be written, or it is nothing with events.
pub fn import<R: Read>(input: R, file: &str, target: Target) -> Result<Imported, ParseError> {
    let io = |cause| ParseError::Io { file: file.to_owned(), offset: 0, cause };
    let (window, mapping) = (Window::new(input), Mapping::new(target));
    let mut document = Document { window, mapping, flaws: Flaws::default(), after_damage: false };
    let any = document.read().map_err(io)?;
    if !any {
        let what = "JSON without trace events (no array of them, no key \"traceEvents\")".to_owned();
        return Err(ParseError::Format { file: file.to_owned(), what });
    }
    document.mapping.finish().map_err(io)
}

struct Document<R> {
    window: Window<R>,
    mapping: Mapping,
    flaws: Flaws,
    /// Commas prove nothing up to the next event.
    after_damage: bool,
}

impl<R: Read> Document<R> {
    /// Whether there were events, or a place for them.
    fn read(&mut self) -> io::Result<bool> {
        self.window.more()?;
        if self.window.rest().starts_with(BOM) {
            self.window.advance(BOM.len());
        }
        let (mut any, mut documents) = (false, 0u64);
        // Several may stand one after the other, also as events without brackets around them.
        loop {
            let goes_on = match self.window.peek()? {
                Some(b'[') => {
                    self.window.advance(1);
                    any = true;
                    self.events()?
                }
                Some(b'{') if self.is_event()? => {
                    any = true;
                    self.bare()?
                }
                Some(b'{') => {
                    let base = self.mapping.base;
                    let (events, whole) = self.object()?;
                    if any && events && self.mapping.base != base {
                        self.mapping.target.repair(OTHER_BASE, self.window.place(0));
                        self.mapping.base = base;
                    }
                    any |= events;
                    whole
                }
                None => break,
                Some(_) => {
                    if documents > 0 {
                        self.mapping.target.repair(AFTER, self.window.place(0));
                    }
                    break;
                }
            };
            documents += 1;
            if !goes_on {
                break;
            }
        }
        if documents > 1 {
            self.mapping.target.note(format!("{documents} JSON documents one after the other, read as one"));
        }
        Ok(any)
    }

    /// Whether the object that comes next is an event: it says its phase soon, and has no events in it before.
    fn is_event(&mut self) -> io::Result<bool> {
        const SOON: usize = 4096;
        while self.window.rest().len() < SOON && self.window.more()? {}
        let rest = self.window.rest();
        let mut flaws = Flaws::default();
        let mut scanner = Scanner::new(rest.get(..SOON).unwrap_or(rest), &mut flaws);
        let mut first = true;
        if scanner.take(b'{') != Ok(true) {
            return Ok(false);
        }
        while let Ok(Some(key)) = scanner.key(first) {
            first = false;
            match key.raw {
                b"ph" => return Ok(true),
                b"traceEvents" => return Ok(false),
                _ if scanner.value().is_err() => return Ok(false),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Events with nothing around them, as long as there are any; whether the input goes on.
    fn bare(&mut self) -> io::Result<bool> {
        loop {
            match self.window.peek()? {
                Some(b'{') if self.is_event()? => {
                    if !self.event()? {
                        return Ok(false);
                    }
                }
                Some(b',') => self.window.advance(1),
                _ => return Ok(true),
            }
        }
    }

    /// The object around the events; whether it has a place for them, and whether the input goes on.
    fn object(&mut self) -> io::Result<(bool, bool)> {
        self.window.advance(1);
        let (mut any, mut first) = (false, true);
        loop {
            let (flaws, mut is_array) = (&mut self.flaws, false);
            let key = self.window.with(|bytes| {
                flaws.list.clear();
                let mut scanner = Scanner::new(bytes, flaws);
                let Some(key) = scanner.key(first)? else { return Ok(((None, scanner.at), scanner.at)) };
                is_array = scanner.peek()? == b'[';
                Ok(((Some(key.raw.get(..64).unwrap_or(key.raw).to_vec()), scanner.at), scanner.at))
            })?;
            first = false;
            let length = key.as_ref().map_or(0, |(_, length)| *length);
            let key = key.map(|(key, _)| key);
            self.tell_flaws(length);
            match key {
                Ok(None) => return Ok((any, true)),
                Ok(Some(key)) if key == b"traceEvents" && is_array => {
                    any = true;
                    self.window.advance(1);
                    if !self.events()? {
                        return Ok((true, false));
                    }
                }
                Ok(Some(key)) => {
                    if !self.meta(&key)? {
                        return Ok((any, false));
                    }
                }
                Err(stop) => {
                    self.stopped(stop);
                    return Ok((any, false));
                }
            }
        }
    }

    /// A value beside the events; whether the document goes on.
    fn meta(&mut self, key: &[u8]) -> io::Result<bool> {
        let Self { window, mapping, flaws, .. } = self;
        let done = window.with(|bytes| {
            let mut scanner = Scanner::new(bytes, flaws);
            let value = scanner.value()?;
            if scanner.at <= META {
                meta::take(key, &value, mapping);
            }
            Ok(((), scanner.at))
        })?;
        self.flaws = Flaws::default();
        if let Err(stop) = done {
            self.stopped(stop);
        }
        Ok(done.is_ok())
    }

    fn stopped(&mut self, stop: Stop) {
        let place = self.window.place(0);
        let at_end = self.window.rest().trim_ascii().is_empty();
        let repair = match stop {
            Stop::Incomplete if at_end => UNCLOSED,
            Stop::Incomplete => CUT,
            Stop::Malformed => SKIPPED,
        };
        self.mapping.target.repair(repair, place);
    }

    /// Events up to the end of their array; whether the document goes on.
    fn events(&mut self) -> io::Result<bool> {
        let mut commas = 1u32;
        self.after_damage = true;
        loop {
            match self.window.peek()? {
                None => {
                    self.stopped(Stop::Incomplete);
                    return Ok(false);
                }
                Some(b',') => {
                    commas += 1;
                    if commas > 1 && !self.after_damage || commas > 2 {
                        self.mapping.target.repair(words(Flaw::Comma), self.window.place(0));
                    }
                    self.window.advance(1);
                }
                Some(b']') => {
                    if commas == 1 && !self.after_damage {
                        self.mapping.target.repair(words(Flaw::Comma), self.window.place(0));
                    }
                    self.window.advance(1);
                    return Ok(true);
                }
                Some(first) => {
                    if commas == 0 && !self.after_damage {
                        self.mapping.target.repair(MISSING_COMMA, self.window.place(0));
                    }
                    (commas, self.after_damage) = (0, false);
                    let goes_on = if first == b'{' { self.event()? } else { self.other()? };
                    if !goes_on {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// An event; whether the document goes on.
    fn event(&mut self) -> io::Result<bool> {
        let Self { window, mapping, flaws, .. } = self;
        let (mut told, mut failed) = (true, None);
        let done = window.with(|bytes| {
            flaws.list.clear();
            let mut scanner = Scanner::new(bytes, flaws);
            let event = Event::read(&mut scanner)?;
            told = event.phase.is_some();
            if told && let Err(error) = mapping.take(&event, &mut scanner) {
                failed = Some(error);
            }
            Ok((scanner.at, scanner.at))
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        match done {
            Ok(length) => {
                if !self.flaws.list.is_empty() {
                    self.tell_flaws(length);
                }
                if !told {
                    self.mapping.target.repair(NO_EVENTS, self.window.place(length));
                }
                if !self.mapping.here.is_empty() {
                    self.tell_here(length);
                }
                Ok(true)
            }
            Err(Stop::Incomplete) if self.window.ended() => {
                self.flaws = Flaws::default();
                self.stopped(Stop::Incomplete);
                // A quote too many makes the rest one string: something whole may still be in it.
                self.window.advance(1);
                self.resume()
            }
            Err(_) => {
                self.flaws = Flaws::default();
                self.stopped(Stop::Malformed);
                self.window.advance(1);
                self.resume()
            }
        }
    }

    /// Tells what was wrong with the event of the last `length` bytes.
    #[cold]
    fn tell_here(&mut self, length: usize) {
        for repair in std::mem::take(&mut self.mapping.here) {
            let wanted = self.mapping.target.wants_place(repair);
            let place = if wanted { self.window.place(length) } else { Place::Nowhere };
            self.mapping.target.repair(repair, place);
        }
    }

    /// Something else among the events.
    fn other(&mut self) -> io::Result<bool> {
        let flaws = &mut self.flaws;
        let done = self.window.with(|bytes| {
            let mut scanner = Scanner::new(bytes, flaws);
            scanner.value()?;
            Ok((scanner.at, scanner.at))
        })?;
        self.flaws = Flaws::default();
        match done {
            Ok(length) => {
                self.mapping.target.repair(NO_EVENTS, self.window.place(length));
                Ok(true)
            }
            Err(_) => {
                self.stopped(Stop::Malformed);
                self.window.advance(1);
                self.resume()
            }
        }
    }

    /// Goes to the next thing that may be an event.
    fn resume(&mut self) -> io::Result<bool> {
        // What is no event in so many bytes is passed over. Where that happens again and again it is looked at less
        // closely, lest brackets that never close take for ever.
        const MOST: usize = 1 << 16;
        const LEAST: usize = 512;
        let mut most = MOST;
        self.after_damage = true;
        loop {
            let Some(at) = memchr::memchr(b'{', self.window.rest()) else {
                let all = self.window.rest().len();
                self.window.advance(all);
                if !self.window.more()? {
                    return Ok(false);
                }
                continue;
            };
            self.window.advance(at);
            if self.window.rest().len() < MOST && !self.window.ended() {
                self.window.more()?;
            }
            let rest = self.window.rest();
            let read = Event::read(&mut Scanner::new(rest.get(..most).unwrap_or(rest), &mut self.flaws));
            let fits = matches!(read, Ok(Event { phase: Some(_), .. }));
            let cut = matches!(read, Err(Stop::Incomplete));
            self.flaws = Flaws::default();
            if fits {
                return Ok(true);
            }
            if cut {
                most = (most / 2).max(LEAST);
            }
            self.window.advance(1);
        }
    }

    /// Tells what was wrong in the last `length` bytes.
    fn tell_flaws(&mut self, length: usize) {
        let flaws = std::mem::take(&mut self.flaws);
        for (flaw, at) in flaws.list {
            let repair = words(flaw);
            let place = if self.mapping.target.wants_place(repair) {
                self.window.place(length.saturating_sub(at))
            } else {
                Place::Nowhere
            };
            self.mapping.target.repair(repair, place);
        }
    }
}
