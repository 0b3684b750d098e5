//! The search of a session: what is looked for, and how far.
//!
//! Nothing here waits: each turn goes on until its time is up, and the next one goes on from there.

use std::ops::Range;
use std::time::Instant;

use super::about::Abouts;
use super::ask::{Found, From, SearchAnswer, SearchRequest, Step, Target};
use super::blocks::{Blocks, List, Wanted};
use super::pattern::Pattern;
use super::source::source;
use super::things::Things;
use super::tree::Tree;
use super::verdicts::{Part, Verdicts};
use crate::session::events::place_of;
use crate::session::memory::Fits;
use crate::session::model::Model;
use crate::session::output::OutputFiles;
use crate::session::view::{EventsRequest, Lens, MemoryPart, MemoryRequest, OutputRequest, View};

/// What is looked for, and what is known of it.
#[derive(Debug, Default)]
pub struct Search {
    lens: Lens,
    tree: Tree,
    things: Things,
    /// Likewise, whatever a lens hides.
    all_things: Things,
    abouts: Abouts,
    /// The same search as if there were no lens.
    whole: Option<Box<Search>>,
    /// What `blocks` and `verdicts` are of.
    of: Option<Of>,
    blocks: Blocks,
    verdicts: Verdicts,
    fits: Fits,
    wanted: Option<(u64, Wanted)>,
    found: Option<(u64, Found)>,
}

/// A list and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Of {
    text: String,
    list: Which,
    /// Names that were not known may be known now.
    names: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Events(EventsRequest),
    Memory(MemoryPart, Option<u64>),
    Heatmap,
    Output,
}

impl Search {
    /// Goes on until `until` with what is looked for on this screen.
    pub(in crate::session) fn advance(
        &mut self,
        (model, output): (&mut Model, Option<&OutputFiles>),
        view: &View,
        request: &SearchRequest,
        until: Instant,
    ) -> SearchAnswer {
        let nothing = SearchAnswer { id: request.id, ..SearchAnswer::default() };
        match request.step {
            Step::Names(limit) => return self.things.advance(model, request, (None, limit), until),
            Step::NamesOf(kind, limit) => return self.all_things.advance(model, request, (Some(kind), limit), until),
            Step::About => return self.abouts.advance(model, view, request, until),
            Step::Source => {
                let source = Some(source(model, view, request.from, until));
                return SearchAnswer { source, ..nothing };
            }
            _ => {}
        }
        let answer = self.look((model, output), view, request, until);
        let hides = model.selected().is_some() && matches!(view, View::Calls(_) | View::Events(_));
        if answer.share.is_some() || !hides || request.text.trim().is_empty() {
            return answer;
        }
        // How many there would be without the lens.
        let whole = self.whole.get_or_insert_default();
        let all = model.without_lens(|model| whole.look((model, output), view, request, until));
        match all.share {
            Some(share) => SearchAnswer { share: Some(share), ..answer },
            None => SearchAnswer { hidden: Some(all.count.saturating_sub(answer.count)), ..answer },
        }
    }

