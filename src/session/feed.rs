//! The files of a session, read on as they grow.

mod imports;
mod opening;
mod packed;
pub(super) mod packing;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::alive::{Boot, Life};
use super::importing::Importing;
use crate::parse::imported::SiteName;
use crate::parse::packed::Packed;
use crate::parse::{NativeReader, ParseError};
use crate::source::{Arrived, Found, Paths, Pipe, is_pipe, pipe};
use crate::symbols::SIDE_FILE;
use crate::trace::{Bytes, Process, ProcessId, Trace};
use imports::Imports;
use opening::{Opened, cannot_read, is_foreign, is_known, open, open_file, several_clocks};
use reading::Open;

/// Time between two looks into a run's folder, and at the processes.
const LOOK: Duration = Duration::from_millis(200);
/// Time between two glances at whether the folder has changed, and at files that are not ready: the first calls of a
/// program are to be seen as soon as later ones.
const GLANCE: Duration = Duration::from_millis(20);

/// The files of a session.
pub(super) struct Feed {
    paths: Paths,
    /// When something was last made in each of the folders. Not exact, and late over a network: a hint only.
    changed: Vec<Option<SystemTime>>,
    /// Files that have nothing in them yet.
    waiting: Vec<Found>,
    /// Pipes that have not come to their end.
    pipes: Vec<Pipe>,
    files: Vec<Open>,
    /// Which of them is a process's.
    by_process: Vec<usize>,
    /// Which files of the trace are texts.
    texts: BTreeSet<usize>,
    /// Format of those that were imported.
    imported: BTreeMap<usize, &'static str>,
    /// Inputs of foreign formats.
    imports: Imports,
    /// Of large ones the beginning is seen while the rest is read.
    early: bool,
    /// All that was read came of imports.
    only_imports: bool,
    /// What was read of imports is to be read anew.
    anew: bool,
    /// Names of call sites that imports know.
    pub(super) names: Vec<SiteName>,
    /// Packed files whose names of call sites have not been taken.
    pub(super) packed_names: Vec<Arc<Packed>>,
    /// Packed files, with the files of the trace by their images.
    packed: Vec<(Arc<Packed>, BTreeMap<u32, usize>)>,
    /// See [`Trace::several_clocks`].
    several_clocks: bool,
    /// Files that could not be read, in a line each.
    failures: Vec<String>,
    boot: Boot,
    looked: Option<Instant>,
    glanced: Option<Instant>,
    next: usize,
}

/// What a turn of reading did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    /// Calls added.
    pub events: usize,
    /// There is more to read at once.
    pub more: bool,
}

impl Feed {
    /// The files at these paths; a folder stands for all traces in it, those to come included.
    ///
    /// # Errors
    /// When a path is not there.
    pub(super) fn new(paths: &[PathBuf]) -> Result<Self, ParseError> {
        let (piped, paths): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(|path| is_pipe(path));
        let pipes = piped.iter().map(|path| Pipe::open(path, is_known).map_err(|source| cannot_read(path, source)));
        let pipes = pipes.collect::<Result<_, _>>()?;
        let paths: Vec<_> = paths.iter().map(|path| pipe::path_of(path)).collect();
        let paths = Paths::new(&paths).map_err(|(path, source)| cannot_read(&path, source))?;
        Ok(Self {
            pipes,
            changed: vec![None; paths.folders().len()],
            paths,
            waiting: Vec::new(),
            files: Vec::new(),
            by_process: Vec::new(),
            texts: BTreeSet::new(),
            imported: BTreeMap::new(),
            imports: Imports::default(),
            early: false,
            only_imports: true,
            anew: false,
            names: Vec::new(),
            packed_names: Vec::new(),
            packed: Vec::new(),
            several_clocks: false,
            failures: Vec::new(),
            boot: Boot::current(),
            looked: None,
            glanced: None,
            next: 0,
        })
    }

