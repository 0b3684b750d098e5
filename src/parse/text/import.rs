//! A text trace into native files, one for each process.

use super::activity::PendingRange;
use super::line::{Arguments, CallLine, Line, Value, begun_process, mended, parse};
use crate::parse::ParseError;
use crate::parse::native::writer::{CallRecord, FileInfo, ModuleRecord, NativeWriter};
use crate::parse::sniff::TEXT_MARK;
use crate::trace::activity::raw::Submitted;
use crate::trace::value::parse as parse_value;
use crate::trace::{ArgKind, Argument, Bytes, Layer, Only, Signature};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::{self, Cursor};
use umtui_wire::chunk::OpenCall;
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::{STATE_ENDED, STATE_FAILED, STATE_FULL, STATE_RECORDING};
use umtui_wire::record::{ARGUMENTS_AT, FLAG_CAPTURED, FLAG_ENTRY, FLAG_NO_ARGUMENTS, FLAG_NOT_STATUS};

/// Longest line.
const LINE_MAX: usize = 1 << 20;
/// Bytes read at a time.
const BLOCK: usize = 256 * 1024;
/// Bad lines that are kept; later ones are counted.
const BAD_KEPT: usize = 100;
/// Bytes of the chunks that are written.
const CHUNK: u64 = 256 * 1024;
/// Strings get ids from here on, so that the number of one that was never defined stays free.
const FIRST_STRING: u32 = 1 << 24;
/// Most argument bytes of a record.
const ARGUMENTS_MAX: usize = 12_000;

/// A line that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Line number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: &'static str,
}

/// A text trace in native form.
#[derive(Debug, Default)]
pub struct Import {
    /// A native file for each process, and whether it was killed.
    pub files: Vec<(Vec<u8>, bool)>,
    /// Lines that were not understood, the first hundred.
    pub bad: Vec<BadLine>,
    /// Further ones.
    pub more_bad: u64,
}

/// Reads the text `file` to its end.
///
/// # Errors
/// When it cannot be read, or does not begin as a text trace does. Lines that are wrong are no error.
pub fn import(bytes: &dyn Bytes, file: &str) -> Result<Import, ParseError> {
    let mut importer = Importer::default();
    let io = |offset| move |source| ParseError::Io { file: file.to_owned(), offset, cause: source };
    let mut block = vec![0; BLOCK];
    let mut line: Vec<u8> = Vec::new();
    let mut offset = 0;
    let mut long = false;
    loop {
        let count = bytes.read_at(offset, &mut block).map_err(io(offset))?;
        if count == 0 {
            break;
        }
        offset += count as u64;
        let mut pieces = block.get(..count).unwrap_or(&[]).split(|&byte| byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if line.len() + piece.len() <= LINE_MAX {
                line.extend_from_slice(piece);
            } else {
                long = true;
            }
            if pieces.peek().is_some() {
                importer.line(&line, long);
                line.clear();
                long = false;
            }
        }
    }
    if !line.is_empty() {
        importer.line(&line, long);
    }
    if importer.number == 0 || !importer.begun {
        let what = format!("line 1: not \"{TEXT_MARK}\", so no text trace");
        return Err(ParseError::Format { file: file.to_owned(), what });
    }
    importer.finish().map_err(io(offset))
}

/// A function of a process's file.
#[derive(Clone)]
struct Function {
    id: u16,
    signature: Signature,
}

/// A process while its lines are read.
pub(super) struct Writing {
    pub(super) writer: NativeWriter<Cursor<Vec<u8>>>,
    pub(super) axis_offset: i64,
    /// The thread that was defined first.
    pub(super) first_thread: Option<u32>,
    /// Ranges of each thread.
    pub(super) ranges: BTreeMap<u32, Vec<PendingRange>>,
    killed: bool,
    functions: FxHashMap<String, Function>,
    /// Calls of each thread whose nested calls may still come.
    pending: FxHashMap<u32, Vec<(CallRecord, Option<Submitted>)>>,
    open: FxHashMap<u32, Vec<OpenCall>>,
}

#[derive(Default)]
struct Importer {
    number: u64,
    begun: bool,
    start: u64,
    apis: FxHashMap<String, Option<(Layer, String, Signature)>>,
    labels: FxHashMap<String, usize>,
    processes: Vec<Writing>,
    bad: Vec<BadLine>,
    more_bad: u64,
}

