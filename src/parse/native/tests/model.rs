//! A trace as lines, to be compared whatever the order of ids.

use crate::parse::{NativeReader, ParseError};
use crate::trace::activity::{Device, Statement, TextId, raw};
use crate::trace::raw::RawCall;
use crate::trace::{Activity, ActivityKind, Bytes, NameId, ProcessId, StreamId, Style, Trace, Track, TrackId};
use std::sync::Arc;

/// Reads a whole image.
pub fn read(image: Vec<u8>) -> Result<Trace, ParseError> {
    let mut trace = Trace::default();
    let mut reader = NativeReader::open(Arc::new(image), "made.umt", &mut trace)?;
    finish(&mut reader, &mut trace, 1000)?;
    Ok(trace)
}

/// Polls to the end.
pub fn finish(reader: &mut NativeReader, trace: &mut Trace, budget: usize) -> Result<(), ParseError> {
    for _ in 0..1_000_000 {
        if !reader.poll(trace, budget)?.more {
            return Ok(());
        }
    }
    panic!("polling does not end");
}

/// All of it but extra slots and places in the file, which depend on the writer.
pub fn lines(trace: &Trace, files: &[Arc<dyn Bytes>]) -> Vec<String> {
    let mut lines = Vec::new();
    for process in &trace.processes {
        lines.push(format!(
            "process {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {} {:?} lost {} cost {} max {} start {} last {}",
            process.pid,
            process.parent_pid,
            process.rank,
            process.local_rank,
            trace.names.get(process.host),
            trace.names.get(process.program),
            trace.names.get(process.folder),
            process.arguments,
            process.boot_id,
            process.start_time,
            process.run_id,
            process.state,
            process.lost,
            process.cost_ps,
            process.max_bytes,
            process.start_ns,
            process.last_ns,
        ));
    }
    for module in trace.sites.modules() {
        let path = trace.names.get(module.path);
        let pid = trace.process(module.process).unwrap().pid;
        lines.push(format!(
            "module {pid} {path:?} {:x?} {:x} {:x} {:x}",
            module.build_id, module.start, module.end, module.file_offset
        ));
    }
    for (&(process, handle), &name) in &trace.kernels {
        lines.push(format!("kernel {} {handle:x} {:?}", trace.process(process).unwrap().pid, trace.names.get(name)));
    }
    for track in &trace.tracks {
        track_lines(trace, track, files, &mut lines);
    }
    activity_lines(trace, files, &mut lines);
    lines.sort();
    lines
}

fn track_lines(trace: &Trace, track: &Track, files: &[Arc<dyn Bytes>], lines: &mut Vec<String>) {
    let process = trace.process(track.process).unwrap();
    let who = format!("{}/{}", process.pid, track.thread);
    lines.push(format!("{who} thread {:?} lost {}", trace.names.get(track.name), track.lost));
    for open in &track.in_flight {
        let site = site(trace, open.site);
        let api = trace.api_name(open.api);
        lines.push(format!("{who} open {} {api} {site} {} {:x?}", open.start_ns, open.depth, open.registers));
    }
    for row in 0..track.len() {
        let call = track.call(row).unwrap();
        let raw = RawCall::read(&*files[track.file as usize], track.location(row).unwrap()).unwrap();
        let api = trace.api(call.api).unwrap();
        let stream = match trace.streams.get(call.stream) {
            None => format!("{}", call.stream == StreamId::NONE),
            Some(stream) => format!(
                "{:?} {:x} {} {} {:?}",
                stream.kind,
                stream.handle,
                stream.generation,
                stream.device,
                stream.track.map(|track| trace.track(track).unwrap().thread)
            ),
        };
        lines.push(format!(
            "{who} row {row:06} {} {} {}{} {:?} = {} {} {:x} {} {stream} dev {} {}",
            call.start_ns,
            call.duration_ns,
            trace.names.get(api.name),
            api.signature,
            api.layer,
            raw.status(),
            raw.text(trace, track.process, api, Style::Exact),
            raw.address(),
            site(trace, call.site),
            call.device,
            call.flags.0
        ));
        lines.push(format!("{who} depth {row:06} {}", call.depth));
    }
}

