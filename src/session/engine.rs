//! A session without a thread: reads, derives and answers when it is told to.

use std::collections::VecDeque;
use std::io::BufReader;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::alive::now_ns;
use super::child::ChildControl;
use super::feed::Feed;
use super::feed::packing::beside;
use super::handle::Child;
use super::labels::program;
use super::memory::Around;
use super::model::Model;
use super::output::OutputFiles;
use super::overview::Surroundings;
use super::safe::safe;
use super::sampler::{Address, Kept, Reading, Sampler};
use super::search::Search;
use super::view::{Answer, Body, OutputRequest, OutputRows, Phase, SearchAnswer, Status, View, ViewRequest};
use crate::graph::digest;
use crate::parse::ParseError;
use crate::parse::imported::SiteName;
use crate::symbols::{SIDE_FILE, Symbol, Symbols};
use crate::trace::{Damage, State, Trace};

/// Over which time calls a second are counted.
const SECOND: Duration = Duration::from_secs(1);

/// A session's state.
pub(super) struct Engine {
    pub model: Model,
    pub feed: Feed,
    pub child: Option<Box<dyn ChildControl>>,
    child_state: Option<Child>,
    output: Option<OutputFiles>,
    output_epoch: u64,
    recording: Option<String>,
    phase: Phase,
    /// Moments and the calls there were then, back to a second ago.
    rate: VecDeque<(Instant, u64)>,
    last_call: Instant,
    search: Search,
    /// Asks how devices fare; `None` where nobody looks while it goes on.
    pub sampler: Option<Sampler>,
    /// What they said over time.
    kept: Kept,
    /// When they were looked at last.
    sampled: Option<Instant>,
    /// The epoch in which everything that had been read was read anew.
    bygone: u64,
}

impl Engine {
    /// A session of these files and folders.
    ///
    /// # Errors
    /// When a path cannot be read.
    pub(super) fn new(
        paths: &[PathBuf],
        mut child: Option<Box<dyn ChildControl>>,
        symbols: Symbols,
    ) -> Result<Self, ParseError> {
        let feed = Feed::new(paths)?;
        let child_state = child.as_mut().map(|child| child.poll());
        let output = child.as_ref().and_then(|child| child.output()).map(OutputFiles::new);
        let recording = child.as_ref().and(paths.first()).map(|path| safe(&path.display().to_string()).into_owned());
        let mut model = Model::default();
        model.symbols = symbols;
        for folder in beside(paths) {
            // Without the side file there are fewer names, nothing worse.
            let _ = model.symbols.read_side_file(&folder.join(SIDE_FILE));
        }
        Ok(Self {
            model,
            feed,
            child,
            child_state,
            output,
            output_epoch: 0,
            recording,
            phase: Phase::Opening(0),
            rate: VecDeque::new(),
            last_call: Instant::now(),
            search: Search::default(),
            sampler: None,
            kept: Kept::default(),
            sampled: None,
            bygone: 0,
        })
    }

    /// Reads on until about `until`; true if there is more to read at once.
    pub(super) fn step(&mut self, until: Instant) -> bool {
        let now = Instant::now();
        if let Some(child) = &mut self.child {
            self.child_state = Some(child.poll());
        }
        self.feed.look(&mut self.model.trace, now);
        if self.feed.begins_anew() {
            self.bygone = self.epoch() + 1;
            self.model.begin_anew();
            self.search = Search::default();
            self.feed.begin_anew(&mut self.model.trace);
        }
        for name in std::mem::take(&mut self.feed.names) {
            let SiteName { module, offset, function, file, line } = name;
            self.model.symbols.tell(&module, offset, Symbol { function, file, line });
        }
        for packed in std::mem::take(&mut self.feed.packed_names) {
            for names in packed.names() {
                // As with a side file: what is damaged are fewer names.
                let _ = self.model.symbols.read_lines(BufReader::new(names));
            }
        }
        let read = self.feed.read(&mut self.model.trace, until);
        if self.model.files.len() != self.model.trace.files.len() {
            self.model.files = self.feed.bytes(&self.model.trace);
        }
        if read.events > 0 {
            let before = self.model.tree.calls();
            self.model.update();
            if self.model.tree.calls() != before {
                self.last_call = now;
            }
        }
        self.model.symbols.poll();
        let mut more = read.more;
        if let Some(output) = &mut self.output {
            if output.poll() {
                self.output_epoch += 1;
            }
            more |= output.has_more();
        }
        self.note(now);
        self.keep_readings(now);
        more
    }

