//! Work of the GPU, unified memory, waits and events.

use super::calls::{correlation, device, id};
use super::import::Importer;
use super::kinds::{BETWEEN, MIGRATION, TO_DEVICE, TO_HOST};
use super::rows::{Copy, CpuFault, Event, GpuFault, GraphRun, Kernel, Set, Sync};
use crate::parse::imported::{Place, Process, Repair, Work};
use std::io;
use umtui_wire::activity as wire;

fn bits(value: Option<i64>) -> u64 {
    value.unwrap_or(0) as u64
}

fn size(value: Option<i64>) -> u32 {
    value.map_or(0, |value| u32::try_from(value.max(0)).unwrap_or(u32::MAX))
}

fn short(value: Option<i64>) -> u16 {
    value.map_or(0, |value| u16::try_from(value.max(0)).unwrap_or(u16::MAX))
}

impl Importer<'_> {
    /// Start and end of work; what has no end is as long as nothing, and counted.
    fn span(&mut self, start: Option<i64>, end: Option<i64>, row: u64) -> Option<(u64, u64)> {
        let (start, end) = self.times(start, end, row)?;
        if end.is_none() {
            self.target.repair(Repair::Mended("work without an end, or with one before its start"), Place::Row(row));
        }
        Some((start, end.unwrap_or(start)))
    }

    pub(super) fn kernel(&mut self, row: &Kernel, number: u64) -> io::Result<()> {
        let Some((start, end)) = self.span(row.start, row.end, number) else { return Ok(()) };
        let name = row.demangled.or(row.mangled).or(row.short);
        let kernel = wire::Kernel {
            start,
            end,
            name: self.text(name).0,
            context: id(row.context),
            stream: id(row.stream),
            registers: short(row.registers),
            grid: [size(row.grid_x), size(row.grid_y), size(row.grid_z)],
            block: [short(row.block_x), short(row.block_y), short(row.block_z)],
            static_shared: size(row.static_shared),
            dynamic_shared: size(row.dynamic_shared),
            local: size(row.local),
            graph: row.graph.map_or(0, |graph| graph as u32),
            node: bits(row.node),
            ..wire::Kernel::default()
        };
        let process = self.process(row.process);
        self.target.work(process, device(row.device), correlation(row.correlation), Work::Kernel(kernel))
    }

    pub(super) fn copy(&mut self, row: &Copy, number: u64) -> io::Result<()> {
        let Some((start, end)) = self.span(row.start, row.end, number) else { return Ok(()) };
        let process = self.process(row.process);
        let kind = self.kinds.copy(row.kind);
        if kind >= MIGRATION {
            return self.migration(row, process, kind, (start, end));
        }
        if kind == 0 {
            self.target.repair(Repair::Mended("copies of an unknown kind"), Place::Row(number));
        }
        let copy = wire::Copied {
            start,
            end,
            bytes: bits(row.bytes),
            context: id(row.context),
            stream: id(row.stream),
            kind,
            from: self.kinds.memory(row.from),
            to: self.kinds.memory(row.to),
            flags: u8::from(self.calls.is_asynchronous(process, row.correlation)),
            from_device: row.from_device.map_or(u16::MAX, |number| number as u16),
            to_device: row.to_device.map_or(u16::MAX, |number| number as u16),
            node: bits(row.node),
            count: bits(row.count),
            ..wire::Copied::default()
        };
        self.target.work(process, device(row.device), correlation(row.correlation), Work::Copy(copy))
    }

    /// Pages that moved. Stream and correlation id are zero, and mean nothing.
    fn migration(&mut self, row: &Copy, process: Process, kind: u8, (start, end): (u64, u64)) -> io::Result<()> {
        let own = device(row.device).map_or(wire::NONE, u32::from);
        let side = |number: Option<i64>| number.map_or(own, |number| number as u32);
        let (what, from, to) = match kind {
            TO_DEVICE => (wire::UNIFIED_TO_DEVICE, wire::NONE, own),
            TO_HOST => (wire::UNIFIED_TO_HOST, own, wire::NONE),
            _ => (wire::UNIFIED_BETWEEN_DEVICES, side(row.from_device), side(row.to_device)),
        };
        debug_assert!(matches!(kind, TO_DEVICE | TO_HOST | BETWEEN));
        let (value, address) = (bits(row.bytes), bits(row.address));
        let unified = wire::Unified { start, end, value, address, from, to, ..wire::Unified::default() };
        let cause = self.kinds.cause(row.cause);
        self.target.work(process, device(row.device), 0, Work::Unified(what, cause, unified))
    }

    pub(super) fn set(&mut self, row: &Set, number: u64) -> io::Result<()> {
        let Some((start, end)) = self.span(row.start, row.end, number) else { return Ok(()) };
        let process = self.process(row.process);
        let set = wire::Set {
            start,
            end,
            bytes: bits(row.bytes),
            context: id(row.context),
            stream: id(row.stream),
            memory: self.kinds.memory(row.memory),
            flags: u8::from(self.calls.is_asynchronous(process, row.correlation)),
            value: row.value.map_or(0, |value| value as u32),
            node: bits(row.node),
            ..wire::Set::default()
        };
        self.target.work(process, device(row.device), correlation(row.correlation), Work::Set(set))
    }

    pub(super) fn sync(&mut self, row: &Sync, number: u64) -> io::Result<()> {
        let Some((start, end)) = self.span(row.start, row.end, number) else { return Ok(()) };
        let wait = wire::Wait {
            start,
            end,
            context: id(row.context),
            stream: id(row.stream),
            kind: self.kinds.wait(row.kind),
            event: id(row.event),
            event_sync: bits(row.event_sync),
            ..wire::Wait::default()
        };
        let process = self.process(row.process);
        self.target.work(process, device(row.device), correlation(row.correlation), Work::Wait(wait))
    }

    pub(super) fn event(&mut self, row: &Event, number: u64) -> io::Result<()> {
        let time = match row.time {
            Some(time) => self.time(time, number),
            // Of older exports, and where it was not asked for.
            None => Work::UNKNOWN,
        };
        let event = wire::EventRecorded {
            time,
            event_sync: bits(row.event_sync),
            context: id(row.context),
            stream: id(row.stream),
            event: id(row.event),
            ..wire::EventRecorded::default()
        };
        let process = self.process(row.process);
        self.target.work(process, device(row.device), correlation(row.correlation), Work::Event(event))
    }

    pub(super) fn graph_run(&mut self, row: &GraphRun, number: u64) -> io::Result<()> {
        let Some((start, end)) = self.span(row.start, row.end, number) else { return Ok(()) };
        let graph = wire::GraphRun {
            start,
            end,
            graph: row.executable.or(row.graph).map_or(0, |graph| graph as u32),
            context: id(row.context),
            stream: id(row.stream),
            end_device: device(row.device).map_or(wire::NONE, u32::from),
            ..wire::GraphRun::default()
        };
        let process = self.process(row.process);
        self.target.work(process, device(row.device), correlation(row.correlation), Work::Graph(graph))
    }

    pub(super) fn cpu_fault(&mut self, row: &CpuFault, number: u64) -> io::Result<()> {
        let Some((start, _)) = self.times(row.start, None, number) else { return Ok(()) };
        let (value, address) = (bits(row.pc.or(row.unresolved)), bits(row.address));
        let (from, to) = (wire::NONE, wire::NONE);
        let unified = wire::Unified { start, end: 0, value, address, from, to, ..wire::Unified::default() };
        let process = self.process(row.process);
        self.target.work(process, None, 0, Work::Unified(wire::UNIFIED_CPU_FAULT, 0, unified))
    }

    pub(super) fn gpu_fault(&mut self, row: &GpuFault, number: u64) -> io::Result<()> {
        let Some((start, end)) = self.span(row.start, row.end, number) else { return Ok(()) };
        let from = device(row.device).map_or(wire::NONE, u32::from);
        let (value, address) = (bits(row.pages), bits(row.address));
        let unified = wire::Unified { start, end, value, address, from, to: wire::NONE, ..wire::Unified::default() };
        let access = self.kinds.access(row.access);
        let process = self.process(row.process);
        self.target.work(process, device(row.device), 0, Work::Unified(wire::UNIFIED_GPU_FAULT, access, unified))
    }
}
