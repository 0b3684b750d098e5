//! Instructions that make containers and put values into them.

use super::error::Why;
use super::heap::Value;
use super::machine::Machine;
use std::io::Read;

impl<R: Read> Machine<R> {
    pub(super) fn container(&mut self, opcode: u8) -> Result<(), Why> {
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
}
