//! The files of a session, read on as they grow.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::alive::{Boot, Life, believed};
use crate::parse::sniff::{Format, sniff};
use crate::parse::{NativeReader, ParseError, text};
use crate::trace::{Bytes, ProcessId, State, Trace};

/// How a trace file's name ends in the folder of a run.
const EXTENSION: &str = "umt";
/// Calls read of one file before it is the next one's turn.
const TURN: usize = 16 * 1024;
/// Time between two looks into a run's folder, and at the processes.
const LOOK: Duration = Duration::from_millis(200);
/// Time between two glances at whether the folder has changed, and at files that are not ready: the first calls of a
/// program are to be seen as soon as later ones.
const GLANCE: Duration = Duration::from_millis(20);

/// The files of a session.
pub(super) struct Feed {
    folders: Vec<Folder>,
    /// Files that have been named or found.
    known: BTreeSet<PathBuf>,
    /// Those of them that have no header yet.
    waiting: Vec<PathBuf>,
    files: Vec<Open>,
    /// Which files of the trace are texts.
    texts: BTreeSet<usize>,
    /// Files that could not be read, in a line each.
    failures: Vec<String>,
    boot: Boot,
    looked: Option<Instant>,
    glanced: Option<Instant>,
    next: usize,
}

/// A run's folder.
struct Folder {
    path: PathBuf,
    /// When something was last made in it. Not exact, and late over a network: a hint only.
    changed: Option<SystemTime>,
}

/// A file that is being read.
struct Open {
    reader: NativeReader,
    /// Everything there was has been read once.
    caught_up: bool,
    /// When it was last seen to grow after that.
    last_growth: Option<Instant>,
    alive: bool,
    life: Life,
    failed: bool,
    /// Not a file that a process writes: it says itself whether that was killed.
    text: bool,
}

/// What a turn of reading did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    /// Calls added.
    pub calls: usize,
    /// There is more to read at once.
    pub more: bool,
}

impl Feed {
    /// The files at these paths; a folder stands for all traces in it, those to come included.
    ///
    /// # Errors
    /// When a path is not there.
    pub(super) fn new(paths: &[PathBuf]) -> Result<Self, ParseError> {
        let mut feed = Self {
            folders: Vec::new(),
            known: BTreeSet::new(),
            waiting: Vec::new(),
            files: Vec::new(),
            texts: BTreeSet::new(),
            failures: Vec::new(),
            boot: Boot::current(),
            looked: None,
            glanced: None,
            next: 0,
        };
        for path in paths {
            let data = std::fs::metadata(path).map_err(|source| cannot_read(path, source))?;
            if data.is_dir() {
                feed.folders.push(Folder { path: path.clone(), changed: None });
            } else if feed.known.insert(path.clone()) {
                feed.waiting.push(path.clone());
            }
        }
        Ok(feed)
    }

    /// Looks for new files, and at the processes, if the last time is a while ago.
    pub(super) fn look(&mut self, trace: &mut Trace, now: Instant) {
        let due = |then: Option<Instant>, pause| then.is_none_or(|then| now.saturating_duration_since(then) >= pause);
        if !due(self.glanced, GLANCE) {
            return;
        }
        self.glanced = Some(now);
        let all = due(self.looked, LOOK);
        let changed = self.folders.iter_mut().fold(false, |changed, folder| changed | folder.has_changed());
        if all || changed {
            self.find();
        }
        for path in std::mem::take(&mut self.waiting) {
            match open(&path, trace) {
                Ok(Opened::Native(reader)) => self.files.push(Open::new(*reader, false)),
                Ok(Opened::Text(readers)) => {
                    self.texts.extend(readers.iter().map(NativeReader::file));
                    self.files.extend(readers.into_iter().map(|reader| Open::new(reader, true)));
                }
                Ok(Opened::Nothing) => self.waiting.push(path),
                Err(error) => self.failures.push(error.to_string()),
            }
        }
        if all {
            self.looked = Some(now);
            for file in &mut self.files {
                file.look(&self.boot, trace, now);
            }
        }
    }

    fn find(&mut self) {
        for folder in &self.folders {
            // A folder that cannot be read now may be later; its files that are open stay.
            let Ok(entries) = std::fs::read_dir(&folder.path) else { continue };
            let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
            let traces = paths.filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
            let mut fresh: Vec<PathBuf> = traces.filter(|path| !self.known.contains(path)).collect();
            fresh.sort();
            self.known.extend(fresh.iter().cloned());
            self.waiting.extend(fresh);
        }
    }