impl Importer {
    fn line(&mut self, bytes: &[u8], long: bool) {
        self.number += 1;
        if long {
            return self.wrong("longer than 1 MiB");
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return self.wrong("not UTF-8") };
        if self.number == 1 {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            self.begun = text.trim_end() == TEXT_MARK;
            return;
        }
        match parse(text) {
            None => self.half_understood(text),
            Some(line) => {
                if let Err(why) = self.take(line) {
                    self.wrong(why);
                }
            }
        }
    }

    /// Takes what can be made of a line that is not as it should be; the line counts as wrong all the same.
    fn half_understood(&mut self, text: &str) {
        let mended = mended(text);
        let (line, why) = match mended.as_deref().and_then(parse) {
            Some(line) => (Some(line), "a backslash that begins no escape; read as it stands"),
            None => match begun_process(text) {
                Some(line) => (Some(line), "not understood to its end; the process is known by what comes before"),
                None => (None, "not understood"),
            },
        };
        let taken = line.map_or(Ok(()), |line| self.take(line));
        self.wrong(taken.err().unwrap_or(why));
    }

    fn wrong(&mut self, why: &'static str) {
        if self.bad.len() < BAD_KEPT {
            self.bad.push(BadLine { line: self.number, why });
        } else {
            self.more_bad += 1;
        }
    }

    fn process(&mut self, label: &str) -> Result<&mut Writing, &'static str> {
        let index = self.labels.get(label).ok_or("a process that was not defined")?;
        self.processes.get_mut(*index).ok_or("a process that was not defined")
    }

    fn take(&mut self, line: Line<'_>) -> Result<(), &'static str> {
        match line {
            Line::Comment => {}
            Line::Start(ns) => self.start = ns,
            Line::Process(label, pairs) => {
                if self.processes.len() >= usize::from(u16::MAX) || self.labels.contains_key(label) {
                    return Err("a process that was defined already, or one too many");
                }
                self.labels.insert(label.to_owned(), self.processes.len());
                self.processes.push(begin(&Pairs(&pairs)));
            }
            Line::Argument(label, text) => self.process(label)?.writer.info_mut().arguments.push(text),
            Line::Module(label, pairs) => module(self.process(label)?, &Pairs(&pairs))?,
            Line::Kernel(label, handle, name) => {
                let process = self.process(label)?;
                let name = process.writer.string(name.as_bytes()).map_err(|_| "a name that is too long")?;
                process.writer.kernel(handle, name, 0).map_err(|_| "too many definitions")?;
            }
            Line::Api(label, known) => {
                self.apis.insert(label.to_owned(), known);
            }
            Line::Thread(label, thread, lost, name) => {
                let process = self.process(label)?;
                process.first_thread.get_or_insert(thread);
                let writer = &mut process.writer;
                let ticks = writer.info_mut().start.ticks;
                let id = writer.string(name.as_bytes()).map_err(|_| "a name that is too long")?;
                writer.thread_name(thread, id, ticks).map_err(|_| "too many threads")?;
                writer.lost(thread, lost).map_err(|_| "too many threads")?;
            }
            Line::Up(label, thread, depth) => self.process(label)?.close(thread, depth)?,
            Line::Call(call) => self.call(&call)?,
            Line::Device(label, pairs) => self.process(label)?.device(&Pairs(&pairs))?,
            Line::Evidence(label, pairs) => self.process(label)?.evidence(&Pairs(&pairs))?,
            Line::Gpu(label, pairs) => self.process(label)?.gpu(&Pairs(&pairs))?,
            Line::Activity(line) => {
                let axis = self.start.checked_add(line.time).ok_or("a time that is too large")?;
                self.process(line.process)?.activity(axis, &line)?;
            }
            Line::Range(line) => {
                let axis = self.start.checked_add(line.time).ok_or("a time that is too large")?;
                self.process(line.process)?.range(axis, &line)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, line: &CallLine<'_>) -> Result<(), &'static str> {
        let axis = self.start.checked_add(line.time).ok_or("a time that is too large")?;
        let function = self.function(line.process, line.api)?;
        let process = self.process(line.process)?;
        let start = process.ticks(axis);
        let Some(duration) = line.duration else {
            let Arguments::Registers(registers) = &line.arguments else {
                return Err("an unfinished call without registers");
            };
            let mut call = OpenCall {
                head: u64::from(function.id) + 1,
                start,
                site: line.site,
                depth: u64::from(line.depth) << 48,
                ..OpenCall::default()
            };
            for (place, value) in call.registers.iter_mut().zip(registers) {
                *place = *value;
            }
            process.open.entry(line.thread).or_default().push(call);
            return Ok(());
        };
        let mut flags = 0;
        for flag in &line.flags {
            flags |= match *flag {
                "captured" => FLAG_CAPTURED,
                "entry" => FLAG_ENTRY,
                "no-arguments" => FLAG_NO_ARGUMENTS,
                "value" => FLAG_NOT_STATUS,
                _ => return Err("an unknown word after the depth"),
            };
        }
        let arguments = match &line.arguments {
            Arguments::Named(pairs) => arguments(&mut process.writer, &function.signature, pairs)?,
            Arguments::Registers(_) => return Err("registers in a call that has ended"),
        };
        process.close(line.thread, line.depth)?;
        let status = line.status.unwrap_or(0);
        let (api, depth, site) = (function.id, line.depth, line.site);
        let record = CallRecord { api, status, start, duration, site, depth, flags, arguments };
        process.pending.entry(line.thread).or_default().push((record, line.submitted.clone()));
        Ok(())
    }

    /// A function in a process's file, defined there at its first use.
    fn function(&mut self, process: &str, label: &str) -> Result<Function, &'static str> {
        if let Some(known) = self.process(process)?.functions.get(label) {
            return Ok(known.clone());
        }
        let definition = self.apis.get(label).ok_or("a function that was not defined")?.clone();
        let undefined: Vec<u16> =
            self.apis.iter().filter(|(_, known)| known.is_none()).filter_map(|(label, _)| api_number(label)).collect();
        let process = self.process(process)?;
        let function = match definition {
            Some((layer, name, signature)) => {
                for number in undefined {
                    process.writer.keep_free(number);
                }
                let text = format!("{name}{signature}");
                let id = process.writer.api(layer, &text).map_err(|_| "too many functions")?;
                Function { id, signature }
            }
            None => {
                let id = api_number(label).ok_or("an undefined function that is not called api#NUMBER")?;
                Function { id, signature: Signature::default() }
            }
        };
        process.functions.insert(label.to_owned(), function.clone());
        Ok(function)
    }

    fn finish(mut self) -> io::Result<Import> {
        let mut files = Vec::new();
        for mut process in std::mem::take(&mut self.processes) {
            let threads: Vec<u32> = process.pending.keys().copied().collect();
            for thread in threads {
                if process.close(thread, 0).is_err() {
                    self.wrong("a call that does not fit a record");
                }
            }
            process.finish_ranges()?;
            for (thread, calls) in &process.open {
                process.writer.in_flight(*thread, calls)?;
            }
            files.push((process.writer.finish(true)?.into_inner(), process.killed));
        }
        Ok(Import { files, bad: self.bad, more_bad: self.more_bad })
    }
}

impl Writing {
    /// Writes the pending calls of a thread that are at least this deep: nothing more can be nested in them.
    fn close(&mut self, thread: u32, depth: u8) -> Result<(), &'static str> {
        let Some(stack) = self.pending.get_mut(&thread) else { return Ok(()) };
        while let Some((call, submitted)) = stack.pop_if(|(call, _)| call.depth >= depth) {
            if let Some(submitted) = submitted {
                self.writer.submit(thread, call.start, &submitted).map_err(|_| "more pointers than a record holds")?;
            }
            self.writer.call(thread, &call).map_err(|_| "a call that does not fit a record")?;
        }
        Ok(())
    }
}

/// `api#12`: 12.
fn api_number(label: &str) -> Option<u16> {
    label.strip_prefix("api#")?.parse().ok()
}

/// Values of a definition line by key.
pub(super) struct Pairs<'a>(&'a [(&'a str, Value<'a>)]);

