//! The slices of a thread, in order of start, into its native file.
//!
//! Calls nest in calls, and ranges in ranges of their domain. What crosses goes to the first further lane where it does
//! not: a thread of its own in the file, since the model nests by thread.

use super::binding::Binding;
use super::correlations::Correlations;
use super::functions::FunctionText;
use super::identity::Numbers;
use super::repairs::{Place, Repair, Repairs};
use super::said::{Said, Sayings};
use super::slices::{Kind, Slice, UNFINISHED};
use super::texts::{Text, Texts};
use crate::parse::native::writer::CallRecord;
use crate::trace::activity::raw::Submitted;
use std::io;
use umtui_wire::activity as wire;
use umtui_wire::record::{FLAG_ENTRY, FLAG_NO_ARGUMENTS, FLAG_NOT_STATUS};

/// Lanes of a thread; what crosses on all of them is shown as ranges that may.
const LANES: usize = 32;
/// Calls that nest in one another on one lane.
const DEPTH: usize = 200;
/// Stacks of a lane whose ranges are closed in order of time; those of others are when the next one comes.
const ORDERED: usize = 16;
/// Longest call, ns: what the decoder takes for possible.
const LONGEST: u64 = 1 << 55;

const CROSSING: Repair = Repair::Mended("calls and ranges that cross others of their thread, on a further lane");
const TOO_MANY: Repair = Repair::Mended("calls and ranges that cross on too many lanes, shown without nesting");
const UNFINISHED_CALLS: Repair = Repair::Mended("calls without an end, shown as unfinished");
const TOO_LONG: Repair = Repair::Mended("calls longer than a year, cut there");

/// What threads are written with.
pub struct Output<'a> {
    pub binding: &'a mut Binding,
    pub texts: &'a Texts,
    pub said: &'a Sayings,
    pub functions: &'a [FunctionText],
    pub correlations: &'a Correlations,
    pub numbers: &'a mut Numbers,
    pub repairs: &'a mut Repairs,
    /// Ids of ranges that any thread may end, in this file.
    pub ids: &'a mut u64,
    /// Ranges of all domains nest in one another.
    pub together: bool,
}

/// A thread as it is being written.
pub struct Lanes {
    number: u32,
    name: String,
    lanes: Vec<Lane>,
}

#[derive(Default)]
struct Lane {
    number: u32,
    calls: Vec<Slice>,
    /// Ends and domains of open ranges, by what nests.
    stacks: Vec<(u32, Vec<(u64, u32)>)>,
    level: u16,
}

impl Lane {
    fn holds(&self, slice: &Slice, stack: u32) -> bool {
        match slice.kind() {
            Kind::Call => self.calls.len() < DEPTH && self.calls.last().is_none_or(|around| slice.end <= around.end),
            _ => self.around(stack).is_none_or(|end| slice.end <= end),
        }
    }

    /// End of the innermost open range of a stack.
    fn around(&self, stack: u32) -> Option<u64> {
        let (_, open) = self.stacks.iter().find(|(known, _)| *known == stack)?;
        open.last().map(|(end, _)| *end)
    }

    /// Ends what has ended by `ns`.
    fn close(&mut self, ns: u64, stack: u32, out: &mut Output<'_>) -> io::Result<()> {
        while let Some(call) = self.calls.pop_if(|call| call.end <= ns) {
            let depth = self.calls.len();
            write_call(self.number, &call, depth, out)?;
        }
        let all = self.stacks.len() <= ORDERED || ns == u64::MAX;
        for (known, open) in &mut self.stacks {
            if !all && *known != stack {
                continue;
            }
            while let Some((end, domain)) = open.pop_if(|(end, _)| *end <= ns) {
                self.level = self.level.saturating_sub(1);
                end_range(self.number, wire::KIND_RANGE_POP, domain, end, 0, out)?;
            }
        }
        Ok(())
    }
}

