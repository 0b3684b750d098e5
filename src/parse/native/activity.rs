//! Records of the GPU, of evidence, and of ranges: into the trace.

use super::clock::Reading;
use super::decode::{Other, Run};
use super::file::{File, Thread};
use super::piece::{Piece, Stall, bytes_of, capacity};
use super::scan::ordinal;
use super::stamp::stamp;
use crate::trace::activity::evidence::{Statement, What};
use crate::trace::activity::{Activities, Submit, TextId, Told};
use crate::trace::range::{Begun, Ranges};
use crate::trace::{Activity, ActivityKind, Evidence, LaneOf, NO_DEVICE, NameId, ProcessId, TrackId};
use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;
use umtui_wire::record::{Head, KIND_GPU_FIRST, KIND_RANGE_FIRST, Slot};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// How far outside its recording work may seem to lie: clocks are compared now and then, and drift.
const SLACK_NS: u64 = 1_000_000_000;
/// Likewise where they were never compared, and the driver's is taken for the time of day, which may be set.
const SLACK_UNCOMPARED_NS: u64 = 3600 * SLACK_NS;

/// A moment by the driver's clock, and on the trace's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuClock {
    /// Driver's ns.
    pub driver_ns: u64,
    /// The same moment, ns.
    pub axis_ns: u64,
}

impl GpuClock {
    /// A moment of the driver's, ns on the axis; saturates.
    #[must_use]
    pub const fn ns(self, driver_ns: u64) -> u64 {
        if driver_ns >= self.driver_ns {
            self.axis_ns.saturating_add(driver_ns - self.driver_ns)
        } else {
            self.axis_ns.saturating_sub(self.driver_ns - driver_ns)
        }
    }
}

/// Whether [`File::activity`] takes records of this kind.
pub(super) const fn is_taken(kind: u8) -> bool {
    kind >= KIND_GPU_FIRST || matches!(kind, wire::KIND_SUBMIT..=wire::KIND_SUM)
}

/// Where records go.
pub(super) struct Into<'a> {
    pub activities: &'a mut Activities,
    pub ranges: &'a mut Ranges,
    pub evidence: &'a mut Evidence,
    /// Strings of the file.
    pub strings: Option<&'a FxHashMap<u32, NameId>>,
    pub track: TrackId,
    /// The driver's clock as this thread compared it last.
    pub clock: &'a mut Option<GpuClock>,
}

impl<'a> Into<'a> {
    /// Those of a thread.
    pub fn of(
        (activities, ranges, evidence): (&'a mut Activities, &'a mut Ranges, &'a mut Evidence),
        strings: Option<&'a FxHashMap<u32, NameId>>,
        thread: &'a mut Thread,
    ) -> Self {
        let Thread { track, gpu, .. } = thread;
        Self { activities, ranges, evidence, strings, track: *track, clock: gpu }
    }

    fn text(&mut self, process: ProcessId, string: u32) -> TextId {
        let known = self.strings.and_then(|strings| strings.get(&string)).copied();
        self.activities.text(process, string, known)
    }

    fn seen(&mut self, process: ProcessId, what: What) {
        self.activities.of_mut(process).evidence.seen(what);
        if let Some(level) = what.level() {
            self.evidence.add(level);
        }
    }
}

impl File {
    /// Takes a record; `slot` is its number in the piece.
    pub(super) fn activity(
        &mut self,
        run: &Run<'_>,
        piece: &mut Piece,
        record: &[Slot],
        slot: u32,
        reading: Reading,
        mut into: Into<'_>,
    ) -> Other {
        let Some(first) = record.first() else { return Other::Odd };
        let head = Head::from_word(first[0]);
        match head.kind {
            wire::KIND_SUBMIT => {
                if first[1] > run.horizon && first[1] <= run.plausible.1 {
                    // What comes before it in another chunk of this thread is read first.
                    return Other::Later(Stall::Until(first[1]));
                }
                piece.submit = Some((head.b, first[1]));
                if head.b != 0 {
                    into.seen(self.process, What::Correlation);
                }
                if head.a != 0 {
                    into.seen(self.process, What::Pointers);
                }
                Other::Skip
            }
            wire::KIND_GPU_CLOCK..=wire::KIND_SUM | KIND_RANGE_FIRST..=wire::KIND_MARK => {
                let ticks = first[1];
                if ticks < run.plausible.0 || ticks > run.plausible.1 {
                    return Other::Odd;
                }
                if ticks > run.horizon {
                    return Other::Later(Stall::Until(ticks));
                }
                let ns = self.clock.ns(reading, ticks);
                match head.kind {
                    wire::KIND_GPU_CLOCK => self.gpu_clock(piece, first, ns, &mut into),
                    wire::KIND_EVIDENCE => self.statement(first, ns, &mut into),
                    wire::KIND_DROPPED => {
                        let of = into.activities.of_mut(self.process);
                        match first[2] {
                            u64::MAX => of.dropped_unknown = true,
                            count => of.dropped = of.dropped.saturating_add(count),
                        }
                        self.changed = true;
                        Other::Skip
                    }
                    wire::KIND_SUM => self.sum(first, &mut into),
                    _ => self.range(piece, record, slot, ns, &mut into),
                }
            }
            kind => match ActivityKind::of(kind) {
                Some(kind) if head.extra == 0 && matches!(kind, ActivityKind::Kernel | ActivityKind::Memory) => {
                    Other::Odd
                }
                Some(_) if piece.opened.ticks > run.horizon => Other::Later(Stall::Until(piece.opened.ticks)),
                Some(kind) => self.work(run, piece, record, slot, kind, &mut into),
                None => Other::Skip,
            },
        }
    }

