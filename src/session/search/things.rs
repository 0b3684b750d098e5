//! Everything that has a name, wherever it is shown: for the finder.
//!
//! A thing stands for the row of the calls tree that one would look for: a function's among all functions, a kernel's
//! under its busiest stream. Unified memory in which something happened stands for its place on the heatmap, as far as these
//! are known. The list is made grouping by grouping, a turn for each.

use std::cmp::Reverse;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::ask::{Entry, EntryKind, SearchAnswer, SearchRequest, Target};
use super::names::{Name, Names};
use super::pattern::Pattern;
use crate::graph::{Grouping, Labels, NodeKey, RowId, What};
use crate::session::model::{FEW, Model};

/// Where things are looked for.
const GROUPINGS: [Grouping; 5] =
    [Grouping::Flat, Grouping::Thread, Grouping::Stream, Grouping::Range, Grouping::CallSite];
/// Names found whose fit is worked out; beyond that the ones that took longest.
const RANKED: usize = 1_000;
/// Places of unified memory that are listed, the busiest ones.
const PLACES: usize = 10_000;
/// Calls of a trace whose ranges are listed before rows by range have been looked at.
const RANGED: u64 = FEW;
/// A list that is made anew is at least so much older, in calls and records, as it has.
const OLDER: u64 = 8;

/// The things, as they were when the list was made.
#[derive(Debug, Default)]
pub(super) struct Things {
    names: Names,
    list: Vec<Thing>,
    /// Groupings that have been gone through.
    done: usize,
    /// The places of unified memory that are in the list.
    places: u64,
    /// Events that there were, and names of call sites, when that began.
    of: (u64, u64),
    /// What was found last, as it was ranked: a text is asked for again as long as it is shown.
    best: Option<Best>,
}

/// The best things that a text finds.
#[derive(Debug)]
struct Best {
    text: String,
    /// Of which kind, and how many at most.
    of: (Option<EntryKind>, usize),
    count: usize,
    things: Vec<Thing>,
}

#[derive(Clone, Copy, Debug)]
struct Thing {
    kind: EntryKind,
    name: Name,
    grouping: Grouping,
    key: NodeKey,
    total_ns: u64,
    count: u64,
    /// Of unified memory: number of its process, first address.
    memory: (u16, u64),
}

impl Things {
    /// Goes on until `until`; lists the `limit` best, or those of a kind, whatever a lens hides.
    pub(super) fn advance(
        &mut self,
        model: &mut Model,
        request: &SearchRequest,
        (kind, limit): (Option<EntryKind>, usize),
        until: Instant,
    ) -> SearchAnswer {
        let mut answer = SearchAnswer { id: request.id, ..SearchAnswer::default() };
        let now = (model.trace.events(), model.symbols.version());
        let grown = now.0 > self.of.0 + self.of.0 / OLDER || (now != self.of && now.0 < 100_000);
        let begun = self.done > 0;
        if !begun || (self.done >= GROUPINGS.len() && grown) {
            (self.done, self.of) = (0, now);
            self.list.clear();
            (self.best, self.places) = (None, 0);
        }
        while let Some(&grouping) = GROUPINGS.get(self.done) {
            self.take(model, grouping, kind.is_some());
            self.done += 1;
            if Instant::now() >= until && self.done < GROUPINGS.len() {
                answer.share = Some(self.done as u16 * 100);
                return answer;
            }
        }
        self.take_places(model, until);
        let pattern = Pattern::new(&request.text);
        if let Some(pattern) = &pattern
            && !self.names.look_for(&request.text, pattern, until)
        {
            answer.share = Some(900);
            return answer;
        }
        let known = self.best.take().filter(|best| best.text == request.text && best.of == (kind, limit));
        let best = known.unwrap_or_else(|| self.ranked(&request.text, pattern.as_ref(), (kind, limit)));
        answer.count = best.count as u64;
        answer.entries = best.things.iter().map(|thing| self.entry(model, thing, kind.is_some())).collect();
        self.best = Some(best);
        answer
    }

    /// Takes places of unified memory, if others are known than those in the list.
    fn take_places(&mut self, model: &mut Model, until: Instant) {
        let version = model.find_places(until);
        if version == self.places {
            return;
        }
        self.places = version;
        self.best = None;
        self.list.retain(|thing| thing.kind != EntryKind::Allocation);
        for (process, address, label) in model.place_names(PLACES) {
            let (name, key, memory) = (self.names.add(&label), NodeKey(address), (process, address));
            let (kind, grouping) = (EntryKind::Allocation, Grouping::Flat);
            self.list.push(Thing { kind, name, grouping, key, total_ns: 0, count: 1, memory });
        }
    }

    /// Takes the things of a grouping.
    fn take(&mut self, model: &mut Model, grouping: Grouping, whole: bool) {
        // Rows by range take a pass over all calls when they are first made: too long to hold up the reader for.
        let none = model.trace.ranges.records() == 0 || (model.trace.calls() > RANGED && !model.has_ranges());
        if grouping == Grouping::Range && none {
            return;
        }
        let rows = if whole { model.in_all_rows(grouping) } else { model.in_rows(grouping) };
        let Some((windows, _, namer)) = rows else { return };
        let mut best: FxHashMap<What, (NodeKey, u64, u64)> = FxHashMap::default();
        for id in 1..windows.rows.len() {
            let Some(row) = RowId::try_from(id).ok().and_then(|id| windows.rows.get(id)) else { continue };
            if kind_in(grouping, row.what).is_none() || !row.any() {
                continue;
            }
            let sums = row.sums();
            let place = best.entry(row.what).or_insert((row.key, sums.total_ns, 0));
            place.2 += sums.count;
            if sums.total_ns > place.1 {
                (place.0, place.1) = (row.key, sums.total_ns);
            }
        }
        for (what, (key, total_ns, count)) in best {
            let Some(kind) = kind_in(grouping, what) else { continue };
            let name = self.names.add(&namer.label(what));
            self.list.push(Thing { kind, name, grouping, key, total_ns, count, memory: (0, 0) });
        }
    }

