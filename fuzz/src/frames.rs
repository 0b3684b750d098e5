//! Streams of frames taken apart, mutated inside and put together again: else checksums stop everything.

use crate::random::{Random, mutate, shuffle};
use crate::{BUDGET, one_line};
use std::sync::Arc;
use umtui::parse::NativeReader;
use umtui::source::{Spooled, Stream};
use umtui::trace::{Bytes as _, Trace};
use umtui_wire::frame::{CHECKED_AT, FRAME_BYTES, FrameHeader, HEADER_BYTES, MAGIC, VERSION, checksum};
use zerocopy::{FromBytes, IntoBytes};

/// A frame, or bytes that are none.
#[derive(Clone)]
enum Part {
    Frame(FrameHeader, Vec<u8>),
    Other(Vec<u8>),
}

impl Part {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Other(bytes) => out.extend_from_slice(bytes),
            Self::Frame(header, body) => {
                let bytes = (HEADER_BYTES + body.len()) as u16;
                let header = FrameHeader { magic: MAGIC, bytes, version: VERSION, ..*header };
                let mut frame = [header.as_bytes(), body].concat();
                let sum = checksum(&frame[CHECKED_AT..]);
                frame[8..CHECKED_AT].copy_from_slice(&sum.to_le_bytes());
                out.extend(frame);
            }
        }
    }

    fn mutate(&mut self, random: &mut Random) {
        match self {
            Self::Other(bytes) => mutate(bytes, FRAME_BYTES),
            Self::Frame(header, _) if random.one_in(3) => {
                let mut bytes = header.as_bytes().to_vec();
                if random.one_in(2) {
                    // Only what is counted: which file, which frame, how much before.
                    let mut counted = bytes.split_off(CHECKED_AT);
                    mutate(&mut counted, HEADER_BYTES - CHECKED_AT);
                    bytes.extend(counted);
                } else {
                    mutate(&mut bytes, HEADER_BYTES);
                }
                bytes.resize(HEADER_BYTES, 0);
                *header = FrameHeader::read_from_bytes(&bytes).expect("as long");
            }
            Self::Frame(_, body) => {
                mutate(body, FRAME_BYTES - HEADER_BYTES);
                body.resize(body.len().next_multiple_of(8), 0);
            }
        }
    }
}

fn parts(data: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let frame = FrameHeader::read_from_prefix(rest).ok().filter(|(header, _)| header.magic == MAGIC);
        let frame = frame.and_then(|(header, behind)| {
            let body = behind.get(..usize::from(header.bytes).checked_sub(HEADER_BYTES)?)?;
            body.len().is_multiple_of(8).then(|| (header, body.to_vec()))
        });
        match frame {
            Some((header, body)) => {
                rest = &rest[HEADER_BYTES + body.len()..];
                parts.push(Part::Frame(header, body));
            }
            None => {
                let next = rest.windows(4).skip(1).position(|four| four == MAGIC.to_le_bytes());
                let (other, behind) = rest.split_at(next.map_or(rest.len(), |next| next + 1));
                parts.push(Part::Other(other.to_vec()));
                rest = behind;
            }
        }
    }
    parts
}

/// A mutated stream.
#[must_use]
pub fn mutated(data: &[u8], random: &mut Random) -> Vec<u8> {
    let mut parts = parts(data);
    if random.one_in(3) {
        shuffle(&mut parts, random);
    }
    if random.one_in(8) && !parts.is_empty() {
        // A second sender, whose frames lie among those of the first.
        let twice: Vec<Part> = parts.iter().flat_map(|part| [part.clone(), other_file(part)]).collect();
        parts = twice;
    }
    for _ in 0..=random.below(3) {
        let number = random.below(parts.len());
        if let Some(part) = parts.get_mut(number) {
            part.mutate(random);
        }
    }
    let mut out = Vec::new();
    parts.iter().for_each(|part| part.put(&mut out));
    out
}

fn other_file(part: &Part) -> Part {
    match part {
        Part::Frame(header, body) => {
            Part::Frame(FrameHeader { file: header.file.wrapping_add(1), ..*header }, body.clone())
        }
        Part::Other(bytes) => Part::Other(bytes.clone()),
    }
}

/// What became of a file of a stream.
#[derive(Debug, PartialEq)]
struct Became {
    name: String,
    bytes: Vec<u8>,
    standing: String,
}

/// Reads a stream as a whole, and in pieces while it is read.
///
/// # Panics
/// When the two differ, or what is said is not one line.
pub fn read(data: &[u8]) {
    let mut whole = Stream::new("fuzz");
    whole.push(data);
    let mut told = whole.failed();
    let mut files = whole.fresh();
    told.extend(whole.end());
    files.extend(whole.fresh());

    let mut pieces = Stream::new("fuzz");
    let mut told_of_pieces = Vec::new();
    let mut read = Reading::default();
    let mut random = Random::new(data.len() as u32);
    let mut rest = data;
    while !rest.is_empty() {
        let count = 1 + if random.one_in(3) { random.below(20) } else { random.below(6000) };
        let (piece, behind) = rest.split_at(count.min(rest.len()));
        rest = behind;
        pieces.push(piece);
        told_of_pieces.extend(pieces.failed());
        read.take(pieces.fresh());
        read.on();
    }
    told_of_pieces.extend(pieces.end());
    read.take(pieces.fresh());
    read.on();
    told.iter().for_each(|line| one_line(line));
    assert_eq!(told, told_of_pieces);
    let mut at_once = Reading::default();
    at_once.take(files);
    at_once.on();
    assert_eq!(at_once.became(), read.became());
    // What is read while it grows are the same events; names may have come later, and damage been whole.
    let counted = |reading: &Reading| (reading.trace.events(), reading.readers.len());
    if at_once.trace.damage.is_empty() && read.trace.damage.is_empty() {
        assert_eq!(counted(&at_once), counted(&read));
    }
}

/// The files of a stream, and what their readers made of them.
#[derive(Default)]
struct Reading {
    files: Vec<Arc<Spooled>>,
    readers: Vec<(usize, NativeReader)>,
    trace: Trace,
}

impl Reading {
    fn take(&mut self, files: Vec<Arc<Spooled>>) {
        for file in files {
            match NativeReader::open(file.bytes(), file.name(), &mut self.trace) {
                Ok(reader) => self.readers.push((self.files.len(), reader)),
                Err(error) => one_line(&error.to_string()),
            }
            self.files.push(file);
        }
    }

    /// Reads on to the end of what is there.
    fn on(&mut self) {
        for (file, reader) in &mut self.readers {
            let standing = self.files[*file].hold();
            reader.set_horizon(standing.horizon);
            for turn in 0.. {
                assert!(turn < 100_000, "it does not come to an end");
                match reader.poll(&mut self.trace, BUDGET) {
                    Ok(progress) if progress.more => {}
                    Ok(_) => break,
                    Err(error) => {
                        one_line(&error.to_string());
                        break;
                    }
                }
            }
        }
    }

    fn became(&self) -> Vec<Became> {
        let of = |file: &Arc<Spooled>| {
            let bytes = file.bytes();
            let mut all = vec![0; bytes.len().expect("a file").min(8 << 20) as usize];
            let count = bytes.read_at(0, &mut all).expect("a file");
            all.truncate(count);
            let standing = file.hold();
            standing.notes.iter().for_each(|(_, why)| one_line(why));
            Became { name: file.name().to_owned(), bytes: all, standing: format!("{:?}", *standing) }
        };
        self.files.iter().map(of).collect()
    }
}