    /// The call that the record before it said to submit something: it began at `start` ticks and is this row.
    pub(super) fn submitted(
        &self,
        (correlation, said): (u32, u64),
        start: u64,
        track: TrackId,
        row: usize,
        activities: &mut Activities,
    ) {
        if said == start
            && let Ok(row) = u32::try_from(row)
        {
            activities.of_mut(self.process).submits.push(Submit { correlation, track, row });
        }
    }

    fn gpu_clock(&mut self, piece: &mut Piece, slot: &Slot, axis_ns: u64, into: &mut Into<'_>) -> Other {
        let fresh = GpuClock { driver_ns: slot[2], axis_ns };
        let is_known = slot[3] != u64::MAX;
        let error_ns = if is_known { self.clock.span(slot[3]).div_ceil(2) } else { 0 };
        let known = piece.gpu.or(*into.clock).or(self.gpu);
        let apart = known.is_some_and(|known| known.ns(fresh.driver_ns).abs_diff(axis_ns) > SLACK_NS);
        if error_ns > SLACK_NS || (piece.suspect && apart) {
            return Other::Odd;
        }
        piece.gpu = Some(fresh);
        *into.clock = Some(fresh);
        self.gpu = Some(fresh);
        let of = into.activities.of_mut(self.process);
        of.clock_error_ns = of.clock_error_ns.max(is_known.then_some(error_ns));
        if slot[4] != 0 {
            of.complete_ns = of.complete_ns.max(Some(fresh.ns(slot[4]).min(axis_ns)));
        }
        Other::Skip
    }

    /// A sum without events.
    fn sum(&mut self, slot: &Slot, into: &mut Into<'_>) -> Other {
        let head = Head::from_word(slot[0]);
        let moves = [wire::UNIFIED_TO_DEVICE, wire::UNIFIED_TO_HOST, wire::UNIFIED_BETWEEN_DEVICES];
        into.seen(self.process, if moves.contains(&head.a) { What::Migrations } else { What::Faults });
        let told = &mut into.activities.of_mut(self.process).told;
        if told.len() < Told::KEPT {
            let device = ordinal(head.b).unwrap_or(NO_DEVICE);
            told.push(Told { what: head.a, device, count: slot[2], bytes: slot[3], total_ns: slot[4] });
        }
        self.changed = true;
        Other::Skip
    }

    fn statement(&mut self, slot: &Slot, since_ns: u64, into: &mut Into<'_>) -> Other {
        let head = Head::from_word(slot[0]);
        // What a newer hook may tell of is nothing that this reader could show.
        let Some(what) = What::of(head.a) else { return Other::Skip };
        let statement = Statement {
            since_ns,
            what,
            why: head.b,
            detail: into.text(self.process, slot[2] as u32),
            result: slot[3] as u32,
            driver_version: (slot[3] >> 32) as u32,
            library_version: slot[4] as u32,
        };
        if statement.recorded()
            && let Some(level) = what.level()
        {
            into.evidence.add(level);
        }
        into.activities.of_mut(self.process).evidence.add(statement);
        self.changed = true;
        Other::Skip
    }

