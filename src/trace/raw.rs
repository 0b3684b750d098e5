//! Raw call records: their status and arguments, which columns do not hold.

use super::api::{Api, Argument};
use super::bytes::Bytes;
use super::call::{CallFlags, Location};
use super::ids::{NameId, ProcessId};
use super::store::Trace;
use super::value::{ArgKind, Style, Value, print};
use std::io;
use umtui_wire::record::{FLAG_LONG, Head, SLOT_BYTES, unpack_site};

/// A raw call record of 48 to 12,288 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCall {
    bytes: Vec<u8>,
}

impl RawCall {
    /// Reads the record at `location` of `file`.
    ///
    /// # Errors
    /// When reading fails, or the file no longer holds the record.
    pub fn read(file: &dyn Bytes, location: Location) -> io::Result<Self> {
        let mut bytes = vec![0; usize::from(location.slots) * SLOT_BYTES];
        let count = file.read_at(location.offset, &mut bytes)?;
        if count < bytes.len() {
            let what = "the record is no longer in the file";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(Self { bytes })
    }

    /// From bytes that were read already.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The record's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn word(&self, index: usize) -> u64 {
        let mut eight = [0; 8];
        if let Some(bytes) = self.bytes.get(index * 8..index * 8 + 8) {
            eight.copy_from_slice(bytes);
        }
        u64::from_le_bytes(eight)
    }

    /// What the call returned: a status, or the low half of something else.
    #[must_use]
    pub fn status(&self) -> u32 {
        Head::from_word(self.word(0)).b
    }

    /// Start, clock ticks of the process.
    #[must_use]
    pub fn start_ticks(&self) -> u64 {
        self.word(1)
    }

    /// Return address.
    #[must_use]
    pub fn address(&self) -> u64 {
        unpack_site(self.word(2)).0
    }

    /// Flags.
    #[must_use]
    pub fn flags(&self) -> CallFlags {
        CallFlags::of_record(unpack_site(self.word(2)).2, self.status())
    }

    /// The bytes that arguments may lie in: all but the last word where that is the duration.
    fn readable(&self) -> &[u8] {
        let long = unpack_site(self.word(2)).2 & FLAG_LONG != 0 && self.bytes.len() > SLOT_BYTES;
        let end = if long { self.bytes.len() - 8 } else { self.bytes.len() };
        self.bytes.get(..end).unwrap_or(&[])
    }

    /// The arguments that were recorded, in the order of the prototype.
    pub fn arguments<'a>(&self, api: &'a Api) -> impl Iterator<Item = (&'a Argument, Value)> {
        let flags = self.flags();
        let none = flags.has(CallFlags::NO_ARGUMENTS) || flags.entry_only();
        let answered = !flags.failed() && (flags.has(CallFlags::NOT_STATUS) || self.status() == 0);
        let wanted = move |argument: &&Argument| !none && (answered || !argument.on_success);
        let read = |argument: &'a Argument| {
            let value = argument.read(self.readable())?;
            Some((argument, value))
        };
        api.signature.arguments.iter().filter(wanted).filter_map(read).collect::<Vec<_>>().into_iter()
    }

    /// The value of the argument with this role.
    #[must_use]
    pub fn argument(&self, api: &Api, role: &str) -> Option<Value> {
        self.arguments(api).find(|(argument, _)| argument.role == role).map(|(_, value)| value)
    }

    /// The arguments as text, `ptr=0x7f00 bytes=64 MiB`. Strings are as recorded, in quotes, escaped as Rust
    /// escapes them.
    #[must_use]
    pub fn text(&self, trace: &Trace, process: ProcessId, api: &Api, style: Style) -> String {
        let name = trace.names.get(api.name);
        let mut out = String::new();
        for (argument, value) in self.arguments(api) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&argument.role);
            out.push('=');
            match (argument.kind, value) {
                (ArgKind::Text, Value::Number(id)) => out.push_str(&string(trace, process, id as u32, style)),
                _ => out.push_str(&print(argument.kind, value, style, name, &argument.role)),
            }
            if style == Style::Short
                && Some(argument.at) == api.semantics.function_at
                && let Value::Number(handle) = value
                && let Some(&kernel) = trace.kernels.get(&(process, handle))
            {
                out.push(' ');
                out.push_str(trace.names.get(kernel));
            }
        }
        out
    }

    /// The result as text, empty for success: the status's name, or the value returned.
    #[must_use]
    pub fn result(&self, api: &Api) -> String {
        let flags = self.flags();
        if flags.entry_only() {
            String::new()
        } else if flags.has(CallFlags::NOT_STATUS) {
            self.status().to_string()
        } else if self.status() == 0 {
            String::new()
        } else {
            super::results::text(api.layer, self.status())
        }
    }
}

/// Arguments of a record as (role, value).
#[must_use]
pub fn arguments(api: &Api, record: &[u8]) -> Vec<(String, ArgKind, Value)> {
    let raw = RawCall::from_bytes(record.to_vec());
    raw.arguments(api).map(|(argument, value)| (argument.role.clone(), argument.kind, value)).collect()
}

/// The string with this id in its process's file.
#[must_use]
pub fn string_of(trace: &Trace, process: ProcessId, id: u32) -> Option<NameId> {
    trace.process(process)?.strings.get(&id).copied()
}

fn string(trace: &Trace, process: ProcessId, id: u32, style: Style) -> String {
    match string_of(trace, process, id) {
        Some(name) => format!("{:?}", trace.names.get(name)),
        None if id == 0 && style == Style::Short => "?".to_owned(),
        None => format!("string#{id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Layer, Signature};
    use umtui_wire::record::{KIND_CALL, pack_site};

    fn record(status: u32, flags: u8) -> RawCall {
        let head = Head { kind: KIND_CALL, extra: 0, a: 0, b: status };
        let mut bytes = Vec::new();
        for word in [head.word(), 5, pack_site(0x1234, 0, flags), 1 << 32 | 9, 0x7f00, 64 << 20] {
            bytes.extend_from_slice(&u64::to_le_bytes(word));
        }
        RawCall::from_bytes(bytes)
    }

    fn managed(trace: &mut Trace) -> Api {
        let argument = |role: &str, word: &str, on_success, at| Argument {
            role: role.into(),
            kind: ArgKind::from_word(word),
            on_success,
            at,
            only: None,
        };
        let arguments = vec![
            argument("ptr", "ptr", true, 32),
            argument("bytes", "size", false, 40),
            argument("flags", "hex", false, 28),
            argument("beyond", "u64", false, 48),
        ];
        let id = trace.api_of("cudaMallocManaged", Layer::Runtime, Signature { arguments, ..Signature::default() });
        trace.api(id).unwrap().clone()
    }

    #[test]
    fn answers_are_there_only_after_success() {
        let mut trace = Trace::default();
        let api = managed(&mut trace);
        let text = |raw: RawCall, style| raw.text(&trace, ProcessId(0), &api, style);
        assert_eq!(text(record(0, 0), Style::Short), "ptr=0x7f00 bytes=64 MiB flags=Global");
        assert_eq!(text(record(0, 0), Style::Exact), "ptr=0x7f00 bytes=67108864 flags=0x1");
        assert_eq!(text(record(2, 0), Style::Short), "bytes=64 MiB flags=Global");
        assert_eq!(text(record(0, 4), Style::Short), "");
        assert_eq!(record(2, 0).result(&api), "cudaErrorMemoryAllocation");
        assert_eq!(record(0, 0).result(&api), "");
    }
}
