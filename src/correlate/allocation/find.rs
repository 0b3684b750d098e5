//! Allocations found in slices, and found on while a trace grows: calls that have been looked at are not looked at again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ledger::{Event, Ledger, Moment};
use super::lookup::{Indexing, Lookup};
use super::opened::{Handed, size_opened};
use super::sorting::{PIECE, Sorting};
use super::uses::Use;
use super::{Allocation, AllocationKind, Allocations, Refused};
use crate::correlate::calls::{Found, Records};
use crate::correlate::nodes::Chosen;
use crate::trace::semantics::base_name;
use crate::trace::{Bytes, CallFlags, NameId, ProcessId, State, Trace, Track, TrackId};

/// Rows looked at before the clock is.
const ROWS: usize = 2048;
/// Events gone through before it is.
const EVENTS: usize = 512;

/// What the functions of a trace do to memory.
#[derive(Debug, Default)]
pub struct Uses {
    /// By function: its name when it was looked at.
    names: Vec<NameId>,
    of: Vec<Option<Chosen<Use>>>,
}

impl Uses {
    /// Looks at functions that have come. True if one is known otherwise than before, so that its calls must be looked at
    /// anew.
    pub fn update(&mut self, trace: &Trace) -> bool {
        let mut changed = false;
        for (at, api) in trace.apis.iter().enumerate() {
            if self.names.get(at) == Some(&api.name) {
                continue;
            }
            let now = Chosen::of(api, base_name(trace.names.get(api.name)), Use::of);
            match (self.names.get_mut(at), self.of.get_mut(at)) {
                (Some(name), Some(before)) => {
                    changed |= before.is_some() || now.is_some();
                    (*name, *before) = (api.name, now);
                }
                _ => {
                    self.names.push(api.name);
                    self.of.push(now);
                }
            }
        }
        changed
    }
}

/// How far a round of finding is.
#[derive(Debug)]
enum Stage {
    /// Calls are looked at.
    Reading,
    /// Events from this one on are put in order anew.
    TakingBack(usize),
    /// What they did is put in order.
    Ordering,
    /// That goes behind what was in order already.
    Appending(std::vec::IntoIter<Event>),
    /// The ledger goes through it.
    Keeping,
    /// The ledger's allocations are put in order; so many are on their way.
    Listing(Sorting<Allocation, (bool, u64, u64)>, usize),
    /// The index of those with an address is made, of which there are so many.
    Indexing(Vec<Allocation>, usize, Indexing),
}

/// What a slice has come to.
#[derive(Debug)]
pub enum Progress {
    /// It was stopped before the round had ended.
    Stopped,
    /// The round has ended: nothing new is known of memory.
    Nothing,
    /// The round has ended: these are the allocations.
    Found(Allocations),
}

/// The allocations of a process, on their way.
#[derive(Debug)]
pub struct Finding {
    process: ProcessId,
    /// Its threads, and how many rows of each have been looked at.
    threads: Vec<(TrackId, usize)>,
    /// What calls did, in order.
    events: Vec<Event>,
    /// What has been found since, not all of it in order.
    sorting: Sorting<Event, Moment>,
    fresh: Vec<Event>,
    refused: Vec<Refused>,
    unread: u64,
    handed: Vec<Handed>,
    /// Calls that were refused memory, could not be read or handed out a handle, when that was last told.
    told: (usize, u64, usize),
    ledger: Ledger,
    /// Events that are in it.
    kept: usize,
    /// What is left of a ledger that was let go: freeing it takes its time.
    retired: BTreeMap<u64, usize>,
    /// Some of the allocations that are put in order are other processes'.
    opens: bool,
    stage: Stage,
    /// Newest end of a call when the round's calls had been looked at, and when those of the last round had, ns.
    ends_ns: (u64, u64),
    /// Events and ledger were let go, since nothing more is to come.
    rests: bool,
}

