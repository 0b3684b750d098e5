//! The texts by which the things of a trace can be asked for.

use crate::correlate::calls::bare;
use crate::symbols::{Symbols, demangled};
use crate::trace::activity::LaneOf;
use crate::trace::{Activity, ActivityKind, NameId, Process, SiteId, Stream, StreamKind, Trace, Track};
use umtui_wire::activity as wire;

/// Layer of what the GPU did.
pub(super) const GPU: &str = "gpu";

/// Texts and numbers of one thing.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub texts: Vec<String>,
    /// What a pattern that is a number is compared with.
    pub numbers: Vec<u64>,
}

impl Words {
    fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let texts = texts.into_iter().map(Into::into).filter(|text: &String| !text.is_empty());
        Self { texts: texts.collect(), numbers: Vec::new() }
    }

    fn and(mut self, number: u64) -> Self {
        self.numbers.push(number);
        self
    }
}

pub(super) fn thread(trace: &Trace, track: &Track) -> Words {
    let is_main = trace.process(track.process).is_some_and(|process| process.pid == track.thread);
    let name = trace.names.get(track.name).to_owned();
    Words::texts([name, if is_main { "main".to_owned() } else { String::new() }]).and(u64::from(track.thread))
}

pub(super) fn process(trace: &Trace, process: &Process) -> Words {
    let path = trace.names.get(process.program);
    Words::texts([path, path.rsplit('/').next().unwrap_or(path)]).and(u64::from(process.pid))
}

pub(super) fn rank(process: &Process) -> Words {
    let Some(rank) = process.rank.or(process.local_rank) else { return Words::default() };
    Words::texts([rank.to_string()]).and(u64::from(rank))
}

pub(super) fn host(trace: &Trace, process: &Process) -> Words {
    Words::texts([trace.names.get(process.host)])
}

pub(super) fn stream(stream: &Stream) -> Words {
    let texts = match stream.kind {
        StreamKind::Created => vec![format!("stream {:#x}", stream.handle)],
        StreamKind::Default | StreamKind::PerThread => vec!["default".to_owned(), "default stream".to_owned()],
    };
    Words::texts(texts).and(stream.handle)
}

/// A stream of which only the driver's ids are known.
pub(super) fn ids((context, stream): (u32, u32)) -> Words {
    Words::texts([format!("stream #{stream} of context #{context}")]).and(u64::from(stream))
}

pub(super) fn device(name: &str, ordinal: u8) -> Words {
    Words::texts([name]).and(u64::from(ordinal))
}

pub(super) fn kernel(name: &str) -> Words {
    let shown = demangled(name);
    // Without parameters, too: `scale` for `scale(float*, unsigned long)`.
    let bare = shown.split(['(', '<']).next().unwrap_or_default();
    Words::texts([name, &*shown, bare])
}

/// Function, file and line, and module of the code that called.
pub(super) fn site(trace: &Trace, symbols: &mut Symbols, id: SiteId) -> Words {
    let mut texts = vec![symbols.label(trace, id)];
    if let Some(symbol) = symbols.get(trace, id) {
        let file = symbol.file.rsplit('/').next().unwrap_or_default();
        let bare = symbol.function.split('(').next().unwrap_or_default();
        texts.extend([symbol.function.clone(), bare.to_owned(), symbol.file.clone(), file.to_owned()]);
        if symbol.line > 0 {
            texts.extend([format!("{file}:{}", symbol.line), format!("{}:{}", symbol.file, symbol.line)]);
        }
    }
    let module = trace.sites.get(id).and_then(|site| trace.sites.module(site.module?));
    if let Some(module) = module {
        let path = trace.names.get(module.path);
        texts.extend([path.to_owned(), path.rsplit('/').next().unwrap_or(path).to_owned()]);
    }
    Words::texts(texts)
}

/// Kinds of a function's calls, by its name without endings: that it is a call, and the kind of memory it is about.
pub(super) fn call_kinds(base: &str) -> Words {
    let memory: &[&str] = match bare(base) {
        "Malloc" | "MallocPitch" | "Malloc3D" | "MemAlloc" | "MemAllocPitch" => &["device"],
        "MallocManaged" | "MemAllocManaged" => &["managed"],
        "MallocHost" | "HostAlloc" | "MemAllocHost" | "MemHostAlloc" | "FreeHost" | "MemFreeHost" => {
            &["host", "pinned"]
        }
        "HostRegister" | "MemHostRegister" | "HostUnregister" | "MemHostUnregister" => &["host", "registered"],
        "MallocAsync" | "MallocFromPoolAsync" | "MemAllocAsync" | "MemAllocFromPoolAsync" => &["device", "pool"],
        "GraphAddMemAllocNode" => &["device", "graph"],
        "MemMap" | "MemUnmap" => &["mapped"],
        _ => &[],
    };
    Words::texts(std::iter::once("call").chain(memory.iter().copied()))
}

