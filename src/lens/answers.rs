//! Which of a trace's things a pattern fits, each of them looked at once.

use rustc_hash::FxHashMap;

use super::held::{Allocated, Held};
use super::matcher::Matcher;
use super::spans::Spans;
use super::words::{self, Words};
use crate::correlate::Allocation;
use crate::correlate::nodes::Chosen;
use crate::filter::TextField;
use crate::symbols::Symbols;
use crate::trace::activity::LaneId;
use crate::trace::semantics::base_name;
use crate::trace::{Activity, ApiId, Layer, NameId, ProcessId, SiteId, StreamId, Trace, TrackId, results};

/// A pattern on a field, with its answers.
#[derive(Debug)]
pub(super) struct Answers {
    pub field: TextField,
    matcher: Matcher,
    /// By function, with the name that was looked at.
    apis: Vec<(NameId, bool)>,
    /// By thread, likewise.
    tracks: Vec<(NameId, bool)>,
    processes: Vec<bool>,
    streams: Vec<bool>,
    sites: Vec<bool>,
    /// Version of the symbols for which `sites` holds.
    symbols: u64,
    /// By path of ranges: whether it or one around it fits, and its own name.
    spans: Vec<(NameId, bool)>,
    names: FxHashMap<NameId, bool>,
    devices: FxHashMap<(ProcessId, u8), (NameId, bool)>,
    results: FxHashMap<(bool, u32), bool>,
    kinds: FxHashMap<(u8, u8), bool>,
    lanes: FxHashMap<LaneId, bool>,
    held: Held,
    of_nodes: FxHashMap<ApiId, OfNodes>,
}

/// Which calls of a function fit that is about nodes of any type.
#[derive(Debug)]
pub(super) struct OfNodes {
    /// Those of no type that has a kind of its own.
    pub otherwise: bool,
    pub by_type: Chosen<bool>,
}

impl Answers {
    pub(super) fn new(field: TextField, matcher: Matcher) -> Self {
        Self {
            field,
            matcher,
            apis: Vec::new(),
            tracks: Vec::new(),
            processes: Vec::new(),
            streams: Vec::new(),
            sites: Vec::new(),
            symbols: 0,
            spans: Vec::new(),
            names: FxHashMap::default(),
            devices: FxHashMap::default(),
            results: FxHashMap::default(),
            kinds: FxHashMap::default(),
            lanes: FxHashMap::default(),
            held: Held::default(),
            of_nodes: FxHashMap::default(),
        }
    }

    fn fits(matcher: &Matcher, words: &Words) -> bool {
        match matcher.number() {
            Some(number) if !words.numbers.is_empty() => words.numbers.contains(&number),
            _ => words.texts.iter().any(|text| matcher.fits(text)),
        }
    }

    /// Takes what has come since the last time. True if an answer that was given no longer holds.
    pub(super) fn update(
        &mut self,
        trace: &Trace,
        spans: &dyn Spans,
        lives: &Allocated<'_>,
        symbols: &mut Symbols,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        if self.field == TextField::Kind {
            self.update_node_kinds(trace);
        }
        let matcher = &self.matcher;
        match self.field {
            TextField::Api | TextField::Layer | TextField::Kind => {
                let (field, of_nodes) = (self.field, &self.of_nodes);
                renew(&mut self.apis, trace.apis.iter().map(|api| api.name), |at| {
                    let Some(api) = trace.apis.get(at) else { return false };
                    match field {
                        TextField::Api => matcher.fits(trace.names.get(api.name)),
                        TextField::Layer => matcher.fits(layer(api.layer)),
                        _ => {
                            let by_type = u16::try_from(at).ok().and_then(|at| of_nodes.get(&ApiId(at)));
                            let plain = Self::fits(matcher, &words::call_kinds(base_name(trace.names.get(api.name))));
                            plain || by_type.is_some_and(|of| of.by_type.any(|fits| *fits))
                        }
                    }
                })
            }
            TextField::Thread => renew(&mut self.tracks, trace.tracks.iter().map(|track| track.name), |at| {
                trace.tracks.get(at).is_some_and(|track| Self::fits(matcher, &words::thread(trace, track)))
            }),
            TextField::Process | TextField::Rank | TextField::Host => {
                for process in trace.processes.iter().skip(self.processes.len()) {
                    let words = match self.field {
                        TextField::Process => words::process(trace, process),
                        TextField::Rank => words::rank(process),
                        _ => words::host(trace, process),
                    };
                    self.processes.push(Self::fits(matcher, &words));
                }
                false
            }
            TextField::Stream => {
                let known = trace.streams.all().iter().skip(self.streams.len());
                self.streams.extend(known.map(|stream| Self::fits(matcher, &words::stream(stream))));
                false
            }
            TextField::Site => self.update_sites(trace, symbols),
            TextField::Range => self.update_spans(trace, spans),
            TextField::Device => {
                let mut changed = false;
                for (&(process, ordinal), known) in &mut self.devices {
                    let name = device_name(trace, process, ordinal);
                    if name != known.0 {
                        let fits = Self::fits(matcher, &words::device(trace.names.get(name), ordinal));
                        changed |= known.1 != fits;
                        *known = (name, fits);
                    }
                }
                changed
            }
            TextField::Allocation => self.update_held(trace, lives, symbols, go_on),
            TextField::Kernel | TextField::Cause | TextField::Result => false,
        }
    }

