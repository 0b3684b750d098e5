//! Rows of traces.

use super::import::{Log, device_number, unified_of};
use super::table::Table;
use super::units;
use crate::parse::imported::{Call, Key, Place, Repair, Work, api_name};
use crate::trace::Layer;
use crate::trace::activity::Device;
use std::io;
use umtui_wire::activity as wire;

impl Log {
    /// A row of a trace; whether it is one.
    pub(super) fn event(&mut self, table: &Table, row: &[String], place: Place) -> io::Result<bool> {
        let value = |name| table.get(row, name);
        let Some(start) = value("Start").and_then(|(start, unit)| units::time(start, unit)) else { return Ok(false) };
        let Some((name, _)) = value("Name") else { return Ok(false) };
        let duration = value("Duration").map(|(duration, unit)| units::time(duration, unit));
        if duration == Some(None) {
            return Ok(false);
        }
        let duration = duration.flatten();
        let end = duration.map(|duration| start.saturating_add(duration));
        let device = value("Device").and_then(|(name, _)| {
            let number = device_number(name)?;
            let plain = name.rsplit_once(" (").map_or(name, |(plain, _)| plain);
            self.target.device(self.process, number, plain, &Device::default());
            Some(number)
        });
        let row = Row { table, row, start, end, device };
        if name.starts_with("[Unified Memory") {
            return self.unified_event(&row, name, place);
        }
        if device.is_none() && is_function(name) {
            return self.api(&row, name);
        }
        if end.is_none() {
            self.target.repair(Repair::Mended("work without a duration"), place);
        }
        self.work(&row, name)
    }

    fn api(&mut self, row: &Row<'_>, name: &str) -> io::Result<bool> {
        // `cudaLaunchKernel (add(int*) [109])`
        let (plain, launched) = name.split_once(" (").unwrap_or((name, ""));
        let correlation =
            row.correlation().or_else(|| bracketed(launched.trim_end_matches(')')).1).or(bracketed(name).1);
        let plain = bracketed(plain).0;
        let function = match self.functions.get(plain) {
            Some(&known) => known,
            None => {
                let layer = if plain.starts_with("cuda") { Layer::Runtime } else { Layer::Driver };
                let function = self.target.function(layer, api_name(plain), "");
                self.target.called(function, plain);
                self.functions.insert(plain.to_owned(), function);
                function
            }
        };
        let thread = self.target.thread(self.process, &Key::None);
        let correlation = correlation.unwrap_or(0);
        let call = Call { function, start: row.start, end: row.end, correlation, ..Call::default() };
        self.target.call(thread, &call)?;
        Ok(true)
    }

    fn work(&mut self, row: &Row<'_>, name: &str) -> io::Result<bool> {
        let (start, end) = (row.start, row.end.unwrap_or(row.start));
        let (context, stream) = (row.small("Context").unwrap_or(wire::NONE), row.small("Stream").unwrap_or(wire::NONE));
        let (plain, id) = bracketed(name);
        let correlation = row.correlation().or(id).unwrap_or(0);
        let bytes = row.bytes("Size").unwrap_or(0);
        let work = if let Some(kind) = name.strip_prefix("[CUDA memcpy ").map(copy_kind) {
            let (from, to) = (row.memory("SrcMemType"), row.memory("DstMemType"));
            let (from_device, to_device) = (row.of("Src Dev"), row.of("Dst Dev"));
            Work::Copy(wire::Copied {
                start,
                end,
                bytes,
                context,
                stream,
                kind,
                from,
                to,
                from_device,
                to_device,
                ..Default::default()
            })
        } else if name.starts_with("[CUDA memset") {
            let memory = row.memory("DstMemType").max(row.memory("SrcMemType"));
            Work::Set(wire::Set { start, end, bytes, context, stream, memory, ..Default::default() })
        } else if name.starts_with('[') {
            self.target.unplaced(name);
            return Ok(true);
        } else {
            let name = self.target.text(plain).0;
            let short = |value: Option<u32>| value.map_or(0, |value| u16::try_from(value).unwrap_or(u16::MAX));
            let (grid, block) = (row.three("Grid"), row.three("Block"));
            Work::Kernel(wire::Kernel {
                start,
                end,
                name,
                context,
                stream,
                registers: short(row.small("Registers Per Thread").or(row.small("Regs"))),
                grid,
                block: block.map(|size| u16::try_from(size).unwrap_or(u16::MAX)),
                static_shared: row.room("Static SMem", "SSMem"),
                dynamic_shared: row.room("Dynamic SMem", "DSMem"),
                ..Default::default()
            })
        };
        self.target.work(self.process, row.device, correlation, work)?;
        Ok(true)
    }