    /// Looks for new files, and at the processes, if the last time is a while ago.
    pub(super) fn look(&mut self, trace: &mut Trace, now: Instant) {
        let due = |then: Option<Instant>, pause| then.is_none_or(|then| now.saturating_duration_since(then) >= pause);
        if !due(self.glanced, GLANCE) {
            return;
        }
        self.glanced = Some(now);
        let all = due(self.looked, LOOK);
        if self.has_changed() || all {
            let found = self.paths.look();
            self.waiting.extend(found.into_iter().filter(|found| found.named || !is_beside(&found.path)));
        }
        if trace.processes.is_empty() {
            let paths: Vec<&Path> = self.waiting.iter().map(|found| found.path.as_path()).collect();
            self.several_clocks |= !self.pipes.is_empty() && !paths.is_empty() || several_clocks(&paths);
            trace.several_clocks = self.several_clocks;
        }
        let files = self.files.len();
        for found in std::mem::take(&mut self.waiting) {
            // Where nobody looks on, files are read in the order in which they were named.
            if !self.early && self.imports() && !is_foreign(&found.path) {
                self.imports.add_path(found);
            } else {
                self.open(found, trace);
            }
        }
        self.look_at_imports(trace);
        let all = self.look_at_pipes(trace) || all;
        if all {
            self.looked = Some(now);
        }
        // How a new file's process fares is known at once; a thousand others are not asked again for that.
        for file in self.files.iter_mut().skip(if all { 0 } else { files }) {
            file.look(&self.boot, trace, now);
        }
    }

    fn open(&mut self, found: Found, trace: &mut Trace) {
        match open(&found.path, trace) {
            Ok(Opened::Nothing) => self.waiting.push(found),
            // A run's folder also holds the program's output and the names of call sites.
            Err(ParseError::Format { .. }) if !found.named => {}
            Ok(Opened::Import(mut import)) => {
                import.named = found.named;
                self.imports.add(import);
            }
            opened => {
                self.only_imports &= opened.is_err();
                self.take(opened, Some(&found.path), trace);
            }
        }
    }

    fn take(&mut self, opened: Result<Opened, ParseError>, path: Option<&Path>, trace: &mut Trace) {
        match opened {
            Ok(Opened::Native(reader)) => self.add(Open::new(*reader, path)),
            Ok(Opened::Text(readers)) => {
                self.texts.extend(readers.iter().map(NativeReader::file));
                readers.into_iter().for_each(|reader| self.add(Open::new(reader, None)));
            }
            Ok(Opened::Packed(packed)) => self.take_packed(packed, trace),
            Ok(Opened::Stream(pipe)) => self.pipes.push(pipe),
            Ok(Opened::Import(import)) => self.imports.add(import),
            Ok(Opened::Nothing) => {}
            Err(error) => self.failures.push(error.to_string()),
        }
    }

    /// Takes what has come through pipes; whether one of them has come to its end.
    fn look_at_pipes(&mut self, trace: &mut Trace) -> bool {
        let mut ended = false;
        for pipe in std::mem::take(&mut self.pipes) {
            let (arrived, more) = pipe.arrived();
            for arrived in arrived {
                match arrived {
                    Arrived::File(file) => match NativeReader::open(file.bytes(), file.name(), trace) {
                        Ok(reader) => {
                            self.only_imports = false;
                            self.add(Open::of_stream(reader, file));
                        }
                        Err(error) => self.failures.push(error.to_string()),
                    },
                    Arrived::Whole(bytes) => match open_file(bytes, pipe.name(), trace) {
                        Ok(Opened::Nothing) => self.failures.push(format!("{}: no trace came", pipe.name())),
                        // Read as frames it would come back here.
                        Ok(Opened::Stream(_)) => self.failures.push(format!(
                            "{}: a stream, but not one whole frame of it is here; it is damaged, send it again",
                            pipe.name()
                        )),
                        opened => {
                            self.only_imports &= matches!(opened, Ok(Opened::Import(_)) | Err(_));
                            self.take(opened, None, trace);
                        }
                    },
                    Arrived::Failed(why) => self.failures.push(why),
                }
            }
            if more {
                self.pipes.push(pipe);
            } else {
                ended = true;
            }
        }
        ended
    }

    /// What the first stream that goes on is called.
    pub(super) fn stream(&self) -> Option<&str> {
        self.pipes.first().map(|pipe| if pipe.name() == "-" { "stdin" } else { pipe.name() })
    }

    /// Whether more may come through a pipe.
    pub(super) fn streams(&self) -> bool {
        !self.pipes.is_empty()
    }

    fn add(&mut self, file: Open) {
        let process = file.reader.process().index();
        if self.by_process.len() <= process {
            self.by_process.resize(process + 1, usize::MAX);
        }
        if let Some(place) = self.by_process.get_mut(process) {
            *place = self.files.len();
        }
        self.files.push(file);
    }

    fn of(&self, process: ProcessId) -> Option<&Open> {
        self.by_process.get(process.index()).and_then(|&file| self.files.get(file))
    }

