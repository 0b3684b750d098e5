//! Rows of the memory screen.

use std::time::Instant;

use super::ask::{
    AllocationRow, AllocationState, AllocationsRequest, AllocationsRows, GroupColumn, GroupKey, GroupRow, GroupRows,
    LivePlot, MemoryGrouping, MemoryPart, MemoryPartRows, MemoryRequest, MemoryRows,
};
use super::books::Lacks;
use super::table::{Table, id_of, state};
use crate::correlate::Allocation;
use crate::filter::{Comparison, Condition, NumberField, TextField};
use crate::lens::Moment;
use crate::memory::{Group, Holder, Totals};
use crate::session::labels::{Namer, thread};
use crate::session::model::Model;
use crate::session::sampler::{Address, Kept, Reading};
use crate::session::search::exact::exact;
use crate::trace::activity::What;
use crate::trace::{NO_DEVICE, ProcessId, Trace, TrackId};

/// A moment after all that the trace holds, before the end of what was never released.
const NEWEST: u64 = u64::MAX - 1;
/// Holders at the peak that are named.
const HOLDERS: usize = 2;

/// What the memory screen must know that is not in the trace.
pub(in crate::session) struct Around<'a> {
    /// Whether a process has ended.
    pub ended: &'a dyn Fn(ProcessId) -> bool,
    /// Now on the trace's axis, ns.
    pub now_ns: u64,
    /// How devices fare just now.
    pub readings: Vec<(Address, Reading)>,
    /// What they said over time.
    pub kept: &'a Kept,
}

impl Model {
    /// The memory screen, and whether all of it is of the trace as it is now. Work stops at `until`.
    pub(in crate::session) fn memory(
        &mut self,
        request: &MemoryRequest,
        around: &Around<'_>,
        until: Instant,
    ) -> (MemoryRows, bool) {
        let mut complete = self.learn_memory(until);
        complete &= self.learn_asked(until);
        let (start, now) = (self.trace.start_ns(), around.now_ns.max(self.trace.end_ns()));
        let goal = request.goal.as_ref().filter(|_| complete).map(|goal| self.find_moment(goal));
        let moment = match &goal {
            Some(Ok(found)) => (*found).min(NEWEST),
            _ => self.moment_of(request.moment),
        };
        let part = match &request.part {
            MemoryPart::Allocations(allocations) => {
                complete &= self.put_in_order(allocations, allocations.in_use.then_some(moment), around.ended, until);
                complete &= allocations.details.is_none_or(|id| self.learn_used(id.process, until));
                MemoryPartRows::Allocations(self.allocations(allocations, around, now))
            }
            MemoryPart::Groups(groups) => {
                let (rows, all) = self.groups((groups.by, groups.sort), moment, until);
                complete &= all;
                let total = rows.len() as u64;
                let first = groups.first.min(total);
                let rows = rows.into_iter().skip(usize::try_from(first).unwrap_or(0)).take(groups.rows).collect();
                MemoryPartRows::Groups(GroupRows { total, first, rows })
            }
            MemoryPart::Pools(pools) => {
                let (rows, all) = self.pools(pools, until);
                complete &= all;
                MemoryPartRows::Pools(rows)
            }
            MemoryPart::Growth(growth) => {
                let (rows, all) = self.growth(growth, moment, until);
                complete &= all;
                MemoryPartRows::Growth(rows)
            }
            MemoryPart::Blocks(blocks) => {
                let (rows, all) = self.blocks(blocks, moment, until);
                complete &= all;
                MemoryPartRows::Blocks(rows)
            }
            MemoryPart::Transfers(transfers) => {
                complete &= self.learn_transfers(until);
                MemoryPartRows::Transfers(self.transfers(transfers, now))
            }
        };
        let plot = self.live_plot(request.plot, moment.min(now), now, around.kept);
        let why_empty = match &request.part {
            MemoryPart::Transfers(_) => self.why_no_transfers(),
            _ => self.why_no_memory(complete),
        };
        let lacks = match &request.part {
            MemoryPart::Allocations(part) => part.details.map_or(Lacks::Nothing, |id| Lacks::Used(id.process)),
            MemoryPart::Blocks(part) => Lacks::Used(part.of.process),
            MemoryPart::Pools(_) => Lacks::Pools,
            MemoryPart::Transfers(_) => Lacks::Transfers,
            MemoryPart::Groups(_) | MemoryPart::Growth(_) => Lacks::Nothing,
        };
        self.lacks_memory((!complete).then_some(lacks));
        let since = |ns: u64| (ns != u64::MAX).then(|| ns.saturating_sub(start));
        let found = goal.map(|goal| goal.map(since));
        let devices = self.devices(&around.readings);
        let moved_share = self.books.moved.share();
        (MemoryRows { plot, part, devices, found, partial: !complete, moved_share, why_empty }, complete)
    }

