//! A log into native files.

use super::table::Table;
use super::units;
use crate::parse::ParseError;
use crate::parse::imported::{Function, Imported, Key, Place, Process, Repair, Target};
use crate::parse::lines::{Line, Lines};
use crate::trace::NO_DEVICE;
use crate::trace::activity::Told;
use crate::trace::activity::evidence::What;
use rustc_hash::FxHashMap;
use std::io::{self, Read};
use umtui_wire::activity as wire;

/// Lines of sums that are told.
const SUMS_TOLD: usize = 24;
/// Warnings that are told.
const WARNINGS_TOLD: usize = 8;

/// Whether a line is one that nvprof writes: `==123== NVPROF is profiling process 123`, or the heading of a trace.
#[must_use]
pub fn is_mark(line: &str) -> bool {
    match marked(line) {
        Some((_, rest)) => [
            "NVPROF is profiling",
            "Profiling application",
            "Profiling result",
            "API calls",
            "Unified Memory profiling result",
            "Warning:",
            "Generated result file",
        ]
        .iter()
        .any(|words| rest.starts_with(words)),
        None => Table::of(line).is_some_and(|table| {
            table.column("Duration").is_some()
                || table.column("Calls").is_some()
                || table.column("Total Size").is_some()
        }),
    }
}

/// `==123== text`: the process and the text. Of a process that is not known, and where a recording was read, there is no
/// number: `======== text`.
pub(super) fn marked(line: &str) -> Option<(Option<u32>, &str)> {
    let line = line.trim_start_matches(['\u{feff}', ' ', '\t']);
    if let Some(rest) = line.strip_prefix("======== ") {
        return Some((None, rest.trim()));
    }
    let (number, rest) = line.strip_prefix("==")?.split_once("==")?;
    Some((Some(number.parse().ok()?), rest.trim()))
}

/// Whether a line is one that nobody but nvprof writes.
#[must_use]
pub fn is_certain(line: &str) -> bool {
    marked(line).is_some() && is_mark(line)
}

/// Reads a log into `target`; `name` is what errors call it.
///
/// # Errors
/// When it cannot be read, or nvprof has written nothing in it.
pub fn import(input: impl Read, name: &str, mut target: Target) -> Result<Imported, ParseError> {
    let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
    target.never(What::Pointers);
    target.never(What::Ranges);
    target.never(What::Memory);
    target.never(What::Waits);
    let mut log = Log::new(target);
    let mut lines = Lines::new(input);
    while let Some((number, line)) = lines.next().map_err(io)? {
        let place = Place::At(number, 1);
        match line {
            Line::Text(text) => log.line(&String::from_utf8_lossy(text), place).map_err(io)?,
            Line::Long => log.others += 1,
        }
    }
    if !log.any {
        let what = "nothing that nvprof writes; a log is made with `nvprof --print-gpu-trace --log-file OUT PROGRAM`";
        return Err(ParseError::Format { file: name.to_owned(), what: what.to_owned() });
    }
    log.finish().map_err(io)
}

/// What a table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// One row for each thing that was done.
    Trace,
    /// Sums of calls and work.
    Summary,
    /// Sums of unified memory.
    Unified,
}

pub(super) struct Log {
    pub(super) target: Target,
    pub(super) process: Process,
    pid: Option<u32>,
    table: Option<(Of, Table)>,
    units_next: bool,
    device: Option<u16>,
    pub(super) functions: FxHashMap<String, Function>,
    sums: Vec<String>,
    more_sums: u64,
    warnings: usize,
    any: bool,
    events: bool,
    unified_sums: bool,
    others: u64,
}

impl Log {
    fn new(mut target: Target) -> Self {
        let process = target.process(&Key::None);
        Self {
            target,
            process,
            pid: None,
            table: None,
            units_next: false,
            device: None,
            functions: FxHashMap::default(),
            sums: Vec::new(),
            more_sums: 0,
            warnings: 0,
            any: false,
            events: false,
            unified_sums: false,
            others: 0,
        }
    }

    fn line(&mut self, line: &str, place: Place) -> io::Result<()> {
        if let Some((pid, rest)) = marked(line) {
            self.mark(pid, rest);
            // What comes now has a heading of its own.
            if !rest.starts_with("Warning:") && !rest.starts_with("Error:") {
                self.table = None;
            }
            if let Some(count) = total_cpu_faults(rest) {
                self.told(wire::UNIFIED_CPU_FAULT, None, count, 0, 0)?;
            }
            return Ok(());
        }
        if let Some(table) = Table::of(line) {
            let of = if table.column("Start").is_some() {
                Of::Trace
            } else if table.column("Calls").is_some() {
                Of::Summary
            } else {
                Of::Unified
            };
            self.any = true;
            self.units_next = table.has_unit_row();
            self.table = Some((of, table));
            return Ok(());
        }
        if let Some(count) = total_cpu_faults(line) {
            self.told(wire::UNIFIED_CPU_FAULT, None, count, 0, 0)?;
            self.any = true;
            return Ok(());
        }
        if let Some(number) = device_line(line) {
            self.device = number;
            return Ok(());
        }
        let Some((of, mut table)) = self.table.take() else {
            self.others += u64::from(!line.trim().is_empty());
            return Ok(());
        };
        if std::mem::take(&mut self.units_next) && table.take_units(line) {
            self.table = Some((of, table));
            return Ok(());
        }
        if let Some(row) = table.row(line) {
            let taken = match of {
                Of::Trace => self.event(&table, &row, place)?,
                Of::Summary => self.sum(&table, &row),
                Of::Unified => self.unified(&table, &row)?,
            };
            self.events |= taken && of == Of::Trace;
            self.others += u64::from(!taken);
        } else {
            self.others += u64::from(!line.trim().is_empty());
        }
        self.table = Some((of, table));
        Ok(())
    }