    fn note(&mut self, now: Instant) {
        let opening = self.feed.opening();
        let child_runs = matches!(self.child_state, Some(Child::Running { .. }));
        self.phase = match opening {
            // What a live session has to catch up on at its start is not worth a word.
            Some((read, all)) if !matches!(self.phase, Phase::Waiting | Phase::Live | Phase::Ended) => {
                let share = u128::from(read.min(all)) * 1000 / u128::from(all.max(1));
                Phase::Opening(u16::try_from(share).unwrap_or(1000))
            }
            _ if child_runs || self.feed.live() || opening.is_some() => Phase::Live,
            _ if self.child_state.is_none() && self.feed.files() == 0 && self.feed.may_grow() => Phase::Waiting,
            _ => Phase::Ended,
        };
        if self.phase == Phase::Live {
            self.rate.push_back((now, self.model.tree.calls()));
            while self.rate.get(1).is_some_and(|(then, _)| now.saturating_duration_since(*then) >= SECOND) {
                self.rate.pop_front();
            }
        } else {
            self.rate.clear();
        }
    }

    /// How the trace stands.
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// The child, as it was at the last step.
    pub(super) fn child_state(&self) -> Option<Child> {
        self.child_state
    }

    /// Grows with every change of what answers are made of.
    pub(super) fn epoch(&self) -> u64 {
        self.bygone + self.model.trace.epoch() + self.model.symbols.version() + self.output_epoch
    }

    /// Answers a request, and tells whether the answer is complete: work stops at `until`.
    pub(super) fn answer(&mut self, request: &ViewRequest, until: Instant) -> (Answer, bool) {
        self.model.set_lens(&request.lens);
        self.model.drop_wishes();
        // What is drawn must be made of something, however little time there is.
        let mut complete = self.model.sift(until);
        let body = match &request.view {
            View::Overview { rows, columns } => Body::Overview(self.overview(*rows, *columns)),
            View::Calls(request) => Body::Calls(self.model.calls(request)),
            View::Events(request) => {
                let (rows, all) = self.model.events(*request, until);
                complete &= all;
                Body::Events(rows)
            }
            View::Heatmap(request) => {
                let (rows, all) = self.model.heatmap(request, until);
                complete &= all;
                Body::Heatmap(rows)
            }
            View::Memory(request) => {
                let ended = self.phase == Phase::Ended;
                let readings = self.readings();
                let (feed, now_ns) = (&self.feed, self.now_ns());
                let kept = &self.kept;
                // What was not released may be yet, in what has not been read.
                let opening = matches!(self.phase, Phase::Opening(_)) || feed.begun().is_some();
                let has_ended = |process| !opening && (ended || !feed.is_alive(process));
                let around = Around { ended: &has_ended, now_ns, readings, kept };
                let (rows, all) = self.model.memory(request, &around, until);
                complete &= all;
                Body::Memory(rows)
            }
            View::Output(request) => Body::Output(self.output(*request)),
        };
        complete &= self.model.is_sifted() && self.model.has_all_ranges();
        let search = self.search(request, until);
        complete &= search.as_ref().is_none_or(|search| search.share.is_none());
        (Answer { id: request.id, epoch: self.epoch(), status: self.status(), body, search }, complete)
    }

    /// Goes on with what a request looks for, until `until`.
    pub(super) fn search(&mut self, request: &ViewRequest, until: Instant) -> Option<SearchAnswer> {
        let wanted = request.search.as_ref()?;
        self.search.see_through(&request.lens);
        let mut answer = self.search.advance((&mut self.model, self.output.as_ref()), &request.view, wanted, until);
        if let Phase::Opening(share) = self.phase {
            // There is more to come that may match.
            answer.share = Some(answer.share.map_or(share, |own| own.min(share)));
        }
        Some(answer)
    }

    /// Goes on with what the last answer lacked, until `until`; true if there is a picture to be shown at once.
    pub(super) fn work(&mut self, until: Instant) -> bool {
        self.model.work(until)
    }

    fn overview(&mut self, rows: u16, columns: u16) -> super::view::Overview {
        let now_ns = self.now_ns();
        let readings = self.readings();
        let feed = &self.feed;
        let around = Surroundings {
            is_alive: &|process| feed.is_alive(process),
            is_removed: &|process| feed.is_removed(process),
            live: self.phase == Phase::Live,
            now_ns,
            silent: self.last_call.elapsed(),
            why_silent: self.child.as_ref().and_then(|child| child.why_silent()),
            recording: self.recording.clone(),
            readings,
        };
        self.model.overview(rows, columns, &around)
    }

    /// How the devices of this machine fare on which processes of the trace run.
    fn readings(&mut self) -> Vec<(Address, Reading)> {
        let Some(sampler) = &mut self.sampler else { return Vec::new() };
        let live = self.phase == Phase::Live;
        let feed = &self.feed;
        let here = |id| live && feed.is_alive(id) && self.model.trace.process(id).is_some_and(|one| feed.is_here(one));
        sampler.readings(&self.model.addresses(here), Instant::now())
    }

