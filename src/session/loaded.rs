//! A trace read to its end at once, for reports, exports and tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::{Engine, damage, describe};
use super::failures::Failure;
use super::family::{Member, family};
use super::headway::{Headway, Stage};
use super::kept::Kept;
use super::overview::{calls_by_process, trouble};
use super::safe::safe;
use super::view::{Answer, LensStatus, Phase, Sums, View, ViewRequest};
use crate::correlate::Allocations;
use crate::correlate::Allocator;
use crate::correlate::allocator::KnownBy;
use crate::graph::{Cells, Gpu, Grouping, Stats, TOP, Tree, What};
use crate::lens::{Lens, Plan, PlanError, Selected};
use crate::parse::ParseError;
use crate::symbols::{SIDE_FILE, Symbol, Symbols};
use crate::trace::{ApiId, Bytes, OpenCall, ProcessId, SiteId, Trace, TrackId};

/// Reading is told to stop after so long, and goes on at once.
const BATCH: Duration = Duration::from_millis(100);

/// Time between two looks at a stream, which is read to its end.
const PAUSE: Duration = Duration::from_millis(10);

/// Traces as they were when they were read.
pub struct Loaded {
    engine: Engine,
    lens: Lens,
    filter: String,
}

/// Why nothing could be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A path is not there or cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// None of the files is a trace that can be read.
    #[error("{0}")]
    Unreadable(String),
    /// There is no trace.
    #[error("{0}: no trace here; a run's folder holds a file for each process once it has made a CUDA call")]
    Nothing(String),
}

impl Loaded {
    /// Reads files, and folders of runs with all files in them, as far as they are written; streams to their end.
    ///
    /// # Errors
    /// When a path is not there, or nothing in any of them is a trace. Files that cannot be read beside others that
    /// can are in [`Loaded::unreadable`].
    pub fn load_all(paths: &[PathBuf]) -> Result<Self, LoadError> {
        Self::load_telling(paths, &mut |_| ())
    }

    /// Likewise, and tells every tenth of a second how far that is.
    ///
    /// # Errors
    /// As above.
    pub fn load_telling(paths: &[PathBuf], tell: &mut dyn FnMut(Headway)) -> Result<Self, LoadError> {
        let mut engine = Engine::new(paths, None, Symbols::default())?;
        loop {
            let more = engine.step(Instant::now() + BATCH);
            // How much is to come through a pipe nobody knows.
            let share = match engine.phase() {
                Phase::Opening(share) if !engine.feed.streams() => Some(share),
                _ => None,
            };
            tell(Headway { stage: Stage::Reading, share, events: engine.model.trace.events() });
            if !more && engine.feed.imports() {
                std::thread::sleep(PAUSE);
            } else if !more && engine.feed.opening().is_none() {
                if !engine.feed.streams() {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
        if engine.feed.files() == 0 {
            if let Some(why) = engine.feed.failures().first() {
                return Err(LoadError::Unreadable(why.clone()));
            }
            let empty = engine.feed.empty().or(paths.first().map(PathBuf::as_path));
            return Err(LoadError::Nothing(empty.map(|path| path.display().to_string()).unwrap_or_default()));
        }
        Ok(Self { engine, lens: Lens::default(), filter: String::new() })
    }

    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.engine.model.trace
    }

    /// Where the raw records of each file of the trace lie, in the order of [`Trace::files`].
    #[must_use]
    pub fn bytes(&self) -> Vec<Arc<dyn Bytes>> {
        let files = self.engine.feed.bytes(&self.engine.model.trace);
        files.into_iter().map(|bytes| bytes.unwrap_or_else(|| Arc::new(Vec::new()))).collect()
    }

    /// The allocations of each process, by its number.
    pub fn allocations(&mut self) -> Vec<Arc<Allocations>> {
        let model = &mut self.engine.model;
        model.lives.find_all(&model.trace, &model.files);
        model.lives.all().to_vec()
    }

    /// The sums of the cells of the heatmap that was made last, row after row, the lowest first.
    #[must_use]
    pub fn heat_sums(&self) -> &[Sums] {
        self.engine.model.heat.sums()
    }

    /// The call tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.engine.model.tree
    }

    /// What the GPU did, summed up.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        self.engine.model.seen_gpu()
    }

    /// Looks at what a lens selects only, from now on. Looking up the names of call sites, where it asks for them, takes
    /// at most `limit`. `filter` is what the filter was given as.
    ///
    /// # Errors
    /// If the lens cannot be used.
    pub fn look_through(&mut self, lens: &Lens, filter: &str, limit: Duration) -> Result<(), PlanError> {
        self.look_through_telling(lens, filter, limit, &mut |_| ())
    }

