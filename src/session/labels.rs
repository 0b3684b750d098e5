//! What things are called on the screens.

use std::cell::{OnceCell, RefCell};

use super::safe::safe;
use crate::graph::{Directory, Labels, NodeKind, What, digest};
use crate::parse::native::axis::shares_clock;
use crate::symbols::{Place, Symbols, demangled};
use crate::trace::activity::TextId;
use crate::trace::{
    Layer, MADE_UP, NO_DEVICE, NameId, Process, ProcessId, SiteId, StreamId, StreamKind, Trace, TrackId,
};
use umtui_wire::activity as wire;

/// Names of the things of a trace, safe for the terminal.
pub(super) struct Namer<'a> {
    pub trace: &'a Trace,
    pub symbols: RefCell<&'a mut Symbols>,
    /// Threads stand alone, not under their process.
    pub threads_alone: bool,
    /// Whether streams are of several devices, once that has been looked for.
    several_devices: OnceCell<bool>,
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
            What::Stream(id) => self.stream(id),
            What::Device(host, ordinal) => device(self.trace, host, ordinal),
            What::Site(id) => self.site(id),
            What::Call(id) => safe(self.trace.api_name(id)).into_owned(),
            What::Ids(_, wire::NONE, wire::NONE) => "further streams".to_owned(),
            What::Ids(_, context, stream) => format!("stream #{stream} of context #{context}"),
            What::Range(domain, name) => range(self.trace, domain, name),
            What::Outside => "outside of ranges".to_owned(),
            What::Kernel(name) => kernel(self.trace, name),
            What::Copy(kind, pageable) => copy(kind, pageable),
            What::Set => "memory set".to_owned(),
            What::Graph => "whole graphs".to_owned(),
            What::Unified(counter, flags) => unified(counter, flags),
        }
    }

    fn version(&self) -> u64 {
        self.symbols.borrow().version()
    }
}

impl<'a> Namer<'a> {
    /// Names of a trace.
    pub(super) fn new(trace: &'a Trace, symbols: &'a mut Symbols) -> Self {
        Self { trace, symbols: RefCell::new(symbols), threads_alone: false, several_devices: OnceCell::new() }
    }

    /// A call site.
    pub(super) fn site(&self, id: SiteId) -> String {
        safe(&self.symbols.borrow_mut().label(self.trace, id)).into_owned()
    }

    /// A stream; its device is only told where there are several.
    pub(super) fn stream(&self, id: StreamId) -> String {
        let trace = self.trace;
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
        let several =
            || trace.streams.all().iter().any(|other| other.device != NO_DEVICE && other.device != stream.device);
        if stream.device == NO_DEVICE || !*self.several_devices.get_or_init(several) {
            return name;
        }
        format!("{name}, device {}", stream.device)
    }
}

/// What the things of a trace are known by. Call sites of one line of a function are one thing.
pub(super) struct Known<'a>(pub &'a Trace, pub &'a Symbols);

impl Directory for Known<'_> {
    fn process(&self, track: TrackId) -> (ProcessId, NameId) {
        Directory::process(self.0, track)
    }

    fn identity(&self, what: What) -> u64 {
        let place = match what {
            What::Site(site) => self.1.first_alike(site),
            _ => None,
        };
        match place {
            Some(Place { path, build_id, offset }) => digest(&[path.as_bytes(), build_id], &[*offset]),
            None => self.0.identity(what),
        }
    }

    fn text(&self, text: TextId) -> NameId {
        Directory::text(self.0, text)
    }
}

/// What kind of node it is.
pub(super) fn kind(trace: &Trace, what: What) -> NodeKind {
    match what {
        What::Process(_) => NodeKind::Process,
        What::Thread(_) => NodeKind::Thread,
        What::Stream(_) | What::Ids(..) => NodeKind::Stream,
        What::Device(..) => NodeKind::Device,
        What::Site(_) => NodeKind::Site,
        What::Call(id) => match trace.api(id).map(|api| api.layer) {
            Some(Layer::Driver) => NodeKind::Driver,
            _ => NodeKind::Runtime,
        },
        What::Range(..) | What::Outside => NodeKind::Range,
        What::Kernel(_) => NodeKind::Kernel,
        What::Copy(..) => NodeKind::Copy,
        What::Set => NodeKind::Set,
        What::Graph => NodeKind::Graph,
        What::Unified(wire::UNIFIED_TO_DEVICE | wire::UNIFIED_TO_HOST | wire::UNIFIED_BETWEEN_DEVICES, _) => {
            NodeKind::Migration
        }
        What::Unified(..) => NodeKind::Fault,
    }
}

/// A range's name, and its domain if it has one.
pub(super) fn range(trace: &Trace, domain: NameId, name: NameId) -> String {
    let name = match trace.names.get(name) {
        "" => "range without a name".to_owned(),
        name => safe(name).into_owned(),
    };
    match trace.names.get(domain) {
        "" => name,
        domain => format!("{name} ({})", safe(domain)),
    }
}

/// A kernel, as its author wrote it.
pub(super) fn kernel(trace: &Trace, name: NameId) -> String {
    match trace.names.get(name) {
        "" => "kernel without a name".to_owned(),
        name => safe(&demangled(name)).into_owned(),
    }
}

