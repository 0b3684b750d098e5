//! `trace.log`: one event a line, see [`crate::parse::text`] for the form. Nothing is lost: reading it gives the same
//! trace.

use super::activity::{self, Others};
use crate::lens::{Block, Selected};
use crate::trace::activity::raw;
use crate::trace::raw::RawCall;
use crate::trace::results;
use crate::trace::{
    ApiId, Bytes, Call, CallFlags, OpenCall, Process, ProcessId, SiteId, State, Style, Trace, Track, TrackId,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;

/// Status of a call that failed, of which no more is known: `cudaErrorUnknown`, `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: u32 = 999;

/// Writes the trace; `files` are those of [`Trace::files`], where the raw records lie.
///
/// # Errors
/// When writing fails, or a file cannot be read.
pub fn write(trace: &Trace, files: &[Arc<dyn Bytes>], out: &mut dyn Write) -> io::Result<()> {
    write_some(trace, files, None, &mut |_| (), out)
}

/// What of a trace is written.
pub struct Part<'a> {
    /// What is selected. The calls around it are written as well, so that it is read back as it was nested.
    pub selected: &'a Selected,
    /// Calls that have not ended and are selected.
    pub open: &'a [(TrackId, OpenCall)],
    /// What selects it, a line each.
    pub words: &'a [String],
}

