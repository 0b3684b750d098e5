//! Rows of the events screen for what the GPU and the driver did, and for ranges.

use std::sync::Arc;

use super::gpu_details::is_laid_out;
use super::labels::{Namer, copy, kernel, overhead, thread, unified};
use super::others::group_of;
use super::view::{EventGroup, EventRow, Outcome};
use crate::correlate::submitting_call;
use crate::graph::WorkStream;
use crate::trace::activity::{LaneId, raw};
use crate::trace::value::size;
use crate::trace::{Activity, ActivityKind, Bytes, Call, Lane, NO_DEVICE, RangeKind, Trace, TrackId};
use umtui_wire::activity as wire;

/// What rows are made of.
pub(super) struct Context<'a, 'n> {
    pub trace: &'a Trace,
    /// Where the raw records of each file lie.
    pub files: &'a [Option<Arc<dyn Bytes>>],
    pub namer: &'a Namer<'n>,
    /// The stream of each lane.
    pub streams: &'a [WorkStream],
}

impl Context<'_, '_> {
    /// The row of a record.
    pub(super) fn record(&self, id: LaneId, row: usize) -> Option<EventRow> {
        let lane = self.trace.activities.lane(id)?;
        let activity = lane.get(row)?;
        let launch = submitting_call(self.trace, lane.process, activity.correlation);
        let launch = launch.and_then(|(track, row, _)| self.outermost(track, row));
        let is_moment = matches!(activity.kind, ActivityKind::Event | ActivityKind::Memory) || {
            let moments = [wire::UNIFIED_CPU_FAULT, wire::UNIFIED_THRASHING, wire::UNIFIED_REMOTE_MAP];
            activity.kind == ActivityKind::Unified && moments.contains(&activity.unified().0)
        };
        Some(EventRow {
            group: group_of(&activity),
            start_ns: activity.start_ns.saturating_sub(self.trace.start_ns()),
            duration_ns: (activity.timed && !is_moment).then_some(activity.duration_ns),
            pid: self.trace.process(lane.process).map_or(0, |process| process.pid),
            thread: 0,
            thread_name: place(&activity),
            depth: 0,
            name: self.name(&activity),
            arguments: self.arguments(id, lane, row, &activity),
            result: String::new(),
            recorded_as: String::new(),
            site: launch.map_or_else(String::new, |(.., call)| self.namer.site(call.site)),
            outcome: if activity.timed { Outcome::Done } else { Outcome::EntryOnly },
            launched_by: launch.map(|(track, row, _)| (track.0, row as u64)),
        })
    }

    /// The call that the program made, of which this one is a part; itself if that is not known.
    pub(super) fn outermost(&self, id: TrackId, row: usize) -> Option<(TrackId, usize, Call)> {
        let track = self.trace.track(id)?;
        let last = track.group(row).end.checked_sub(1);
        let outermost = last.and_then(|row| track.call(row).map(|call| (id, row, call)));
        outermost.filter(|(.., call)| call.depth == 0).or_else(|| track.call(row).map(|call| (id, row, call)))
    }

    /// What happened.
    pub(super) fn name(&self, activity: &Activity) -> String {
        match activity.kind {
            ActivityKind::Kernel => kernel(self.trace, self.trace.activities.kernel_name(activity)),
            ActivityKind::Copy => {
                let (kind, pageable) = activity.copy();
                copy(kind, pageable)
            }
            ActivityKind::Set => "memory set".to_owned(),
            ActivityKind::Graph => "whole graph".to_owned(),
            ActivityKind::Wait => match activity.detail {
                1 => "wait for an event",
                2 => "stream waits for an event",
                3 => "wait for a stream",
                4 => "wait for all work",
                _ => "wait",
            }
            .to_owned(),
            ActivityKind::Event => "event recorded".to_owned(),
            ActivityKind::Overhead => overhead(activity.value),
            ActivityKind::Memory => match activity.detail {
                1 => "driver allocates",
                2 => "driver releases",
                _ => "driver's memory",
            }
            .to_owned(),
            ActivityKind::Unified => {
                let (counter, flags) = activity.unified();
                unified(counter, flags)
            }
        }
    }

