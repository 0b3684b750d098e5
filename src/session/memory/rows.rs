//! Rows of the memory screen.

use std::time::Instant;

use super::ask::{
    AllocationRow, AllocationState, AllocationsRequest, AllocationsRows, GroupColumn, GroupRow, GroupRows,
    GroupsRequest, LivePlot, MemoryGrouping, MemoryPart, MemoryPartRows, MemoryRequest, MemoryRows,
};
use super::table::{Table, id_of, state};
use crate::correlate::Allocation;
use crate::filter::{Comparison, Condition, NumberField, TextField};
use crate::memory::{Account, Block, Group, Totals};
use crate::session::labels::{Namer, thread};
use crate::session::model::Model;
use crate::session::search::exact::exact;
use crate::trace::activity::What;
use crate::trace::{NO_DEVICE, ProcessId, Trace, TrackId};

/// Holders at the peak that are named.
const HOLDERS: usize = 2;

/// What the memory screen must know that is not in the trace.
pub(in crate::session) struct Around<'a> {
    /// Whether a process has ended.
    pub ended: &'a dyn Fn(ProcessId) -> bool,
    /// Now on the trace's axis, ns.
    pub now_ns: u64,
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
        let (start, now) = (self.trace.start_ns(), around.now_ns.max(self.trace.end_ns()));
        let moment = request.moment.map_or(now, |moment| start.saturating_add(moment)).min(now);
        let part = match &request.part {
            MemoryPart::Allocations(allocations) => {
                complete &= self.put_in_order(allocations, allocations.in_use.then_some(moment), around.ended, until);
                MemoryPartRows::Allocations(self.allocations(allocations, around, now))
            }
            MemoryPart::Groups(groups) => MemoryPartRows::Groups(self.groups(groups, moment)),
        };
        let plot = self.live_plot(request.plot, moment, now);
        let why_empty = self.why_no_memory(complete);
        (MemoryRows { plot, part, partial: !complete, why_empty }, complete)
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
        let rows = window.iter().filter_map(|&number| self.allocation(&table, number as usize, around, now)).collect();
        let details = request.details.and_then(|id| {
            let number = table.find(id)?;
            let row = self.allocation(&table, number, around, now)?;
            Some((id, self.details_of(&table, number, &row)))
        });
        AllocationsRows { total, first: first as u64, cursor: cursor.map(|row| row as u64), rows, details }
    }

    /// The row of the allocation with this number.
    fn allocation(&mut self, table: &Table, number: usize, around: &Around<'_>, now: u64) -> Option<AllocationRow> {
        let block = table.get(number)?;
        let one = &block.allocation;
        let trace = &self.trace;
        let since = |ns: u64| ns.saturating_sub(trace.start_ns());
        let moved = self.books.moved.moved.as_ref();
        let moved_of = |of: fn(&crate::memory::Movement) -> u64| {
            moved.and_then(|moved| moved.0.get(&number).map(of).or(may_move(one).then_some(0)))
        };
        let state = state(one, (around.ended)(block.process));
        let seen = match state {
            AllocationState::Leaked => trace.process(block.process).map_or(now, |process| process.last_ns),
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

    fn groups(&mut self, request: &GroupsRequest, moment: u64) -> GroupRows {
        let Some(account) = self.books.seen().cloned() else { return GroupRows::default() };
        let then = held_by(&account, moment, request.by);
        let mut rows: Vec<GroupRow> = Vec::new();
        for (group, totals) in account.groups() {
            let namer = Namer::new(&self.trace, &mut self.symbols);
            let (name, counted, like) = match (group, request.by) {
                (Group::Site(site), MemoryGrouping::Site) => {
                    let name = namer.site(site);
                    let like = (!name.is_empty()).then(|| Condition::Text(TextField::Site, exact(&name)));
                    (name, true, like)
                }
                (Group::Kind(kind), MemoryGrouping::Kind) => {
                    let like = Condition::Text(TextField::Kind, exact(kind.word()));
                    (kind.word().to_owned(), kind.adds_memory(), Some(like))
                }
                (Group::Device(NO_DEVICE), MemoryGrouping::Device) => ("no device known".to_owned(), true, None),
                (Group::Device(device), MemoryGrouping::Device) => {
                    let like = Condition::Text(TextField::Device, exact(&device.to_string()));
                    (format!("GPU {device}"), true, Some(like))
                }
                _ => continue,
            };
            let sized = totals.unsized_count < totals.count;
            let known = |bytes: u64| sized.then_some(bytes);
            let then = if counted { known(then.get(&group).copied().unwrap_or(0)) } else { None };
            let Totals { count, live_count, .. } = totals;
            rows.push(GroupRow {
                name,
                counted,
                count,
                bytes: known(totals.bytes),
                peak: known(totals.peak_bytes),
                then,
                live_count,
                live: known(totals.live_bytes),
                like,
            });
        }
        sort_groups(&mut rows, request.sort);
        let total = rows.len() as u64;
        let first = request.first.min(total);
        let rows = rows.into_iter().skip(usize::try_from(first).unwrap_or(0)).take(request.rows).collect();
        GroupRows { total, first, rows }
    }

    /// Bytes in use over all of the trace's time.
    fn live_plot(&mut self, cells: u16, moment: u64, now: u64) -> LivePlot {
        let start = self.trace.start_ns();
        let Some(account) = self.books.account().cloned() else { return LivePlot::default() };
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
            peak_held: self.holders(&account, all.peak_ns),
            moment_ns: moment.saturating_sub(start),
            moment_bytes: live.at(moment),
        }
    }

    /// Who held most at a moment, in a few words.
    fn holders(&mut self, account: &Account, at_ns: u64) -> String {
        let holders = account.holders(at_ns);
        let namer = Namer::new(&self.trace, &mut self.symbols);
        let name = |one: &crate::memory::Holder| {
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

/// Bytes in use at a moment by what allocations are summed up by.
fn held_by(account: &Account, at_ns: u64, by: MemoryGrouping) -> rustc_hash::FxHashMap<Group, u64> {
    let mut sums: rustc_hash::FxHashMap<Group, u64> = Default::default();
    for Block { allocation: one, .. } in account.blocks() {
        if one.kind.adds_memory() && super::table::is_in_use(one, at_ns) {
            let group = match by {
                MemoryGrouping::Site => Group::Site(one.site),
                MemoryGrouping::Kind => Group::Kind(one.kind),
                MemoryGrouping::Device => Group::Device(one.device),
            };
            let sum = sums.entry(group).or_default();
            *sum = sum.saturating_add(one.bytes);
        }
    }
    sums
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

fn thread_of(trace: &Trace, track: TrackId) -> String {
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
