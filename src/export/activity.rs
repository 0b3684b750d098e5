//! Lines of a text trace for what the GPU did, for evidence and for ranges.

use super::text::Labels;
use crate::lens::Selected;
use crate::trace::activity::fields::{Field, Form, RANGE};
use crate::trace::activity::{LaneId, raw};
use crate::trace::call::Location;
use crate::trace::{Activity, ActivityKind, Bytes, Lane, LaneOf, ProcessId, RangeKind, Trace, TrackId};
use std::io::{self, Write};
use std::sync::Arc;
use zerocopy::IntoBytes;

/// What is known of processes beside their calls, as definitions.
pub(super) fn definitions(trace: &Trace, labels: &Labels, out: &mut dyn Write) -> io::Result<()> {
    for id in (0..u16::MAX).map(ProcessId).take(trace.processes.len()) {
        let Some(of) = trace.activities.of(id) else { continue };
        let label = labels.process(id);
        for (number, device) in &of.devices {
            let ((major, minor), (domain, bus, place), [one, two]) = (device.capability, device.pci, device.uuid);
            writeln!(
                out,
                "# device {label} number={number} memory={} major={major} minor={minor} multiprocessors={} domain={domain} bus={bus} \
                 place={place} bits={:#x} uuid_0={one:#x} uuid_1={two:#x} name={:?}",
                device.memory_bytes,
                device.multiprocessors,
                device.bits,
                trace.names.get(device.name)
            )?;
        }
        for one in of.evidence.all() {
            writeln!(
                out,
                "# evidence {label} what={} since={} why={} result={} driver={} library={} detail={:?}",
                one.what as u16,
                one.since_ns,
                one.why,
                one.result,
                one.driver_version,
                one.library_version,
                trace.names.get(trace.activities.name(one.detail))
            )?;
        }
        let mut line = format!("# gpu {label} dropped={} unknown={}", of.dropped, u8::from(of.dropped_unknown));
        if let Some(error) = of.clock_error_ns {
            line.push_str(&format!(" error={error}"));
        }
        if let Some(complete) = of.complete_ns {
            line.push_str(&format!(" complete={complete}"));
        }
        if of.dropped > 0 || of.dropped_unknown || of.clock_error_ns.is_some() {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// A row that is no call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// Place among the lanes, and row.
    Lane(u32, u32),
    Range(TrackId, u32),
}

/// Rows that are no calls, in order of start.
pub(super) struct Others<'a> {
    trace: &'a Trace,
    labels: &'a Labels,
    files: &'a [Arc<dyn Bytes>],
    /// Lanes by what they are of: their numbers depend on which record was read first.
    lanes: Vec<LaneId>,
    rows: std::iter::Peekable<std::vec::IntoIter<(u64, Row)>>,
}

impl<'a> Others<'a> {
    pub(super) fn new(
        trace: &'a Trace,
        labels: &'a Labels,
        files: &'a [Arc<dyn Bytes>],
        selected: Option<&Selected>,
    ) -> Self {
        let mut lanes: Vec<LaneId> = (0..).map(LaneId).take(trace.activities.lanes().len()).collect();
        lanes.sort_by_key(|&id| trace.activities.lane(id).map(|lane| (lane.process, lane.of)));
        let mut rows = Vec::new();
        for (place, &id) in (0..).zip(&lanes) {
            let Some(lane) = trace.activities.lane(id) else { continue };
            lane.for_each(0, |row, activity| {
                if selected.is_none_or(|selected| selected.record(id, row)) {
                    rows.push((activity.start_ns, Row::Lane(place, row as u32)));
                }
            });
        }
        for id in (0..u32::MAX).map(TrackId).take(trace.tracks.len()) {
            let ranges = (0..).zip(trace.ranges.of(id));
            let wanted = |row: u32| selected.is_none_or(|selected| selected.range(id, row as usize));
            let ranges = ranges.filter(|&(row, _)| wanted(row));
            rows.extend(ranges.map(|(row, range)| (range.start_ns, Row::Range(id, row))));
        }
        rows.sort_unstable();
        Self { trace, labels, files, lanes, rows: rows.into_iter().peekable() }
    }

    /// Writes those that start by `ns`; lines count time from `start`.
    pub(super) fn upto(&mut self, ns: u64, start: u64, out: &mut dyn Write) -> io::Result<()> {
        while let Some((_, row)) = self.rows.next_if(|(starts, _)| *starts <= ns) {
            match row {
                Row::Lane(place, row) => {
                    if let Some(&id) = self.lanes.get(place as usize) {
                        self.activity(id, row as usize, start, out)?;
                    }
                }
                Row::Range(track, row) => self.range(track, row as usize, start, out)?,
            }
        }
        Ok(())
    }

    fn activity(&self, id: LaneId, row: usize, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let trace = self.trace;
        let Some(lane) = trace.activities.lane(id) else { return Ok(()) };
        let (Some(activity), Some(process)) = (lane.get(row), trace.process(lane.process)) else { return Ok(()) };
        let record = match self.read(trace.activities.location(lane, row, process.file))? {
            Some(record) => record,
            None => of_columns(lane, &activity),
        };
        time(activity.start_ns, start, out)?;
        write!(out, " gpu {} {} <", self.labels.process(lane.process), activity.kind.word())?;
        if activity.timed {
            write!(out, "{}>", activity.duration_ns)?
        } else {
            write!(out, "?>")?
        }
        self.fields(lane.process, activity.kind.fields(), record.as_bytes(), out)?;
        writeln!(out)
    }

    fn range(&self, track: TrackId, row: usize, start: u64, out: &mut dyn Write) -> io::Result<()> {
        let trace = self.trace;
        let Some(of) = trace.track(track) else { return Ok(()) };
        let Some(range) = trace.ranges.of(track).get(row) else { return Ok(()) };
        let offset = trace.activities.of(of.process).and_then(|of| of.places.offset(range.place));
        let record = self.read(offset.map(|offset| Location { file: of.file, offset, slots: 2 }))?;
        let record = record.map(|record| without_number(range.kind, record));
        let word = match range.kind {
            RangeKind::Pushed => "push",
            RangeKind::Started => "start",
            RangeKind::Mark => "mark",
        };
        time(range.start_ns, start, out)?;
        write!(out, " range {}/{} {word} <", self.labels.process(of.process), of.thread)?;
        match range.end_ns() {
            Some(end) => write!(out, "{}>", end.saturating_sub(range.start_ns))?,
            None => write!(out, "unfinished>")?,
        }
        match record {
            Some(record) => self.fields(of.process, RANGE, record.as_bytes(), out)?,
            None => {
                let text = |text| trace.names.get(trace.activities.name(text));
                let (name, domain) = (text(range.name), text(trace.ranges.domain(range)));
                write!(out, " name={name:?} domain={domain:?} level={} color={}", range.level, range.color)?;
            }
        }
        writeln!(out)
    }

    /// The record at a place; `None` if another lies there by now.
    fn read(&self, location: Option<Location>) -> io::Result<Option<[u64; 12]>> {
        let Some(location) = location else { return Ok(None) };
        let file =
            self.files.get(location.file as usize).ok_or_else(|| io::Error::other("the trace's file is not open"))?;
        if location.slots == 1 {
            return match raw::read::<[u64; 6]>(&**file, location) {
                Ok(slot) => Ok(Some(std::array::from_fn(|at| slot.get(at).copied().unwrap_or(0)))),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                Err(error) => Err(error),
            };
        }
        match raw::read::<[u64; 12]>(&**file, location) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            other => other.map(Some),
        }
    }

    /// ` name="..." stream=7`: fields that are zero are left out.
    fn fields(&self, process: ProcessId, fields: &[Field], record: &[u8], out: &mut dyn Write) -> io::Result<()> {
        for field in fields {
            match (field.form, field.get(record)) {
                (_, 0) => {}
                (Form::Number, value) if value == field.none() => write!(out, " {}=none", field.name)?,
                (Form::Number, value) => write!(out, " {}={value}", field.name)?,
                (Form::Hex, value) => write!(out, " {}={value:#x}", field.name)?,
                (Form::Text, id) => {
                    let strings = self.trace.process(process).map(|process| &process.strings);
                    let name = strings.and_then(|strings| strings.get(&(id as u32))).copied().unwrap_or_default();
                    write!(out, " {}={:?}", field.name, self.trace.names.get(name))?;
                }
            }
        }
        Ok(())
    }
}