    /// Likewise, and tells every tenth of a second how far that is.
    ///
    /// # Errors
    /// As above.
    pub fn look_through_telling(
        &mut self,
        lens: &Lens,
        filter: &str,
        limit: Duration,
        tell: &mut dyn FnMut(Headway),
    ) -> Result<(), PlanError> {
        if Plan::new(lens)?.needs_sites() {
            tell(Headway { stage: Stage::Naming, share: None, events: 0 });
            let until = Instant::now() + limit;
            let model = &mut self.engine.model;
            model.symbols.resolve_all(&model.trace, || Instant::now() < until);
        }
        self.lens = lens.clone();
        filter.clone_into(&mut self.filter);
        self.engine.model.set_lens(lens);
        // Nobody goes back.
        self.engine.model.kept = Kept::default();
        while !self.engine.model.sift(Instant::now() + BATCH) {
            let share = self.lens_status().map_or(0, |status| status.done);
            let events = self.trace().events() / 1000 * u64::from(share);
            tell(Headway { stage: Stage::Filtering, share: Some(share), events });
        }
        Ok(())
    }

    /// What the GPU did, whatever the lens.
    #[must_use]
    pub fn all_gpu(&self) -> &Gpu {
        &self.engine.model.gpu
    }

    /// How long it takes until a screen has its first rows through another lens, as a session's thread works: in slices
    /// of this length, the first answer after the first of them. For benches.
    #[must_use]
    pub fn first_answer(&mut self, lens: &Lens, view: View, slice: Duration) -> Duration {
        let begun = Instant::now();
        let request = ViewRequest { id: 0, view, search: None, lens: lens.clone() };
        self.engine.answer(&request, begun + slice);
        self.lens = lens.clone();
        begun.elapsed()
    }

    /// Looks for something as a session's thread does: an answer, then slices of the search alone, then the answer with
    /// all of it. For benches.
    #[must_use]
    pub fn search(&mut self, request: &ViewRequest, slice: Duration) -> Answer {
        let (answer, mut complete) = self.engine.answer(request, Instant::now() + slice);
        if complete {
            return answer;
        }
        while !complete {
            let search = self.engine.search(request, Instant::now() + slice);
            complete = search.is_none_or(|search| search.share.is_none());
        }
        self.engine.answer(request, Instant::now() + slice).0
    }

    /// The filter as it was given.
    #[must_use]
    pub fn filter_text(&self) -> &str {
        &self.filter
    }

    /// The lens.
    #[must_use]
    pub fn lens(&self) -> &Lens {
        &self.lens
    }

    /// What the lens selects; `None` without one.
    #[must_use]
    pub fn selected(&self) -> Option<&Selected> {
        self.engine.model.selected()
    }

    /// Calls that have not ended, as the lens selects them.
    #[must_use]
    pub fn open(&self) -> Vec<(TrackId, OpenCall)> {
        self.engine.model.seen_open()
    }

    /// How many events it lets through; `None` without one.
    #[must_use]
    pub fn lens_status(&self) -> Option<LensStatus> {
        self.engine.model.lens_status()
    }