    /// What is found, of a kind and the `limit` best, the best first.
    fn ranked(&self, text: &str, pattern: Option<&Pattern>, of: (Option<EntryKind>, usize)) -> Best {
        let (kind, limit) = of;
        let finds = self.names.finds(text);
        let is_found = |thing: &&Thing| pattern.is_none() || finds.is_some_and(|finds| finds.has(thing.name));
        let is_asked_for = |thing: &&Thing| kind.is_none_or(|kind| thing.kind == kind);
        let mut found: Vec<Thing> = self.list.iter().filter(is_asked_for).filter(is_found).copied().collect();
        let count = found.len();
        let by_time = |thing: &Thing| (Reverse(thing.total_ns), thing.kind, thing.key);
        // No more are put in order than can be among the best.
        let most = limit.max(RANKED);
        if count > most {
            found.select_nth_unstable_by_key(most, by_time);
            found.truncate(most);
        }
        found.sort_unstable_by_key(by_time);
        if let Some(pattern) = pattern {
            let rest = found.split_off(found.len().min(RANKED));
            found.sort_by_cached_key(|thing| Reverse(pattern.score(self.names.text(thing.name))));
            found.extend(rest);
        }
        found.truncate(limit);
        Best { text: text.to_owned(), of, count, things: found }
    }

    fn entry(&self, model: &mut Model, thing: &Thing, whole: bool) -> Entry {
        let Thing { kind, name, grouping, key, total_ns, count, memory } = *thing;
        if kind == EntryKind::Allocation {
            let (label, target) = (self.names.text(name).to_owned(), Target::Memory(memory.0, memory.1));
            return Entry { like: None, kind, label, grouping, target, total_ns, count };
        }
        let rows = if whole { model.in_all_rows(grouping) } else { model.in_rows(grouping) };
        let found = rows.and_then(|(windows, ..)| {
            let row = windows.rows.find(key)?;
            let path = windows.path(row).into_iter().filter_map(|id| windows.rows.get(id));
            let path = path.map(|row| (row.key, row.depth)).collect();
            Some((path, windows.rows.get(row)?.what))
        });
        let (path, what) = found.map_or_else(Default::default, |(path, what)| (path, Some(what)));
        let like = what.and_then(|what| super::about::what(&model.trace, &mut model.symbols, what));
        let target = Target::Node { key, path };
        Entry { like, kind, label: self.names.text(name).to_owned(), grouping, target, total_ns, count }
    }
}

/// What kind of thing stands in this grouping's rows; `None`: it is looked for elsewhere.
const fn kind_in(grouping: Grouping, what: What) -> Option<EntryKind> {
    match (grouping, what) {
        (Grouping::Flat, What::Call(_)) => Some(EntryKind::Function),
        (Grouping::Thread, What::Process(_)) => Some(EntryKind::Process),
        (Grouping::Thread, What::Thread(_)) => Some(EntryKind::Thread),
        (Grouping::Stream, What::Stream(_) | What::Ids(..)) => Some(EntryKind::Stream),
        (Grouping::Stream, What::Kernel(_)) => Some(EntryKind::Kernel),
        (Grouping::Range, What::Range(..)) => Some(EntryKind::Range),
        (Grouping::CallSite, What::Site(_)) => Some(EntryKind::Site),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_those_of_a_list_in_full_order(
            names in prop::collection::vec("[abM_]{1,8}", 1..40), totals in prop::collection::vec(0u64..5, 40),
            text in "[abM]{0,3}", limit in 0usize..50,
        ) {
            let mut things = Things::default();
            for (at, (name, &total_ns)) in names.iter().zip(&totals).enumerate() {
                let (name, key) = (things.names.add(name), crate::graph::NodeKey(at as u64));
                let (kind, grouping) = (EntryKind::Function, Grouping::Flat);
                things.list.push(Thing { kind, name, grouping, key, total_ns, count: 1, memory: (0, 0) });
            }
            let pattern = Pattern::new(&text);
            if let Some(pattern) = &pattern {
                prop_assert!(things.names.look_for(&text, pattern, Instant::now() + Duration::from_secs(60)));
            }
            let best = things.ranked(&text, pattern.as_ref(), (None, limit));
            let mut twin: Vec<&Thing> = things.list.iter().collect();
            twin.retain(|thing| pattern.as_ref().is_none_or(|pattern| pattern.finds(things.names.text(thing.name))));
            prop_assert_eq!(best.count, twin.len());
            twin.sort_by_key(|thing| {
                let score = pattern.as_ref().map_or(0, |pattern| pattern.score(things.names.text(thing.name)));
                (Reverse(score), Reverse(thing.total_ns), thing.key)
            });
            let keys = |things: &mut dyn Iterator<Item = &Thing>| things.map(|thing| thing.key).collect::<Vec<_>>();
            prop_assert_eq!(keys(&mut best.things.iter()), keys(&mut twin.into_iter().take(limit)));
        }
    }
}