    /// Looks at functions whose calls are of different kinds, by the type of the node that they are about.
    fn update_node_kinds(&mut self, trace: &Trace) {
        for (id, api) in (0..=u16::MAX).map(ApiId).zip(&trace.apis).filter(|(_, api)| api.signature.has_conditions()) {
            if self.of_nodes.contains_key(&id) {
                continue;
            }
            let base = base_name(trace.names.get(api.name));
            let fits = |base: &str| Self::fits(&self.matcher, &words::call_kinds(base));
            if let Some(by_type) = Chosen::of(api, base, |_, base| Some(fits(base))) {
                self.of_nodes.insert(id, OfNodes { otherwise: fits(base), by_type });
            }
        }
    }

    /// Of a function whose calls are of different kinds: which of them fit.
    #[inline]
    pub(super) fn of_nodes(&self, id: ApiId) -> Option<&OfNodes> {
        if self.of_nodes.is_empty() { None } else { self.of_nodes.get(&id) }
    }

    /// Whether it looks at call sites: of calls, or of those that made an allocation.
    pub(super) fn needs_sites(&self) -> bool {
        self.field == TextField::Site || (self.field == TextField::Allocation && self.matcher.number().is_none())
    }

    /// Whether it has to ask more before events can be decided.
    pub(super) const fn is_behind(&self) -> bool {
        matches!(self.field, TextField::Allocation) && self.held.is_behind()
    }

    fn update_held(
        &mut self,
        trace: &Trace,
        lives: &Allocated<'_>,
        symbols: &mut Symbols,
        go_on: &mut dyn FnMut() -> bool,
    ) -> bool {
        // Calls of functions that are given no address need not be looked at.
        let points = |at: usize| trace.apis.get(at).is_some_and(|api| api.signature.points());
        let mut changed = renew(&mut self.apis, trace.apis.iter().map(|api| api.name), points);
        let matcher = &self.matcher;
        if let Some(address) = matcher.number() {
            changed |= self.held.update(lives, 0, |one| one.address <= address && address < one.end(), go_on);
            return changed;
        }
        let named = symbols.version();
        let mut sites: FxHashMap<SiteId, bool> = FxHashMap::default();
        let mut apis: FxHashMap<ApiId, bool> = FxHashMap::default();
        let fits = |one: &Allocation| {
            let call = trace.track(one.track).and_then(|track| track.call(one.row as usize));
            let api = call.and_then(|call| trace.api(call.api).zip(Some(call.api)));
            let function =
                api.is_some_and(|(api, id)| *apis.entry(id).or_insert_with(|| matcher.fits(trace.names.get(api.name))));
            let mut site = || words::site(trace, symbols, one.site);
            matcher.fits(one.kind.word())
                || function
                || *sites.entry(one.site).or_insert_with(|| Self::fits(matcher, &site()))
        };
        changed |= self.held.update(lives, named, fits, go_on);
        changed
    }

    /// Allocations that fit, to be asked for by address and time.
    pub(super) const fn held(&mut self) -> &mut Held {
        &mut self.held
    }

    fn update_sites(&mut self, trace: &Trace, symbols: &mut Symbols) -> bool {
        let renewed = self.symbols != symbols.version();
        self.symbols = symbols.version();
        let from = if renewed { 0 } else { self.sites.len() };
        let mut changed = false;
        for at in from..trace.sites.len() {
            let Ok(id) = u32::try_from(at).map(SiteId) else { break };
            let fits = Self::fits(&self.matcher, &words::site(trace, symbols, id));
            match self.sites.get_mut(at) {
                Some(known) => changed |= std::mem::replace(known, fits) != fits,
                None => self.sites.push(fits),
            }
        }
        changed
    }

