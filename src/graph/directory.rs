//! What a trace says about the things that rows stand for.

use super::identity::{Directory, What, digest};
use crate::trace::activity::TextId;
use crate::trace::{NameId, ProcessId, StreamKind, Trace, TrackId};

impl Directory for Trace {
    fn process(&self, track: TrackId) -> (ProcessId, NameId) {
        let id = self.track(track).map_or(ProcessId(0), |track| track.process);
        (id, Trace::process(self, id).map_or(NameId::NONE, |process| process.host))
    }

    fn text(&self, text: TextId) -> NameId {
        self.activities.name(text)
    }

    fn identity(&self, what: What) -> u64 {
        match what {
            What::Process(id) => process(self, id),
            What::Thread(id) => {
                self.track(id).map_or(0, |track| digest(&[], &[process(self, track.process), u64::from(track.thread)]))
            }
            What::Stream(id) => self.streams.get(id).map_or(u64::from(id.0), |stream| {
                let kind = match stream.kind {
                    StreamKind::Default => 0,
                    StreamKind::PerThread => 1,
                    StreamKind::Created => 2,
                };
                let thread = stream.track.map_or(0, |track| self.identity(What::Thread(track)));
                let numbers = [
                    process(self, stream.process),
                    u64::from(stream.device),
                    stream.handle,
                    u64::from(stream.generation),
                    kind,
                    thread,
                ];
                digest(&[], &numbers)
            }),
            What::Device(host, ordinal) => digest(&[self.names.get(host).as_bytes()], &[u64::from(ordinal)]),
            What::Site(id) => {
                self.sites.get(id).map_or(0, |site| match site.module.and_then(|module| self.sites.module(module)) {
                    Some(module) => digest(&[self.names.get(module.path).as_bytes(), &module.build_id], &[site.offset]),
                    None => digest(&[], &[process(self, site.process), site.address]),
                })
            }
            What::Call(id) => {
                self.api(id).map_or(0, |api| digest(&[self.names.get(api.name).as_bytes()], &[api.layer as u64]))
            }
            What::Ids(id, context, stream) => digest(&[], &[process(self, id), u64::from(context), u64::from(stream)]),
            What::Kernel(name) => digest(&[self.names.get(name).as_bytes()], &[]),
            What::Copy(kind, pageable) => digest(&[], &[u64::from(kind), u64::from(pageable)]),
            What::Range(domain, name) => {
                digest(&[self.names.get(domain).as_bytes(), self.names.get(name).as_bytes()], &[])
            }
            What::Set | What::Graph | What::Outside => 0,
            What::Unified(counter, flags) => digest(&[], &[u64::from(counter), u64::from(flags)]),
        }
    }
}

fn process(trace: &Trace, id: ProcessId) -> u64 {
    trace.process(id).map_or(0, |process| {
        let texts = [process.host, process.program].map(|name| trace.names.get(name).as_bytes());
        digest(&texts, &[u64::from(process.pid), process.start_time])
    })
}
