//! Lines of a text of any length, read in blocks.

use std::io::{self, Read};

/// Bytes read at a time.
const BLOCK: usize = 256 * 1024;
/// Longest line.
const LONGEST: usize = 1 << 20;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes, without the newline and a carriage return before it.
    Text(&'a [u8]),
    /// One that is longer than any that is read.
    Long,
}

/// Lines of a text.
pub struct Lines<R> {
    input: R,
    block: Vec<u8>,
    at: usize,
    line: Vec<u8>,
    number: u64,
    ended: bool,
}

impl<R: Read> Lines<R> {
    /// Of all that `input` gives.
    pub const fn new(input: R) -> Self {
        Self { input, block: Vec::new(), at: 0, line: Vec::new(), number: 0, ended: false }
    }

    /// The next line and its number, from 1; `None` at the end.
    ///
    /// # Errors
    /// When reading fails.
    #[allow(clippy::should_implement_trait, reason = "a line is borrowed from what it was read into")]
    pub fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        self.line.clear();
        let mut long = false;
        let mut any = false;
        loop {
            let rest = self.block.get(self.at..).unwrap_or(&[]);
            if rest.is_empty() {
                if self.ended || !self.fill()? {
                    self.ended = true;
                    break;
                }
                continue;
            }
            any = true;
            let end = rest.iter().position(|&byte| byte == b'\n');
            let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
            if self.line.len() + piece.len() <= LONGEST {
                self.line.extend_from_slice(piece);
            } else {
                long = true;
            }
            self.at += piece.len() + usize::from(end.is_some());
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        Ok(Some((self.number, if long { Line::Long } else { Line::Text(line) })))
    }

    fn fill(&mut self) -> io::Result<bool> {
        self.block.resize(BLOCK, 0);
        self.at = 0;
        let count = loop {
            match self.input.read(&mut self.block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.block.truncate(count);
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length() {
        let text = [b"a\r\n\nbc\n".as_slice(), &vec![b'x'; LONGEST + 5], b"\nlast"].concat();
        let mut lines = Lines::new(text.as_slice());
        assert_eq!(lines.next().unwrap(), Some((1, Line::Text(b"a"))));
        assert_eq!(lines.next().unwrap(), Some((2, Line::Text(b""))));
        assert_eq!(lines.next().unwrap(), Some((3, Line::Text(b"bc"))));
        assert_eq!(lines.next().unwrap(), Some((4, Line::Long)));
        assert_eq!(lines.next().unwrap(), Some((5, Line::Text(b"last"))));
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(Lines::new(&b""[..]).next().unwrap(), None);
    }
}