impl Lanes {
    /// A thread that begins at `ns`.
    pub fn begin(number: u32, name: String, ns: u64, out: &mut Output<'_>) -> io::Result<Self> {
        let mut lanes = Self { number, name, lanes: Vec::new() };
        lanes.add(ns, out)?;
        Ok(lanes)
    }

    fn add(&mut self, ns: u64, out: &mut Output<'_>) -> io::Result<usize> {
        let at = self.lanes.len();
        let number = if at == 0 { self.number } else { out.numbers.another() };
        let name = match (at, self.name.as_str()) {
            (0, name) => name.to_owned(),
            (_, "") => format!("{} ({})", self.number, at + 1),
            (_, name) => format!("{name} ({})", at + 1),
        };
        if !name.is_empty() {
            let id = out.binding.writer.string(name.as_bytes())?;
            out.binding.writer.thread_name(number, id, ns)?;
        }
        self.lanes.push(Lane { number, ..Lane::default() });
        Ok(at)
    }

    /// Takes the next slice in order.
    pub fn take(&mut self, slice: &Slice, out: &mut Output<'_>) -> io::Result<()> {
        match slice.kind() {
            Kind::Mark => {
                self.first(slice, out)?;
                return begin_range(self.number, wire::KIND_MARK, slice, 0, slice.words[2], out);
            }
            Kind::Loose => return self.loose(slice, out),
            Kind::Range if slice.end == UNFINISHED => return self.loose(slice, out),
            Kind::Call if slice.end == UNFINISHED => return self.unfinished(slice, out),
            Kind::Call | Kind::Range => {}
        }
        let stack = if out.together { 0 } else { slice.more };
        let mut at = 0;
        loop {
            if at == self.lanes.len() {
                if at == LANES {
                    out.repairs.add(TOO_MANY, 1, Place::Nowhere);
                    return self.loose(slice, out);
                }
                self.add(slice.start, out)?;
            }
            let Some(lane) = self.lanes.get_mut(at) else { return Ok(()) };
            lane.close(slice.start, stack, out)?;
            if lane.holds(slice, stack) {
                break;
            }
            at += 1;
        }
        if at > 0 {
            out.repairs.add(CROSSING, 1, Place::Nowhere);
        }
        let Some(lane) = self.lanes.get_mut(at) else { return Ok(()) };
        if slice.kind() == Kind::Call {
            lane.calls.push(*slice);
            return Ok(());
        }
        begin_range(lane.number, wire::KIND_RANGE_PUSH, slice, lane.level, 0, out)?;
        lane.level = lane.level.saturating_add(1);
        match lane.stacks.iter_mut().find(|(known, _)| *known == stack) {
            Some((_, open)) => open.push((slice.end, slice.more)),
            None => lane.stacks.push((stack, vec![(slice.end, slice.more)])),
        }
        Ok(())
    }

    /// Closes the first lane up to a slice.
    fn first(&mut self, slice: &Slice, out: &mut Output<'_>) -> io::Result<()> {
        self.lanes
            .first_mut()
            .map_or(Ok(()), |lane| lane.close(slice.start, if out.together { 0 } else { slice.more }, out))
    }

    /// A range that may cross others; a call that may is one with its name.
    fn loose(&mut self, slice: &Slice, out: &mut Output<'_>) -> io::Result<()> {
        self.first(slice, out)?;
        *out.ids += 1;
        let id = *out.ids;
        let level = self.lanes.first().map_or(0, |lane| lane.level);
        begin_range(self.number, wire::KIND_RANGE_START, slice, level, id, out)?;
        if slice.end == UNFINISHED {
            return Ok(());
        }
        let domain = if slice.kind() == Kind::Call { 0 } else { slice.more };
        end_range(self.number, wire::KIND_RANGE_END, domain, slice.end, id, out)
    }

    /// A call whose end is not known: only that it began. Nothing is said to be inside it.
    fn unfinished(&mut self, slice: &Slice, out: &mut Output<'_>) -> io::Result<()> {
        out.repairs.add(UNFINISHED_CALLS, 1, Place::Nowhere);
        self.first(slice, out)?;
        let depth = self.lanes.first().map_or(0, |lane| lane.calls.len());
        write_call(self.number, slice, depth, out)
    }

