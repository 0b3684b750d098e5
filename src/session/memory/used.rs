//! Use of an allocation in its details: when it was used first and last, what calls said of it, who may touch it, and the life
//! of its pages.

use std::time::{Duration, Instant};

use super::details::seconds;
use super::later::Growing;
use super::table::Table;
use crate::correlate::usage::{InForce, Pass, Place, Said, Topic, Touchers, Uses, What};
use crate::correlate::{Allocation, AllocationKind, Pools, Usage, Use};
use crate::lens::all_turns;
use crate::memory::Steps;
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::trace::activity::What as Evidence;
use crate::trace::value::size;
use crate::trace::{NO_DEVICE, ProcessId};

/// While a trace grows, use is looked for anew so many times less often than that takes.
const PAUSE: u32 = 10;
/// Rows about advice and prefetches.
const LISTED: usize = 4;
/// Calls inside the one that the program made, at most.
pub(super) const NESTED: usize = 16;
/// Ranges among which steps are looked for while somebody waits.
const RANGES: u64 = 1 << 16;

/// Allocations of a process, its calls, and its records.
type Of = (u16, u64, u64, u64);

/// The use of the allocations of the process that is looked at.
#[derive(Default)]
pub(super) struct KnownUsed {
    known: Option<(Of, Usage)>,
    under_way: Option<(Of, Pass, Instant)>,
    due: Option<Instant>,
    growing: Growing<Of>,
    /// Of so many records of ranges.
    steps: Option<(u64, Steps)>,
}

impl KnownUsed {
    /// The use of the allocations of a process, if it is known for these.
    pub(super) fn of(&self, process: u16, version: u64) -> Option<&(Of, Usage)> {
        self.known.as_ref().filter(|(of, _)| (of.0, of.1) == (process, version))
    }
}

impl Model {
    /// Goes on finding how allocations of a process were used, until `until`; true if that is of the trace as it is.
    pub(super) fn learn_used(&mut self, process: u16, until: Instant) -> bool {
        let has_pools = self.learn_pools(until);
        let of: Of = (process, self.lives.version(), self.trace.calls(), self.trace.activities.records());
        let known = &mut self.books.used;
        if known.known.as_ref().is_some_and(|(known, _)| *known == of) {
            return has_pools;
        }
        let Some(allocations) = self.lives.all().get(usize::from(process)).cloned() else { return false };
        let now = Instant::now();
        // A pass that is under way goes on though the trace has grown, but not with other allocations.
        let goes_on = |under_way: &Of| (under_way.0, under_way.1) == (of.0, of.1);
        let is_same = known.known.as_ref().is_some_and(|(known, _)| known.0 == process);
        let pass = known.under_way.take().filter(|(under_way, ..)| goes_on(under_way));
        let grows = known.growing.is(of, now);
        if pass.is_none() && is_same && grows && known.due.is_some_and(|due| now < due) {
            return false;
        }
        let (pass_of, mut pass, begun) =
            pass.unwrap_or_else(|| (of, Pass::new(&self.trace, ProcessId(process), &allocations), now));
        let files = self.all_files();
        let known = &mut self.books.used;
        if !pass.go_on(&self.trace, &files, &allocations, &mut || Instant::now() < until) {
            known.under_way = Some((pass_of, pass, begun));
            return false;
        }
        known.known = Some((pass_of, pass.into_usage()));
        let pause = begun.elapsed().checked_mul(PAUSE).unwrap_or(Duration::MAX);
        known.due = Instant::now().checked_add(pause);
        has_pools && pass_of == of
    }

    /// What is known of the use of the allocation with this number.
    pub(super) fn use_fields(&mut self, table: &Table, number: usize) -> Vec<(String, String)> {
        let Some((block, index)) = table.get(number).zip(table.index(number)) else { return Vec::new() };
        let process = block.process;
        let mut fields = Fields::default();
        if let Some(steps) = self.steps_of(&block.allocation) {
            fields.add("steps", steps);
        }
        let Some((of, usage)) = self.books.used.known.take() else {
            fields.add("use", "still being looked for".to_owned());
            return fields.0;
        };
        if of.0 == process.0 && of.1 == self.lives.version() {
            self.uses(&mut fields, &usage, (process, index), &block.allocation);
        } else {
            fields.add("use", "still being looked for".to_owned());
        }
        self.books.used.known = Some((of, usage));
        fields.0
    }