/// `copy host > device, pageable`.
pub(super) fn copy(kind: u8, pageable: bool) -> String {
    // `CUpti_ActivityMemcpyKind`.
    let kind = match kind {
        1 => "host > device",
        2 => "device > host",
        3 => "host > array",
        4 => "array > host",
        5 => "array > array",
        6 => "array > device",
        7 => "device > array",
        8 => "within device",
        9 => "within host",
        10 => "device > device",
        _ => "of unknown kind",
    };
    format!("copy {kind}{}", if pageable { ", pageable" } else { "" })
}

/// `pages host > device, fault`.
pub(super) fn unified(counter: u16, flags: u8) -> String {
    let with = |text: &str, why: &str| if why.is_empty() { text.to_owned() } else { format!("{text}, {why}") };
    match counter {
        wire::UNIFIED_TO_DEVICE => with("pages host > device", cause(flags)),
        wire::UNIFIED_TO_HOST => with("pages device > host", cause(flags)),
        wire::UNIFIED_BETWEEN_DEVICES => with("pages device > device", cause(flags)),
        wire::UNIFIED_CPU_FAULT => with("CPU page faults", access(flags)),
        wire::UNIFIED_GPU_FAULT => with("GPU page faults", access(flags)),
        wire::UNIFIED_THRASHING => "pages wanted at several places".to_owned(),
        wire::UNIFIED_THROTTLING => "processor held back for pages".to_owned(),
        wire::UNIFIED_REMOTE_MAP => with("pages mapped from afar", mapped(flags)),
        other => format!("unified memory, kind {other}"),
    }
}

/// `CUpti_ActivityOverheadKind`: where time went.
pub(crate) fn overhead(kind: u64) -> String {
    match kind {
        1 => "driver compiler".to_owned(),
        0x1_0000 => "buffer flush".to_owned(),
        0x2_0000 => "instrumentation".to_owned(),
        0x3_0000 => "resource".to_owned(),
        0x4_0000 => "module loading by the runtime".to_owned(),
        0x5_0000 => "lazy loading of functions".to_owned(),
        0x6_0000 => "command buffer full".to_owned(),
        0x7_0000 => "request of a buffer".to_owned(),
        0x8_0000 => "start of unified-memory tracing".to_owned(),
        other => format!("kind {other:#x}"),
    }
}

/// `CUpti_ActivityUnifiedMemoryMigrationCause` in a word: what made pages move.
pub(super) const fn cause(flags: u8) -> &'static str {
    match flags {
        1 => "asked",
        2 => "fault",
        3 => "ahead",
        4 => "evicted",
        5 => "counters",
        _ => "unknown",
    }
}

/// `CUpti_ActivityUnifiedMemoryAccessType`; empty if it is not known.
const fn access(flags: u8) -> &'static str {
    match flags {
        1 => "read",
        2 => "write",
        3 => "atomic",
        4 => "prefetch",
        _ => "",
    }
}

/// `CUpti_ActivityUnifiedMemoryRemoteMapCause`; empty if it is not known.
const fn mapped(flags: u8) -> &'static str {
    match flags {
        1 => "coherence",
        2 => "thrashing",
        3 => "policy",
        4 => "no memory left",
        5 => "evicted",
        _ => "",
    }
}

/// `4121 python`.
fn process(trace: &Trace, id: ProcessId) -> String {
    let Some(process) = trace.process(id) else { return "?".to_owned() };
    let name = format!("{} {}", process.pid, program(trace, process));
    match safe(trace.names.get(process.host)) {
        host if several_hosts(trace) && !host.is_empty() => format!("{name} on {host}"),
        _ => name,
    }
}

/// The file that a process is in, where another file has a process of the same number that is not the same: its last
/// part, or all where the other's last part is the same.
pub(crate) fn of_file<'a>(trace: &'a Trace, process: &Process) -> Option<&'a str> {
    let file = trace.files.get(process.file)?;
    let last = |path: &'a str| path.rsplit('/').next().unwrap_or(path);
    let alike =
        |other: &&Process| other.pid == process.pid && other.file != process.file && !shares_clock(other, process);
    let mut others = trace.processes.iter().filter(alike).filter_map(|other| trace.files.get(other.file)).peekable();
    others.peek()?;
    Some(if others.all(|other| last(other) != last(file)) { last(file) } else { file })
}

/// File name of a process's program, its rank if a launcher gave it one, and its file where that is needed to tell it
/// from others.
pub(super) fn program(trace: &Trace, process: &Process) -> String {
    let path = trace.names.get(process.program);
    let name = safe(path.rsplit('/').next().unwrap_or(path)).into_owned();
    let name = match process.rank.or(process.local_rank) {
        Some(rank) => format!("{name} rank {rank}"),
        None => name,
    };
    match of_file(trace, process) {
        Some(file) => format!("{name} in {}", safe(file)),
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
        name if track.thread >= MADE_UP => safe(name).into_owned(),
        name => format!("{} {}", safe(name), track.thread),
    }
}

fn device(trace: &Trace, host: NameId, ordinal: u8) -> String {
    let name = if ordinal == NO_DEVICE { "no device known".to_owned() } else { format!("device {ordinal}") };
    if several_hosts(trace) { format!("{name} on {}", safe(trace.names.get(host))) } else { name }
}
