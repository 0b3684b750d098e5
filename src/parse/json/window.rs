//! The part of an input that is being looked at.

use super::block::past_space;
use super::scanner::Stop;
use crate::parse::imported::Place;
use std::io::{self, Read};

/// Bytes that are read at once: what fits into a core's own cache.
const READ: usize = 1 << 18;
/// Longest piece that is held: what is longer is not read as one value.
const LONGEST: usize = 64 << 20;

/// A window on an input, which moves forward.
pub struct Window<R> {
    input: R,
    bytes: Vec<u8>,
    /// Bytes before it were done with.
    at: usize,
    ended: bool,
    /// Lines, and bytes since the last line began, before the window.
    lines: u64,
    column: u64,
    read: usize,
}

impl<R: Read> Window<R> {
    /// At the beginning.
    pub fn new(input: R) -> Self {
        Self::reading(input, READ)
    }

    /// Reading so many bytes at once.
    pub fn reading(input: R, read: usize) -> Self {
        Self { input, bytes: Vec::new(), at: 0, ended: false, lines: 0, column: 0, read: read.max(1) }
    }

    /// What is there from here on.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Done with so many bytes.
    pub fn advance(&mut self, count: usize) {
        self.at = (self.at + count).min(self.bytes.len());
    }

    /// Whether the input has ended with what is there.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// Reads on; false if nothing came, since the input has ended, or the window is as long as it may be.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub fn more(&mut self) -> io::Result<bool> {
        if self.ended || self.rest().len() >= LONGEST {
            return Ok(false);
        }
        if self.at > 0 {
            let gone = self.bytes.get(..self.at).unwrap_or(&[]);
            let (lines, column) = after(gone, self.lines, self.column);
            (self.lines, self.column) = (lines, column);
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        // As much again as there is, so that a long value is not looked at too often.
        let wanted = self.read.max(self.bytes.len());
        let before = self.bytes.len();
        let count = (&mut self.input).take(wanted as u64).read_to_end(&mut self.bytes)?;
        debug_assert_eq!(self.bytes.len(), before + count);
        self.ended = count < wanted;
        Ok(count > 0)
    }

    /// The next byte that is no white space, not taken; `None` at the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            self.at = past_space(&self.bytes, self.at);
            if let Some(&byte) = self.bytes.get(self.at) {
                return Ok(Some(byte));
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Calls `read` with what is there, and again with more if that was not enough. It says how many bytes it took.
    /// At the end of the input, and of what may be held, what is incomplete stays so.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub fn with<T>(&mut self, mut read: impl FnMut(&[u8]) -> Result<(T, usize), Stop>) -> io::Result<Result<T, Stop>> {
        loop {
            match read(self.rest()) {
                Ok((value, count)) => {
                    self.advance(count);
                    return Ok(Ok(value));
                }
                Err(Stop::Incomplete) if self.more()? => {}
                Err(stop) => return Ok(Err(stop)),
            }
        }
    }

    /// Where it is, or was so many bytes before, if those are still there.
    #[must_use]
    pub fn place(&self, before: usize) -> Place {
        let gone = self.bytes.get(..self.at.saturating_sub(before)).unwrap_or(&[]);
        let (lines, column) = after(gone, self.lines, self.column);
        Place::At(lines + 1, column + 1)
    }
}

/// Lines and column after some bytes.
fn after(bytes: &[u8], lines: u64, column: u64) -> (u64, u64) {
    match memchr::memrchr(b'\n', bytes) {
        Some(last) => (lines + memchr::memchr_iter(b'\n', bytes).count() as u64, (bytes.len() - last - 1) as u64),
        None => (lines, column + bytes.len() as u64),
    }
}
