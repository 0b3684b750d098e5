//! The test of calls, a block at a time.

use super::block::{Block, bit};
use super::plan::{Plan, Surroundings, Test, compare};
use crate::correlate::calls::{Found, Record, Records};
use crate::filter::{NumberField, TextField};
use crate::trace::semantics::base_name;
use crate::trace::{ApiId, ArgKind, Call, CallFlags, Chunk, NO_DEVICE, StreamId, TrackId};

/// A word for each 64 calls of a block.
pub(super) type Words = Vec<u64>;

fn none(block: &Block) -> Words {
    vec![0; block.len().div_ceil(64)]
}

fn all(block: &Block) -> Words {
    let mut words = vec![u64::MAX; block.len().div_ceil(64)];
    if let (Some(last), rest @ 1..) = (words.last_mut(), block.len() % 64) {
        *last = (1 << rest) - 1;
    }
    words
}

/// The calls for which `holds`.
fn each(block: &Block, mut holds: impl FnMut(usize, &Call) -> bool) -> Words {
    let mut words = Vec::with_capacity(block.len().div_ceil(64));
    for (chunk, calls) in block.calls.chunks(64).enumerate() {
        let mut word = 0u64;
        for (inner, call) in calls.iter().enumerate() {
            word |= u64::from(holds(chunk * 64 + inner, call)) << inner;
        }
        words.push(word);
    }
    words
}

impl Plan {
    /// Which calls of a block are selected, a bit each, and how many of these are cut by the range of time.
    pub fn calls(&mut self, around: &Surroundings<'_>, block: &Block) -> (Vec<u64>, u64) {
        let test = std::mem::take(&mut self.test);
        let mut words = self.call_words(&test, around, block);
        self.test = test;
        let mut cut = 0;
        if let Some((from, to)) = self.range {
            let inside = each(block, |at, call| from <= to && call.start_ns <= to && end_of(block, at, call) >= from);
            words.iter_mut().zip(&inside).for_each(|(word, inside)| *word &= inside);
            let over = each(block, |at, call| call.start_ns < from || end_of(block, at, call) > to);
            cut = words.iter().zip(&over).map(|(word, over)| u64::from((word & over).count_ones())).sum();
        }
        (words, cut)
    }

    /// Whether no call of a piece of the columns can be selected.
    #[must_use]
    pub fn skips(&self, track: TrackId, chunk: &Chunk) -> bool {
        let summary = chunk.summary();
        let outside = self.range.is_some_and(|(from, to)| summary.min_start_ns > to || summary.max_end_ns < from);
        outside || !self.may_hold(&self.test, chunk, track)
    }

    /// False only if the test holds for no call of a piece.
    fn may_hold(&self, test: &Test, chunk: &Chunk, track: TrackId) -> bool {
        match test {
            Test::All(all) => all.iter().all(|one| self.may_hold(one, chunk, track)),
            Test::Any(any) => any.iter().any(|one| self.may_hold(one, chunk, track)),
            Test::Failed => chunk.summary().failed > 0,
            &Test::Text(leaf) => self.leaves.get(leaf).is_none_or(|answers| match answers.field {
                TextField::Api | TextField::Layer | TextField::Allocation => {
                    chunk.summary().apis().any(|api| answers.api(api))
                }
                TextField::Kernel | TextField::Cause => false,
                _ => true,
            }),
            // What they are inside or around of stands in the same piece: a group that goes beyond it is not skipped.
            Test::Inside(one, _) => self.may_hold(one, chunk, track),
            Test::Around(stage, one) => self.any_submitted(*stage, chunk, track) || self.may_hold(one, chunk, track),
            &Test::Kernel(_, stage) => self.any_submitted(stage, chunk, track),
            _ => true,
        }
    }

    /// Whether a call of a piece has submitted work that fits a stage, or one close by.
    fn any_submitted(&self, stage: usize, chunk: &Chunk, track: TrackId) -> bool {
        let words = self.submitted(stage, track);
        let end = (chunk.first_row() + chunk.len()).div_ceil(64).min(words.len());
        words.get(chunk.first_row() / 64..end).is_some_and(|words| words.iter().any(|word| *word != 0))
    }