    /// In which steps it came and went, in words; `None`: no range repeats, or there are too many to be looked through here.
    fn steps_of(&mut self, one: &Allocation) -> Option<String> {
        let ranges = self.trace.ranges.records();
        if self.trace.ranges.rows() > RANGES {
            return None;
        }
        let known = self.books.used.steps.take().filter(|(known, _)| *known == ranges);
        let steps = known.unwrap_or_else(|| (ranges, Steps::new(all_turns(None, &self.trace).1)));
        let lived = steps.1.lived(one.made_ns, one.freed_ns);
        self.books.used.steps = Some(steps);
        let lived = lived?;
        let made =
            lived.made_in.map_or_else(|| "made outside of steps".to_owned(), |step| format!("made in step {step}"));
        let freed = match lived.freed_in {
            _ if one.freed_ns == u64::MAX => "not released".to_owned(),
            None => "released outside of steps".to_owned(),
            Some(step) => format!("released in step {step}"),
        };
        Some(format!("{made}, {freed}, in use at the ends of {}", lived.ends))
    }

    fn uses(&mut self, fields: &mut Fields, usage: &Usage, (process, index): (ProcessId, usize), one: &Allocation) {
        let start = self.trace.start_ns();
        let since = |ns: u64| format!("{} s", seconds(ns.saturating_sub(start)));
        let uses = usage.get(index).copied().unwrap_or_default();
        self.first_and_last(fields, usage, process, &uses, one);
        let counts = counts(&uses);
        if !counts.is_empty() {
            fields.add("uses", counts);
        }
        if let Some(thread) = uses.thread {
            fields.add("used by", super::rows::thread_of(&self.trace, thread));
        } else if uses.by_several {
            fields.add("used by", "several threads".to_owned());
        }
        let all = usage.advice(one);
        for advice in all.iter().take(LISTED) {
            fields.add("advice", in_force(advice, one, &since));
        }
        fields.more("advice", all.len());
        let memory = (one.address, one.bytes);
        let said: Vec<&Said> = usage.said_of(memory, (one.from_ns, one.until_ns)).collect();
        let moves: Vec<String> = said.iter().filter_map(|said| asked(said, one, &since)).collect();
        moves.iter().take(LISTED).for_each(|text| fields.add("prefetch", text.clone()));
        fields.more("prefetch", moves.len());
        let all = self.books.pools.all().cloned();
        let none = Pools::default();
        let pools = all.as_ref().and_then(|all| all.get(process.index())).unwrap_or(&none);
        let touchers = usage.touchers(&self.trace, &self.all_files(), pools, (index, one));
        let words = may_touch(&touchers, one, &since);
        if !words.is_empty() {
            fields.add("may touch", words);
        }
    }

    fn first_and_last(
        &mut self,
        fields: &mut Fields,
        usage: &Usage,
        process: ProcessId,
        uses: &Uses,
        one: &Allocation,
    ) {
        if uses.certain.is_none() && uses.possible.is_none() {
            let of = self.trace.activities.of(process);
            let told = of.is_some_and(|of| of.evidence.ever(Evidence::Pointers));
            let is_known =
                (told || usage.evidence().launches == 0) && (one.has_address() || one.kind == AllocationKind::Array);
            let text = if is_known { "none was seen" } else { "not known: what kernels were given is not recorded" };
            fields.add("use", text.to_owned());
            return;
        }
        for (sort, span) in [("", uses.certain), (", possibly", uses.possible)] {
            let Some(span) = span else { continue };
            fields.add("first use", self.use_in_words(&span.first, sort));
            fields.add("last use", self.use_in_words(&span.last, sort));
        }
        if uses.may_be_later() {
            fields.add("", "launches of graphs that were given it may have used it later".to_owned());
        }
    }