impl Pairs<'_> {
    pub(super) fn word(&self, key: &str) -> &str {
        self.0.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| match value {
            Value::Word(word) => word,
            Value::Text(text) => text,
        })
    }

    pub(super) fn number(&self, key: &str) -> u64 {
        let word = self.word(key);
        match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).unwrap_or(0),
            None => word.parse().unwrap_or(0),
        }
    }

    pub(super) fn small(&self, key: &str) -> u32 {
        u32::try_from(self.number(key)).unwrap_or(0)
    }

    /// A number that may be missing.
    fn maybe(&self, key: &str) -> Option<u32> {
        self.word(key).parse().ok()
    }

    fn bytes(&self, key: &str) -> Vec<u8> {
        let digits = self.word(key).as_bytes().chunks_exact(2);
        let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        digits.map_while(byte).collect()
    }
}

fn begin(pairs: &Pairs<'_>) -> Writing {
    let mut boot_id = [0; 16];
    for (place, byte) in boot_id.iter_mut().zip(pairs.bytes("boot")) {
        *place = byte;
    }
    let axis_offset: i64 = pairs.word("axis").parse().unwrap_or(0);
    let triple = |monotonic_ns: u64| ClockTriple {
        ticks: monotonic_ns,
        monotonic_ns,
        realtime_ns: pairs.number("realtime").wrapping_add(monotonic_ns.wrapping_sub(pairs.number("monotonic"))),
    };
    let last = pairs.number("last").saturating_add_signed(axis_offset.saturating_neg());
    let info = FileInfo {
        pid: pairs.small("pid"),
        parent_pid: pairs.small("parent"),
        start_time: pairs.number("started"),
        rank: pairs.maybe("rank"),
        local_rank: pairs.maybe("local_rank"),
        boot_id,
        run_id: pairs.number("run"),
        rate_error_ppb: pairs.small("error_ppb"),
        start: triple(pairs.number("monotonic")),
        last: triple(last),
        max_bytes: pairs.number("max"),
        lost: pairs.number("lost"),
        state: match pairs.word("state") {
            "ended" => STATE_ENDED,
            "full" => STATE_FULL,
            "failed" => STATE_FAILED,
            _ => STATE_RECORDING,
        },
        reason: pairs.small("reason"),
        cost_ps: pairs.number("cost_ps"),
        host: pairs.word("host").to_owned(),
        program: pairs.word("program").to_owned(),
        folder: pairs.word("folder").to_owned(),
        ..FileInfo::default()
    };
    let mut writer = NativeWriter::new(Cursor::new(Vec::new()), info, CHUNK);
    writer.strings_from(FIRST_STRING);
    Writing {
        writer,
        axis_offset,
        first_thread: None,
        ranges: BTreeMap::new(),
        killed: pairs.word("state") == "killed",
        functions: FxHashMap::default(),
        pending: FxHashMap::default(),
        open: FxHashMap::default(),
    }
}