    fn mark(&mut self, pid: Option<u32>, rest: &str) {
        if pid.is_some() && self.pid != pid {
            self.pid = pid;
            self.process = self.target.process(&pid.map_or(Key::None, |pid| Key::Number(i128::from(pid))));
        }
        self.any |= is_mark(&format!("======== {rest}"));
        if let Some((_, command)) = rest.split_once("command: ") {
            let mut words = command.split_whitespace().map(ToOwned::to_owned);
            let program = words.next().unwrap_or_default();
            let arguments: Vec<String> = words.take(1000).collect();
            self.target.process_name(self.process, &program);
            self.target.command(self.process, "", &arguments);
        }
        if rest.starts_with("Warning:") || rest.starts_with("Error:") {
            self.warnings += 1;
            if self.warnings <= WARNINGS_TOLD {
                self.target.note(format!("nvprof says: {}", rest.chars().take(300).collect::<String>()));
            }
            if rest.contains("dropped") || rest.contains("lost") {
                self.target.repair(Repair::Lost("nvprof says that it lost records"), Place::Nowhere);
            }
        }
    }

    /// A row of sums of calls or work.
    fn sum(&mut self, table: &Table, row: &[String]) -> bool {
        let value = |name| table.get(row, name);
        let (Some((calls, _)), Some((time, unit))) = (value("Calls"), value("Time")) else { return false };
        let (Some(calls), Some(total), Some((name, _))) = (units::count(calls), units::time(time, unit), value("Name"))
        else {
            return false;
        };
        if self.sums.len() < SUMS_TOLD {
            self.sums.push(format!("{name}: {calls} times, {total} ns"));
        } else {
            self.more_sums += 1;
        }
        true
    }

    /// A row of the block of unified memory.
    fn unified(&mut self, table: &Table, row: &[String]) -> io::Result<bool> {
        let value = |name| table.get(row, name);
        let (Some((count, _)), Some((name, _))) = (value("Count"), value("Name")) else { return Ok(false) };
        let (Some(count), Some(what)) = (units::count(count), unified_of(name)) else { return Ok(false) };
        let bytes = value("Total Size").and_then(|(size, unit)| units::bytes(size, unit)).unwrap_or(0);
        let time = value("Total Time").and_then(|(time, unit)| units::time(time, unit)).unwrap_or(0);
        let device = value("Device").and_then(|(device, _)| device_number(device)).or(self.device);
        self.told(what, device, count, bytes, time)?;
        Ok(true)
    }

    fn told(&mut self, what: u16, device: Option<u16>, count: u64, bytes: u64, total_ns: u64) -> io::Result<()> {
        self.unified_sums = true;
        let device = device.and_then(|device| u8::try_from(device).ok()).unwrap_or(NO_DEVICE);
        self.target.told(self.process, &Told { what, device, count, bytes, total_ns })
    }

    fn finish(mut self) -> io::Result<Imported> {
        if self.events {
            self.target.note("times and sizes are as nvprof rounded them; threads are not in its logs".to_owned());
        }
        if self.unified_sums {
            self.target.note("of unified memory only sums are known, not when".to_owned());
        }
        if !self.sums.is_empty() {
            self.target.note("of a summary only sums are known, not when:".to_owned());
        }
        for line in std::mem::take(&mut self.sums) {
            self.target.note(line);
        }
        if self.more_sums > 0 {
            self.target.note(format!("and sums of {} more", self.more_sums));
        }
        if self.warnings > WARNINGS_TOLD {
            self.target.note(format!("nvprof warns of {} more things", self.warnings - WARNINGS_TOLD));
        }
        if self.others > 0 {
            self.target.note(format!("{} other lines, of the program or of legends", self.others));
        }
        self.target.finish()
    }
}

/// What a name in the block of unified memory, or of an event of it, stands for.
pub(super) fn unified_of(name: &str) -> Option<u16> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    Some(match () {
        () if has(&["host to device", "memcpy htod"]) => wire::UNIFIED_TO_DEVICE,
        () if has(&["device to host", "memcpy dtoh"]) => wire::UNIFIED_TO_HOST,
        () if has(&["device to device", "memcpy dtod"]) => wire::UNIFIED_BETWEEN_DEVICES,
        () if has(&["cpu page fault"]) => wire::UNIFIED_CPU_FAULT,
        () if has(&["gpu page fault"]) => wire::UNIFIED_GPU_FAULT,
        () if has(&["thrash"]) => wire::UNIFIED_THRASHING,
        () if has(&["throttl"]) => wire::UNIFIED_THROTTLING,
        () if has(&["remote map"]) => wire::UNIFIED_REMOTE_MAP,
        () => return None,
    })
}

/// `Total CPU Page faults: 13739`.
fn total_cpu_faults(line: &str) -> Option<u64> {
    let line = line.trim().trim_matches('"');
    let (words, count) = line.rsplit_once(':')?;
    let words = words.to_ascii_lowercase();
    (words == "total cpu page faults").then(|| units::count(count.trim().trim_matches('"')))?
}

/// `Device "Tesla V100 (0)"`, which stands above the rows of a device.
fn device_line(line: &str) -> Option<Option<u16>> {
    let name = line.trim().strip_prefix("Device \"")?.strip_suffix('"')?;
    Some(device_number(name))
}

/// `Tesla V100 (0)`: 0.
pub(super) fn device_number(name: &str) -> Option<u16> {
    name.trim().strip_suffix(')')?.rsplit_once('(')?.1.parse().ok()
}
