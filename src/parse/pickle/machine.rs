//! The machine that a pickle is a program for, without anything that it could do harm with.

use super::error::{PickleError, Why};
use super::heap::{Heap, Value};
use super::input::Input;
use std::io::Read;

/// Bytes that values may take, and that they may take for each byte of the file: no instruction makes more of itself.
const HEAP_MAX: u64 = 6 << 30;
const HEAP_PER_BYTE: u64 = 128;
/// Bytes that they may take of any file.
const HEAP_LEAST: u64 = 16 << 20;
/// Longest line of protocol 0.
pub(super) const LINE_MAX: usize = 1 << 20;
/// The last protocol.
pub(super) const PROTOCOL_MAX: u8 = 5;

/// Whether a file that begins like this may be a pickle: of protocol 2 or later, which all are that are written now, or
/// of an earlier one that begins with a dictionary.
#[must_use]
pub fn looks_like(first: &[u8]) -> bool {
    match first {
        [0x80, protocol, rest @ ..] => {
            (2..=32).contains(protocol) && rest.first().is_none_or(|&next| known(next) || next == 0x95)
        }
        [b'}', b'q', ..] => true,
        [b'(', b'd', b'p', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}

fn known(opcode: u8) -> bool {
    b"}](NIJKMXVUTSGF)c".contains(&opcode) || (0x85..=0x96).contains(&opcode)
}

/// Reads a pickle; the value that it is.
///
/// # Errors
/// When it is not whole, wants more than data, or is too large; the error says where.
pub fn read(from: impl Read) -> Result<(Heap, Value), PickleError> {
    let mut machine = Machine {
        input: Input::new(from),
        heap: Heap::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        buffer: Vec::new(),
    };
    loop {
        let offset = machine.input.offset();
        let failed = |why| PickleError { offset, why };
        if machine.step().map_err(failed)? {
            let value = machine.stack.pop().ok_or_else(|| failed(Why::Stack))?;
            return Ok((machine.heap, value));
        }
        let used = machine.heap.used().saturating_add(8 * (machine.stack.len() + machine.memo.len()) as u64);
        let most = offset.saturating_mul(HEAP_PER_BYTE).saturating_add(HEAP_LEAST).min(HEAP_MAX);
        if used > most {
            return Err(failed(Why::Large));
        }
    }
}

/// The machine between two instructions.
pub(super) struct Machine<R> {
    pub(super) input: Input<R>,
    pub(super) heap: Heap,
    pub(super) stack: Vec<Value>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: Vec<Value>,
    pub(super) buffer: Vec<u8>,
}

impl<R: Read> Machine<R> {
    /// Does one instruction; whether it was the last one.
    fn step(&mut self) -> Result<bool, Why> {
        let opcode = self.input.byte()?;
        match opcode {
            b'.' => return Ok(true),
            0x80 => {
                let protocol = self.input.byte()?;
                if protocol > PROTOCOL_MAX {
                    return Err(Why::Protocol(protocol));
                }
            }
            // How much comes in one piece is of no interest here.
            0x95 => {
                self.input.array::<8>()?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b'0' => match self.marks.last() {
                Some(&mark) if mark == self.stack.len() => drop(self.marks.pop()),
                _ => drop(self.pop()?),
            },
            b'1' => drop(self.since_mark()?),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            b'a' | b'e' | b's' | b'u' | 0x90 | b'}' | b']' | b')' | b't' | b'l' | b'd' | 0x85..=0x87 | 0x8f | 0x91 => {
                self.container(opcode)?;
            }
            b'p' | b'q' | b'r' | b'g' | b'h' | b'j' | 0x94 => self.memory(opcode)?,
            b'c' | 0x93 | b'i' | b'R' | 0x81 | 0x92 | b'o' | b'b' => self.call(opcode)?,
            b'P' | b'Q' => return Err(Why::Outside("a persistent object")),
            0x82..=0x84 => return Err(Why::Outside("a registered extension")),
            0x97 | 0x98 => return Err(Why::Outside("a buffer")),
            _ => self.scalar(opcode)?,
        }
        Ok(false)
    }

    pub(super) fn pop(&mut self) -> Result<Value, Why> {
        // What is below a mark is not to be reached before the mark is taken.
        if self.marks.last().is_some_and(|&mark| mark >= self.stack.len()) {
            return Err(Why::Stack);
        }
        self.stack.pop().ok_or(Why::Stack)
    }

    pub(super) fn top(&self) -> Result<Value, Why> {
        self.stack.last().copied().ok_or(Why::Stack)
    }

    pub(super) fn since_mark(&mut self) -> Result<Vec<Value>, Why> {
        let mark = self.marks.pop().ok_or(Why::Stack)?;
        if mark > self.stack.len() {
            return Err(Why::Stack);
        }
        Ok(self.stack.split_off(mark))
    }

    fn memory(&mut self, opcode: u8) -> Result<(), Why> {
        let index = match opcode {
            0x94 => self.memo.len() as u64,
            b'q' | b'h' => u64::from(self.input.byte()?),
            b'r' | b'j' => u64::from(u32::from_le_bytes(self.input.array()?)),
            _ => {
                self.input.line(LINE_MAX, &mut self.buffer)?;
                let text = std::str::from_utf8(&self.buffer).map_err(|_| Why::Stack)?;
                text.trim().parse().map_err(|_| Why::Stack)?
            }
        };
        let index = usize::try_from(index).map_err(|_| Why::Stack)?;
        if matches!(opcode, b'g' | b'h' | b'j') {
            let value = self.memo.get(index).copied().ok_or(Why::Stack)?;
            self.stack.push(value);
            return Ok(());
        }
        let value = self.top()?;
        // Each entry takes at least two bytes of the file.
        if index as u64 > self.input.offset() {
            return Err(Why::Stack);
        }
        if index >= self.memo.len() {
            self.memo.resize(index + 1, Value::NOTHING);
        }
        if let Some(place) = self.memo.get_mut(index) {
            *place = value;
        }
        Ok(())
    }
}
