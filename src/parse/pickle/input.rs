//! Bytes of a pickle in order.

use std::io::{self, Read};

/// Bytes read at a time.
const BLOCK: usize = 256 * 1024;

/// Reads an input from its beginning.
pub struct Input<R> {
    from: R,
    block: Vec<u8>,
    at: usize,
    /// Offset of the block's end.
    end: u64,
}

/// Why the next bytes cannot be had.
#[derive(Debug)]
pub enum Short {
    /// The input ends.
    End,
    /// The system does not give them.
    Io(io::Error),
}

impl<R: Read> Input<R> {
    /// All that `from` gives.
    pub const fn new(from: R) -> Self {
        Self { from, block: Vec::new(), at: 0, end: 0 }
    }

    /// Offset of the next byte.
    pub const fn offset(&self) -> u64 {
        self.end.saturating_sub((self.block.len().saturating_sub(self.at)) as u64)
    }

    fn fill(&mut self) -> Result<(), Short> {
        self.block.resize(BLOCK, 0);
        self.at = 0;
        let count = loop {
            match self.from.read(&mut self.block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.block.clear();
                    return Err(Short::Io(error));
                }
                Ok(count) => break count,
            }
        };
        self.block.truncate(count);
        self.end = self.end.saturating_add(count as u64);
        if count == 0 { Err(Short::End) } else { Ok(()) }
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, Short> {
        loop {
            if let Some(&byte) = self.block.get(self.at) {
                self.at += 1;
                return Ok(byte);
            }
            self.fill()?;
        }
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        if let Some(array) = self.block.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            self.at += N;
            return Ok(*array);
        }
        let mut array = [0; N];
        for place in &mut array {
            *place = self.byte()?;
        }
        Ok(array)
    }

    /// The next `count` bytes, into `into`, which grows as they come and not before.
    pub fn take(&mut self, count: u64, into: &mut Vec<u8>) -> Result<(), Short> {
        into.clear();
        let mut wanted = usize::try_from(count).map_err(|_| Short::End)?;
        while wanted > 0 {
            let rest = self.block.get(self.at..).unwrap_or(&[]);
            if rest.is_empty() {
                self.fill()?;
                continue;
            }
            let piece = rest.get(..wanted.min(rest.len())).unwrap_or(rest);
            into.extend_from_slice(piece);
            self.at += piece.len();
            wanted -= piece.len();
        }
        Ok(())
    }

    /// The bytes up to a newline, which is left out, into `into`; `most` of them.
    pub fn line(&mut self, most: usize, into: &mut Vec<u8>) -> Result<(), Short> {
        into.clear();
        loop {
            match self.byte()? {
                b'\n' => return Ok(()),
                byte if into.len() < most => into.push(byte),
                _ => return Err(Short::End),
            }
        }
    }
}
