//! Collects a frame and writes it in one piece, as a synchronized update.

use std::io::{self, Write};

/// Between these a terminal shows nothing of a frame; terminals that do not know them ignore them.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// Writes nothing until it is flushed, and then nothing if there is nothing.
#[derive(Debug)]
pub struct FrameWriter<W: Write> {
    frame: Vec<u8>,
    inner: W,
}

impl<W: Write> FrameWriter<W> {
    /// Writes frames here.
    pub fn new(inner: W) -> Self {
        Self { frame: BEGIN.to_vec(), inner }
    }

    /// Where the frames go.
    pub fn inner(&self) -> &W {
        &self.inner
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.frame.len() == BEGIN.len() {
            return Ok(());
        }
        self.frame.extend_from_slice(END);
        let written = self.inner.write_all(&self.frame).and_then(|()| self.inner.flush());
        self.frame.truncate(BEGIN.len());
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_one_piece_and_an_empty_one_is_nothing() {
        let mut writer = FrameWriter::new(Vec::new());
        writer.flush().expect("flush");
        assert!(writer.inner().is_empty());
        writer.write_all(b"a").expect("write");
        writer.write_all(b"b").expect("write");
        assert!(writer.inner().is_empty());
        writer.flush().expect("flush");
        assert_eq!(writer.inner(), b"\x1b[?2026hab\x1b[?2026l");
        writer.write_all(b"c").expect("write");
        writer.flush().expect("flush");
        assert!(writer.inner().ends_with(b"\x1b[?2026hc\x1b[?2026l"));
    }
}
