//! The machine that a pickle is a program for, without anything that it could do harm with.

use super::heap::{Heap, Value};
use super::input::{Input, Short};
use std::io::{self, Read};

/// Bytes that values may take, and that they may take for each byte of the file: no instruction makes more of itself.
const HEAP_MAX: u64 = 6 << 30;
const HEAP_PER_BYTE: u64 = 128;
/// Bytes that they may take of any file.
const HEAP_LEAST: u64 = 16 << 20;
/// Longest string, number or name, bytes.
const STRING_MAX: u64 = 256 << 20;
/// Longest line of protocol 0.
const LINE_MAX: usize = 1 << 20;
/// The last protocol.
const PROTOCOL_MAX: u8 = 5;
/// Longest whole number, bytes; what does not fit 127 bits is no number of a trace.
const INT_MAX_BYTES: usize = 1 << 10;

/// Functions and classes that stand for containers: module, name, what they make.
const NAMES: &[(&str, &str, Makes)] = &[
    ("collections", "OrderedDict", Makes::Dictionary),
    ("collections", "defaultdict", Makes::Dictionary),
    ("builtins", "dict", Makes::Dictionary),
    ("builtins", "list", Makes::List),
    ("builtins", "tuple", Makes::List),
    ("builtins", "set", Makes::List),
    ("builtins", "frozenset", Makes::List),
    ("builtins", "bytearray", Makes::Data),
    ("_codecs", "encode", Makes::Data),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Makes {
    Dictionary,
    List,
    Data,
}

/// What is wrong with a pickle.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// The system does not give its bytes.
    #[error("cannot read: {0}")]
    Io(io::Error),
    /// It ends too early.
    #[error("the pickle ends in the midst; it was not written to its end")]
    End,
    /// It wants something that a file of data does not need.
    #[error("it names `{0}`, which is no data; nothing of the file is executed")]
    Name(String),
    /// It has an instruction for something outside the file.
    #[error("it refers to {0}, which is not in the file")]
    Outside(&'static str),
    /// An instruction that no protocol has.
    #[error("instruction 0x{0:02x} is not known")]
    Unknown(u8),
    /// An instruction does not find what it works on.
    #[error("an instruction does not find what it needs; the file is damaged")]
    Stack,
    /// It is of a protocol that did not exist when this was written.
    #[error("protocol {0} is newer than this umtui reads ({PROTOCOL_MAX}); use a newer umtui")]
    Protocol(u8),
    /// A value is longer than any that is read.
    #[error("a value of {0} bytes, which is more than is read")]
    Long(u64),
    /// There is more in it than there is room for.
    #[error("its values take more memory than they may; write a snapshot of fewer entries (`max_entries`)")]
    Large,
}

/// What is wrong with a pickle, and where.
#[derive(Debug, thiserror::Error)]
#[error("byte {offset}: {why}")]
pub struct PickleError {
    /// Where the instruction begins, bytes from the file's beginning.
    pub offset: u64,
    /// What is wrong.
    pub why: Why,
}

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
    b"}](NIJKMXVUTSGF)".contains(&opcode) || (0x85..=0x96).contains(&opcode)
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

struct Machine<R> {
    input: Input<R>,
    heap: Heap,
    stack: Vec<Value>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: Vec<Value>,
    buffer: Vec<u8>,
}

impl From<Short> for Why {
    fn from(short: Short) -> Self {
        match short {
            Short::End => Self::End,
            Short::Io(error) => Self::Io(error),
        }
    }
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

    fn scalar(&mut self, opcode: u8) -> Result<(), Why> {
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

    fn pop(&mut self) -> Result<Value, Why> {
        // What is below a mark is not to be reached before the mark is taken.
        if self.marks.last().is_some_and(|&mark| mark >= self.stack.len()) {
            return Err(Why::Stack);
        }
        self.stack.pop().ok_or(Why::Stack)
    }

    fn top(&self) -> Result<Value, Why> {
        self.stack.last().copied().ok_or(Why::Stack)
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, Why> {
        let mark = self.marks.pop().ok_or(Why::Stack)?;
        if mark > self.stack.len() {
            return Err(Why::Stack);
        }
        Ok(self.stack.split_off(mark))
    }

    fn container(&mut self, opcode: u8) -> Result<(), Why> {
        let value = match opcode {
            b'a' => {
                let item = self.pop()?;
                return self.put(&[item], false);
            }
            b'e' | 0x90 => {
                let items = self.since_mark()?;
                return self.put(&items, false);
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                return self.put(&[key, value], true);
            }
            b'u' => {
                let pairs = self.since_mark()?;
                return if pairs.len() % 2 == 0 { self.put(&pairs, true) } else { Err(Why::Stack) };
            }
            b'}' => self.heap.dictionary(),
            b']' | b')' | 0x8f => self.heap.list(Vec::new()),
            b'd' => {
                let pairs = self.since_mark()?;
                let dictionary = self.heap.dictionary();
                if pairs.len() % 2 != 0 || !self.heap.insert(dictionary, &pairs) {
                    return Err(Why::Stack);
                }
                dictionary
            }
            b't' | b'l' | 0x91 => {
                let items = self.since_mark()?;
                self.heap.list(items)
            }
            _ => {
                let mut items = Vec::new();
                for _ in 0x84..opcode {
                    items.push(self.pop()?);
                }
                items.reverse();
                self.heap.list(items)
            }
        };
        self.stack.push(value);
        Ok(())
    }

    /// Puts values into the container on top of the stack.
    fn put(&mut self, values: &[Value], pairs: bool) -> Result<(), Why> {
        let container = self.top()?;
        let fits = if pairs { self.heap.insert(container, values) } else { self.heap.append(container, values) };
        if fits { Ok(()) } else { Err(Why::Stack) }
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

    fn call(&mut self, opcode: u8) -> Result<(), Why> {
        match opcode {
            b'c' | b'i' => {
                let mut name = Vec::new();
                self.input.line(LINE_MAX, &mut self.buffer)?;
                self.input.line(LINE_MAX, &mut name)?;
                let found = named(&self.buffer, &name)?;
                if opcode == b'c' {
                    self.stack.push(found);
                } else {
                    let arguments = self.since_mark()?;
                    self.made(found, &arguments)?;
                }
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Some(module), Some(name)) = (self.heap.as_text(module), self.heap.as_text(name)) else {
                    return Err(Why::Stack);
                };
                let found = named(module, name)?;
                self.stack.push(found);
            }
            b'o' => {
                let all = self.since_mark()?;
                let (&class, arguments) = all.split_first().ok_or(Why::Stack)?;
                self.made(class, arguments)?;
            }
            b'R' | 0x81 => {
                let arguments = self.pop()?;
                let function = self.pop()?;
                let arguments = self.heap.items(arguments).to_vec();
                self.made(function, &arguments)?;
            }
            0x92 => {
                let _keywords = self.pop()?;
                let arguments = self.pop()?;
                let class = self.pop()?;
                let arguments = self.heap.items(arguments).to_vec();
                self.made(class, &arguments)?;
            }
            // The state of an object: containers have none that matters.
            _ => {
                self.pop()?;
                self.top()?;
            }
        }
        Ok(())
    }

    /// Pushes what a known function makes of its arguments.
    fn made(&mut self, function: Value, arguments: &[Value]) -> Result<(), Why> {
        let (.., makes) = function.as_name().and_then(|number| NAMES.get(number)).ok_or(Why::Stack)?;
        let first = arguments.first().copied();
        let value = match makes {
            Makes::Dictionary => {
                let dictionary = self.heap.dictionary();
                let mut pairs = Vec::new();
                if let Some(first) = first {
                    pairs.extend(self.heap.pairs(first).flat_map(|(key, value)| [key, value]));
                    for &pair in self.heap.items(first) {
                        if let [key, value] = self.heap.items(pair) {
                            pairs.extend([*key, *value]);
                        }
                    }
                }
                self.heap.insert(dictionary, &pairs);
                dictionary
            }
            Makes::List => {
                let items = first.map_or_else(Vec::new, |first| self.heap.items(first).to_vec());
                self.heap.list(items)
            }
            Makes::Data => {
                let data = first.and_then(|first| self.heap.as_data(first)).unwrap_or(&[]);
                // Bytes, as text of which each letter is one.
                let data: Vec<u8> =
                    String::from_utf8_lossy(data).chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect();
                self.heap.data(&data)
            }
        };
        self.stack.push(value);
        Ok(())
    }
}

/// A name that stands for a container.
fn named(module: &[u8], name: &[u8]) -> Result<Value, Why> {
    let module = if module == b"__builtin__" { b"builtins" } else { module };
    let known =
        |(_, (of, called, _)): &(usize, &(&str, &str, Makes))| of.as_bytes() == module && called.as_bytes() == name;
    match NAMES.iter().enumerate().find(known) {
        Some((number, _)) => Ok(Value::name(number as u64)),
        None => {
            let text = |bytes: &[u8]| bytes.get(..bytes.len().min(100)).unwrap_or(bytes).escape_ascii().to_string();
            Err(Why::Name(format!("{}.{}", text(module), text(name))))
        }
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