    /// Writes what is left of the thread.
    pub fn end(mut self, out: &mut Output<'_>) -> io::Result<()> {
        for lane in &mut self.lanes {
            lane.close(u64::MAX, 0, out)?;
        }
        self.lanes.iter().try_for_each(|lane| out.binding.writer.close_thread(lane.number))
    }
}

fn function(slice: &Slice, out: &mut Output<'_>) -> io::Result<u16> {
    match out.functions.get(slice.what as usize) {
        Some(function) => out.binding.function(slice.what, function),
        None => Ok(0),
    }
}

fn write_call(thread: u32, slice: &Slice, depth: usize, out: &mut Output<'_>) -> io::Result<()> {
    let api = function(slice, out)?;
    let unfinished = slice.end == UNFINISHED;
    let mut duration = if unfinished { 0 } else { slice.end.saturating_sub(slice.start) };
    if duration > LONGEST {
        out.repairs.add(TOO_LONG, 1, Place::Nowhere);
        duration = LONGEST;
    }
    let mut flags = if slice.status().is_none() { FLAG_NOT_STATUS } else { 0 };
    if unfinished {
        flags |= FLAG_ENTRY;
    }
    let arguments = match slice.arguments() {
        Some(words) if !unfinished => {
            let mut bytes = slice.category.to_le_bytes().to_vec();
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            bytes
        }
        _ => {
            flags |= FLAG_NO_ARGUMENTS;
            Vec::new()
        }
    };
    if out.correlations.has(slice.more) {
        let submitted = Submitted { correlation: slice.more, ..Submitted::default() };
        out.binding.writer.submit(thread, slice.start, &submitted)?;
    }
    let call = CallRecord {
        api,
        status: slice.status().unwrap_or(0),
        start: slice.start,
        duration,
        site: slice.site,
        depth: u8::try_from(depth).unwrap_or(u8::MAX),
        flags,
        arguments,
    };
    out.binding.writer.call(thread, &call)
}

fn begin_range(thread: u32, kind: u8, slice: &Slice, level: u16, id: u64, out: &mut Output<'_>) -> io::Result<()> {
    let is_call = slice.kind() == Kind::Call;
    let name = if is_call {
        let name = out.functions.get(slice.what as usize).map_or("", |function| function.name());
        out.binding.writer.string(name.as_bytes())?
    } else {
        out.binding.string(Text(slice.what), out.texts)?
    };
    let domain = if is_call { 0 } else { out.binding.string(Text(slice.more), out.texts)? };
    let (color, category) = if is_call { (0, 0) } else { (slice.value, slice.category) };
    let range = wire::Range {
        head: wire::Range::head(kind, level, category),
        ticks: slice.start,
        name,
        domain,
        color,
        payload_type: u32::from(slice.payload_type),
        payload: if is_call { 0 } else { slice.words[0] },
        id,
    };
    let said = Said(if is_call { 0 } else { slice.words[1] as u32 });
    if said == Said::NOTHING {
        return out.binding.writer.record(thread, &range, slice.start);
    }
    let said = out.binding.said(said, out.said)?;
    let wire::Range { ticks, name, domain, color, payload_type, payload, id, .. } = range;
    let head = wire::SaidRange::head(kind, level, category);
    let (reserved, reserved2) = (0, [0; 5]);
    let range =
        wire::SaidRange { head, ticks, name, domain, color, payload_type, payload, id, said, reserved, reserved2 };
    out.binding.writer.record(thread, &range, slice.start)
}

fn end_range(thread: u32, kind: u8, domain: u32, ns: u64, id: u64, out: &mut Output<'_>) -> io::Result<()> {
    let domain = out.binding.string(Text(domain), out.texts)?;
    let range = wire::Range { head: wire::Range::head(kind, 0, 0), ticks: ns, domain, id, ..wire::Range::default() };
    out.binding.writer.record(thread, &range, ns)
}