    pub(super) fn call_words(&mut self, test: &Test, around: &Surroundings<'_>, block: &Block) -> Words {
        match test {
            Test::All(list) => {
                let mut words = all(block);
                for one in list {
                    if words.iter().all(|word| *word == 0) {
                        break;
                    }
                    let more = self.call_words(one, around, block);
                    words.iter_mut().zip(more).for_each(|(word, more)| *word &= more);
                }
                words
            }
            Test::Any(list) => {
                let mut words = none(block);
                for one in list {
                    let more = self.call_words(one, around, block);
                    words.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
                }
                words
            }
            Test::Not(one) => {
                let mut words = self.call_words(one, around, block);
                words.iter_mut().zip(all(block)).for_each(|(word, all)| *word = !*word & all);
                words
            }
            &Test::Text(leaf) => self.call_text(leaf, around, block),
            &Test::Number(NumberField::Duration, comparison, number) => each(block, |at, call| {
                let known = block.has_ended(at) && !call.flags.entry_only();
                known && compare(call.duration_ns, comparison, number)
            }),
            &Test::Number(NumberField::Time, comparison, number) => {
                let start = self.start_ns;
                each(block, |_, call| compare(call.start_ns.saturating_sub(start), comparison, number))
            }
            &Test::Number(NumberField::Size, comparison, number) => {
                let mut sizes = Sizes::new(around, block);
                each(block, |at, call| sizes.of(at, call).is_some_and(|size| compare(size, comparison, number)))
            }
            &Test::Address(from, to, _) => {
                let mut sizes = Sizes::new(around, block);
                each(block, |at, call| sizes.touches(at, call, (from, to)))
            }
            Test::Failed => each(block, |_, call| call.flags.failed()),
            Test::Inside(one, _) => {
                let holds = self.call_words(one, around, block);
                let mut inside = vec![false; block.len()];
                for at in (0..block.len()).rev() {
                    let Some(caller) = block.callers.get(at).map(|&caller| caller as usize) else { continue };
                    let within = inside.get(caller).is_some_and(|inside| *inside || bit(&holds, caller));
                    if let Some(place) = inside.get_mut(at) {
                        *place = within;
                    }
                }
                each(block, |at, _| inside.get(at).copied().unwrap_or(false))
            }
            Test::Around(stage, one) => {
                let holds = self.call_words(one, around, block);
                self.leading_to(*stage, block, &holds)
            }
            // The call that launched it, and those around that: one launch, in one place of the tree.
            &Test::Kernel(_, stage) => self.leading_to(stage, block, &none(block)),
        }
    }

    /// Calls that submitted work which fits a stage, and those around such calls or around calls that `hold`.
    fn leading_to(&self, stage: usize, block: &Block, holds: &[u64]) -> Words {
        let submitted = self.submitted(stage, block.track);
        let upto = submitted.len().saturating_mul(64).min(block.first_row + block.ended);
        if holds.iter().all(|word| *word == 0) && upto <= block.first_row {
            return none(block);
        }
        let mut encloses: Vec<bool> = (block.first_row..upto).map(|row| bit(submitted, row)).collect();
        encloses.resize(block.len(), false);
        for at in 0..block.len() {
            let any = bit(holds, at) || encloses.get(at).copied().unwrap_or(false);
            let caller = block.callers.get(at).and_then(|&caller| encloses.get_mut(caller as usize));
            if let Some(caller) = caller.filter(|_| any) {
                *caller = true;
            }
        }
        each(block, |at, _| encloses.get(at).copied().unwrap_or(false))
    }

    fn call_text(&mut self, leaf: usize, around: &Surroundings<'_>, block: &Block) -> Words {
        let trace = around.trace;
        let Some(answers) = self.leaves.get_mut(leaf) else { return none(block) };
        match answers.field {
            TextField::Api | TextField::Layer => each(block, |_, call| answers.api(call.api)),
            TextField::Kind => {
                let mut sizes = Sizes::new(around, block);
                each(block, |at, call| match answers.of_nodes(call.api) {
                    Some(of) if answers.api(call.api) => {
                        let by_type = sizes.record(at, call).and_then(|record| of.by_type.of_call(&record).copied());
                        by_type.unwrap_or(of.otherwise)
                    }
                    _ => answers.api(call.api),
                })
            }
            TextField::Thread | TextField::Process | TextField::Rank | TextField::Host => {
                if answers.track(trace, block.track) { all(block) } else { none(block) }
            }
            TextField::Stream => each(block, |at, _| {
                block.root(at).is_some_and(|root| root.stream != StreamId::NONE && answers.stream(root.stream))
            }),
            TextField::Site => each(block, |at, _| block.root(at).is_some_and(|root| answers.site(root.site))),
            TextField::Range => {
                // In which range they are changes much less often than there are calls.
                let mut last = (1, 0, false);
                each(block, |at, _| {
                    let start = block.root(at).map_or(u64::MAX, |root| root.start_ns);
                    if start < last.0 || start >= last.1 {
                        let (span, until) = around.spans.at_until(block.track, start);
                        last = (start, until, answers.span(span));
                    }
                    last.2
                })
            }
            TextField::Device => {
                let Some(process) = trace.track(block.track).map(|track| track.process) else { return none(block) };
                let mut known = (NO_DEVICE, false);
                each(block, |at, _| {
                    let device = block.root(at).map_or(NO_DEVICE, |root| root.device);
                    if device != known.0 {
                        known = (device, answers.device(trace, process, device));
                    }
                    device != NO_DEVICE && known.1
                })
            }
            TextField::Result => {
                let mut sizes = Sizes::new(around, block);
                each(block, |at, call| {
                    let api = trace.api(call.api);
                    let status = sizes.status(at, call);
                    api.zip(status).is_some_and(|(api, status)| answers.result(api.layer, status))
                })
            }
            TextField::Allocation => {
                let Some(process) = trace.track(block.track).map(|track| track.process) else { return none(block) };
                let mut sizes = Sizes::new(around, block);
                each(block, |at, call| {
                    if !answers.api(call.api) {
                        return false;
                    }
                    let root = block.roots.get(at).map_or(at, |&root| root as usize);
                    let root_ns = block.root(at).map_or(call.start_ns, |root| root.start_ns);
                    let (held, by) = (answers.held(), (block.track, block.first_row + root));
                    // An address that is being handed out may be that of an allocation which is not gone yet.
                    sizes.any_pointer(at, call, |address| {
                        let made = held.made(process, address, by, root_ns);
                        made.unwrap_or_else(|| held.at(process, address, call.start_ns))
                    })
                })
            }
            TextField::Kernel | TextField::Cause => none(block),
        }
    }
}