/// Likewise of a part only. Before each call `tell` is told the time up to which all is written, ns.
///
/// # Errors
/// When writing fails, or a file cannot be read.
pub fn write_some(
    trace: &Trace,
    files: &[Arc<dyn Bytes>],
    part: Option<&Part<'_>>,
    tell: &mut dyn FnMut(u64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let labels = Labels::new(trace);
    let start = trace.start_ns();
    writeln!(out, "{}", crate::parse::sniff::TEXT_MARK)?;
    writeln!(out, "# start {start}")?;
    for words in part.map_or(&[][..], |part| part.words) {
        writeln!(out, "# lens {words:?}")?;
    }
    definitions(trace, &labels, out)?;
    activity::definitions(trace, &labels, out)?;
    for damage in &trace.damage {
        let file = trace.files.get(damage.file).map_or("", String::as_str);
        writeln!(out, "# damaged: {file:?} at {}: {:?}", damage.offset, damage.why)?;
    }
    let tracks = (0..).map(TrackId).zip(&trace.tracks);
    let mut threads: Vec<Walk<'_>> = tracks.map(|(id, track)| Walk::new(id, track, part)).collect();
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (index, thread) in threads.iter_mut().enumerate() {
        heap.extend(thread.next_start().map(|time| Reverse((time, index))));
    }
    let mut others = Others::new(trace, &labels, files, part.map(|part| part.selected));
    let mut writer = Lines { trace, labels: &labels, files, submits: submits(trace), start, gone: 0, out };
    while let Some(Reverse((ns, index))) = heap.pop() {
        tell(ns);
        others.upto(ns, start, writer.out)?;
        let Some(thread) = threads.get_mut(index) else { continue };
        if let Some(step) = thread.next() {
            writer.step(TrackId(index as u32), thread.track, &step)?;
        }
        heap.extend(thread.next_start().map(|time| Reverse((time, index))));
    }
    others.upto(u64::MAX, start, writer.out)?;
    if writer.gone > 0 {
        let gone = writer.gone;
        writeln!(out, "# {gone} calls have no arguments here: their records are no longer in the file")?;
    }
    Ok(())
}

/// What lines call processes and functions.
pub(super) struct Labels {
    processes: Vec<String>,
    apis: Vec<String>,
}

impl Labels {
    fn new(trace: &Trace) -> Self {
        let mut pids: HashMap<u32, usize> = HashMap::new();
        let process = |process: &Process| {
            let seen = pids.entry(process.pid).or_default();
            *seen += 1;
            if *seen == 1 { process.pid.to_string() } else { format!("{}#{seen}", process.pid) }
        };
        let processes = trace.processes.iter().map(process).collect();
        let mut taken: HashSet<&str> = HashSet::new();
        let api = |(index, api): (usize, &crate::trace::Api)| {
            let name = trace.names.get(api.name);
            let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let plain = plain || !api.defined;
            if plain && taken.insert(name) { name.to_owned() } else { format!("function#{index}") }
        };
        let apis = trace.apis.iter().enumerate().map(api).collect();
        Self { processes, apis }
    }

    pub(super) fn process(&self, id: ProcessId) -> &str {
        self.processes.get(id.index()).map_or("?", String::as_str)
    }

    fn api(&self, id: ApiId) -> &str {
        self.apis.get(id.index()).map_or("?", String::as_str)
    }
}

fn definitions(trace: &Trace, labels: &Labels, out: &mut dyn Write) -> io::Result<()> {
    for (index, process) in (0..).zip(&trace.processes) {
        let id = ProcessId(index);
        process_lines(trace, labels.process(id), id, process, out)?;
    }
    for module in trace.sites.modules() {
        let process = trace.process(module.process);
        // In ticks of the text's clock, which is MONOTONIC.
        let at = process.map_or(0, |process| monotonic_of(process, module.ticks));
        writeln!(
            out,
            "# module {} start={:#x} end={:#x} offset={:#x} at={at} build={} path={:?}",
            labels.process(module.process),
            module.start,
            module.end,
            module.file_offset,
            hex(&module.build_id),
            trace.names.get(module.path)
        )?;
    }
    let mut kernels: Vec<_> = trace.kernels.iter().collect();
    kernels.sort_unstable();
    for (&(process, handle), &name) in kernels {
        writeln!(out, "# kernel {} {handle:#x} {:?}", labels.process(process), trace.names.get(name))?;
    }
    // Those that are not defined first: the reader keeps their numbers free.
    for defined in [false, true] {
        for (index, api) in (0..).zip(&trace.apis).filter(|(_, api)| api.defined == defined) {
            let label = labels.api(ApiId(index));
            if defined {
                let layer = if api.layer == crate::trace::Layer::Runtime { "runtime" } else { "driver" };
                writeln!(out, "# api {label} {layer} {:?} {}", trace.names.get(api.name), api.signature)?;
            } else {
                writeln!(out, "# api {label} undefined")?;
            }
        }
    }
    for track in &trace.tracks {
        let (process, name) = (labels.process(track.process), trace.names.get(track.name));
        writeln!(out, "# thread {process}/{} lost={} {name:?}", track.thread, track.lost)?;
    }
    Ok(())
}

fn process_lines(trace: &Trace, label: &str, id: ProcessId, process: &Process, out: &mut dyn Write) -> io::Result<()> {
    let of_threads =
        trace.tracks.iter().filter(|track| track.process == id).fold(0u64, |sum, track| sum.saturating_add(track.lost));
    let (state, reason) = match process.state {
        State::Recording => ("recording", 0),
        State::Ended => ("ended", 0),
        State::Full => ("full", 0),
        State::Failed(errno) => ("failed", errno),
        State::Killed => ("killed", 0),
    };
    let named = |name, rank: Option<u32>| rank.map_or_else(String::new, |rank| format!(" {name}={rank}"));
    writeln!(
        out,
        "# process {label} pid={} parent={} started={}{}{} state={state} reason={reason} lost={} max={} cost_ps={} run={} error_ppb={} \
         monotonic={} realtime={} axis={} last={} boot={} host={:?} program={:?} folder={:?}",
        process.pid,
        process.parent_pid,
        process.start_time,
        named("rank", process.rank),
        named("local_rank", process.local_rank),
        process.lost.saturating_sub(of_threads),
        process.max_bytes,
        process.cost_ps,
        process.run_id,
        process.rate_error_ppb,
        process.start.monotonic_ns,
        process.start.realtime_ns,
        process.axis_offset_ns,
        process.last_ns,
        hex(&process.boot_id),
        trace.names.get(process.host),
        trace.names.get(process.program),
        trace.names.get(process.folder)
    )?;
    for argument in &process.arguments {
        writeln!(out, "# argument {label} {argument:?}")?;
    }
    Ok(())
}

/// Rows of each thread that submitted work, sorted.
fn submits(trace: &Trace) -> HashMap<TrackId, Vec<u32>> {
    let mut rows: HashMap<TrackId, Vec<u32>> = HashMap::new();
    for of in (0..u16::MAX).map(ProcessId).take(trace.processes.len()).filter_map(|id| trace.activities.of(id)) {
        of.submits.iter().for_each(|submit| rows.entry(submit.track).or_default().push(submit.row));
    }
    rows.values_mut().for_each(|rows| rows.sort_unstable());
    rows
}

/// MONOTONIC time of a process at `ticks` of its clock.
fn monotonic_of(process: &Process, ticks: u64) -> u64 {
    let rate = umtui_wire::clock::Rate::new(process.ticks_per_second);
    if ticks >= process.start.ticks {
        process.start.monotonic_ns.saturating_add(rate.ns(ticks - process.start.ticks))
    } else {
        process.start.monotonic_ns.saturating_sub(rate.ns(process.start.ticks - ticks))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A line to be written.
enum Step {
    /// A row, and the depth down to which open lines are complete before it, where that is not plain.
    Row(usize, Option<u8>),
    /// An open call.
    Open(OpenCall),
}

/// Goes through a thread's calls in order of start, each before the calls nested in it.
struct Walk<'a> {
    id: TrackId,
    track: &'a Track,
    part: Option<&'a Part<'a>>,
    /// Open calls that are written: of several the innermost lie in the others.
    open_end: usize,
    next_row: usize,
    last_root: Option<u8>,
    open: usize,
    queue: VecDeque<(u64, Step)>,
}

impl<'a> Walk<'a> {
    fn new(id: TrackId, track: &'a Track, part: Option<&'a Part<'a>>) -> Self {
        let open_end = match part {
            None => track.in_flight.len(),
            Some(part) if part.selected.unfinished.get(id.index()).is_some_and(|rows| !rows.is_empty()) => {
                track.in_flight.len()
            }
            Some(part) => {
                let wanted = |call: &OpenCall| part.open.iter().any(|(track, open)| *track == id && open == call);
                track.in_flight.iter().rposition(wanted).map_or(0, |last| last + 1)
            }
        };
        Self { id, track, part, open_end, next_row: 0, last_root: None, open: 0, queue: VecDeque::new() }
    }

    fn next_start(&mut self) -> Option<u64> {
        self.fill();
        self.queue.front().map(|(start, _)| *start)
    }

    fn next(&mut self) -> Option<Step> {
        self.queue.pop_front().map(|(_, step)| step)
    }

    fn fill(&mut self) {
        while self.queue.is_empty() && self.next_row < self.track.len() {
            let group = self.track.group(self.next_row);
            self.next_row = group.end;
            self.add_group(group);
        }
        if !self.queue.is_empty() {
            return;
        }
        if let Some(call) = self.track.in_flight.get(self.open).filter(|_| self.open < self.open_end) {
            self.open += 1;
            self.queue.push_back((call.start_ns, Step::Open(*call)));
        }
    }

    /// Which calls of a group are written.
    fn needed(&self, part: &Part<'_>, group: std::ops::Range<usize>) -> Vec<bool> {
        let mut words = vec![0u64; group.len().div_ceil(64)];
        for (at, row) in group.clone().enumerate() {
            if let Some(word) = words.get_mut(at / 64) {
                *word |= u64::from(part.selected.call(self.id, row)) << (at % 64);
            }
        }
        let mut block = Block::default();
        block.read(self.id, self.track, group);
        block.with_callers(&words)
    }

    /// The rows of a group, which are in order of completion, as lines in order of start.
    fn add_group(&mut self, group: std::ops::Range<usize>) {
        let first = group.start;
        let needed = match self.part.map(|part| self.needed(part, group.clone())) {
            Some(needed) if !needed.contains(&true) => return,
            needed => needed,
        };
        struct Node {
            row: usize,
            start: u64,
            depth: u8,
            children: Vec<Node>,
        }
        let mut roots: Vec<Node> = Vec::new();
        let mut row = group.start;
        self.track.for_each(group, |call: Call| {
            let at = row - first;
            row += 1;
            if needed.as_ref().is_some_and(|needed| !needed.get(at).copied().unwrap_or(false)) {
                return;
            }
            let first = roots.iter().rposition(|node| node.depth <= call.depth).map_or(0, |at| at + 1);
            let children = roots.split_off(first);
            roots.push(Node { row: row - 1, start: call.start_ns, depth: call.depth, children });
        });
        // Depth first; a sibling that is deeper than the one before it is not nested in that.
        let mut stack: Vec<(std::vec::IntoIter<Node>, Option<u8>)> = vec![(roots.into_iter(), self.last_root)];
        while let Some((siblings, previous)) = stack.last_mut() {
            let Some(node) = siblings.next() else {
                if stack.len() == 1 {
                    self.last_root = stack.first().and_then(|(_, previous)| *previous);
                }
                stack.pop();
                continue;
            };
            let up = previous.filter(|&depth| node.depth > depth);
            *previous = Some(node.depth);
            self.queue.push_back((node.start, Step::Row(node.row, up)));
            stack.push((node.children.into_iter(), None));
        }
    }
}

struct Lines<'a> {
    trace: &'a Trace,
    labels: &'a Labels,
    files: &'a [Arc<dyn Bytes>],
    /// Rows of each thread that submitted work, sorted.
    submits: HashMap<TrackId, Vec<u32>>,
    start: u64,
    /// Calls whose records were gone.
    gone: u64,
    out: &'a mut dyn Write,
}

impl Lines<'_> {
    fn step(&mut self, id: TrackId, track: &Track, step: &Step) -> io::Result<()> {
        match step {
            Step::Row(row, up) => {
                if let Some(depth) = up {
                    writeln!(self.out, "# up {}/{} {depth}", self.labels.process(track.process), track.thread)?;
                }
                self.row(id, track, *row)
            }
            Step::Open(call) => self.open(track, call),
        }
    }

    fn head(&mut self, track: &Track, start_ns: u64, api: ApiId) -> io::Result<()> {
        let time = start_ns.saturating_sub(self.start);
        let name: String =
            self.trace.names.get(track.name).chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect();
        write!(
            self.out,
            "{}.{:09} {}/{} {} {}",
            time / 1_000_000_000,
            time % 1_000_000_000,
            self.labels.process(track.process),
            track.thread,
            if name.is_empty() { "-" } else { &name },
            self.labels.api(api)
        )
    }

    fn row(&mut self, id: TrackId, track: &Track, row: usize) -> io::Result<()> {
        let (Some(call), Some(location)) = (track.call(row), track.location(row)) else { return Ok(()) };
        let file =
            self.files.get(location.file as usize).ok_or_else(|| io::Error::other("the trace's file is not open"))?;
        let raw = match RawCall::read(&**file, location) {
            // Under a cap newer calls take the places of older ones while this is written.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            other => Some(other?),
        };
        self.gone += u64::from(raw.is_none());
        let Some(api) = self.trace.api(call.api) else { return Ok(()) };
        self.head(track, call.start_ns, call.api)?;
        let arguments = raw.as_ref().map(|raw| raw.text(self.trace, track.process, api, Style::Exact));
        write!(self.out, "({}) = ", arguments.unwrap_or_default())?;
        let unknown = if call.flags.failed() { UNKNOWN } else { 0 };
        let status = raw.as_ref().map_or(unknown, RawCall::status);
        write!(self.out, "{status}")?;
        let named = !call.flags.has(CallFlags::NOT_STATUS) && status != 0;
        if let Some(name) = results::name(api.layer, status).filter(|_| named) {
            write!(self.out, " {name}")?;
        }
        write!(self.out, " <{}> d{}", call.duration_ns, call.depth)?;
        for (flag, word) in [
            (CallFlags::CAPTURED, "captured"),
            (CallFlags::ENTRY_ONLY, "entry"),
            (CallFlags::NO_ARGUMENTS, "no-arguments"),
            (CallFlags::NOT_STATUS, "value"),
        ] {
            let gone = raw.is_none() && flag == CallFlags::NO_ARGUMENTS;
            if call.flags.has(flag) || gone {
                write!(self.out, " {word}")?;
            }
        }
        if let Some(raw) = &raw
            && self.submits.get(&id).is_some_and(|rows| rows.binary_search(&(row as u32)).is_ok())
            && let Some(said) = raw::submitted(&**file, location, raw.start_ticks())?
        {
            activity::submitted(&said, self.out)?;
        }
        let address = raw.as_ref().map_or_else(|| self.address(track.process, call.site), RawCall::address);
        self.site(call.site, address)
    }

    fn open(&mut self, track: &Track, call: &OpenCall) -> io::Result<()> {
        self.head(track, call.start_ns, call.api)?;
        let [a, b, c] = call.registers;
        write!(self.out, "({a:#x} {b:#x} {c:#x}) = ? <unfinished> d{}", call.depth)?;
        self.site(call.site, self.address(track.process, call.site))
    }

    fn site(&mut self, site: SiteId, address: u64) -> io::Result<()> {
        write!(self.out, " @ {address:#x}")?;
        let site = self.trace.sites.get(site);
        let module = site.and_then(|site| site.module).and_then(|module| self.trace.sites.module(module));
        if let (Some(site), Some(module)) = (site, module) {
            let path = self.trace.names.get(module.path);
            let name = path.rsplit('/').next().unwrap_or(path);
            write!(self.out, " {}+{:#x}", name.escape_debug(), site.offset)?;
        }
        writeln!(self.out)
    }

    /// The address of a site in a process: sites of one module are one in all processes.
    fn address(&self, process: ProcessId, site: SiteId) -> u64 {
        let Some(site) = self.trace.sites.get(site) else { return 0 };
        let Some(module) = site.module.and_then(|module| self.trace.sites.module(module)) else { return site.address };
        let own = self.trace.sites.modules().iter().find(|other| {
            let address = site.offset.wrapping_sub(other.file_offset).wrapping_add(other.start);
            other.process == process && other.identity == module.identity && (other.start..other.end).contains(&address)
        });
        own.map_or(site.address, |own| site.offset.wrapping_sub(own.file_offset).wrapping_add(own.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::NativeReader;
    use crate::parse::native::tests::made::{Wishes, make};
    use crate::parse::native::tests::model::{finish, lines};
    use crate::parse::text::import;
    use proptest::prelude::*;

    fn read(images: Vec<(Vec<u8>, bool)>) -> (Trace, Vec<Arc<dyn Bytes>>) {
        let mut trace = Trace::default();
        let mut files: Vec<Arc<dyn Bytes>> = Vec::new();
        for (image, killed) in images {
            let image: Arc<dyn Bytes> = Arc::new(image);
            let mut reader = NativeReader::open(image.clone(), "a.umt", &mut trace).unwrap();
            reader.set_process_gone(killed);
            finish(&mut reader, &mut trace, 5000).unwrap();
            files.push(image);
        }
        (trace, files)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn text_reads_back_without_loss(seed: u64, threads in 1u64..5, groups in 0u64..600, hz in 0usize..3, two: bool) {
            let ticks_per_second = [1_000_000_000, 2_100_000_001, 999_999][hz];
            let wishes = Wishes { threads, groups, ticks_per_second, sealed: seed % 2 == 0, hand_overs: seed % 3 == 0, gpu: true };
            let mut images = vec![(make(seed, wishes).image, false)];
            if two {
                images.push((make(seed ^ 5, wishes).image, false));
            }
            let (trace, files) = read(images);
            let mut text = Vec::new();
            write(&trace, &files, &mut text).unwrap();
            let imported = import(&text, "trace.log").unwrap();
            prop_assert_eq!(&imported.bad, &[]);
            let (again, files_again) = read(imported.files);
            let (one, other) = (lines(&trace, &files), lines(&again, &files_again));
            for (one, other) in one.iter().zip(&other) {
                prop_assert_eq!(one, other);
            }
            prop_assert_eq!(one.len(), other.len());
            let mut text_again = Vec::new();
            write(&again, &files_again, &mut text_again).unwrap();
            // Functions that nobody calls are not written down again.
            let calls = |text: Vec<u8>| {
                let text = String::from_utf8(text).unwrap();
                text.lines().filter(|line| !line.starts_with("# api")).map(str::to_owned).collect::<Vec<_>>()
            };
            let (text, again) = (calls(text), calls(text_again));
            for (one, other) in text.iter().zip(&again) {
                prop_assert_eq!(one, other);
            }
            prop_assert_eq!(text.len(), again.len());
        }

        #[test]
        fn damaged_text_is_named_by_line(seed in 0u64..20, edits in 1usize..20) {
            let wishes = Wishes { threads: 2, groups: 60, ticks_per_second: 1_000_000_000, sealed: true, hand_overs: false, gpu: true };
            let (trace, files) = read(vec![(make(seed, wishes).image, false)]);
            let mut text = Vec::new();
            write(&trace, &files, &mut text).unwrap();
            let mut random = crate::parse::native::tests::made::Random(seed ^ edits as u64);
            for _ in 0..edits {
                let at = 20 + random.below(text.len() as u64 - 20) as usize;
                text[at] = random.draw() as u8;
            }
            text.truncate(text.len() - random.below(200) as usize);
            let imported = import(&text, "trace.log").unwrap();
            let (again, _) = read(imported.files);
            prop_assert!(again.events() <= trace.events() + 1);
        }
    }

    #[test]
    fn a_part_holds_what_is_selected_and_the_calls_around_it() {
        use crate::lens::Marks;
        let wishes = Wishes {
            threads: 3,
            groups: 200,
            ticks_per_second: 1_000_000_000,
            sealed: true,
            hand_overs: false,
            gpu: true,
        };
        let (trace, files) = read(vec![(make(11, wishes).image, false)]);
        let mut selected = Selected::default();
        let mut expected = 0;
        for track in &trace.tracks {
            let mut marks = Marks::default();
            (0..track.len()).for_each(|row| marks.push(row % 7 == 0));
            let mut row = 0;
            while row < track.len() {
                let group = track.group(row);
                let mut block = Block::default();
                block.read(TrackId(0), track, group.clone());
                let words: Vec<u64> = (0..group.len().div_ceil(64))
                    .map(|word| {
                        (0..64).fold(0, |bits, at| bits | u64::from(marks.has(group.start + word * 64 + at)) << at)
                    })
                    .collect();
                expected += block.with_callers(&words).iter().filter(|needed| **needed).count();
                row = group.end;
            }
            selected.calls.push(marks);
        }
        let words = ["filter api:x".to_owned()];
        let part = Part { selected: &selected, open: &[], words: &words };
        let mut text = Vec::new();
        write_some(&trace, &files, Some(&part), &mut |_| (), &mut text).unwrap();
        let imported = import(&text, "trace.log").unwrap();
        assert_eq!(imported.bad, []);
        let (again, _) = read(imported.files);
        assert_eq!((again.calls(), again.activities.records(), again.ranges.records()), (expected as u64, 0, 0));
        assert!(String::from_utf8(text).unwrap().contains("# lens \"filter api:x\""));
    }

    #[test]
    fn it_reads_like_strace() {
        let wishes = Wishes {
            threads: 1,
            groups: 300,
            ticks_per_second: 1_000_000_000,
            sealed: true,
            hand_overs: false,
            gpu: true,
        };
        let (trace, files) = read(vec![(make(7, wishes).image, false)]);
        let mut text = Vec::new();
        write(&trace, &files, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let line = text.lines().find(|line| line.contains(" cudaFree(ptr=0x") && line.contains("> d0 @ 0x7f")).unwrap();
        assert!(line.contains(" 4121/4121 ") && line.contains(") = "), "{line}");
    }

    #[test]
    fn calls_whose_records_are_gone_are_written_without_arguments() {
        use crate::session::tests::reused::{overwrite_first, write_capped};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.umt");
        write_capped(&path);
        let loaded = crate::session::Loaded::load_all(std::slice::from_ref(&path)).unwrap();
        overwrite_first(&path);
        let mut text = Vec::new();
        write(loaded.trace(), &loaded.bytes(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let gone = text.lines().filter(|line| line.contains(" cudaFree() = ")).count();
        assert!(gone > 1000 && gone < 1500, "{gone}");
        assert!(
            text.ends_with(&format!(
                "# {gone} calls have no arguments here: their records are no longer in the file\n"
            ))
        );
        let failed = text.lines().find(|line| line.starts_with("0.000000030 ")).unwrap();
        assert!(failed.contains(" cudaFree() = 999 cudaErrorUnknown <5> d0 no-arguments @"), "{failed}");
        let (again, _) = read(import(&text.as_bytes(), "t").unwrap().files);
        assert_eq!((again.events(), again.damage.len()), (3000, 0));
    }

    #[test]
    fn a_call_out_of_order_comes_back() {
        // Depths 1, 3, 0 in order of completion: the 3 is not nested in the 1. Then one whose outer call is open.
        use crate::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
        let mut writer =
            NativeWriter::new(std::io::Cursor::new(Vec::new()), FileInfo { pid: 9, ..FileInfo::default() }, 65536);
        for (depth, start, duration) in [(1, 10, 5), (3, 16, 2), (0, 9, 20), (1, 40, 1)] {
            writer.call(1, &CallRecord { api: 3, start, duration, depth, ..CallRecord::default() }).unwrap();
        }
        let (trace, files) = read(vec![(writer.finish(true).unwrap().into_inner(), false)]);
        let mut text = Vec::new();
        write(&trace, &files, &mut text).unwrap();
        let (again, again_files) = read(import(&text, "t").unwrap().files);
        assert_eq!(lines(&trace, &files), lines(&again, &again_files));
    }
}