    /// Goes on with what is looked for among the rows.
    fn look(
        &mut self,
        (model, output): (&mut Model, Option<&OutputFiles>),
        view: &View,
        request: &SearchRequest,
        until: Instant,
    ) -> SearchAnswer {
        let nothing = SearchAnswer { id: request.id, ..SearchAnswer::default() };
        let Some(pattern) = Pattern::new(&request.text) else { return nothing };
        match view {
            View::Overview { .. } => nothing,
            View::Heatmap(_) => {
                let names = model.symbols.version().wrapping_add(model.heat.generations().version());
                self.begin(Of { text: request.text.clone(), list: Which::Heatmap, names });
                let mut fits = std::mem::take(&mut self.fits);
                let mut list = Heatmap { model, fits: &mut fits, pattern: &pattern };
                let answer = self.in_list(&mut list, request, until, |_, _| String::new());
                self.fits = fits;
                answer
            }
            View::Calls(calls) => self.tree.advance(model, calls, request, &pattern, until),
            View::Events(events) => {
                let version = model.symbols.version();
                // What is wanted of the window is no matter here.
                let events =
                    EventsRequest { at: crate::session::view::EventsAt::End, rows: 0, details: None, ..*events };
                self.begin(Of { text: request.text.clone(), list: Which::Events(events), names: version });
                // As long as it is not known which events are shown, there is nothing to count.
                if !model.in_order(events.kinds, events.node, until, |_, _| ()).1 {
                    return SearchAnswer { share: Some(0), ..nothing };
                }
                let mut verdicts = std::mem::take(&mut self.verdicts);
                let mut list = Events { model, request: events, verdicts: &mut verdicts, pattern: &pattern, until };
                let answer = self.in_list(&mut list, request, until, Events::place);
                self.verdicts = verdicts;
                answer
            }
            View::Memory(memory) => {
                let names = model.symbols.version().wrapping_add(model.books.orders());
                let memory = whole(memory);
                self.begin(Of { text: request.text.clone(), list: Which::Memory(memory.part, memory.moment), names });
                let mut fits = std::mem::take(&mut self.fits);
                let mut list = Rows { model, request: memory, fits: &mut fits, pattern: &pattern, until };
                let answer = self.in_list(&mut list, request, until, |_, _| String::new());
                self.fits = fits;
                answer
            }
            View::Output(_) => {
                let Some(output) = output else { return nothing };
                self.begin(Of { text: request.text.clone(), list: Which::Output, names: 0 });
                let Some(pattern) = Pattern::plain(&request.text) else { return nothing };
                let mut list = Lines { output, pattern };
                self.in_list(&mut list, request, until, |_, _| String::new())
            }
        }
    }

    /// Forgets what was found where other rows are shown now: what a screen is seen through has changed.
    pub(in crate::session) fn see_through(&mut self, lens: &Lens) {
        if self.lens != *lens {
            self.lens = lens.clone();
            (self.of, self.wanted, self.found) = (None, None, None);
            (self.tree, self.things) = (Tree::default(), Things::default());
        }
    }

    /// Looks through another list, or for another text, or the same as before.
    fn begin(&mut self, of: Of) {
        if self.of.as_ref() != Some(&of) {
            // A name more does not change which rows there are, so what is wanted of them is still wanted.
            let same = self.of.as_ref().is_some_and(|before| (&before.text, before.list) == (&of.text, of.list));
            self.blocks = Blocks::default();
            self.verdicts = Verdicts::default();
            self.fits = Fits::default();
            if !same {
                self.wanted = None;
                self.found = None;
            }
            self.of = Some(of);
        }
    }

    fn in_list<L: List>(
        &mut self,
        list: &mut L,
        request: &SearchRequest,
        until: Instant,
        place: impl FnOnce(&mut L, u64) -> String,
    ) -> SearchAnswer {
        let from = match request.from {
            From::Row(row) => row,
            From::Node(_) | From::Thing(_) => 0,
        };
        let known = self.wanted.filter(|(id, _)| *id == request.id).map(|(_, wanted)| wanted);
        let mut wanted = known.unwrap_or_else(|| Wanted::new(from, request.step));
        let complete = self.blocks.advance(list, &mut wanted, until);
        self.wanted = Some((request.id, wanted));
        let number = self.blocks.number(&wanted);
        if let Some((row, _, wrapped)) = wanted.found
            && self.found.as_ref().is_none_or(|(id, _)| *id != request.id)
        {
            let found = Found { target: Target::Row(row), number, place: place(list, row), wrapped };
            self.found = Some((request.id, found));
        }
        let found = self.found.as_ref().filter(|(id, _)| *id == request.id);
        let found = found.map(|(_, found)| Found { number, ..found.clone() });
        let share = (!complete).then(|| self.blocks.share());
        SearchAnswer { id: request.id, count: self.blocks.count(), share, found, ..SearchAnswer::default() }
    }
}

/// The events that a request shows.
struct Events<'a> {
    model: &'a mut Model,
    request: EventsRequest,
    verdicts: &'a mut Verdicts,
    pattern: &'a Pattern,
    until: Instant,
}