    fn range(&mut self, piece: &mut Piece, record: &[Slot], slot: u32, ns: u64, into: &mut Into<'_>) -> Other {
        let Some(range) = record_of::<wire::Range>(record) else { return Other::Odd };
        let head = Head::from_word(range.head);
        // Counters say nothing of ranges.
        if crate::trace::Sampled::of(range.payload_type, range.payload).is_none() {
            into.seen(self.process, What::Ranges);
        }
        let domain = into.text(self.process, range.domain);
        match head.kind {
            wire::KIND_RANGE_POP => {
                into.ranges.pop(into.track, domain, ns);
                return Other::Skip;
            }
            wire::KIND_RANGE_END => {
                into.ranges.end(self.process, range.id, ns);
                return Other::Skip;
            }
            _ => {}
        }
        let begun = Begun {
            ns,
            name: into.text(self.process, range.name),
            domain,
            color: range.color,
            level: head.a,
            id: range.id,
            place: self.number(piece, slot, into.activities),
        };
        match head.kind {
            wire::KIND_RANGE_PUSH => into.ranges.push(into.track, &begun),
            wire::KIND_RANGE_START => into.ranges.start(self.process, into.track, &begun),
            _ => into.ranges.mark(into.track, &begun),
        }
        Other::Skip
    }

    fn work(
        &mut self,
        run: &Run<'_>,
        piece: &mut Piece,
        record: &[Slot],
        slot: u32,
        kind: ActivityKind,
        into: &mut Into<'_>,
    ) -> Other {
        let Some(mut read) = self.read(record, kind, into) else { return Other::Odd };
        let (start, end) = read.times;
        let compared = piece.gpu.or(*into.clock).or(self.gpu);
        let clock = compared.unwrap_or(self.gpu_start);
        let slack = if compared.is_some() { SLACK_NS } else { SLACK_UNCOMPARED_NS };
        if start == 0 {
            (read.activity.start_ns, read.activity.timed) = (clock.axis_ns, false);
        } else {
            let first = self.clock.ns(self.start, self.start_ticks).saturating_sub(slack);
            let last = self.clock.ns(self.clock.reading(&piece.opened), run.plausible.1).saturating_add(slack);
            let (start_ns, end_ns) = (clock.ns(start), clock.ns(end));
            if end < start || start_ns < first || end_ns > last {
                return Other::Odd;
            }
            (read.activity.start_ns, read.activity.duration_ns) = (start_ns, end_ns - start_ns);
        }
        let place = self.number(piece, slot, into.activities);
        into.activities.push(self.process, read.of, &read.activity, place);
        into.seen(self.process, read.what);
        Other::Skip
    }

    /// A record's fields, but for its times.
    fn read(&self, record: &[Slot], kind: ActivityKind, into: &mut Into<'_>) -> Option<Read> {
        let head = Head::from_word(record.first()?[0]);
        let mut activity = Activity {
            kind,
            device: ordinal(u32::from(head.a)).unwrap_or(NO_DEVICE),
            correlation: head.b,
            ..Activity::default()
        };
        let stream = |context, stream| LaneOf::Stream { context, stream };
        let (of, times) = match kind {
            ActivityKind::Kernel => {
                let kernel = record_of::<wire::Kernel>(record)?;
                activity.detail = kernel.launch;
                activity.value = u64::from(into.text(self.process, kernel.name).0);
                (stream(kernel.context, kernel.stream), (kernel.start, kernel.end))
            }
            ActivityKind::Copy => {
                let copy = record_of::<wire::Copied>(record)?;
                let pageable = copy.from == MEMORY_PAGEABLE || copy.to == MEMORY_PAGEABLE;
                let managed = MEMORY_MANAGED.contains(&copy.from) || MEMORY_MANAGED.contains(&copy.to);
                activity.detail = Activity::copy_detail(copy.kind, pageable, managed);
                activity.value = copy.bytes;
                if copy.kind == COPY_BETWEEN_DEVICES {
                    activity.ends = [copy.from_device, copy.to_device]
                        .map(|device| ordinal(u32::from(device)).unwrap_or(NO_DEVICE));
                }
                (stream(copy.context, copy.stream), (copy.start, copy.end))
            }
            ActivityKind::Set => {
                let set = record_of::<wire::Set>(record)?;
                (activity.detail, activity.value) = (set.memory, set.bytes);
                (stream(set.context, set.stream), (set.start, set.end))
            }
            ActivityKind::Graph => {
                let graph = record_of::<wire::GraphRun>(record)?;
                activity.value = u64::from(graph.graph);
                (stream(graph.context, graph.stream), (graph.start, graph.end))
            }
            ActivityKind::Wait => {
                let wait = record_of::<wire::Wait>(record)?;
                activity.detail = u8::try_from(wait.kind).unwrap_or(u8::MAX);
                activity.value = u64::from(wait.stream);
                (LaneOf::Host, (wait.start, wait.end))
            }
            ActivityKind::Event => {
                let event = record_of::<wire::EventRecorded>(record)?;
                activity.value = u64::from(event.stream);
                (LaneOf::Host, (event.time, event.time))
            }
            ActivityKind::Overhead => {
                let overhead = record_of::<wire::Overhead>(record)?;
                activity.device = NO_DEVICE;
                activity.value = u64::from(overhead.kind);
                (LaneOf::Host, (overhead.start, overhead.end))
            }
            ActivityKind::Memory => {
                let memory = record_of::<wire::Memory>(record)?;
                activity.detail = memory.operation;
                (activity.value, activity.address) = (memory.bytes, memory.address);
                (LaneOf::Memory, (memory.time, memory.time))
            }
            ActivityKind::Unified => unified(record, &mut activity)?,
        };
        let what = match kind {
            ActivityKind::Unified => match head.a {
                wire::UNIFIED_TO_DEVICE | wire::UNIFIED_TO_HOST | wire::UNIFIED_BETWEEN_DEVICES => What::Migrations,
                _ => What::Faults,
            },
            ActivityKind::Memory => What::Memory,
            ActivityKind::Wait | ActivityKind::Event => What::Waits,
            _ => What::Activity,
        };
        Some(Read { activity, of, times, what })
    }