fn end_of(block: &Block, at: usize, call: &Call) -> u64 {
    if block.has_ended(at) { call.end_ns() } else { u64::MAX }
}

/// What the records of a function's calls hold.
#[derive(Clone, Copy, Default)]
struct Function {
    sizes: bool,
    pointers: bool,
    /// It can answer "not ready".
    asks: bool,
}

/// What raw records say of a block's calls.
struct Sizes<'a> {
    around: &'a Surroundings<'a>,
    block: &'a Block,
    records: Option<Records<'a>>,
    known: Vec<Option<Function>>,
}

impl<'a> Sizes<'a> {
    fn new(around: &'a Surroundings<'a>, block: &'a Block) -> Self {
        let track = around.trace.track(block.track);
        let file = track.and_then(|track| around.files.get(track.file as usize)?.as_deref());
        Self { around, block, records: file.map(|file| Records::new(Some(file))), known: Vec::new() }
    }

    fn of_function(&mut self, id: ApiId) -> Function {
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, None);
        }
        let around = self.around;
        let Some(known) = self.known.get_mut(id.index()) else { return Function::default() };
        *known.get_or_insert_with(|| {
            let Some(api) = around.trace.api(id) else { return Function::default() };
            let sized = ["bytes", "width", "pitch"];
            Function {
                sizes: sized.iter().any(|role| api.signature.role(role).is_some()),
                pointers: api.signature.points(),
                asks: base_name(around.trace.names.get(api.name)).ends_with("Query"),
            }
        })
    }

    fn record(&mut self, at: usize, call: &Call) -> Option<Record<'_>> {
        if !self.block.has_ended(at) {
            return None;
        }
        let track = self.around.trace.track(self.block.track)?;
        let row = self.block.first_row + at;
        let offset = track.location(row)?.offset;
        self.records.as_mut()?.read(&Found { track: self.block.track, row, call: *call, what: &(), offset })
    }

    /// What a call returned; `None` if that is no status.
    fn status(&mut self, at: usize, call: &Call) -> Option<u32> {
        if !self.block.has_ended(at) || call.flags.entry_only() || call.flags.has(CallFlags::NOT_STATUS) {
            return None;
        }
        if !call.flags.failed() && !self.of_function(call.api).asks {
            return Some(0);
        }
        self.record(at, call).map(|record| record.status())
    }

    /// Bytes that a call is about.
    fn of(&mut self, at: usize, call: &Call) -> Option<u64> {
        if !self.of_function(call.api).sizes {
            return None;
        }
        let api = self.around.trace.api(call.api)?;
        let record = self.record(at, call)?;
        let number = |role: &str| record.named(&api.signature, role);
        if let Some(bytes) = number("bytes") {
            return Some(bytes);
        }
        let area = number("width").or_else(|| number("pitch"))?.saturating_mul(number("height")?);
        Some(area.saturating_mul(number("depth").unwrap_or(1).max(1)))
    }

    /// Whether an argument of a call points to these addresses, or to an area that overlaps them.
    fn touches(&mut self, at: usize, call: &Call, (from, to): (u64, u64)) -> bool {
        if !self.of_function(call.api).pointers {
            return false;
        }
        let bytes = self.of(at, call).unwrap_or(1).max(1);
        self.any_pointer(at, call, |address| address <= to && address.saturating_add(bytes - 1) >= from)
    }

    /// Whether it holds for an address among a call's arguments.
    fn any_pointer(&mut self, at: usize, call: &Call, holds: impl FnMut(u64) -> bool) -> bool {
        let Some(api) = self.around.trace.api(call.api) else { return false };
        let Some(record) = self.record(at, call) else { return false };
        let pointers = api.signature.arguments.iter().filter(|argument| argument.kind == ArgKind::Pointer);
        let mut addresses = pointers.filter_map(|argument| record.number(argument)).filter(|&address| address != 0);
        addresses.any(holds)
    }
}