    /// Reads on until `until`.
    pub(super) fn read(&mut self, trace: &mut Trace, until: Instant) -> Read {
        let mut done = Read::default();
        let mut idle = 0;
        while idle < self.files.len() {
            self.next = (self.next + 1) % self.files.len();
            let Some(file) = self.files.get_mut(self.next).filter(|file| !file.failed) else {
                idle += 1;
                continue;
            };
            match file.reader.poll(trace, TURN) {
                Ok(progress) => {
                    done.calls += progress.events;
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
        done
    }

    /// Bytes read and bytes there are; `None` once everything has been read.
    pub(super) fn opening(&self) -> Option<(u64, u64)> {
        if self.files.iter().all(|file| file.caught_up) {
            return None;
        }
        let shares = self.files.iter().map(|file| file.reader.share());
        Some(shares.fold((0, 0), |(read, all), share| (read + share.0, all + share.1)))
    }

    /// Whether any process may still add to the trace.
    pub(super) fn live(&self) -> bool {
        self.files.iter().any(|file| file.alive)
    }

    /// Whether files may still grow although no process is known to run: they are looked at now and then.
    pub(super) fn may_grow(&self) -> bool {
        !self.folders.is_empty() || !self.waiting.is_empty() || self.files.iter().any(|file| file.life != Life::Gone)
    }

    /// Whether a process is known to run.
    pub(super) fn is_alive(&self, process: ProcessId) -> bool {
        self.files.iter().any(|file| file.alive && file.reader.process() == process)
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

    /// Files that were named or found and have no header yet.
    pub(super) fn waiting(&self) -> &[PathBuf] {
        &self.waiting
    }
}

impl Folder {
    /// Whether anything was made in it since the last time.
    fn has_changed(&mut self) -> bool {
        let changed = std::fs::metadata(&self.path).and_then(|data| data.modified()).ok();
        std::mem::replace(&mut self.changed, changed) != changed
    }
}

impl Open {
    fn new(reader: NativeReader, text: bool) -> Self {
        let (alive, life) = if text { (false, Life::Gone) } else { (true, Life::Missing) };
        Self { reader, caught_up: false, last_growth: None, alive, life, failed: false, text }
    }

    fn look(&mut self, boot: &Boot, trace: &Trace, now: Instant) {
        let Some(process) = trace.process(self.reader.process()).filter(|_| !self.text) else { return };
        let over = !matches!(process.state, State::Recording | State::Killed);
        self.life = boot.life(process, trace.names.get(process.host));
        // A process whose recording has stopped may run on; it adds nothing.
        self.alive = !over && !self.failed && believed(self.life, self.last_growth, now);
        if over {
            self.life = Life::Gone;
        }
        // Of a process elsewhere nobody here knows how it ended.
        self.reader.set_process_gone(!self.alive && self.life != Life::Elsewhere);
    }
}

/// What a path turned out to be.
enum Opened {
    /// A native file.
    Native(Box<NativeReader>),
    /// A text, with a native form of each of its processes.
    Text(Vec<NativeReader>),
    /// Nothing is there yet.
    Nothing,
}

fn open(path: &Path, trace: &mut Trace) -> Result<Opened, ParseError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| cannot_read(path, source))?;
    let bytes: Arc<dyn Bytes> = Arc::new(FileBytes(file));
    match sniff(&*bytes, &name)? {
        Format::Nothing => return Ok(Opened::Nothing),
        Format::Text => return open_text(&*bytes, &name, trace).map(Opened::Text),
        Format::Native => {}
    }
    match NativeReader::open(bytes, &name, trace) {
        Ok(reader) => Ok(Opened::Native(Box::new(reader))),
        Err(error) if error.may_come() => Ok(Opened::Nothing),
        Err(error) => Err(error),
    }
}

fn open_text(bytes: &dyn Bytes, name: &str, trace: &mut Trace) -> Result<Vec<NativeReader>, ParseError> {
    let import = text::import(bytes, name)?;
    let mut readers = Vec::new();
    for (native, killed) in import.files {
        let mut reader = NativeReader::open(Arc::new(native), name, trace)?;
        reader.set_process_gone(killed);
        readers.push(reader);
    }
    if let Some(file) = readers.first().map(NativeReader::file) {
        for bad in import.bad {
            trace.add_damage(file, bad.line, bad.why);
        }
        trace.more_damage += import.more_bad;
    }
    Ok(readers)
}

fn cannot_read(path: &Path, source: io::Error) -> ParseError {
    ParseError::Io { file: path.display().to_string(), offset: 0, source }
}

/// A file, read where it is asked for.
struct FileBytes(File);

impl Bytes for FileBytes {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}