/// Kinds of a record.
pub(super) fn record_kinds(activity: &Activity) -> Words {
    let words: &[&str] = match activity.kind {
        ActivityKind::Kernel => &["kernel"],
        ActivityKind::Graph => &["graph"],
        ActivityKind::Set => &["set"],
        ActivityKind::Wait => &["wait"],
        ActivityKind::Event => &["event"],
        ActivityKind::Overhead => &["overhead"],
        ActivityKind::Memory => &["allocation"],
        ActivityKind::Copy => return copy_kinds(activity),
        ActivityKind::Unified => match activity.unified().0 {
            wire::UNIFIED_TO_DEVICE => &["migration", "managed", "h2d", "host-to-device"],
            wire::UNIFIED_TO_HOST => &["migration", "managed", "d2h", "device-to-host"],
            wire::UNIFIED_BETWEEN_DEVICES => &["migration", "managed", "d2d", "device-to-device"],
            wire::UNIFIED_CPU_FAULT => &["fault", "managed", "cpu-fault"],
            wire::UNIFIED_GPU_FAULT => &["fault", "managed", "gpu-fault"],
            wire::UNIFIED_THRASHING => &["thrashing", "managed"],
            wire::UNIFIED_THROTTLING => &["throttling", "managed"],
            wire::UNIFIED_REMOTE_MAP => &["remote-map", "managed"],
            _ => &["managed"],
        },
    };
    Words::texts(words.iter().copied())
}

fn copy_kinds(activity: &Activity) -> Words {
    let (kind, pageable) = activity.copy();
    let words = std::iter::once("copy").chain(directions(kind).iter().copied());
    Words::texts(words.chain(pageable.then_some("pageable")))
}

/// Kinds of a copy by its direction, the shortest first, by `CUpti_ActivityMemcpyKind`.
#[must_use]
pub const fn directions(kind: u8) -> &'static [&'static str] {
    match kind {
        1 => &["h2d", "host-to-device"],
        2 => &["d2h", "device-to-host"],
        3 => &["h2a", "host-to-array"],
        4 => &["a2h", "array-to-host"],
        5 => &["a2a", "array-to-array"],
        6 => &["a2d", "array-to-device"],
        7 => &["d2a", "device-to-array"],
        8 => &["d2d", "device-to-device"],
        9 => &["h2h", "host-to-host"],
        10 => &["p2p", "peer"],
        _ => &[],
    }
}

/// Why memory migrated; nothing of other records.
pub(super) fn cause(activity: &Activity) -> Option<&'static str> {
    let (counter, flags) = activity.unified();
    let moves = [wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST, wire::UNIFIED_BETWEEN_DEVICES];
    if activity.kind != ActivityKind::Unified || !moves.contains(&counter) {
        return None;
    }
    Some(cause_word(flags))
}

/// Why memory migrated, by `CUpti_ActivityUnifiedMemoryMigrationCause`.
#[must_use]
pub const fn cause_word(cause: u8) -> &'static str {
    match cause {
        1 => "user",
        2 => "coherence",
        3 => "prefetch",
        4 => "eviction",
        5 => "access-counters",
        _ => "unknown",
    }
}

/// Bytes of a record; `None` where it is about none.
pub(super) fn bytes(activity: &Activity) -> Option<u64> {
    match activity.kind {
        ActivityKind::Copy | ActivityKind::Set | ActivityKind::Memory => Some(activity.value),
        ActivityKind::Unified => cause(activity).map(|_| activity.value),
        _ => None,
    }
}

/// Whether a record is of a moment, without a duration.
pub(super) fn is_moment(activity: &Activity) -> bool {
    let moments = [wire::UNIFIED_CPU_FAULT, wire::UNIFIED_THRASHING, wire::UNIFIED_REMOTE_MAP];
    match activity.kind {
        ActivityKind::Unified => moments.contains(&activity.unified().0),
        ActivityKind::Memory | ActivityKind::Event => true,
        _ => false,
    }
}

/// The driver's ids of a lane's stream.
pub(super) const fn lane_ids(of: LaneOf) -> Option<(u32, u32)> {
    match of {
        LaneOf::Stream { context, stream } => Some((context, stream)),
        _ => None,
    }
}

/// Name of a range.
pub(super) fn range(trace: &Trace, name: NameId) -> Words {
    Words::texts([trace.names.get(name)])
}
