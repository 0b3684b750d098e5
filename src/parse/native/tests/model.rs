//! A trace as lines, to be compared whatever the order of ids.

use crate::parse::{NativeReader, ParseError};
use crate::trace::raw::RawCall;
use crate::trace::{Bytes, StreamId, Style, Trace, Track};
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
