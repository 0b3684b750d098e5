//! More about one event of the GPU: what its record holds beside the columns, and what happened meanwhile.

use std::collections::BTreeMap;

use super::gpu_events::Context;
use super::labels::{cause, kernel};
use crate::correlate::submitting_call;
use crate::trace::activity::{LaneId, What, raw};
use crate::trace::raw::RawCall;
use crate::trace::value::size;
use crate::trace::{Activity, ActivityKind, Lane, LaneOf, NameId, ProcessId};
use umtui_wire::activity as wire;

/// Names and values.
type Fields = Vec<(String, String)>;

/// Pointers and names that are told.
const TOLD: usize = 6;

impl Context<'_, '_> {
    /// More about a record.
    pub(super) fn details(&self, id: LaneId, row: usize) -> Fields {
        let mut fields = Fields::new();
        let Some((lane, activity)) =
            self.trace.activities.lane(id).and_then(|lane| lane.get(row).map(|activity| (lane, activity)))
        else {
            return fields;
        };
        if activity.kind.is_work() {
            self.submission(lane, &activity, &mut fields);
            let ids = match lane.of {
                LaneOf::Stream { context, stream } => format!("   (#{stream} of context #{context})"),
                _ => String::new(),
            };
            field(&mut fields, "stream", format!("{}{ids}", self.stream(id)));
        }
        match activity.kind {
            ActivityKind::Kernel => {
                if let Some(kernel) = self.raw::<wire::Kernel>(lane, row) {
                    of_kernel(&kernel, &mut fields);
                }
                self.pointers(lane.process, &activity, &mut fields);
                self.migrations(lane.process, &activity, &mut fields);
            }
            ActivityKind::Copy => {
                field(&mut fields, "bytes", exact(activity.value));
                if let Some(copy) = self.raw::<wire::Copied>(lane, row) {
                    of_copy(&copy, &mut fields);
                }
            }
            ActivityKind::Set => {
                field(&mut fields, "bytes", exact(activity.value));
                if let Some(set) = self.raw::<wire::Set>(lane, row) {
                    field(&mut fields, "value", format!("{:#x}", set.value));
                    field(&mut fields, "memory", memory(set.memory).to_owned());
                }
            }
            ActivityKind::Unified => self.unified(lane, row, &activity, &mut fields),
            _ => {}
        }
        fields
    }

    /// Which call submitted it.
    fn submission(&self, lane: &Lane, activity: &Activity, fields: &mut Fields) {
        let submitting = submitting_call(self.trace, lane.process, activity.correlation);
        let Some((.., call)) = submitting.and_then(|(track, row, _)| self.outermost(track, row)) else {
            let known = self.trace.activities.of(lane.process).is_some_and(|of| of.evidence.ever(What::Correlation));
            let why = if known { "a call that is not known" } else { "not recorded which call it was" };
            return field(fields, "launched by", why.to_owned());
        };
        let name = super::safe::safe(self.trace.api_name(call.api));
        field(fields, "launched by", format!("{name} from {}", self.namer.site(call.site)));
        if activity.timed {
            let waited = activity.start_ns.saturating_sub(call.start_ns);
            field(fields, "began", format!("{} after that call began", duration(waited)));
        }
    }

    /// Pointers among its parameters.
    fn pointers(&self, process: ProcessId, activity: &Activity, fields: &mut Fields) {
        let submitted = || {
            let (id, row, _) = submitting_call(self.trace, process, activity.correlation)?;
            let location = self.trace.track(id)?.location(row)?;
            let bytes = self.files.get(location.file as usize)?.as_ref()?;
            let ticks = RawCall::read(&**bytes, location).ok()?.start_ticks();
            raw::submitted(&**bytes, location, ticks).ok()?
        };
        let Some(submitted) = submitted() else { return };
        if submitted.pointers.is_empty() {
            return;
        }
        let told: Vec<String> = submitted.pointers.iter().take(TOLD).map(|pointer| format!("{pointer:#x}")).collect();
        let more = match (submitted.pointers.len().saturating_sub(TOLD), submitted.cut) {
            (0, false) => String::new(),
            (more, false) => format!(" and {more} more"),
            (_, true) => " and more".to_owned(),
        };
        field(fields, "pointers", format!("{}{more}", told.join(" ")));
    }

    /// Pages that moved to or from its device while it ran.
    fn migrations(&self, process: ProcessId, activity: &Activity, fields: &mut Fields) {
        let recorded = self.trace.activities.of(process).is_some_and(|of| of.evidence.ever(What::Migrations));
        if !recorded || !activity.timed {
            return field(fields, "migrations", "not recorded".to_owned());
        }
        let (mut count, mut bytes, mut causes) = (0u64, 0u64, BTreeMap::<&str, u64>::new());
        let lane = self.trace.activities.find(process, LaneOf::Unified);
        if let Some(lane) = lane.and_then(|id| self.trace.activities.lane(id)) {
            lane.overlapping((activity.start_ns, activity.end_ns()), |_, moved| {
                if is_migration(&moved) && moved.device == activity.device {
                    count += 1;
                    bytes = bytes.saturating_add(moved.value);
                    *causes.entry(cause(moved.unified().1)).or_default() += moved.value;
                }
            });
        }
        if count == 0 {
            return field(fields, "migrations", "none overlapped with it".to_owned());
        }
        let mut causes: Vec<(&str, u64)> = causes.into_iter().collect();
        causes.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
        let causes: Vec<&str> = causes.into_iter().map(|(cause, _)| cause).collect();
        let text = format!("{} in {} overlapped with it: {}", size(bytes), grouped(count), causes.join(", "));
        field(fields, "migrations", text);
    }