    /// When, how, and by which code.
    fn use_in_words(&mut self, one: &Use, sort: &str) -> String {
        let at = seconds(one.at_ns.saturating_sub(self.trace.start_ns()));
        let by = if one.is_by_gpu() { " by the GPU's clock" } else { "" };
        let from = self.user(one).map(|call| {
            let name = crate::session::safe::safe(self.trace.api_name(call.api)).into_owned();
            let site = Namer::new(&self.trace, &mut self.symbols).site(call.site);
            if site.is_empty() { format!(", {name}") } else { format!(", {name} from {site}") }
        });
        format!("{at} s{sort}: {}{by}{}", one.kind().word(), from.unwrap_or_default())
    }
}

/// Names and values.
#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Fields {
    fn add(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    /// That there are more of which nothing is listed.
    fn more(&mut self, name: &str, count: usize) {
        if count > LISTED {
            self.add(name, format!("[{} more]", count - LISTED));
        }
    }
}

/// How often it was used how.
fn counts(uses: &Uses) -> String {
    let counts = &uses.counts;
    let parts = [
        (counts.reads, "copied from"),
        (counts.writes, "copied to or set"),
        (counts.kernels, "given to kernels"),
        (counts.graphs, "given to graphs"),
        (counts.faults, "missed"),
        (counts.migrations, "migrated"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} times {what}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn place(place: Place) -> String {
    match place {
        Place::None => "a place that is not known".to_owned(),
        Place::Host => "the host".to_owned(),
        Place::Node(node) => format!("node {node} of the host"),
        Place::Device(device) => format!("GPU {device}"),
    }
}

/// A part of an allocation in words; of all of it nothing.
fn part((address, bytes): (u64, u64), one: &Allocation) -> String {
    if address <= one.address && address.saturating_add(bytes) >= one.end() {
        return String::new();
    }
    format!(", {} at +{}", size(bytes), size(address.saturating_sub(one.address)))
}

/// Advice, and from when until when it was in force.
fn in_force(advice: &InForce, one: &Allocation, since: &dyn Fn(u64) -> String) -> String {
    let whom = match advice.topic {
        Topic::ReadMostly => String::new(),
        Topic::PreferredLocation => format!(" {}", place(advice.place)),
        Topic::AccessedBy => format!(" {}", place(advice.place)),
    };
    let until = if advice.until_ns == u64::MAX { " on".to_owned() } else { format!(" to {}", since(advice.until_ns)) };
    let part = part((advice.address, advice.bytes), one);
    format!("{}{whom} from {}{until}{part}", advice.topic.word(), since(advice.from_ns))
}

/// A prefetch or discard in words.
fn asked(said: &Said, one: &Allocation, since: &dyn Fn(u64) -> String) -> Option<String> {
    let what = match said.what {
        What::Prefetch(to) => format!("to {}", place(to)),
        What::Discard => "discarded".to_owned(),
        What::DiscardAndPrefetch(to) => format!("discarded, to {}", place(to)),
        _ => return None,
    };
    let bytes = if said.bytes == 0 { one.bytes } else { said.bytes };
    Some(format!("{what} at {}{}", since(said.at_ns), part((said.address, bytes), one)))
}

/// Who may touch it beside its own device.
fn may_touch(touchers: &Touchers, one: &Allocation, since: &dyn Fn(u64) -> String) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (at_ns, attached) in &touchers.attached {
        parts.push(format!("attached {} from {}", attached.word(), since(*at_ns)));
    }
    for &device in &touchers.peers {
        let device = if device == NO_DEVICE { "a GPU that is not known".to_owned() } else { format!("GPU {device}") };
        parts.push(format!("{device} by peer access"));
    }
    for access in &touchers.pool {
        let may = if access.flags == 0 { "no longer" } else { "by its pool" };
        parts.push(format!("GPU {} {may} from {}", access.device, since(access.at_ns)));
    }
    for (at_ns, to, flags) in &touchers.mapped {
        let may = match flags {
            0 => "no longer",
            1 => "to read",
            _ => "to read and write",
        };
        parts.push(format!("{} {may} from {}", place(*to), since(*at_ns)));
    }
    if parts.is_empty() && matches!(one.kind, AllocationKind::Managed | AllocationKind::Static) {
        return "the host and any GPU".to_owned();
    }
    let more = parts.len().saturating_sub(LISTED);
    parts.truncate(LISTED);
    if more > 0 {
        parts.push(format!("[{more} more]"));
    }
    parts.join("; ")
}
