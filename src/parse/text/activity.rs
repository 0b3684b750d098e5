//! Lines of what the GPU did, of evidence and of ranges, into native records.

use super::import::{Pairs, Writing};
use super::line::{ActivityLine, RangeLine, Value};
use crate::trace::ActivityKind;
use crate::trace::activity::Device;
use crate::trace::activity::fields::{Field, Form, RANGE};
use umtui_wire::activity as wire;
use umtui_wire::record::{Head, SLOT_BYTES};
use zerocopy::{FromBytes, IntoBytes};

const TOO_LONG: &str = "more than a file holds";

/// A range whose record has not been written: its end may stand among later lines.
pub(super) struct PendingRange {
    start: u64,
    end: Option<u64>,
    kind: u8,
    record: [u64; 12],
}

impl Writing {
    /// The thread that records are written as which have none.
    fn collector(&mut self) -> u32 {
        self.first_thread.unwrap_or(self.writer.info_mut().pid)
    }

    /// A time on the axis by the file's clock.
    pub(super) fn ticks(&self, axis_ns: u64) -> u64 {
        axis_ns.saturating_add_signed(self.axis_offset.saturating_neg())
    }

    /// The driver's clock is taken to be the time of day.
    fn driver(&mut self, ticks: u64) -> u64 {
        let start = self.writer.info_mut().start;
        start.realtime_ns.wrapping_add(ticks.wrapping_sub(start.ticks))
    }