    fn unified_event(&mut self, row: &Row<'_>, name: &str, place: Place) -> io::Result<bool> {
        let Some(what) = unified_of(name) else {
            self.target.unplaced(name);
            return Ok(true);
        };
        let said = row.table.get(row.row, "Unified Memory");
        let value = match (what, said) {
            (wire::UNIFIED_CPU_FAULT, Some((text, _))) => text.strip_prefix("PC ").and_then(units::address),
            // How many, whatever the unit of the column is.
            (wire::UNIFIED_GPU_FAULT | wire::UNIFIED_THROTTLING, Some((text, _))) => units::number(text),
            (_, Some((text, unit))) => units::bytes(text, unit),
            (_, None) => row.bytes("Size"),
        };
        if value.is_none() {
            self.target.repair(Repair::Mended("events of unified memory that do not say how much"), place);
        }
        let own = row.device.map_or(wire::NONE, u32::from);
        let second = row.table.second_device(row.row).and_then(device_number).map_or(wire::NONE, u32::from);
        let (from, to) = if what == wire::UNIFIED_TO_DEVICE { (wire::NONE, own) } else { (own, second) };
        let address = row.table.get(row.row, "Virtual Address").and_then(|(text, _)| units::address(text)).unwrap_or(0);
        let (start, end) = (row.start, row.end.unwrap_or(0));
        let unified = wire::Unified { start, end, value: value.unwrap_or(0), address, from, to, ..Default::default() };
        self.target.work(self.process, row.device, 0, Work::Unified(what, 0, unified))?;
        Ok(true)
    }
}

struct Row<'a> {
    table: &'a Table,
    row: &'a [String],
    start: u64,
    end: Option<u64>,
    device: Option<u16>,
}

impl Row<'_> {
    fn get(&self, name: &str) -> Option<(&str, &str)> {
        self.table.get(self.row, name)
    }

    fn small(&self, name: &str) -> Option<u32> {
        self.get(name)?.0.parse().ok()
    }

    fn correlation(&self) -> Option<u32> {
        self.small("Correlation_ID")
    }

    fn bytes(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(|(size, unit)| units::bytes(size, unit))
    }

    fn room(&self, csv: &str, text: &str) -> u32 {
        let bytes = self.bytes(csv).or_else(|| self.bytes(text));
        bytes.map_or(0, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    fn of(&self, name: &str) -> u16 {
        self.get(name).and_then(|(name, _)| device_number(name)).unwrap_or(u16::MAX)
    }

    /// `(12 1 1)`, or a column for each.
    fn three(&self, what: &str) -> [u32; 3] {
        let mut sizes = [0; 3];
        if let Some((text, _)) = self.get(&format!("{what} Size")) {
            let numbers = text.trim_matches(['(', ')']).split_whitespace();
            for (place, number) in sizes.iter_mut().zip(numbers) {
                *place = number.parse().unwrap_or(0);
            }
        } else {
            for (place, axis) in sizes.iter_mut().zip(["X", "Y", "Z"]) {
                *place = self.small(&format!("{what} {axis}")).unwrap_or(0);
            }
        }
        sizes
    }

    /// `CUpti_ActivityMemoryKind`; zero if it is not known.
    fn memory(&self, name: &str) -> u8 {
        match self.get(name).map(|(kind, _)| kind) {
            Some("Pageable") => 1,
            Some("Pinned") => 2,
            Some("Device") => 3,
            Some("Array") => 4,
            Some("Managed") => 5,
            _ => 0,
        }
    }
}

/// `HtoD]`: the kind of a copy; zero if it is not known.
fn copy_kind(rest: &str) -> u8 {
    const KINDS: &[(&str, u8)] = &[
        ("HtoD", 1),
        ("DtoH", 2),
        ("HtoA", 3),
        ("AtoH", 4),
        ("AtoA", 5),
        ("AtoD", 6),
        ("DtoA", 7),
        ("DtoD", 8),
        ("HtoH", 9),
        ("PtoP", 10),
    ];
    KINDS.iter().find(|(word, _)| rest.starts_with(word)).map_or(0, |(_, kind)| *kind)
}

/// `add(int*) [109]`: the name and the number.
fn bracketed(name: &str) -> (&str, Option<u32>) {
    let found = name.strip_suffix(']').and_then(|rest| rest.rsplit_once(" ["));
    match found.and_then(|(plain, number)| Some((plain, number.parse().ok()?))) {
        Some((plain, number)) => (plain, Some(number)),
        None => (name, None),
    }
}

/// Whether it is a function of the runtime or the driver: `cudaMalloc`, `cuInit`.
fn is_function(name: &str) -> bool {
    let rest = name.strip_prefix("cuda").or_else(|| name.strip_prefix("cu"));
    let word = rest.and_then(|rest| rest.split([' ', '(']).next()).unwrap_or_default();
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