    /// More about unified memory.
    fn unified(&self, lane: &Lane, row: usize, activity: &Activity, fields: &mut Fields) {
        let (counter, _) = activity.unified();
        match counter {
            wire::UNIFIED_GPU_FAULT => field(fields, "groups", grouped(activity.value)),
            wire::UNIFIED_CPU_FAULT => {}
            _ => field(fields, "bytes", exact(activity.value)),
        }
        field(fields, "address", format!("{:#x}", activity.address));
        if let Some(record) = self.raw::<wire::Unified>(lane, row) {
            let device = |id| if id == wire::NONE { "CPU".to_owned() } else { format!("GPU {id}") };
            match counter {
                wire::UNIFIED_CPU_FAULT => field(fields, "code", format!("{:#x}", record.value)),
                wire::UNIFIED_THRASHING => {}
                _ if is_migration(activity) => {
                    field(fields, "from", device(record.from));
                    field(fields, "to", device(record.to));
                }
                _ => field(fields, "on", device(record.from)),
            }
        }
        if is_migration(activity) {
            self.kernels(lane.process, activity, fields);
        }
    }

    /// Kernels of the device that ran while pages moved.
    fn kernels(&self, process: ProcessId, moved: &Activity, fields: &mut Fields) {
        let mut names: BTreeMap<NameId, u64> = BTreeMap::new();
        let lanes = self.trace.activities.lanes().iter();
        for lane in lanes.filter(|lane| lane.process == process && matches!(lane.of, LaneOf::Stream { .. })) {
            let (first, last) = lane.span();
            if first > moved.end_ns() || last < moved.start_ns {
                continue;
            }
            lane.overlapping((moved.start_ns, moved.end_ns()), |_, activity| {
                if activity.kind == ActivityKind::Kernel && activity.timed && activity.device == moved.device {
                    *names.entry(self.trace.activities.kernel_name(&activity)).or_default() += 1;
                }
            });
        }
        let recorded = self.trace.activities.of(process).is_some_and(|of| of.evidence.ever(What::Activity));
        let text = match names.len() {
            0 if !recorded => "not recorded".to_owned(),
            0 => "none overlapped with it".to_owned(),
            _ => {
                let told: Vec<String> = names.keys().take(TOLD).map(|&name| kernel(self.trace, name)).collect();
                let more = names.len().saturating_sub(TOLD);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{}{more} overlapped with it", told.join("; "))
            }
        };
        field(fields, "kernels", text);
    }
}

/// Whether pages moved.
pub(super) fn is_migration(activity: &Activity) -> bool {
    let moves = [wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST, wire::UNIFIED_BETWEEN_DEVICES];
    activity.kind == ActivityKind::Unified && moves.contains(&activity.unified().0)
}

/// Whether it is known how many threads ran: not all that is imported says so.
pub(super) fn is_laid_out(kernel: &wire::Kernel) -> bool {
    kernel.grid != [0; 3]
}

fn of_kernel(kernel: &wire::Kernel, fields: &mut Fields) {
    if is_laid_out(kernel) {
        let [x, y, z] = kernel.grid;
        field(fields, "grid", format!("{x} x {y} x {z} blocks"));
        let [x, y, z] = kernel.block;
        field(fields, "block", format!("{x} x {y} x {z} threads"));
    }
    let (declared, added) = (u64::from(kernel.static_shared), u64::from(kernel.dynamic_shared));
    // No kernel runs without registers: where there are none, nothing of this was recorded.
    if kernel.registers > 0 {
        field(fields, "registers", format!("{} a thread", kernel.registers));
    }
    if kernel.registers > 0 || declared > 0 || added > 0 {
        field(fields, "shared", format!("{} declared, {} added", size(declared), size(added)));
    }
    if kernel.local > 0 {
        field(fields, "local", format!("{} a thread", size(u64::from(kernel.local))));
    }
    match kernel.launch {
        1 => field(fields, "launch", "cooperative".to_owned()),
        2 => field(fields, "launch", "cooperative, on several devices".to_owned()),
        3 => field(fields, "launch", "by the device".to_owned()),
        _ => {}
    }
    if kernel.graph != 0 {
        field(fields, "graph", format!("{}, node {:#x}", kernel.graph, kernel.node));
    }
}

fn of_copy(copy: &wire::Copied, fields: &mut Fields) {
    let end = |kind: u8, device: u16| match device {
        _ if copy.kind != 10 => memory(kind).to_owned(),
        device => format!("{} of GPU {device}", memory(kind)),
    };
    field(fields, "from", end(copy.from, copy.from_device));
    field(fields, "to", end(copy.to, copy.to_device));
    field(fields, "manner", if copy.flags & 1 == 1 { "asynchronous" } else { "synchronous" }.to_owned());
    if copy.graph != 0 {
        field(fields, "graph", format!("{}, node {:#x}", copy.graph, copy.node));
    }
    if copy.count > 1 {
        field(fields, "copies", grouped(copy.count));
    }
}

/// `CUpti_ActivityMemoryKind`.
const fn memory(kind: u8) -> &'static str {
    match kind {
        1 => "pageable memory",
        2 => "pinned memory",
        3 => "device memory",
        4 => "array",
        5 => "managed memory",
        6 => "device variable",
        7 => "managed variable",
        _ => "memory of unknown kind",
    }
}

fn field(fields: &mut Fields, name: &str, value: String) {
    fields.push((name.to_owned(), value));
}

/// `65,536   (64 KiB)`
fn exact(bytes: u64) -> String {
    if bytes < 1024 { grouped(bytes) } else { format!("{}   ({})", grouped(bytes), size(bytes)) }
}

/// A duration to two digits at least.
pub(super) fn duration(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{} ns", grouped(ns)),
        10_000..10_000_000 => format!("{} us", grouped(ns / 1000)),
        _ => format!("{} ms", grouped(ns / 1_000_000)),
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
