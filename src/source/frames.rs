//! Splits a stream of bytes into frames.

use umtui_wire::frame::{CHECKED_AT, FRAME_BYTES, FrameHeader, HEADER_BYTES, MAGIC, VERSION, checksum};
use zerocopy::FromBytes;

/// Takes bytes as they come, gives whole frames. What is no frame is passed over and counted: a reader may join in the
/// middle of a frame, and pipes may carry other things.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    /// Where the next frame is looked for.
    at: usize,
    /// Bytes passed over.
    skipped: u64,
    /// Bytes taken out of the buffer before `buffer[0]`.
    before: u64,
    ended: bool,
}

impl Frames {
    /// Takes more bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.at >= FRAME_BYTES.max(self.buffer.len() / 2) {
            self.buffer.drain(..self.at);
            self.before += self.at as u64;
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Nothing more will come: the beginning of a frame is no longer waited with.
    pub const fn end(&mut self) {
        self.ended = true;
    }

    /// Bytes passed over so far.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bytes of the stream before the place where the next frame is looked for.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// The next frame: its header, and what follows it.
    pub fn next_frame(&mut self) -> Option<(FrameHeader, &[u8])> {
        self.next_at().map(|(header, body, _)| (header, body))
    }

    /// Likewise, and the byte of the stream at which it begins.
    pub fn next_at(&mut self) -> Option<(FrameHeader, &[u8], u64)> {
        let (header, end) = loop {
            let rest = self.buffer.get(self.at..).unwrap_or(&[]);
            match look(rest) {
                Look::Frame(header) => break (header, self.at + usize::from(header.bytes)),
                Look::More if !self.ended || rest.is_empty() => return None,
                Look::More | Look::Other => {
                    let step = 1 + candidate(rest.get(1..).unwrap_or(&[]));
                    self.at += step;
                    self.skipped += step as u64;
                }
            }
        };
        let (from, at) = (self.at + HEADER_BYTES, self.offset());
        self.at = end;
        Some((header, self.buffer.get(from..end).unwrap_or(&[]), at))
    }
}

/// Whether a frame begins somewhere in these bytes.
#[must_use]
pub fn has_frame(bytes: &[u8]) -> bool {
    let mut frames = Frames::default();
    frames.push(bytes);
    frames.end();
    frames.next_frame().is_some()
}

enum Look {
    Frame(FrameHeader),
    /// It may be one, once there are more bytes.
    More,
    Other,
}

fn look(bytes: &[u8]) -> Look {
    let magic = MAGIC.to_le_bytes();
    if bytes.len() < HEADER_BYTES {
        let known = bytes.len().min(magic.len());
        return if bytes.get(..known) == magic.get(..known) { Look::More } else { Look::Other };
    }
    let Ok((header, _)) = FrameHeader::read_from_prefix(bytes) else { return Look::Other };
    let length = usize::from(header.bytes);
    let fits = (HEADER_BYTES..=FRAME_BYTES).contains(&length) && length.is_multiple_of(8);
    if header.magic != MAGIC || !fits || header.version != VERSION {
        return Look::Other;
    }
    match bytes.get(CHECKED_AT..length) {
        None => Look::More,
        Some(checked) if checksum(checked) == header.checksum => Look::Frame(header),
        Some(_) => Look::Other,
    }
}

/// Bytes before the next place where a frame may begin.
fn candidate(bytes: &[u8]) -> usize {
    let first = MAGIC.to_le_bytes()[0];
    bytes.iter().position(|&byte| byte == first).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    fn frame(sequence: u64, words: usize) -> Vec<u8> {
        let bytes = (HEADER_BYTES + words * 8) as u16;
        let header = FrameHeader { magic: MAGIC, bytes, version: VERSION, kind: 9, sequence, ..FrameHeader::default() };
        let mut frame = header.as_bytes().to_vec();
        frame.extend((0..words).flat_map(|word| (word as u64 * 77).to_le_bytes()));
        let sum = checksum(&frame[CHECKED_AT..]);
        frame[8..16].copy_from_slice(&sum.to_le_bytes());
        frame
    }

    fn sequences(frames: &mut Frames) -> Vec<u64> {
        std::iter::from_fn(|| frames.next_frame().map(|(header, _)| header.sequence)).collect()
    }

    proptest! {
        #[test]
        fn frames_are_found_between_anything(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..70), 0usize..500, 0usize..20), 1..8),
            pieces in 1usize..900,
        ) {
            let mut stream = Vec::new();
            for (sequence, (garbage, words, cut)) in parts.iter().enumerate() {
                stream.extend_from_slice(garbage);
                // The beginning of a frame that was torn.
                let torn = frame(1000, 50);
                stream.extend_from_slice(&torn[..cut * 7]);
                stream.extend(frame(sequence as u64, *words));
            }
            let mut frames = Frames::default();
            let mut seen = Vec::new();
            for piece in stream.chunks(pieces) {
                frames.push(piece);
                seen.extend(sequences(&mut frames));
            }
            frames.end();
            seen.extend(sequences(&mut frames));
            prop_assert_eq!(seen, (0..parts.len() as u64).collect::<Vec<_>>());
            prop_assert_eq!(frames.offset(), stream.len() as u64);
            let wanted: u64 = parts.iter().map(|(_, words, _)| (HEADER_BYTES + words * 8) as u64).sum();
            prop_assert_eq!(frames.skipped() + wanted, stream.len() as u64);
        }
    }

    #[test]
    fn a_damaged_frame_is_passed_over() {
        let mut stream = frame(1, 100);
        stream[300] ^= 4;
        stream.extend(frame(2, 3));
        let mut frames = Frames::default();
        frames.push(&stream);
        assert_eq!(sequences(&mut frames), [2]);
        assert_eq!(frames.skipped(), (HEADER_BYTES + 800) as u64);
        assert!(has_frame(&stream) && !has_frame(b"# umtui trace 1\nUMF"));
    }
}
