//! What things are called on the screens.

use std::cell::RefCell;

use super::safe::safe;
use crate::graph::{Labels, NodeKind, What};
use crate::symbols::Symbols;
use crate::trace::{Layer, NO_DEVICE, NameId, Process, ProcessId, SiteId, StreamId, StreamKind, Trace, TrackId};

/// Names of the things of a trace, safe for the terminal.
pub(super) struct Namer<'a> {
    pub trace: &'a Trace,
    pub symbols: RefCell<&'a mut Symbols>,
    /// Threads stand alone, not under their process.
    pub threads_alone: bool,
}

impl Labels for Namer<'_> {
    fn label(&self, what: What) -> String {
        match what {
            What::Process(id) => process(self.trace, id),
            What::Thread(id) if self.threads_alone && self.trace.processes.len() > 1 => {
                let owner = self.trace.track(id).map(|track| process(self.trace, track.process));
                format!("{} of {}", thread(self.trace, id), owner.unwrap_or_default())
            }
            What::Thread(id) => thread(self.trace, id),
            What::Stream(id) => stream(self.trace, id),
            What::Device(host, ordinal) => device(self.trace, host, ordinal),
            What::Site(id) => self.site(id),
            What::Call(id) => safe(self.trace.api_name(id)).into_owned(),
        }
    }

    fn version(&self) -> u64 {
        self.symbols.borrow().version()
    }
}

impl Namer<'_> {
    /// A call site.
    pub(super) fn site(&self, id: SiteId) -> String {
        safe(&self.symbols.borrow_mut().label(self.trace, id)).into_owned()
    }
}

/// What kind of node it is.
pub(super) fn kind(trace: &Trace, what: What) -> NodeKind {
    match what {
        What::Process(_) => NodeKind::Process,
        What::Thread(_) => NodeKind::Thread,
        What::Stream(_) => NodeKind::Stream,
        What::Device(..) => NodeKind::Device,
        What::Site(_) => NodeKind::Site,
        What::Call(id) => match trace.api(id).map(|api| api.layer) {
            Some(Layer::Driver) => NodeKind::Driver,
            _ => NodeKind::Runtime,
        },
    }
}

/// `4121 python`.
fn process(trace: &Trace, id: ProcessId) -> String {
    let Some(process) = trace.process(id) else { return "?".to_owned() };
    let name = format!("{} {}", process.pid, program(trace, process));
    if several_hosts(trace) { format!("{name} on {}", safe(trace.names.get(process.host))) } else { name }
}

/// File name of a process's program, and its rank if a launcher gave it one.
pub(super) fn program(trace: &Trace, process: &Process) -> String {
    let path = trace.names.get(process.program);
    let name = safe(path.rsplit('/').next().unwrap_or(path)).into_owned();
    match process.rank.or(process.local_rank) {
        Some(rank) => format!("{name} rank {rank}"),
        None => name,
    }
}

fn several_hosts(trace: &Trace) -> bool {
    let mut hosts = trace.processes.iter().map(|process| process.host);
    let first = hosts.next();
    hosts.any(|host| Some(host) != first)
}

/// `main`, or `worker 4125`: the names of threads are seldom their own.
pub(super) fn thread(trace: &Trace, id: TrackId) -> String {
    let Some(track) = trace.track(id) else { return "?".to_owned() };
    if trace.process(track.process).is_some_and(|process| process.pid == track.thread) {
        return "main".to_owned();
    }
    match trace.names.get(track.name) {
        "" => format!("thread {}", track.thread),
        name => format!("{} {}", safe(name), track.thread),
    }
}

fn stream(trace: &Trace, id: StreamId) -> String {
    let Some(stream) = trace.streams.get(id) else {
        return if id == StreamId::OTHER { "other streams" } else { "no stream" }.to_owned();
    };
    let mut name = match stream.kind {
        StreamKind::Default => "default stream".to_owned(),
        StreamKind::PerThread => {
            format!("default stream of {}", stream.track.map_or_else(|| "?".to_owned(), |id| thread(trace, id)))
        }
        StreamKind::Created => format!("stream {:#x}", stream.handle),
    };
    if stream.generation > 0 {
        name = format!("{name} again {}", stream.generation);
    }
    if stream.device == NO_DEVICE { name } else { format!("{name}, device {}", stream.device) }
}

fn device(trace: &Trace, host: NameId, ordinal: u8) -> String {
    let name = if ordinal == NO_DEVICE { "no device known".to_owned() } else { format!("device {ordinal}") };
    if several_hosts(trace) { format!("{name} on {}", safe(trace.names.get(host))) } else { name }
}