/// What the columns tell of a record that is no longer in the file.
fn of_columns(lane: &Lane, activity: &Activity) -> [u64; 12] {
    let mut record = [0; 12];
    let (kind, fields) = (activity.kind, activity.kind.fields());
    let mut set = |name: &str, value: u64| {
        if let Some(field) = fields.iter().find(|field| field.name == name && field.form != Form::Text) {
            field.set(record.as_mut_bytes(), value);
        }
    };
    if let LaneOf::Stream { context, stream } = lane.of {
        set("context", u64::from(context));
        set("stream", u64::from(stream));
    }
    set("id", u64::from(activity.correlation));
    set("device", u64::from(activity.device));
    set("address", activity.address);
    match kind {
        ActivityKind::Kernel => set("launch", u64::from(activity.detail)),
        ActivityKind::Copy => {
            let (copy, pageable) = activity.copy();
            set("kind", u64::from(copy));
            set("memory_from", u64::from(pageable));
            set("bytes", activity.value);
        }
        ActivityKind::Set => {
            set("memory", u64::from(activity.detail));
            set("bytes", activity.value);
        }
        ActivityKind::Wait => {
            set("kind", u64::from(activity.detail));
            set("stream", activity.value);
        }
        ActivityKind::Event => set("stream", activity.value),
        ActivityKind::Overhead => set("kind", activity.value),
        ActivityKind::Graph => set("graph", activity.value),
        ActivityKind::Memory => {
            set("operation", u64::from(activity.detail));
            set("bytes", activity.value);
        }
        ActivityKind::Unified => {
            let (counter, flags) = activity.unified();
            set("counter", u64::from(counter));
            set("flags", u64::from(flags));
            set("value", activity.value);
            set("from", u64::from(activity.device));
            set("to", u64::from(activity.device));
        }
    }
    record
}

/// The number of a range that any thread may end is given anew where the text is read; of a mark it means something.
fn without_number(kind: RangeKind, mut record: [u64; 12]) -> [u64; 12] {
    if kind != RangeKind::Mark {
        Field::COUNTER.set(record.as_mut_bytes(), 0);
    }
    record
}

fn time(ns: u64, start: u64, out: &mut dyn Write) -> io::Result<()> {
    let since = ns.saturating_sub(start);
    write!(out, "{}.{:09}", since / 1_000_000_000, since % 1_000_000_000)
}

/// What a call submitted: ` => 17/0x0 (0x7f00 0x8000)`, correlation id, graph node, pointers.
pub(super) fn submitted(said: &raw::Submitted, out: &mut dyn Write) -> io::Result<()> {
    write!(out, " => {}/{:#x} (", said.correlation, said.node)?;
    for (index, pointer) in said.pointers.iter().enumerate() {
        write!(out, "{}{pointer:#x}", if index > 0 { " " } else { "" })?;
    }
    write!(out, "{})", if said.cut { "+" } else { "" })
}
