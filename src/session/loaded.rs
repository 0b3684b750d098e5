//! A trace read to its end at once, for reports, exports and tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::{Engine, damage, describe};
use super::failures::Failure;
use super::family::{Member, family};
use super::overview::{calls_by_process, trouble};
use super::safe::safe;
use super::view::{Answer, View, ViewRequest};
use crate::graph::{Cells, Gpu, Grouping, Stats, TOP, Tree, What};
use crate::parse::ParseError;
use crate::symbols::{SIDE_FILE, Symbols};
use crate::trace::{ApiId, Bytes, ProcessId, SiteId, Trace};

/// Reading is told to stop after so long, and goes on at once.
const BATCH: Duration = Duration::from_millis(100);

/// Time between two looks at a stream, which is read to its end.
const PAUSE: Duration = Duration::from_millis(10);

/// Traces as they were when they were read.
pub struct Loaded {
    engine: Engine,
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
        let mut engine = Engine::new(paths, None, Symbols::default())?;
        loop {
            let more = engine.step(Instant::now() + BATCH);
            if !more && engine.feed.opening().is_none() {
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
        Ok(Self { engine })
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

    /// The call tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.engine.model.tree
    }

    /// What the GPU did, summed up.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.engine.model.gpu
    }

    /// Calls that were under way, and what they had called.
    #[must_use]
    pub fn unfinished(&self) -> Cells {
        self.engine.model.unfinished()
    }

    /// Answers as a screen would get them.
    pub fn view(&mut self, view: View) -> Answer {
        let request = ViewRequest { id: 0, view, search: None };
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
        model.view(Grouping::Flat);
        let mut list: Vec<(ApiId, Stats)> = model
            .view_and_cells(Grouping::Flat)
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
        model.mishaps.all(&model.trace, &model.files)
    }

    /// What a call site is called.
    pub fn site(&mut self, site: SiteId) -> String {
        let model = &mut self.engine.model;
        model.symbols.label(&model.trace, site)
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

    /// Format of the files: `native`, `text`, or `mixed`.
    #[must_use]
    pub fn format(&self) -> &'static str {
        let texts = (0..self.trace().files.len()).filter(|&file| self.engine.feed.is_text(file)).count();
        match texts {
            0 => "native",
            _ if texts == self.trace().files.len() => "text",
            _ => "mixed",
        }
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