impl List for Events<'_> {
    fn len(&mut self) -> u64 {
        let EventsRequest { kinds, node, .. } = self.request;
        self.model.in_order(kinds, node, self.until, |mut order, _| order.total()).0.unwrap_or(0)
    }

    fn matches(&mut self, rows: Range<u64>) -> Vec<u64> {
        let EventsRequest { kinds, node, .. } = self.request;
        let (verdicts, pattern) = (&mut *self.verdicts, self.pattern);
        let count = usize::try_from(rows.end - rows.start).unwrap_or(0);
        let (matches, _) = self.model.in_order(kinds, node, self.until, |mut order, context| {
            let events = order.window(rows.start, count);
            let numbered = (rows.start..).zip(&events);
            numbered.filter(|(_, event)| verdicts.part(pattern, context, event).is_some()).map(|(row, _)| row).collect()
        });
        matches.unwrap_or_default()
    }
}

impl Events<'_> {
    /// Where a row is, and what of it matched if that was not its name.
    fn place(&mut self, row: u64) -> String {
        let EventsRequest { kinds, node, .. } = self.request;
        let (verdicts, pattern) = (&mut *self.verdicts, self.pattern);
        let (place, _) = self.model.in_order(kinds, node, self.until, |mut order, context| {
            let event = order.window(row, 1).pop()?;
            let place = place_of(context, &event);
            Some(match verdicts.part(pattern, context, &event) {
                Some(Part::Site) => format!("called from there, {place}"),
                _ => place,
            })
        });
        place.flatten().unwrap_or_default()
    }
}

/// What a request shows, whatever part of it and however it is drawn.
fn whole(request: &MemoryRequest) -> MemoryRequest {
    let mut whole = MemoryRequest { plot: 0, goal: None, ..request.clone() };
    match &mut whole.part {
        MemoryPart::Allocations(part) => {
            (part.cursor, part.details, part.first, part.rows) = (None, None, 0, 0);
        }
        MemoryPart::Groups(part) => (part.first, part.rows) = (0, 0),
        MemoryPart::Growth(part) => (part.first, part.rows) = (0, 0),
        MemoryPart::Pools(part) => (part.first, part.rows) = (0, 0),
        MemoryPart::Blocks(part) => (part.first, part.rows) = (0, 0),
        MemoryPart::Transfers(part) => (part.cells, part.first, part.rows) = (0, 0, 0),
    }
    whole
}

/// Rows of the memory screen.
struct Rows<'a> {
    model: &'a mut Model,
    request: MemoryRequest,
    fits: &'a mut Fits,
    pattern: &'a Pattern,
    until: Instant,
}

impl List for Rows<'_> {
    fn len(&mut self) -> u64 {
        self.model.memory_len(&self.request, self.until)
    }

    fn matches(&mut self, rows: Range<u64>) -> Vec<u64> {
        self.model.memory_matches(&self.request, (self.pattern, &mut *self.fits), rows, self.until)
    }
}

/// Allocations that the heatmap shows.
struct Heatmap<'a> {
    model: &'a mut Model,
    fits: &'a mut Fits,
    pattern: &'a Pattern,
}

impl List for Heatmap<'_> {
    fn len(&mut self) -> u64 {
        self.model.heat.generations().len()
    }

    fn matches(&mut self, rows: Range<u64>) -> Vec<u64> {
        self.model.heat_matches((self.pattern, &mut *self.fits), rows)
    }
}

/// What the program printed.
struct Lines<'a> {
    output: &'a OutputFiles,
    pattern: Pattern,
}

impl List for Lines<'_> {
    fn len(&mut self) -> u64 {
        self.output.rows(OutputRequest { first: 0, rows: 0 }).total
    }

    fn matches(&mut self, rows: Range<u64>) -> Vec<u64> {
        let count = usize::try_from(rows.end - rows.start).unwrap_or(0);
        let lines = self.output.rows(OutputRequest { first: rows.start, rows: count });
        let matching = (lines.first..).zip(&lines.lines).filter(|(_, (_, line))| self.pattern.finds(line));
        matching.map(|(row, _)| row).filter(|row| rows.contains(row)).collect()
    }
}
