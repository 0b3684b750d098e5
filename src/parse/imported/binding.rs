//! A process of an import with its native file.

use super::functions::FunctionText;
use super::said::{Said, Sayings};
use super::texts::{Text, Texts};
use crate::parse::native::writer::{FileInfo, NativeWriter};
use crate::trace::activity::Told;
use crate::trace::{Bytes, NO_DEVICE};
use std::fs::File;
use std::io;
use std::sync::Arc;
use umtui_wire::activity as wire;
use umtui_wire::header::CHUNK_MAX;
use umtui_wire::record::Head;

/// The thread that records of the GPU are written as.
pub const COLLECTOR: u32 = u32::MAX;
/// Functions of a file at most.
const FUNCTIONS: u16 = 60_000;

/// A native file that is being written.
pub struct Binding {
    pub writer: NativeWriter<File>,
    bytes: Arc<dyn Bytes>,
    strings: Vec<u32>,
    said: Vec<u32>,
    functions: Vec<Option<u16>>,
    defined: u16,
    /// The last of them, for all that there is no room for.
    other: Option<u16>,
    /// Moment of the newest record of the GPU that has one, ns.
    newest_work: u64,
}

impl Binding {
    /// An empty file.
    pub fn new((file, bytes): (File, Arc<dyn Bytes>)) -> io::Result<Self> {
        let mut writer = NativeWriter::new(file, FileInfo::default(), CHUNK_MAX);
        writer.sparse();
        // The input's clock is the file's; the shift leaves zero to what has no time.
        let head = Head { kind: wire::KIND_GPU_CLOCK, extra: 0, a: 0, b: 0 }.word();
        writer.record(COLLECTOR, &[head, 0, super::work::SHIFT, u64::MAX, 0, 0], 0)?;
        let (strings, said, functions) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { writer, bytes, strings, said, functions, defined: 0, other: None, newest_work: 0 })
    }

    /// The file's number of a name.
    pub fn string(&mut self, text: Text, texts: &Texts) -> io::Result<u32> {
        if text == Text::NONE {
            return Ok(0);
        }
        string_of(&mut self.writer, &mut self.strings, text.0, texts.get(text))
    }

    /// The file's number of what else an input says of a range.
    pub fn said(&mut self, said: Said, sayings: &Sayings) -> io::Result<u32> {
        string_of(&mut self.writer, &mut self.said, said.0, sayings.get(said))
    }

    /// The file's number of a function.
    pub fn function(&mut self, number: u32, function: &FunctionText) -> io::Result<u16> {
        let at = number as usize;
        if let Some(&Some(known)) = self.functions.get(at) {
            return Ok(known);
        }
        let id = match self.other {
            Some(other) if self.defined >= FUNCTIONS => other,
            _ if self.defined >= FUNCTIONS => self.writer.api(function.layer, "other_functions()")?,
            _ => self.writer.api(function.layer, &function.definition())?,
        };
        if self.defined >= FUNCTIONS {
            self.other = Some(id);
        }
        self.defined = self.defined.saturating_add(1);
        if self.functions.len() <= at {
            self.functions.resize(at + 1, None);
        }
        if let Some(place) = self.functions.get_mut(at) {
            *place = Some(id);
        }
        Ok(id)
    }

    /// Writes a record of the GPU, of a moment in ns if it has one.
    pub fn work(&mut self, record: &[u8], moment: Option<u64>) -> io::Result<()> {
        self.newest_work = moment.unwrap_or(self.newest_work);
        self.writer.record_bytes(COLLECTOR, record, self.newest_work)
    }

    /// Writes a sum without events.
    pub fn told(&mut self, told: &Told) -> io::Result<()> {
        let device = if told.device == NO_DEVICE { wire::NONE } else { u32::from(told.device) };
        let head = Head { kind: wire::KIND_SUM, extra: 0, a: told.what, b: device }.word();
        self.writer.record(COLLECTOR, &[head, 0, told.count, told.bytes, told.total_ns, 0], 0)
    }

    /// Says that some evidence is recorded, or why not.
    pub fn statement(&mut self, what: u16, why: u32, detail: Text, ticks: u64, texts: &Texts) -> io::Result<()> {
        let detail = self.string(detail, texts)?;
        let head = Head { kind: wire::KIND_EVIDENCE, extra: 0, a: what, b: why }.word();
        self.writer.record(COLLECTOR, &[head, ticks, u64::from(detail), 0, 0, 0], ticks)
    }

    /// Writes what is left; the file.
    pub fn finish(self) -> io::Result<Arc<dyn Bytes>> {
        self.writer.finish(true)?;
        Ok(self.bytes)
    }
}

/// The file's number of a string by the input's, which `known` remembers.
fn string_of(writer: &mut NativeWriter<File>, known: &mut Vec<u32>, number: u32, text: &[u8]) -> io::Result<u32> {
    let at = number as usize;
    if let Some(&known) = known.get(at).filter(|&&known| known != 0) {
        return Ok(known);
    }
    let id = writer.string(text)?;
    if known.len() <= at {
        known.resize(at + 1, 0);
    }
    if let Some(place) = known.get_mut(at) {
        *place = id;
    }
    Ok(id)
}