fn module(process: &mut Writing, pairs: &Pairs<'_>) -> Result<(), &'static str> {
    let path = pairs.word("path").as_bytes();
    let module = ModuleRecord {
        path: process.writer.string(path).map_err(|_| "a path that is too long")?,
        start: pairs.number("start"),
        end: pairs.number("end"),
        file_offset: pairs.number("offset"),
        ticks: pairs.number("at"),
        build_id: pairs.bytes("build"),
    };
    process.writer.module(&module).map_err(|_| "too many modules")
}

/// Whether an argument that others depend on is as they want it.
fn holds(only: &Only, signature: &Signature, pairs: &[(&str, Value<'_>)]) -> bool {
    let word = pairs.iter().find(|(role, _)| *role == only.role).and_then(|(_, value)| match value {
        Value::Word(word) => Some(*word),
        Value::Text(_) => None,
    });
    let value = signature.role(&only.role).zip(word).and_then(|(asked, word)| parse_value(asked.kind, word));
    let bits = match value {
        Some(crate::trace::Value::Number(bits)) => u32::try_from(bits).ok(),
        _ => None,
    };
    bits.is_some_and(|bits| only.values.contains(&bits))
}

/// The argument bytes of a record.
fn arguments(
    writer: &mut NativeWriter<Cursor<Vec<u8>>>,
    signature: &Signature,
    pairs: &[(&str, Value<'_>)],
) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::new();
    for (role, value) in pairs {
        let is_there =
            |one: &&Argument| one.role == *role && one.only.as_ref().is_none_or(|only| holds(only, signature, pairs));
        let argument =
            signature.arguments.iter().find(is_there).ok_or("an argument that the function does not have")?;
        let value = match (value, argument.kind) {
            (Value::Text(text), ArgKind::Text) => {
                let id = writer.string(text.as_bytes()).map_err(|_| "a string that is too long")?;
                crate::trace::Value::Number(u64::from(id))
            }
            (Value::Word(word), kind) => parse_value(kind, word).ok_or("a value that is not of its argument's kind")?,
            _ => return Err("a value that is not of its argument's kind"),
        };
        let mut encoded = Vec::new();
        match value {
            crate::trace::Value::Number(bits) => encoded.extend_from_slice(&bits.to_le_bytes()),
            crate::trace::Value::Dim3(counts) => counts.iter().for_each(|count| encoded.extend(count.to_le_bytes())),
        }
        encoded.truncate(argument.kind.bytes());
        let at = usize::from(argument.at).checked_sub(ARGUMENTS_AT).ok_or("an argument before all arguments")?;
        let end = at + encoded.len();
        if end > ARGUMENTS_MAX {
            return Err("an argument beyond the longest record");
        }
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        if let Some(place) = bytes.get_mut(at..end) {
            place.copy_from_slice(&encoded);
        }
    }
    Ok(bytes)
}