    /// Whether anything was made in a folder since the last time.
    fn has_changed(&mut self) -> bool {
        let mut any = false;
        for (folder, before) in self.paths.folders().iter().zip(&mut self.changed) {
            let now = std::fs::metadata(folder).and_then(|data| data.modified()).ok();
            any |= std::mem::replace(before, now) != now;
        }
        any
    }

    /// Reads on until `until`.
    pub(super) fn read(&mut self, trace: &mut Trace, until: Instant) -> Read {
        let mut done = Read::default();
        let mut idle = 0;
        while idle < self.files.len() {
            self.next = (self.next + 1) % self.files.len();
            let Some(file) = self.files.get_mut(self.next).filter(|file| !file.failed && !file.over) else {
                idle += 1;
                continue;
            };
            match file.poll(trace) {
                Ok(progress) => {
                    done.events += progress.events;
                    let nothing = progress.events == 0 && !progress.more && file.absent && !file.alive;
                    file.quiet = if nothing { file.quiet.saturating_add(1) } else { 0 };
                    file.length = file.reader.share().1;
                    idle = if progress.more { 0 } else { idle + 1 };
                    if file.caught_up && progress.events > 0 {
                        file.last_growth = Some(Instant::now());
                    }
                    file.caught_up |= !progress.more;
                }
                Err(error) => {
                    file.failed = true;
                    file.caught_up = true;
                    self.failures.push(error.to_string());
                }
            }
            if Instant::now() >= until {
                done.more = idle < self.files.len();
                break;
            }
        }
        self.note_losses(trace);
        if !trace.evidence.has(1) && done.events > 0 && trace.calls() > 0 {
            trace.evidence.add(1);
        }
        done
    }

    /// Bytes read and bytes there are; `None` once everything has been read.
    pub(super) fn opening(&self) -> Option<(u64, u64)> {
        if self.files.iter().all(|file| file.caught_up) && !self.imports() {
            return None;
        }
        // While anything is imported, its bytes are what is waited for.
        let imports = self.imports.under_way().map(Importing::share);
        let files = self.files.iter().filter(|_| !self.imports());
        let shares = imports.chain(files.map(|file| file.reader.share()));
        Some(shares.fold((0, 0), |(read, all), share| (read + share.0, all + share.1)))
    }

    /// Whether any process may still add to the trace.
    pub(super) fn live(&self) -> bool {
        self.streams() || self.files.iter().any(|file| file.alive)
    }

    /// Whether files may still grow although no process is known to run: they are looked at now and then.
    pub(super) fn may_grow(&self) -> bool {
        !self.paths.folders().is_empty()
            || !self.waiting.is_empty()
            || self.files.iter().any(|file| file.life != Life::Gone)
    }

    /// Whether a process is known to run.
    pub(super) fn is_alive(&self, process: ProcessId) -> bool {
        self.of(process).is_some_and(|file| file.alive)
    }

    /// Whether a process is one of this machine.
    pub(super) fn is_here(&self, process: &Process) -> bool {
        self.boot.is_of(process)
    }

    /// Whether the file of a process has been removed, or another put in its place.
    pub(super) fn is_removed(&self, process: ProcessId) -> bool {
        self.of(process).is_some_and(|file| file.removed)
    }

    /// Whether a file of the trace is a text.
    pub(super) fn is_text(&self, file: usize) -> bool {
        self.texts.contains(&file)
    }

    /// Where the raw records of each file of the trace lie.
    pub(super) fn bytes(&self, trace: &Trace) -> Vec<Option<Arc<dyn Bytes>>> {
        let mut all: Vec<Option<Arc<dyn Bytes>>> = vec![None; trace.files.len()];
        for file in &self.files {
            if let Some(place) = all.get_mut(file.reader.file()) {
                *place = Some(file.reader.bytes().clone());
            }
        }
        all
    }

    /// Files that could not be read, in a line each.
    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Files that are being read.
    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// The first file that was named and has nothing in it yet.
    pub(super) fn empty(&self) -> Option<&Path> {
        self.waiting.iter().find(|found| found.named).map(|found| found.path.as_path())
    }
}

/// Whether a file of a run's folder is no recording: what the program has put out, which may look like anything, or the
/// names of call sites.
fn is_beside(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "stdout.txt" || name == "stderr.txt" || name == SIDE_FILE)
}

#[cfg(test)]
mod tests;