    fn text(&mut self, text: &str) -> Result<u32, &'static str> {
        if text.is_empty() { Ok(0) } else { self.writer.string(text.as_bytes()).map_err(|_| "a name that is too long") }
    }

    pub(super) fn device(&mut self, pairs: &Pairs<'_>) -> Result<(), &'static str> {
        let name = self.text(pairs.word("name"))?;
        let number = u16::try_from(pairs.number("number")).map_err(|_| "a device with too large a number")?;
        let device = Device {
            memory_bytes: pairs.number("memory"),
            capability: (pairs.small("major"), pairs.small("minor")),
            multiprocessors: pairs.small("multiprocessors"),
            pci: (pairs.small("domain"), pairs.small("bus"), pairs.small("place")),
            bits: pairs.number("bits"),
            uuid: [pairs.number("uuid_0"), pairs.number("uuid_1")],
            ..Device::default()
        };
        self.writer.device(number, name, &device).map_err(|_| TOO_LONG)
    }

    pub(super) fn evidence(&mut self, pairs: &Pairs<'_>) -> Result<(), &'static str> {
        let what = u16::try_from(pairs.number("what")).map_err(|_| "an unknown kind of evidence")?;
        let ticks = self.ticks(pairs.number("since"));
        let detail = self.text(pairs.word("detail"))?;
        let head = Head { kind: wire::KIND_EVIDENCE, extra: 0, a: what, b: pairs.small("why") };
        let result = u64::from(pairs.small("result")) | u64::from(pairs.small("driver")) << 32;
        let record = [head.word(), ticks, u64::from(detail), result, pairs.number("library"), 0];
        self.put(&record, ticks)
    }

    /// What was dropped, and how well the driver's clock is known.
    pub(super) fn gpu(&mut self, pairs: &Pairs<'_>) -> Result<(), &'static str> {
        let start = self.writer.info_mut().start.ticks;
        let word = |kind| Head { kind, extra: 0, a: 0, b: 0 }.word();
        if !pairs.word("error").is_empty() {
            let complete = pairs.word("complete");
            let ticks = if complete.is_empty() { start } else { self.ticks(pairs.number("complete")) };
            let driver = self.driver(ticks);
            let complete = if complete.is_empty() { 0 } else { driver };
            let width = pairs.number("error").saturating_mul(2);
            self.put(&[word(wire::KIND_GPU_CLOCK), ticks, driver, width, complete, 0], ticks)?;
        }
        let dropped = pairs.number("dropped");
        for count in
            [(dropped > 0).then_some(dropped), (pairs.number("unknown") > 0).then_some(u64::MAX)].into_iter().flatten()
        {
            self.put(&[word(wire::KIND_DROPPED), start, count, 0, 0, 0], start)?;
        }
        Ok(())
    }

    fn put(&mut self, record: &[u64; 6], ticks: u64) -> Result<(), &'static str> {
        let thread = self.collector();
        self.writer.record(thread, record, ticks).map_err(|_| TOO_LONG)
    }

    pub(super) fn activity(&mut self, axis_ns: u64, line: &ActivityLine<'_>) -> Result<(), &'static str> {
        let kind =
            ActivityKind::ALL.into_iter().find(|kind| kind.word() == line.kind).ok_or("an unknown kind of work")?;
        let mut record = [0u64; 12];
        self.fields(kind.fields(), &line.pairs, &mut record)?;
        let start = self.ticks(axis_ns);
        let end = start.saturating_add(line.duration.unwrap_or(0));
        if line.duration.is_some() {
            record[1] = self.driver(start);
            if kind.has_end() {
                record[2] = self.driver(end);
            }
        }
        let short = matches!(kind, ActivityKind::Copy | ActivityKind::Set | ActivityKind::Unified);
        let one = kind.slots() == 1 || (short && record.iter().skip(SLOT_BYTES / 8).all(|&word| word == 0));
        record[0] |= Head { kind: kind as u8, extra: u8::from(!one), a: 0, b: 0 }.word();
        let thread = self.collector();
        self.writer.record(thread, &record, end).map_err(|_| TOO_LONG)
    }

    pub(super) fn range(&mut self, axis_ns: u64, line: &RangeLine<'_>) -> Result<(), &'static str> {
        let kind = match line.kind {
            "push" => wire::KIND_RANGE_PUSH,
            "start" => wire::KIND_RANGE_START,
            "mark" => wire::KIND_MARK,
            _ => return Err("an unknown kind of range"),
        };
        let mut record = [0u64; 12];
        self.fields(RANGE, &line.pairs, &mut record)?;
        let start = self.ticks(axis_ns);
        let extra = u8::from(record.iter().skip(SLOT_BYTES / 8).any(|&word| word != 0));
        record[0] |= Head { kind, extra, a: 0, b: 0 }.word();
        record[1] = start;
        let end = line.duration.map(|duration| start.saturating_add(duration));
        self.ranges.entry(line.thread).or_default().push(PendingRange { start, end, kind, record });
        Ok(())
    }

    /// Writes the ranges of all threads, with their ends between the beginnings.
    pub(super) fn finish_ranges(&mut self) -> std::io::Result<()> {
        let mut ids = 0;
        for (thread, ranges) in std::mem::take(&mut self.ranges) {
            // Ends of the open ranges of each domain, innermost last.
            let mut open: rustc_hash::FxHashMap<u32, Vec<Option<u64>>> = rustc_hash::FxHashMap::default();
            for PendingRange { start, end, kind, mut record } in ranges {
                let domain = wire::SaidRange::read_from_bytes(record.as_bytes()).map_or(0, |range| range.domain);
                match kind {
                    wire::KIND_RANGE_PUSH => {
                        let stack = open.entry(domain).or_default();
                        while let Some(end) = stack.pop_if(|end| end.is_some_and(|end| end <= start)) {
                            self.end(thread, wire::KIND_RANGE_POP, domain, end.unwrap_or(start), 0)?;
                        }
                        self.writer.record(thread, &record, start)?;
                        stack.push(end);
                    }
                    wire::KIND_RANGE_START => {
                        ids += 1;
                        record[5] = ids;
                        self.writer.record(thread, &record, start)?;
                        if let Some(end) = end {
                            self.end(thread, wire::KIND_RANGE_END, domain, end, ids)?;
                        }
                    }
                    _ => self.writer.record(thread, &record, start)?,
                }
            }
            for (domain, mut stack) in open {
                while let Some(end) = stack.pop_if(|end| end.is_some()) {
                    self.end(thread, wire::KIND_RANGE_POP, domain, end.unwrap_or(0), 0)?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, thread: u32, kind: u8, domain: u32, ticks: u64, id: u64) -> std::io::Result<()> {
        let range = wire::Range { head: wire::Range::head(kind, 0, 0), ticks, domain, id, ..wire::Range::default() };
        self.writer.record(thread, &range, ticks)
    }

    fn fields(
        &mut self,
        fields: &[Field],
        pairs: &[(&str, Value<'_>)],
        record: &mut [u64],
    ) -> Result<(), &'static str> {
        for (name, value) in pairs {
            let field =
                fields.iter().find(|field| field.name == *name).ok_or("a field that such records do not have")?;
            let value = match (field.form, value) {
                (Form::Text, Value::Text(text)) => u64::from(self.text(text)?),
                (Form::Number, Value::Word("none")) => field.none(),
                (Form::Number, Value::Word(word)) => word.parse().map_err(|_| "a value that is no number")?,
                (Form::Hex, Value::Word(word)) => {
                    let digits = word.strip_prefix("0x").ok_or("a value without 0x")?;
                    u64::from_str_radix(digits, 16).map_err(|_| "a value that is no number")?
                }
                _ => return Err("a value that is not of its field's kind"),
            };
            if !field.set(record.as_mut_bytes(), value) {
                return Err("a value that is too large for its field");
            }
        }
        Ok(())
    }
}