    /// The moment that is looked at, ns on the trace's axis; `None`: the newest, which stays the same while time goes on.
    pub(super) fn moment_of(&self, moment: Option<u64>) -> u64 {
        moment.map_or(NEWEST, |moment| self.trace.start_ns().saturating_add(moment).min(NEWEST))
    }

    /// Where a moment is, ns on the trace's axis; or why there is none.
    fn find_moment(&self, goal: &Moment) -> Result<u64, String> {
        let totals = self.books.account().map(|accounted| accounted.account.totals(Group::All));
        let peak = || totals.filter(|totals| totals.count > 0).map(|totals| totals.peak_ns);
        let found = goal.find(&self.trace, peak).map(|found| found.at_ns);
        found.map_err(|why| format!("{goal}: {why}"))
    }

    /// Why there is nothing, if nothing was ever allocated.
    fn why_no_memory(&self, complete: bool) -> Option<String> {
        let table = self.books.table.get()?;
        if table.len() > 0 || !complete {
            return None;
        }
        Some(match table.unread() {
            0 => "nothing has been allocated: allocations appear here as the program makes them".to_owned(),
            _ => "what was allocated is not known: the arguments of calls are not recorded (--no-args)".to_owned(),
        })
    }

    fn allocations(&mut self, request: &AllocationsRequest, around: &Around<'_>, now: u64) -> AllocationsRows {
        let Some(table) = self.books.table.get().cloned() else { return AllocationsRows::default() };
        let order = self.books.order();
        let wanted = request.cursor.and_then(|id| table.find(id)).and_then(|number| u32::try_from(number).ok());
        let cursor = wanted.and_then(|number| order.iter().position(|&other| other == number));
        let mut first = usize::try_from(request.first).unwrap_or(usize::MAX).min(order.len());
        if let Some(row) = cursor {
            first = first.min(row).max((row + 1).saturating_sub(request.rows));
        }
        let window: Vec<u32> = order.iter().skip(first).take(request.rows).copied().collect();
        let total = order.len() as u64;
        let ends = self.trace.process_ends();
        let mut row = |number| self.allocation(&table, number, (around, &ends), now);
        let rows = window.iter().filter_map(|&number| row(number as usize)).collect();
        let details = request.details.and_then(|id| {
            let number = table.find(id)?;
            let row = self.allocation(&table, number, (around, &ends), now)?;
            Some((id, self.details_of(&table, number, &row)))
        });
        AllocationsRows { total, first: first as u64, cursor: cursor.map(|row| row as u64), rows, details }
    }