    /// Keeps what devices said, while somebody may want to see it later.
    fn keep_readings(&mut self, now: Instant) {
        let is_due = self.sampled.is_none_or(|sampled| now.saturating_duration_since(sampled) >= SECOND);
        if self.sampler.is_some() && is_due && self.phase == Phase::Live {
            self.sampled = Some(now);
            self.readings();
            let now_ns = self.now_ns();
            if let Some(sampler) = &self.sampler {
                sampler.keep(&mut self.kept, now, now_ns);
            }
        }
    }

    fn output(&self, request: OutputRequest) -> OutputRows {
        match &self.output {
            Some(output) => output.rows(request),
            None => OutputRows {
                why_empty: Some("only a program started by `umtui -- COMMAND` has its output here".to_owned()),
                ..OutputRows::default()
            },
        }
    }

    /// Now on the trace's axis, ns: by the clock while live, else the end.
    fn now_ns(&self) -> u64 {
        let trace = &self.model.trace;
        let end = trace.processes.iter().map(|process| process.last_ns).chain([trace.end_ns()]).max().unwrap_or(0);
        if self.phase == Phase::Live {
            // A clock that was set in between must not send the trace into the future: hosts differ by little.
            let running = trace.processes.iter().filter(|process| process.state == State::Recording);
            running.map(now_ns).max().unwrap_or(end).max(end)
        } else {
            end
        }
    }

    fn status(&self) -> Status {
        let trace = &self.model.trace;
        let end = if self.phase == Phase::Live { self.now_ns() } else { trace.end_ns() };
        Status {
            name: self.name(),
            phase: self.phase,
            elapsed_ns: end.saturating_sub(trace.start_ns()),
            calls_per_second: (self.phase == Phase::Live).then(|| self.calls_per_second()),
            calls: self.model.tree.calls(),
            lost: trace.lost(),
            damage: damage(trace, &self.feed),
            note: note(trace),
            begun: self.feed.begun(),
            trace: identity(trace),
            exit: match self.child_state {
                Some(Child::Ended { status }) => Some(status),
                _ => None,
            },
            lens: self.model.lens_status(),
        }
    }

    fn calls_per_second(&self) -> u64 {
        let (Some((then, before)), Some((now, calls))) = (self.rate.front(), self.rate.back()) else { return 0 };
        let passed = now.saturating_duration_since(*then).max(SECOND).as_nanos();
        let calls = u128::from(calls.saturating_sub(*before)) * 1_000_000_000 / passed;
        u64::try_from(calls).unwrap_or(u64::MAX)
    }

    /// Program and process id of the first process; before there is one, the file or folder.
    fn name(&self) -> String {
        let trace = &self.model.trace;
        if let Some(process) = trace.processes.first() {
            let name = format!("{} {}", program(trace, process), process.pid);
            return match trace.processes.len() {
                1 => name,
                more => format!("{name} and {} more", more - 1),
            };
        }
        if let Some(Child::Running { pid }) = self.child_state {
            return format!("process {pid}");
        }
        self.recording
            .clone()
            .or_else(|| trace.files.first().cloned())
            .or_else(|| self.feed.stream().or(self.feed.importing()).map(str::to_owned))
            .map(|name| safe(&name).into_owned())
            .unwrap_or_default()
    }
}

/// What tells a trace from others: its first process by start, pid and host.
fn identity(trace: &Trace) -> Option<u64> {
    let first = trace.processes.iter().min_by_key(|process| (process.start_time, process.pid))?;
    let texts = [first.host, first.program].map(|name| trace.names.get(name).as_bytes());
    Some(digest(&texts, &[u64::from(first.pid), first.start_time, first.start_ns]))
}

/// What could not be read, in one line.
pub(super) fn damage(trace: &Trace, feed: &Feed) -> Option<String> {
    let failures = feed.failures();
    let count = trace.damages().saturating_add(failures.len() as u64);
    let first =
        failures.first().cloned().or_else(|| trace.damage.first().map(|damage| describe(trace, feed, damage)))?;
    let first = safe(&first).into_owned();
    Some(if count == 1 { first } else { format!("{count} places could not be read: {first}") })
}

/// What else is to be known of files, in one line.
fn note(trace: &Trace) -> Option<String> {
    let (_, first) = trace.notes.first()?;
    let first = safe(first).into_owned();
    match trace.notes.len() - 1 {
        0 => Some(first),
        more => Some(format!("{first}; {more} more, see `umtui report`")),
    }
}

/// A damage: file, offset or line, why.
pub(super) fn describe(trace: &Trace, feed: &Feed, damage: &Damage) -> String {
    let text = feed.is_text(damage.file);
    let unit = if text { "line" } else { "byte" };
    let file = trace.files.get(damage.file).map_or("?", String::as_str);
    if feed.imported(damage.file).is_some() || text && feed.is_packed(damage.file) {
        // It says itself where.
        return format!("{file}: {}", damage.why);
    }
    format!("{file}: {unit} {}: {}", damage.offset, damage.why)
}
