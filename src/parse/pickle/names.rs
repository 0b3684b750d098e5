//! Names in a pickle: functions and classes that stand for containers, and what they make of their arguments.

use super::error::Why;
use super::heap::Value;
use super::machine::{LINE_MAX, Machine};
use std::io::Read;

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
    // Of snapshots that PyTorch's own code has written, without Python: they say of which type a container is.
    ("torch.jit._pickle", "restore_type_tag", Makes::Same),
    ("torch.jit._pickle", "build_intlist", Makes::Same),
    ("torch.jit._pickle", "build_doublelist", Makes::Same),
    ("torch.jit._pickle", "build_boollist", Makes::Same),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Makes {
    Dictionary,
    List,
    Data,
    /// What it is given first, as it is.
    Same,
}

impl<R: Read> Machine<R> {
    pub(super) fn call(&mut self, opcode: u8) -> Result<(), Why> {
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
            Makes::Same => first.ok_or(Why::Stack)?,
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