    /// The cells of calls whose outermost call has ended, as the lens selects them.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        self.engine.model.seen_cells()
    }

    /// Calls that were under way, and what they had called, as the lens selects them.
    #[must_use]
    pub fn unfinished(&self) -> Cells {
        self.engine.model.seen_unfinished()
    }

    /// Answers as a screen would get them.
    pub fn view(&mut self, view: View) -> Answer {
        let request = ViewRequest { id: 0, view, search: None, lens: self.lens.clone() };
        loop {
            let (answer, complete) = self.engine.answer(&request, Instant::now() + BATCH);
            if complete {
                return answer;
            }
        }
    }

    /// Every function that was called, with all its calls; in a total, calls inside a call of the same function do not
    /// count. The largest total first.
    pub fn functions(&mut self) -> Vec<(ApiId, Stats)> {
        let model = &mut self.engine.model;
        model.seen_view(Grouping::Flat);
        let mut list: Vec<(ApiId, Stats)> = model
            .seen_view_and_cells(Grouping::Flat)
            .map(|(view, cells)| {
                let rows = view.rows.children(TOP).filter_map(|id| Some((id, view.rows.get(id)?)));
                rows.filter_map(|(id, row)| match row.what {
                    What::Call(api) => Some((api, view.rows.stats(id, cells))),
                    _ => None,
                })
                .collect()
            })
            .unwrap_or_default();
        let trace = &model.trace;
        list.sort_by(|(a, one), (b, other)| {
            let name = |api: &ApiId| (trace.api_name(*api), trace.api(*api).map(|api| api.layer));
            other.sums.total_ns.cmp(&one.sums.total_ns).then_with(|| name(a).cmp(&name(b)))
        });
        list
    }

    /// Functions of which calls failed, the most failures first.
    pub fn failures(&mut self) -> Vec<Failure> {
        self.engine.model.failures()
    }

    /// The first failure of each process and the first error that stays of each device, in order of time.
    #[must_use]
    pub fn first_failures(&self) -> Vec<crate::correlate::Failure> {
        let model = &self.engine.model;
        let mut all = model.mishaps.all(&model.trace, &model.files);
        let seen = |failure: &crate::correlate::Failure| {
            let failed = &failure.failed;
            model.selected().is_none_or(|selected| selected.call(failed.track, failed.row))
        };
        all.retain(seen);
        all
    }

    /// What a call site is called.
    pub fn site(&mut self, site: SiteId) -> String {
        let model = &mut self.engine.model;
        model.symbols.label(&model.trace, site)
    }

    /// What is known of the code at a call site.
    pub fn symbol(&mut self, site: SiteId) -> Option<Arc<Symbol>> {
        let model = &mut self.engine.model;
        model.symbols.get(&model.trace, site)
    }

    /// The caching allocator that a call site belongs to, and by what it was known.
    pub fn allocator(&mut self, site: SiteId) -> Option<(Allocator, KnownBy)> {
        let model = &mut self.engine.model;
        let symbol = model.symbols.get(&model.trace, site);
        Allocator::of_site(&model.trace, site, symbol.as_deref().map(|symbol| symbol.function.as_str()))
    }

    /// Whether a process still runs.
    #[must_use]
    pub fn is_alive(&self, process: ProcessId) -> bool {
        self.engine.feed.is_alive(process)
    }

    /// All processes, each after the one that started it.
    #[must_use]
    pub fn family(&self) -> Vec<Member> {
        family(self.trace())
    }

    /// Calls of each process.
    #[must_use]
    pub fn calls_by_process(&self) -> Vec<u64> {
        calls_by_process(self.trace())
    }

    /// Format of the files: `native`, `text`, that of an import, or `mixed`.
    #[must_use]
    pub fn format(&self) -> &'static str {
        let feed = &self.engine.feed;
        let of = |file| feed.imported(file).unwrap_or(if feed.is_text(file) { "text" } else { "native" });
        let mut formats = (0..self.trace().files.len()).map(of);
        let first = formats.next().unwrap_or("native");
        if formats.all(|format| format == first) { first } else { "mixed" }
    }

    /// What else is to be known of the files, in a line each, safe for the terminal.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let trace = self.trace();
        let name = |file: usize| trace.files.get(file).map_or("?", String::as_str);
        trace.notes.iter().map(|(file, note)| safe(&format!("{}: {note}", name(*file))).into_owned()).collect()
    }

    /// Why the recording of a process is not what it could be.
    #[must_use]
    pub fn trouble(&self, id: ProcessId) -> Option<String> {
        self.trace().process(id).and_then(|process| trouble(process, self.is_alive(id)))
    }

    /// Files that could not be read at all, in a line each, safe for the terminal.
    #[must_use]
    pub fn unreadable(&self) -> Vec<String> {
        self.engine.feed.failures().iter().map(|line| safe(line).into_owned()).collect()
    }

    /// Places that could not be read, in a line each, safe for the terminal; as far as they are kept.
    #[must_use]
    pub fn damage(&self) -> Vec<String> {
        let trace = self.trace();
        let line = |damage| safe(&describe(trace, &self.engine.feed, damage)).into_owned();
        trace.damage.iter().map(line).collect()
    }

    /// The same in one line.
    #[must_use]
    pub fn damage_line(&self) -> Option<String> {
        damage(self.trace(), &self.engine.feed)
    }

    /// Looks up the names of all call sites, for at most `limit`, and writes them into the run's folder, so that the
    /// recording has names on other machines.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_names(&mut self, folder: &Path, limit: Duration) -> std::io::Result<()> {
        let until = Instant::now() + limit;
        let model = &mut self.engine.model;
        model.symbols.resolve_all(&model.trace, || Instant::now() < until);
        model.symbols.write_side_file(&folder.join(SIDE_FILE))
    }
}