    /// The row of the allocation with this number; `ends` is when each process was last there.
    fn allocation(
        &mut self,
        table: &Table,
        number: usize,
        (around, ends): (&Around<'_>, &[u64]),
        now: u64,
    ) -> Option<AllocationRow> {
        let block = table.get(number)?;
        let one = &block.allocation;
        let trace = &self.trace;
        let since = |ns: u64| ns.saturating_sub(trace.start_ns());
        let moved = self.books.moved.moved();
        let moved_of = |of: fn(&crate::memory::Movement) -> u64| {
            moved.and_then(|moved| moved.get(number).map(of).or(may_move(one).then_some(0)))
        };
        let cached = self.books.allocator(one.site).is_some();
        let state = state(one, (around.ended)(block.process), table.is_temporary(number), cached);
        let seen = match state {
            AllocationState::Leaked | AllocationState::Cached => {
                ends.get(block.process.index()).copied().unwrap_or(now)
            }
            _ => now,
        };
        let has_faults = trace.activities.recorded(What::Faults);
        Some(AllocationRow {
            id: id_of(&block),
            address: one.has_address().then_some(one.address),
            generation: table.generation(number),
            bytes: one.size(),
            kind: one.kind,
            device: device(one.device),
            thread: thread_of(trace, one.track),
            from_ns: since(one.from_ns),
            until_ns: one.has_ended().then(|| since(one.freed_ns)),
            seen_ns: since(seen).max(since(one.made_ns)),
            state,
            moved: moved_of(crate::memory::Movement::bytes),
            moved_back: moved_of(|one| one.returned),
            faults: moved_of(crate::memory::Movement::faults).filter(|_| has_faults),
            like: like(trace, table, number, one),
            site: Namer::new(&self.trace, &mut self.symbols).site(one.site),
        })
    }

    /// All rows of the table of groups, in order; and whether they are of the moment that is asked for.
    pub(super) fn groups(
        &mut self,
        (by, sort): (MemoryGrouping, (GroupColumn, bool)),
        moment: u64,
        until: Instant,
    ) -> (Vec<GroupRow>, bool) {
        let Some(seen) = self.books.seen().cloned() else { return (Vec::new(), false) };
        let (then, complete) = self.books.then(by, moment, until);
        let then = then.cloned().unwrap_or_default();
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let mut rows: Vec<GroupRow> = Vec::new();
        for (group, totals) in seen.account.groups() {
            let Some((key, name, like)) = named(&namer, group, by) else { continue };
            let counted = !matches!(group, Group::Kind(kind) if !kind.adds_memory());
            let sized = totals.unsized_count < totals.count;
            let known = |bytes: u64| sized.then_some(bytes);
            let Totals { count, live_count, .. } = totals;
            rows.push(GroupRow {
                key,
                name,
                counted,
                count,
                bytes: known(totals.bytes),
                peak: known(totals.peak_bytes),
                then: if counted { known(then.get(&group).copied().unwrap_or(0)) } else { None },
                live_count,
                live: known(totals.live_bytes),
                temporary: seen.temporary.get(&group).copied().unwrap_or_default(),
                like,
            });
        }
        sort_groups(&mut rows, sort);
        (rows, complete)
    }

    /// Bytes in use over all of the trace's time.
    fn live_plot(&mut self, cells: u16, moment: u64, now: u64, kept: &Kept) -> LivePlot {
        let start = self.trace.start_ns();
        let Some(accounted) = self.books.account().cloned() else { return LivePlot::default() };
        let account = &accounted.account;
        let live = account.live();
        let length_ns = now.saturating_sub(start);
        let edge = |cell: u64| {
            let ns = u128::from(length_ns) * u128::from(cell) / u128::from(cells.max(1));
            start.saturating_add(u64::try_from(ns).unwrap_or(length_ns))
        };
        let cells_of = (0..u64::from(cells)).map(|cell| live.most(edge(cell), edge(cell + 1)));
        let all = account.totals(Group::All);
        LivePlot {
            most: if live.is_empty() { Vec::new() } else { cells_of.collect() },
            length_ns,
            peak_bytes: all.peak_bytes,
            peak_ns: all.peak_ns.saturating_sub(start),
            peak_held: self.holders(&accounted.at_peak),
            moment_ns: moment.saturating_sub(start),
            moment_bytes: live.at(moment),
            told: self.told_plot(kept, (length_ns, usize::from(cells))),
        }
    }

    /// Who held most, in a few words.
    fn holders(&mut self, holders: &[Holder]) -> String {
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let name = |one: &Holder| {
            let size = crate::trace::value::size(one.bytes);
            format!("{size} {} from {}", one.kind.word(), namer.site(one.site))
        };
        let mut words: Vec<String> = holders.iter().take(HOLDERS).map(name).collect();
        if holders.len() > HOLDERS {
            words.push(format!("{} more", holders.len() - HOLDERS));
        }
        words.join(", ")
    }
}

/// What a group is called and like, if it is one of those that are asked for.
fn named(namer: &Namer<'_>, group: Group, by: MemoryGrouping) -> Option<(GroupKey, String, Option<Condition>)> {
    Some(match (group, by) {
        (Group::Site(site), MemoryGrouping::Site) => {
            let name = namer.site(site);
            let like = (!name.is_empty()).then(|| Condition::Text(TextField::Site, exact(&name)));
            (GroupKey::Site(site.0), name, like)
        }
        (Group::Kind(kind), MemoryGrouping::Kind) => {
            let like = Condition::Text(TextField::Kind, exact(kind.word()));
            (GroupKey::Kind(kind), kind.word().to_owned(), Some(like))
        }
        (Group::Device(NO_DEVICE), MemoryGrouping::Device) => {
            (GroupKey::Device(None), "no device known".to_owned(), None)
        }
        (Group::Device(device), MemoryGrouping::Device) => {
            let like = Condition::Text(TextField::Device, exact(&device.to_string()));
            (GroupKey::Device(Some(device)), format!("GPU {device}"), Some(like))
        }
        _ => return None,
    })
}

fn sort_groups(rows: &mut [GroupRow], (column, largest_first): (GroupColumn, bool)) {
    let key = |row: &GroupRow| match column {
        GroupColumn::Name => 0,
        GroupColumn::Count => row.count,
        GroupColumn::Bytes => row.bytes.unwrap_or(0),
        GroupColumn::Peak => row.peak.unwrap_or(0),
        GroupColumn::Then => row.then.unwrap_or(0),
        GroupColumn::LiveCount => row.live_count,
        GroupColumn::Live => row.live.unwrap_or(0),
        GroupColumn::Temporary => row.temporary.0,
    };
    rows.sort_by(|one, other| {
        let names = one.name.cmp(&other.name);
        match column {
            GroupColumn::Name if largest_first => names.reverse(),
            GroupColumn::Name => names,
            _ if largest_first => key(other).cmp(&key(one)).then(names),
            _ => key(one).cmp(&key(other)).then(names),
        }
    });
}

/// Whether its pages can move, so that nothing moved is a finding.
const fn may_move(one: &Allocation) -> bool {
    matches!(one.kind, crate::correlate::AllocationKind::Managed | crate::correlate::AllocationKind::Static)
}

fn device(device: u8) -> Option<u8> {
    (device != NO_DEVICE).then_some(device)
}

/// A thread, and its process where there are several.
pub(super) fn thread_of(trace: &Trace, track: TrackId) -> String {
    let name = thread(trace, track);
    let pid = trace.track(track).and_then(|track| trace.process(track.process)).map(|process| process.pid);
    match pid {
        Some(pid) if trace.processes.len() > 1 => format!("{name} of {pid}"),
        _ => name,
    }
}

/// What the events about it are like: its address, and where that came again its time.
fn like(trace: &Trace, table: &Table, number: usize, one: &Allocation) -> Option<Condition> {
    if !one.has_address() {
        return None;
    }
    let address = Condition::Text(TextField::Allocation, exact(&format!("{:#x}", one.address)));
    let since = |ns: u64| ns.saturating_sub(trace.start_ns());
    let (before, after) = (table.generation(number) > 0, table.has_next(number));
    let from = before.then(|| Condition::Number(NumberField::Time, Comparison::AtLeast, since(one.from_ns)));
    let until = after.then(|| Condition::Number(NumberField::Time, Comparison::AtMost, since(one.until_ns)));
    match (from, until) {
        (None, None) => Some(address),
        (from, until) => Some(Condition::All(std::iter::once(address).chain(from).chain(until).collect())),
    }
}