    fn update_spans(&mut self, trace: &Trace, spans: &dyn Spans) -> bool {
        let mut changed = false;
        for at in 0..spans.len() {
            let node = u32::try_from(at).unwrap_or(u32::MAX);
            let Some((parent, name)) = spans.path(trace, node) else { break };
            let known = self.spans.get(at).copied();
            if known.is_some_and(|known| known.0 == name) && !changed {
                continue;
            }
            let above = at > 0 && self.spans.get(parent as usize).is_some_and(|parent| parent.1);
            let fits = at > 0 && (above || Self::fits(&self.matcher, &words::range(trace, name)));
            match self.spans.get_mut(at) {
                Some(place) => {
                    changed |= place.1 != fits;
                    *place = (name, fits);
                }
                None => self.spans.push((name, fits)),
            }
        }
        changed
    }

    #[inline]
    pub(super) fn api(&self, id: ApiId) -> bool {
        self.apis.get(id.index()).is_some_and(|answer| answer.1)
    }

    /// Of the thread's own field, or of that of its process.
    pub(super) fn track(&self, trace: &Trace, id: TrackId) -> bool {
        match self.field {
            TextField::Thread => self.tracks.get(id.index()).is_some_and(|answer| answer.1),
            _ => trace.track(id).is_some_and(|track| self.process(track.process)),
        }
    }

    pub(super) fn process(&self, id: ProcessId) -> bool {
        self.processes.get(id.index()).copied().unwrap_or(false)
    }

    #[inline]
    pub(super) fn stream(&self, id: StreamId) -> bool {
        self.streams.get(id.index()).copied().unwrap_or(false)
    }

    #[inline]
    pub(super) fn site(&self, id: SiteId) -> bool {
        self.sites.get(id.index()).copied().unwrap_or(false)
    }

    #[inline]
    pub(super) fn span(&self, node: u32) -> bool {
        self.spans.get(node as usize).is_some_and(|answer| answer.1)
    }

    pub(super) fn device(&mut self, trace: &Trace, process: ProcessId, ordinal: u8) -> bool {
        let matcher = &self.matcher;
        let fresh = || {
            let name = device_name(trace, process, ordinal);
            (name, Self::fits(matcher, &words::device(trace.names.get(name), ordinal)))
        };
        self.devices.entry((process, ordinal)).or_insert_with(fresh).1
    }

    pub(super) fn kernel(&mut self, trace: &Trace, name: NameId) -> bool {
        let matcher = &self.matcher;
        *self.names.entry(name).or_insert_with(|| Self::fits(matcher, &words::kernel(trace.names.get(name))))
    }

    /// A mark's own name.
    pub(super) fn mark(&mut self, trace: &Trace, name: NameId) -> bool {
        let matcher = &self.matcher;
        *self.names.entry(name).or_insert_with(|| Self::fits(matcher, &words::range(trace, name)))
    }

    pub(super) fn result(&mut self, layer: Layer, status: u32) -> bool {
        let matcher = &self.matcher;
        let fresh = || match matcher.number() {
            Some(number) => number == u64::from(status),
            None => results::name(layer, status).is_some_and(|name| matcher.fits(name)),
        };
        *self.results.entry((layer == Layer::Driver, status)).or_insert_with(fresh)
    }

    /// Kind of a record.
    pub(super) fn kind(&mut self, activity: &Activity) -> bool {
        let matcher = &self.matcher;
        let fresh = || Self::fits(matcher, &words::record_kinds(activity));
        *self.kinds.entry((activity.kind as u8, activity.detail)).or_insert_with(fresh)
    }

    /// A stream of which only the driver's ids are known.
    pub(super) fn lane(&mut self, id: LaneId, ids: (u32, u32)) -> bool {
        let matcher = &self.matcher;
        *self.lanes.entry(id).or_insert_with(|| Self::fits(matcher, &words::ids(ids)))
    }

    /// A word that has no number.
    pub(super) fn word(&self, word: &str) -> bool {
        self.matcher.fits(word)
    }
}

fn device_name(trace: &Trace, process: ProcessId, ordinal: u8) -> NameId {
    let known = trace.activities.of(process).and_then(|of| of.devices.get(&u16::from(ordinal)));
    known.map_or(NameId::NONE, |device| device.name)
}

pub(super) const fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Runtime => "runtime",
        Layer::Driver => "driver",
    }
}

/// Answers for what has come, and anew where a name has changed; whether any answer has.
fn renew(known: &mut Vec<(NameId, bool)>, names: impl Iterator<Item = NameId>, fits: impl Fn(usize) -> bool) -> bool {
    let mut changed = false;
    for (at, name) in names.enumerate() {
        match known.get_mut(at) {
            Some(answer) if answer.0 == name => {}
            Some(answer) => {
                let now = fits(at);
                changed |= answer.1 != now;
                *answer = (name, now);
            }
            None => known.push((name, fits(at))),
        }
    }
    changed
}
