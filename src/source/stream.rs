//! A stream of frames taken apart as it comes, in pieces of any length.

use super::frames::Frames;
use super::spool::{Spool, Spooled};
use std::sync::Arc;

/// A stream of frames. What becomes of it depends on its bytes, not on the pieces in which they come.
#[derive(Debug)]
pub struct Stream {
    frames: Frames,
    spool: Spool,
    /// Bytes before the first frame: a reader may have joined in the middle of one, which is no damage.
    joined: Option<u64>,
}

impl Stream {
    /// Called `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { frames: Frames::default(), spool: Spool::new(name), joined: None }
    }

    /// Takes more bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
        self.take();
    }

    fn take(&mut self) {
        while let Some((header, body, at)) = self.frames.next_at() {
            self.joined.get_or_insert(at);
            self.spool.take(&header, body, at);
        }
    }

    /// Nothing more comes; what is to be told of no single file, in a line each.
    pub fn end(&mut self) -> Vec<String> {
        self.frames.end();
        self.take();
        let skipped = self.frames.skipped().saturating_sub(self.joined.unwrap_or(0));
        self.spool.end(self.frames.offset(), skipped)
    }

    /// Files that have begun since the last time.
    pub fn fresh(&mut self) -> Vec<Arc<Spooled>> {
        self.spool.fresh()
    }

    /// What went wrong since the last time and can be told of no file.
    pub fn failed(&mut self) -> Vec<String> {
        self.spool.failed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use umtui_wire::frame::{CHECKED_AT, FrameHeader, HEADER_BYTES, KIND_PASS, MAGIC, VERSION, checksum};
    use zerocopy::IntoBytes;

    fn frame(file: u64, body: &[u8]) -> Vec<u8> {
        let bytes = (HEADER_BYTES + body.len()) as u16;
        let header =
            FrameHeader { magic: MAGIC, bytes, version: VERSION, kind: KIND_PASS, file, ..FrameHeader::default() };
        let mut frame = [header.as_bytes(), body].concat();
        let sum = checksum(&frame[CHECKED_AT..]);
        frame[8..CHECKED_AT].copy_from_slice(&sum.to_le_bytes());
        frame
    }

    #[test]
    fn processes_without_a_first_page_take_little_memory_and_are_counted() {
        let mut stream = Stream::new("s");
        for file in 0..5000 {
            stream.push(&frame(file, &[]));
            stream.push(&frame(file, &[7; 4000]));
        }
        assert!(stream.fresh().is_empty() && stream.failed().is_empty());
        let told = stream.end();
        assert_eq!(told, ["s: the first page of 5000 processes never came, they cannot be shown"]);
    }

    #[test]
    fn frames_without_anything_in_them_are_not_kept_for_ever() {
        let mut stream = Stream::new("s");
        let small = frame(1, &[]).repeat(1000);
        for _ in 0..1000 {
            stream.push(&small);
        }
        assert!(stream.spool.kept() <= 33 << 20, "{}", stream.spool.kept());
        assert_eq!(stream.end().len(), 1);
    }
}