impl Finding {
    /// Of a process; nothing has been looked at.
    pub fn new(process: ProcessId) -> Self {
        Self {
            process,
            threads: Vec::new(),
            events: Vec::new(),
            sorting: Sorting::by(Event::moment),
            fresh: Vec::new(),
            refused: Vec::new(),
            unread: 0,
            handed: Vec::new(),
            told: (0, 0, 0),
            ledger: Ledger::default(),
            kept: 0,
            retired: BTreeMap::new(),
            opens: false,
            stage: Stage::Reading,
            ends_ns: (0, 0),
            rests: false,
        }
    }

    /// Adds a thread of the process.
    pub fn add_thread(&mut self, id: TrackId) {
        self.threads.push((id, 0));
    }

    /// Goes on as long as `go_on` says so. `file` is that of the process.
    pub fn advance(
        &mut self,
        trace: &Trace,
        uses: &Uses,
        file: Option<&dyn Bytes>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Progress {
        while !self.retired.is_empty() {
            (0..EVENTS).for_each(|_| _ = self.retired.pop_first());
            if !go_on() {
                return Progress::Stopped;
            }
        }
        loop {
            match &mut self.stage {
                Stage::Reading => {
                    if !self.read(trace, uses, file, go_on) {
                        return Progress::Stopped;
                    }
                    let Some(stage) = self.begin(trace) else { return Progress::Nothing };
                    self.stage = stage;
                }
                &mut Stage::TakingBack(at) => {
                    if !self.take_back(at, go_on) {
                        return Progress::Stopped;
                    }
                    self.stage = Stage::Ordering;
                }
                Stage::Ordering => {
                    if !self.sorting.advance(go_on) {
                        return Progress::Stopped;
                    }
                    let sorting = std::mem::replace(&mut self.sorting, Sorting::by(Event::moment));
                    let sorted = sorting.into_sorted();
                    self.stage = if self.events.is_empty() {
                        self.events = sorted;
                        Stage::Keeping
                    } else {
                        Stage::Appending(sorted.into_iter())
                    };
                }
                Stage::Appending(sorted) => {
                    while sorted.len() > 0 {
                        self.events.extend(sorted.take(PIECE));
                        if !go_on() {
                            return Progress::Stopped;
                        }
                    }
                    self.stage = Stage::Keeping;
                }
                Stage::Keeping => {
                    if !self.keep(go_on) {
                        return Progress::Stopped;
                    }
                    self.opens = false;
                    self.stage = Stage::Listing(Sorting::by(Allocation::order), 0);
                }
                Stage::Listing(sorting, from) => {
                    let all = self.ledger.all();
                    while *from < all.len() {
                        let upto = all.len().min(*from + PIECE);
                        let some = all.get(*from..upto).unwrap_or_default();
                        self.opens |= some.iter().any(|one| one.kind == AllocationKind::Shared);
                        sorting.add(some.to_vec());
                        *from = upto;
                        if !go_on() {
                            return Progress::Stopped;
                        }
                    }
                    if !sorting.advance(go_on) {
                        return Progress::Stopped;
                    }
                    let list = std::mem::replace(sorting, Sorting::by(Allocation::order)).into_sorted();
                    let with_address = list.partition_point(Allocation::has_address);
                    self.stage = Stage::Indexing(list, with_address, Indexing::default());
                }
                Stage::Indexing(list, with_address, indexing) => {
                    if !indexing.advance(list.get(..*with_address).unwrap_or_default(), go_on) {
                        return Progress::Stopped;
                    }
                    let list = std::mem::take(list);
                    let lookup = std::mem::take(indexing).into_index();
                    return Progress::Found(self.ended(trace, list, lookup));
                }
            }
        }
    }

    /// Looks at calls that have come; true when all have been looked at.
    fn read(&mut self, trace: &Trace, uses: &Uses, file: Option<&dyn Bytes>, go_on: &mut dyn FnMut() -> bool) -> bool {
        let mut records = Records::new(file);
        let does = |api: u16| uses.of.get(usize::from(api)).and_then(Option::as_ref);
        for at in 0..self.threads.len() {
            while let Some(&(id, next)) = self.threads.get(at)
                && let Some((chunk, first)) = trace.track(id).and_then(|track| track.chunk_of(next))
            {
                let mut end = chunk.len();
                if chunk.summary().apis().any(|api| does(api.0).is_some()) {
                    end = end.min(first + ROWS);
                    let apis = chunk.apis().iter().zip(chunk.depths()).enumerate();
                    for (inner, (&api, &depth)) in apis.take(end).skip(first) {
                        // Calls inside others say the same again.
                        if let Some(what) = does(api)
                            && (depth == 0 || what.always().is_some_and(Use::is_said_inside))
                            && let (Some(call), Some(offset)) = (chunk.call(inner), chunk.offset(inner))
                        {
                            let found = Found { track: id, row: chunk.first_row() + inner, call, what, offset };
                            self.look(&found, &mut records);
                        }
                    }
                    if self.fresh.len() >= PIECE {
                        let piece = std::mem::take(&mut self.fresh);
                        self.sorting.add(piece);
                    }
                }
                if let Some((_, next)) = self.threads.get_mut(at) {
                    *next = chunk.first_row() + end;
                }
                if !go_on() {
                    return false;
                }
            }
        }
        true
    }

    fn look(&mut self, found: &Found<'_, Chosen<Use>>, records: &mut Records<'_>) {
        let flags = found.call.flags;
        match records.read(found).filter(|_| !flags.entry_only()) {
            // That memory was refused is known without knowing how much. Of nodes of any type that failed nobody knows whether
            // it was about memory.
            Some(record) if flags.failed() => {
                self.refused.extend(found.what.always().and_then(|what| what.refused(&found.with(what), &record)));
            }
            Some(record) if !flags.has(CallFlags::NO_ARGUMENTS) => {
                let Some(what) = found.what.of_call(&record) else { return };
                let found = found.with(what);
                self.handed.extend(what.handed(&found, &record));
                what.events(&found, &record, &mut self.fresh);
            }
            _ => self.unread += 1,
        }
    }

    /// What follows when all calls have been looked at; `None`: nothing new is known of memory.
    fn begin(&mut self, trace: &Trace) -> Option<Stage> {
        let fresh = std::mem::take(&mut self.fresh);
        self.sorting.add(fresh);
        self.ends_ns.0 = self.last_end(trace);
        if self.sorting.first().is_none() && self.told == self.beside() {
            self.ends_ns.1 = self.ends_ns.0;
            return None;
        }
        if std::mem::take(&mut self.rests) {
            let threads = std::mem::take(&mut self.threads);
            *self = Self::new(self.process);
            threads.into_iter().for_each(|(id, _)| self.add_thread(id));
            return Some(Stage::Reading);
        }
        let Some(first) = self.sorting.first() else { return Some(Stage::Ordering) };
        let at = self.events.partition_point(|event| event.moment() < first);
        if at < self.kept {
            self.begin_anew();
        }
        Some(Stage::TakingBack(at))
    }

    /// Puts events from this one on among what is to be put in order; true when all are.
    fn take_back(&mut self, at: usize, go_on: &mut dyn FnMut() -> bool) -> bool {
        while self.events.len() > at {
            let from = self.events.len().saturating_sub(PIECE).max(at);
            self.sorting.add_sorted(self.events.split_off(from));
            if !go_on() {
                return false;
            }
        }
        true
    }

    /// The ledger goes through all events once more.
    fn begin_anew(&mut self) {
        self.retired = std::mem::take(&mut self.ledger).into_live();
        self.kept = 0;
    }

    /// Lets the ledger go through what is new; true when it has.
    fn keep(&mut self, go_on: &mut dyn FnMut() -> bool) -> bool {
        for some in self.events.get(self.kept..).unwrap_or_default().chunks(EVENTS) {
            some.iter().for_each(|event| self.ledger.take(event));
            self.kept += some.len();
            if !go_on() {
                break;
            }
        }
        self.kept == self.events.len()
    }

    /// How much is known beside events.
    const fn beside(&self) -> (usize, u64, usize) {
        (self.refused.len(), self.unread, self.handed.len())
    }

    fn last_end(&self, trace: &Trace) -> u64 {
        let tracks = self.threads.iter().filter_map(|&(id, _)| trace.track(id));
        tracks.flat_map(Track::chunks).map(|chunk| chunk.summary().max_end_ns).max().unwrap_or(0)
    }

    fn ended(&mut self, trace: &Trace, list: Vec<Allocation>, lookup: Lookup) -> Allocations {
        self.refused.sort_by_key(|one| (one.at_ns, one.track, one.row));
        self.told = self.beside();
        self.stage = Stage::Reading;
        self.ends_ns.1 = self.ends_ns.0;
        // What more comes of a process that has ended is late or damaged, and rare.
        if trace.process(self.process).is_some_and(|process| process.state != State::Recording) {
            self.events = Vec::new();
            self.begin_anew();
            self.rests = true;
        }
        let (refused, handed) = (self.refused.clone(), self.handed.clone());
        Allocations { list, lookup, refused, unread: self.unread, handed, opens: self.opens }
    }
}

/// The allocations of all processes of a trace.
#[derive(Debug, Default)]
pub struct AllocationFinder {
    uses: Uses,
    of: Vec<Finding>,
    /// Threads that processes know of.
    threads: usize,
    /// Whose turn it is.
    turn: usize,
    all: Vec<Arc<Allocations>>,
    version: u64,
}

impl AllocationFinder {
    /// Goes on as long as `go_on` says so; true when all that has been read has been looked at. `files` are those of the
    /// trace.
    pub fn advance(
        &mut self,
        trace: &Trace,
        files: &[Option<Arc<dyn Bytes>>],
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        if self.uses.update(trace) {
            (self.of, self.threads) = (Vec::new(), 0);
        }
        let known = (0..trace.processes.len()).filter_map(|id| u16::try_from(id).ok()).map(ProcessId);
        self.of.extend(known.skip(self.of.len()).map(Finding::new));
        self.all.resize_with(self.of.len(), Arc::default);
        for (id, track) in (0..).map(TrackId).zip(&trace.tracks).skip(self.threads) {
            self.of.get_mut(track.process.index()).into_iter().for_each(|of| of.add_thread(id));
        }
        self.threads = trace.tracks.len();
        let mut idle = 0;
        while idle < self.of.len() {
            let at = self.turn % self.of.len();
            let Some(finding) = self.of.get_mut(at) else { break };
            let file = trace.process(finding.process).and_then(|process| files.get(process.file));
            match finding.advance(trace, &self.uses, file.and_then(Option::as_deref), go_on) {
                Progress::Stopped => return false,
                Progress::Nothing => idle += 1,
                Progress::Found(all) => {
                    if let Some(place) = self.all.get_mut(at) {
                        *place = Arc::new(all);
                    }
                    size_opened(&mut self.all);
                    self.version += 1;
                    idle = 0;
                }
            }
            self.turn = at + 1;
        }
        true
    }

    /// Those of each process, by its number, as they were found last.
    #[must_use]
    pub fn all(&self) -> &[Arc<Allocations>] {
        &self.all
    }

    /// Of each process: when the newest call ended of those that they were found from, ns.
    pub fn known_until(&self) -> impl Iterator<Item = u64> + '_ {
        self.of.iter().map(|finding| finding.ends_ns.1)
    }

    /// Grows whenever they are found anew.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }
}

#[cfg(test)]
mod tests;
