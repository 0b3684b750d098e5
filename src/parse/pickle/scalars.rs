//! Instructions that push a value: numbers, strings, nothing.

use super::error::Why;
use super::heap::Value;
use super::machine::{LINE_MAX, Machine};
use std::io::Read;

/// Longest string, number or name, bytes.
const STRING_MAX: u64 = 256 << 20;
/// Longest whole number, bytes; what does not fit 127 bits is no number of a trace.
const INT_MAX_BYTES: usize = 1 << 10;

impl<R: Read> Machine<R> {
    pub(super) fn scalar(&mut self, opcode: u8) -> Result<(), Why> {
        let value = match opcode {
            b'N' => Value::NOTHING,
            0x88 => Value::boolean(true),
            0x89 => Value::boolean(false),
            b'J' => {
                let number = i32::from_le_bytes(self.input.array()?);
                self.heap.int(i128::from(number))
            }
            b'K' => {
                let number = self.input.byte()?;
                self.heap.int(i128::from(number))
            }
            b'M' => {
                let number = u16::from_le_bytes(self.input.array()?);
                self.heap.int(i128::from(number))
            }
            b'G' => {
                let number = f64::from_be_bytes(self.input.array()?);
                self.heap.float(number)
            }
            b'I' | b'L' | b'F' | b'S' | b'V' => self.line_value(opcode)?,
            0x8a => {
                let count = u64::from(self.input.byte()?);
                self.long(count)?
            }
            0x8b => {
                let count = u64::from(u32::from_le_bytes(self.input.array()?));
                self.long(count)?
            }
            b'U' | b'C' | 0x8c => {
                let count = u64::from(self.input.byte()?);
                self.string(count, opcode == b'C')?
            }
            b'T' | b'X' | b'B' => {
                let count = u64::from(u32::from_le_bytes(self.input.array()?));
                self.string(count, opcode == b'B')?
            }
            0x8d | 0x8e | 0x96 => {
                let count = u64::from_le_bytes(self.input.array()?);
                self.string(count, opcode != 0x8d)?
            }
            other => return Err(Why::Unknown(other)),
        };
        self.stack.push(value);
        Ok(())
    }

    /// Values that are written as a line of text.
    fn line_value(&mut self, opcode: u8) -> Result<Value, Why> {
        self.input.line(LINE_MAX, &mut self.buffer)?;
        // Latin-1, with escapes for what is beyond.
        let text: String = self.buffer.iter().copied().map(char::from).collect();
        let text = text.trim_end_matches('\r');
        Ok(match opcode {
            b'I' if text == "00" => Value::boolean(false),
            b'I' if text == "01" => Value::boolean(true),
            b'I' | b'L' => {
                let number: i128 = text.trim().trim_end_matches('L').parse().map_err(|_| Why::Stack)?;
                self.heap.int(number)
            }
            b'F' => {
                let number: f64 = text.trim().parse().map_err(|_| Why::Stack)?;
                self.heap.float(number)
            }
            b'S' => {
                let quote = text.chars().next().filter(|&quote| quote == '\'' || quote == '"').ok_or(Why::Stack)?;
                let inside = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).ok_or(Why::Stack)?;
                self.heap.text(&unescaped(inside, true))
            }
            _ => self.heap.text(&unescaped(text, false)),
        })
    }

    /// A whole number of so many bytes, the least significant first.
    fn long(&mut self, count: u64) -> Result<Value, Why> {
        if count > INT_MAX_BYTES as u64 {
            return Err(Why::Long(count));
        }
        self.input.take(count, &mut self.buffer)?;
        let negative = self.buffer.last().is_some_and(|byte| byte & 0x80 != 0);
        let fill = if negative { 0xff } else { 0 };
        let fits = self.buffer.iter().skip(16).all(|&byte| byte == fill)
            && (self.buffer.len() <= 16 || self.buffer.get(15).is_some_and(|byte| (byte & 0x80 != 0) == negative));
        let number = if fits {
            let mut bytes = [fill; 16];
            for (place, byte) in bytes.iter_mut().zip(&self.buffer) {
                *place = *byte;
            }
            i128::from_le_bytes(bytes)
        } else if negative {
            i128::MIN
        } else {
            i128::MAX
        };
        Ok(self.heap.int(number))
    }

    fn string(&mut self, count: u64, data: bool) -> Result<Value, Why> {
        if count > STRING_MAX {
            return Err(Why::Long(count));
        }
        self.input.take(count, &mut self.buffer)?;
        Ok(if data { self.heap.data(&self.buffer) } else { self.heap.text(&self.buffer) })
    }
}

/// Without Python's escapes; one that is not known stays as it stands. Of those of text only `\u` and `\U` are ones.
fn unescaped(text: &str, all: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    let push = |out: &mut Vec<u8>, letter: char| out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            push(&mut out, letter);
            continue;
        }
        let mut after = rest.clone();
        let (digits, plain) = match after.next() {
            Some('u') => (4, None),
            Some('U') => (8, None),
            Some('x') if all => (2, None),
            Some('n') if all => (0, Some('\n')),
            Some('t') if all => (0, Some('\t')),
            Some('r') if all => (0, Some('\r')),
            Some(same @ ('\\' | '\'' | '"')) if all => (0, Some(same)),
            _ => (0, None),
        };
        let code: String = after.clone().take(digits).collect();
        let coded = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).filter(|_| code.len() == digits);
        match plain.or(coded) {
            Some(letter) => {
                push(&mut out, letter);
                rest = after;
                if digits > 0 {
                    rest.nth(digits - 1);
                }
            }
            None => out.push(b'\\'),
        }
    }
    out
}