    /// Names and values in one line.
    fn arguments(&self, id: LaneId, lane: &Lane, row: usize, activity: &Activity) -> String {
        let stream = format!("stream={}", self.stream(id));
        let bytes = format!("bytes={}", size(activity.value));
        match activity.kind {
            ActivityKind::Kernel => match self.raw::<wire::Kernel>(lane, row) {
                Some(kernel) if is_laid_out(&kernel) => {
                    let [x, y, z] = kernel.grid;
                    let [bx, by, bz] = kernel.block;
                    format!("grid={x}x{y}x{z} block={bx}x{by}x{bz} {stream}")
                }
                _ => stream,
            },
            ActivityKind::Copy | ActivityKind::Set => format!("{bytes}{} {stream}", ends(activity)),
            ActivityKind::Graph => format!("graph={} {stream}", activity.value),
            ActivityKind::Wait | ActivityKind::Event if activity.value == u64::from(wire::NONE) => String::new(),
            ActivityKind::Wait | ActivityKind::Event => format!("stream=#{}", activity.value),
            ActivityKind::Overhead => String::new(),
            ActivityKind::Memory => format!("address={:#x} {bytes}", activity.address),
            ActivityKind::Unified => {
                let address = format!("address={:#x}", activity.address);
                match activity.unified().0 {
                    wire::UNIFIED_CPU_FAULT => address,
                    wire::UNIFIED_GPU_FAULT => format!("{address} groups={}", activity.value),
                    _ => format!("{bytes}{} {address}", ends(activity)),
                }
            }
        }
    }

    /// A lane's stream in a word.
    pub(super) fn stream(&self, id: LaneId) -> String {
        match self.streams.get(id.0 as usize) {
            Some(WorkStream::Known(stream)) => {
                let name = self.namer.stream(*stream);
                name.strip_prefix("stream ").map_or_else(|| name.clone(), str::to_owned)
            }
            Some(WorkStream::Ids(_, wire::NONE)) => "one of many".to_owned(),
            Some(WorkStream::Ids(_, stream)) => format!("#{stream}"),
            _ => "none".to_owned(),
        }
    }

    /// The record itself.
    pub(super) fn raw<R>(&self, lane: &Lane, row: usize) -> Option<R>
    where
        R: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + zerocopy::KnownLayout,
    {
        let file = self.trace.process(lane.process)?.file;
        let location = self.trace.activities.location(lane, row, file)?;
        raw::read(&**self.files.get(file)?.as_ref()?, location).ok()
    }

    /// The row of a range or a mark.
    pub(super) fn range(&self, id: TrackId, row: usize) -> Option<EventRow> {
        let range = self.trace.ranges.of(id).get(row)?;
        let track = self.trace.track(id)?;
        let end_ns = range.end_ns();
        let activities = &self.trace.activities;
        let domain = activities.name(self.trace.ranges.domain(range));
        let name = super::labels::range(self.trace, domain, activities.name(range.name));
        let is_mark = range.kind == RangeKind::Mark;
        Some(EventRow {
            group: EventGroup::Ranges,
            start_ns: range.start_ns.saturating_sub(self.trace.start_ns()),
            duration_ns: end_ns.filter(|_| !is_mark).map(|end| end.saturating_sub(range.start_ns)),
            pid: self.trace.process(track.process).map_or(0, |process| process.pid),
            thread: track.thread,
            thread_name: thread(self.trace, id),
            depth: range.level,
            name: format!("{} {}", if is_mark { "mark" } else { "range" }, name),
            arguments: self.range_arguments(id, row),
            result: String::new(),
            recorded_as: String::new(),
            site: String::new(),
            outcome: if is_mark || end_ns.is_some() { Outcome::Done } else { Outcome::Running },
            launched_by: None,
        })
    }
}

/// From which device to which one something went, if it went between devices: ` from=0 to=1`.
fn ends(activity: &Activity) -> String {
    let end = |device: u8| if device == NO_DEVICE { "-".to_owned() } else { device.to_string() };
    match activity.ends.map(end) {
        [from, to] if activity.ends != [NO_DEVICE; 2] => format!(" from={from} to={to}"),
        _ => String::new(),
    }
}

/// Where something happened.
fn place(activity: &Activity) -> String {
    match activity.kind {
        ActivityKind::Unified if activity.unified().0 == wire::UNIFIED_CPU_FAULT => "CPU".to_owned(),
        ActivityKind::Overhead => "driver".to_owned(),
        _ if activity.device == NO_DEVICE => String::new(),
        _ => format!("GPU {}", activity.device),
    }
}