    /// Number of a slot of the piece.
    fn number(&self, piece: &mut Piece, slot: u32, activities: &mut Activities) -> u32 {
        let first = piece.slot_offset(0) | stamp(piece, self.has_cap);
        let slots = capacity(piece.bytes);
        let places = &mut activities.of_mut(self.process).places;
        piece.numbered.get_or_insert_with(|| places.add(first, slots)).saturating_add(slot)
    }
}

/// `CUpti_ActivityMemoryKind`: memory that the operating system may move.
const MEMORY_PAGEABLE: u8 = 1;
/// Likewise: managed memory, and variables in it.
const MEMORY_MANAGED: [u8; 2] = [5, 7];
/// `CUpti_ActivityMemcpyKind`: from one device to another.
const COPY_BETWEEN_DEVICES: u8 = 10;

/// The fields of a record of unified memory.
fn unified(record: &[Slot], activity: &mut Activity) -> Option<(LaneOf, (u64, u64))> {
    let unified = record_of::<wire::Unified>(record)?;
    let head = Head::from_word(unified.head);
    activity.correlation = 0;
    activity.detail = (head.a.min(15) | (head.b.min(15) << 4) as u16) as u8;
    activity.address = unified.address;
    activity.value = if head.a == wire::UNIFIED_CPU_FAULT { 0 } else { unified.value };
    let device = match head.a {
        wire::UNIFIED_TO_DEVICE | wire::UNIFIED_BETWEEN_DEVICES => ordinal(unified.to),
        wire::UNIFIED_REMOTE_MAP => ordinal(unified.to).or(ordinal(unified.from)),
        wire::UNIFIED_THRASHING | wire::UNIFIED_CPU_FAULT => None,
        _ => ordinal(unified.from),
    };
    activity.device = device.unwrap_or(NO_DEVICE);
    if matches!(head.a, wire::UNIFIED_BETWEEN_DEVICES | wire::UNIFIED_REMOTE_MAP) {
        activity.ends = [unified.from, unified.to].map(|device| ordinal(device).unwrap_or(NO_DEVICE));
    }
    // Of these CUPTI leaves the end undefined.
    let moment = matches!(head.a, wire::UNIFIED_CPU_FAULT | wire::UNIFIED_THRASHING | wire::UNIFIED_REMOTE_MAP);
    let end = if moment || unified.end == 0 { unified.start } else { unified.end };
    Some((LaneOf::Unified, (unified.start, end)))
}

/// What a record says.
struct Read {
    activity: Activity,
    of: LaneOf,
    /// Driver's ns; a start of zero: not known.
    times: (u64, u64),
    what: What,
}

/// A record by its fields; slots that it does not have are zeros.
fn record_of<R: FromBytes + Immutable + KnownLayout>(record: &[Slot]) -> Option<R> {
    if let Ok((read, _)) = R::read_from_prefix(bytes_of(record)) {
        return Some(read);
    }
    let mut slots = [[0u64; 6]; 2];
    for (place, slot) in slots.iter_mut().zip(record) {
        *place = *slot;
    }
    R::read_from_prefix(slots.as_bytes()).ok().map(|(read, _)| read)
}