fn site(trace: &Trace, id: crate::trace::SiteId) -> String {
    let site = trace.sites.get(id).unwrap();
    let module = site.module.and_then(|module| trace.sites.module(module));
    format!("{:?}+{:x}", module.map(|module| trace.names.get(module.path)), site.offset)
}

/// What the GPU did, what is known of that, and ranges.
fn activity_lines(trace: &Trace, files: &[Arc<dyn Bytes>], lines: &mut Vec<String>) {
    for lane in trace.activities.lanes() {
        let process = trace.process(lane.process).unwrap();
        for &row in &*lane.in_order().rows() {
            let activity = lane.get(row as usize).unwrap();
            let location = trace.activities.location(lane, row as usize, process.file).unwrap();
            let head = raw::read::<[u64; 6]>(&*files[location.file as usize], location).unwrap()[0];
            let submit = trace.activities.of(lane.process).unwrap().submits.find(activity.correlation);
            let call = submit.map(|submit| {
                let track = trace.track(submit.track).unwrap();
                (track.thread, track.call(submit.row as usize).unwrap().start_ns)
            });
            let name = trace.names.get(trace.activities.kernel_name(&activity));
            let kernel = activity.kind == ActivityKind::Kernel;
            let (name, value) = if kernel { (name, 0) } else { ("", activity.value) };
            let activity = Activity { value, ..activity };
            lines.push(format!("{} {:?} {activity:?} {name:?} {:x} {call:?}", process.pid, lane.of, head as u8));
        }
    }
    for (index, process) in trace.processes.iter().enumerate() {
        let Some(of) = trace.activities.of(ProcessId(index as u16)) else { continue };
        let (pid, activities) = (process.pid, &trace.activities);
        for statement in of.evidence.all() {
            let detail = trace.names.get(activities.name(statement.detail));
            let statement = Statement { detail: TextId(0), ..*statement };
            lines.push(format!("{pid} evidence {statement:?} {detail:?}"));
        }
        lines.push(format!("{pid} {} {} {:?} {:?}", of.dropped, of.dropped_unknown, of.clock_error_ns, of.complete_ns));
        for (ordinal, device) in &of.devices {
            let name = trace.names.get(device.name);
            lines
                .push(format!("{pid} device {ordinal} {:?} {name:?}", Device { name: NameId::NONE, ..device.clone() }));
        }
        let mut submits: Vec<_> = of
            .submits
            .iter()
            .map(|submit| {
                let track = trace.track(submit.track).unwrap();
                let (call, location) =
                    (track.call(submit.row as usize).unwrap(), track.location(submit.row as usize).unwrap());
                let bytes = &*files[location.file as usize];
                let start = RawCall::read(bytes, location).unwrap().start_ticks();
                let said = raw::submitted(bytes, location, start).unwrap().unwrap();
                assert_eq!(said.correlation, submit.correlation);
                format!("{pid} submit {} {} {} {said:x?}", submit.correlation, track.thread, call.start_ns)
            })
            .collect();
        lines.append(&mut submits);
    }
    for (index, track) in trace.tracks.iter().enumerate() {
        for range in trace.ranges.of(TrackId(index as u32)) {
            let text = |text| trace.names.get(trace.activities.name(text));
            let (name, domain) = (text(range.name), text(trace.ranges.domain(range)));
            let (kind, level, color) = (range.kind, range.level, range.color);
            let end = range.end_ns();
            lines.push(format!(
                "{} range {:?} {} {end:?} {name:?} {domain:?} {level} {color:x}",
                track.thread, kind, range.start_ns
            ));
        }
    }
    lines.push(format!(
        "{:?} {:?} {}",
        trace.activities.span(),
        trace.ranges.span(),
        trace.events() - trace.ranges.unmatched()
    ));
}
