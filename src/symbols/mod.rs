//! Call sites to names, lazily, by build id and offset.
//!
//! A [`Symbols`] answers at once with what it knows, at worst `libfoo.so+0x1234`; looking into a module's debug
//! information can take seconds, so a thread does that, and [`Symbols::version`] grows when names have come. The
//! recorder writes what it found into a side file, so that a trace has names on machines without the program.

mod elf;
mod exports;
mod kernel;
mod side;
mod text;
mod worker;

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::trace::site::NAMED;
use crate::trace::{SiteId, Trace};
pub use elf::Resolver;
pub use exports::{Export, Exports, ExportsError};
pub use kernel::demangled;
pub use text::{LABEL_MAX, shorten};
use worker::Worker;

/// Name of the side file in a run's folder.
pub const SIDE_FILE: &str = "symbols.umsym";

/// Code, whatever process and run it was seen in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Path of the program or library, as the process saw it.
    pub path: Arc<str>,
    /// Build id; empty if it has none.
    pub build_id: Arc<[u8]>,
    /// Offset in the file of the instruction after the call.
    pub offset: u64,
}

/// What is known of a place.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Symbol {
    /// Function, demangled, in full.
    pub function: String,
    /// Source file; empty if not known.
    pub file: String,
    /// Line, from 1; 0 if not known.
    pub line: u32,
}

/// Names of the call sites of a trace.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Answers; `None` while there is none, or where there will be none.
    known: FxHashMap<Place, Option<Arc<Symbol>>>,
    places: FxHashMap<SiteId, Place>,
    from_side_files: Vec<PathBuf>,
    worker: Option<Worker>,
    /// Asked and not answered.
    waiting: usize,
    /// The places of each line of a function: code that was inlined is at several.
    lines: FxHashMap<u64, BTreeSet<Place>>,
    /// Lines that would be called alike.
    labels: FxHashMap<u64, BTreeSet<u64>>,
    /// Grows when a place is found to be of a line that has others, or no longer is.
    merged: u64,
    /// Sites up to here have been asked for by [`Symbols::ask_all`].
    asked: usize,
    version: u64,
}

impl Symbols {
    /// Names that a thread looks up.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn with_thread() -> io::Result<Self> {
        Ok(Self { worker: Some(Worker::start()?), ..Self::default() })
    }

    /// Changes when an answer has changed.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Takes names from the side file at `path`, once. Damaged lines are left out; their number is returned.
    ///
    /// # Errors
    /// When the file cannot be read. That it is not there is none.
    pub fn read_side_file(&mut self, path: &Path) -> io::Result<usize> {
        if self.from_side_files.iter().any(|known| known == path) {
            return Ok(0);
        }
        let (entries, damaged) = side::read(path)?;
        self.from_side_files.push(path.to_owned());
        for (place, symbol) in entries {
            self.learn(place, Some(symbol));
        }
        self.version += 1;
        Ok(damaged)
    }

    /// Takes names from lines as in a side file. Damaged lines are left out; their number is returned.
    ///
    /// # Errors
    /// When reading fails; what came before is taken.
    pub fn read_lines(&mut self, lines: impl io::BufRead) -> io::Result<usize> {
        let (entries, damaged) = side::read_lines(lines)?;
        for (place, symbol) in entries {
            self.learn(place, Some(symbol));
        }
        self.version += 1;
        Ok(damaged)
    }

    /// Takes the name of a place that an import knows by name ([`NAMED`]).
    pub fn tell(&mut self, module: &str, offset: u64, symbol: Symbol) {
        self.learn(Place { path: module.into(), build_id: NAMED.into(), offset }, Some(symbol));
        self.version += 1;
    }

    /// Writes all names that are known of the trace's call sites into the side file at `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_side_file(&self, path: &Path) -> io::Result<()> {
        side::write(path, &self.entries())
    }

    /// Writes all names that are known in lines as of a side file.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write_lines(&self, out: impl io::Write) -> io::Result<()> {
        side::write_lines(out, &self.entries())
    }

    /// All names that are known, in order.
    fn entries(&self) -> Vec<(&Place, &Symbol)> {
        let mut entries: Vec<_> =
            self.known.iter().filter_map(|(place, symbol)| Some((place, symbol.as_deref()?))).collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        entries
    }

    /// Takes answers that have come; true if there were any.
    pub fn poll(&mut self) -> bool {
        let Some(worker) = &self.worker else { return false };
        let before = self.version;
        let answers: Vec<_> = std::iter::from_fn(|| worker.answer()).collect();
        let has_ended = worker.has_ended();
        for (place, symbol) in answers {
            self.waiting = self.waiting.saturating_sub(1);
            if symbol.is_some() {
                self.version += 1;
            }
            self.learn(place, symbol);
        }
        if has_ended {
            self.waiting = 0;
        }
        before != self.version
    }

    /// Keeps what is known of a place.
    fn learn(&mut self, place: Place, symbol: Option<Symbol>) {
        let symbol = symbol.map(Arc::new);
        let before = self.known.insert(place.clone(), symbol.clone()).flatten();
        if before == symbol {
            return;
        }
        if let Some(symbol) = before
            && let Some(line) = line_of(&symbol)
            && let Some(places) = self.lines.get_mut(&line)
        {
            places.remove(&place);
            self.merged += u64::from(!places.is_empty());
            if places.is_empty() {
                self.lines.remove(&line);
                self.labels.get_mut(&label_of(&symbol)).map(|lines| lines.remove(&line));
            }
        }
        if let Some(symbol) = symbol
            && let Some(line) = line_of(&symbol)
        {
            let places = self.lines.entry(line).or_default();
            self.merged += u64::from(!places.is_empty());
            places.insert(place);
            self.labels.entry(label_of(&symbol)).or_default().insert(line);
        }
    }

    /// The place that stands for a site and for all others of the same line of a function; `None`: for itself alone.
    #[must_use]
    pub fn first_alike(&self, site: SiteId) -> Option<&Place> {
        let symbol = self.places.get(&site).and_then(|place| self.known.get(place)?.as_deref())?;
        self.lines.get(&line_of(symbol)?)?.first()
    }

    /// Changes when [`Symbols::first_alike`] has.
    #[must_use]
    pub const fn merged(&self) -> u64 {
        self.merged
    }

    /// Lines of other files or functions that would be called like this one.
    fn like(&self, symbol: &Symbol) -> Vec<&Symbol> {
        let lines = self.labels.get(&label_of(symbol)).filter(|lines| lines.len() > 1);
        let own = line_of(symbol);
        let others = lines.into_iter().flatten().filter(|line| Some(**line) != own);
        others.filter_map(|line| self.known.get(self.lines.get(line)?.first()?)?.as_deref()).collect()
    }

    /// What is known of a site now; asks the thread for what is not.
    pub fn get(&mut self, trace: &Trace, site: SiteId) -> Option<Arc<Symbol>> {
        let place = self.place(trace, site)?;
        if let Some(answer) = self.known.get(&place) {
            return answer.clone();
        }
        if let Some(worker) = &self.worker {
            if worker.ask(place.clone()) {
                self.waiting += 1;
            }
            self.known.insert(place, None);
        }
        None
    }

    /// Asks the thread for all call sites of the trace.
    pub fn ask_all(&mut self, trace: &Trace) {
        while self.asked < trace.sites.len() {
            if let Ok(site) = u32::try_from(self.asked).map(SiteId) {
                self.get(trace, site);
            }
            self.asked += 1;
        }
    }

    /// The call sites of another trace are asked for from now on. What is known of places remains.
    pub fn forget_sites(&mut self) {
        self.places.clear();
        self.asked = 0;
        self.version += 1;
    }

    /// Whether names are being looked up.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// Looks up all call sites of the trace here and now, until `go_on` says no.
    pub fn resolve_all(&mut self, trace: &Trace, mut go_on: impl FnMut() -> bool) {
        let resolver = Resolver::new();
        let sites = (0..trace.sites.len()).filter_map(|index| u32::try_from(index).ok()).map(SiteId);
        for site in sites {
            let Some(place) = self.place(trace, site) else { continue };
            if self.known.get(&place).is_some_and(Option::is_some) {
                continue;
            }
            if !go_on() {
                break;
            }
            let symbol = resolver.resolve(&place);
            self.learn(place, symbol);
        }
        self.version += 1;
    }

    /// The site as a row shows it: `solver.cu:131 step()`, `step() +0x1234` or `libfoo.so+0x1234`. Places of one line of
    /// a function are called alike, others are not: those have as much of path or parameters as tells them apart.
    pub fn label(&mut self, trace: &Trace, site: SiteId) -> String {
        let symbol = self.get(trace, site);
        let others = symbol.as_deref().map(|symbol| self.like(symbol)).unwrap_or_default();
        text::label(trace, site, symbol.as_deref(), &others)
    }

    fn place(&mut self, trace: &Trace, id: SiteId) -> Option<Place> {
        if let Some(place) = self.places.get(&id) {
            return Some(place.clone());
        }
        let site = trace.sites.get(id)?;
        let module = trace.sites.module(site.module?)?;
        let place = Place {
            path: trace.names.get(module.path).into(),
            build_id: module.build_id.as_slice().into(),
            offset: site.offset,
        };
        self.places.insert(id, place.clone());
        Some(place)
    }
}

/// What places of one line of a function have in common; `None` where the line is not known.
fn line_of(symbol: &Symbol) -> Option<u64> {
    let Symbol { function, file, line } = symbol;
    symbol.has_line().then(|| hash((function, file, line)))
}

/// What lines that would be called alike have in common.
fn label_of(symbol: &Symbol) -> u64 {
    hash(text::of_line(symbol, &[]))
}

fn hash(what: impl std::hash::Hash) -> u64 {
    std::hash::BuildHasher::hash_one(&rustc_hash::FxBuildHasher, what)
}

impl Symbol {
    /// Its line and function as a row shows them where nothing else is called alike; `None`: the line is not known.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        self.has_line().then(|| text::of_line(self, &[]))
    }

    /// Whether its line is known.
    const fn has_line(&self) -> bool {
        self.line > 0 && !self.file.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Module, ModuleId, ProcessId};

    /// A trace whose only call was made at this place.
    pub(super) fn trace_with_site(path: &str, build_id: &[u8], offset: u64) -> (Trace, SiteId) {
        let mut trace = Trace::default();
        let path = trace.names.intern(path);
        let module = Module {
            process: ProcessId(0),
            path,
            build_id: build_id.to_vec(),
            start: 0x7000_0000,
            end: 0x8000_0000,
            file_offset: 0,
            ticks: 0,
            identity: 0,
        };
        assert_eq!(trace.sites.add_module(module), Some(ModuleId(0)));
        let site = trace.sites.find(ProcessId(0), 0x7000_0000 + offset, 0).site;
        (trace, site)
    }

    #[test]
    fn without_names_there_is_the_module_and_the_offset() {
        let (mut trace, site) = trace_with_site("/usr/lib/libfoo.so", &[1, 2], 0x1234);
        let mut symbols = Symbols::default();
        assert_eq!(symbols.label(&trace, site), "libfoo.so+0x1234");
        let nowhere = trace.sites.find(ProcessId(1), 0x55, 0).site;
        assert_eq!(symbols.label(&trace, nowhere), "0x55");
    }

    #[test]
    fn a_side_file_gives_names_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(SIDE_FILE);
        let (trace, site) = trace_with_site("/usr/lib/libfoo.so", &[1, 2], 0x1234);
        let mut symbols = Symbols::default();
        let place = symbols.place(&trace, site).unwrap();
        let symbol = Symbol { function: "step(int)".into(), file: "/src/solver.cu".into(), line: 131 };
        symbols.known.insert(place, Some(Arc::new(symbol.clone())));
        symbols.write_side_file(&file).unwrap();

        let mut elsewhere = Symbols::default();
        assert_eq!(elsewhere.read_side_file(&file).unwrap(), 0);
        assert_eq!(elsewhere.get(&trace, site).as_deref(), Some(&symbol));
        assert_eq!(elsewhere.label(&trace, site), "solver.cu:131 step()");
        // Of another build nothing is believed.
        let (other, site) = trace_with_site("/usr/lib/libfoo.so", &[1, 3], 0x1234);
        let mut elsewhere = Symbols::default();
        elsewhere.read_side_file(&file).unwrap();
        assert_eq!(elsewhere.label(&other, site), "libfoo.so+0x1234");
    }

    #[test]
    fn places_of_one_line_stand_for_each_other() {
        let (mut trace, one) = trace_with_site("/usr/lib/libfoo.so", &[1], 0x2234);
        let other = trace.sites.find(ProcessId(0), 0x7000_0000 + 0x1234, 0).site;
        let mut symbols = Symbols::default();
        let symbol = |line| Symbol { function: "step(int)".into(), file: "/src/solver.cu".into(), line };
        let places = [one, other].map(|site| symbols.place(&trace, site).unwrap());
        assert_eq!(symbols.first_alike(one), None);
        symbols.learn(places[0].clone(), Some(symbol(131)));
        symbols.learn(places[0].clone(), Some(symbol(131)));
        assert_eq!((symbols.first_alike(one), symbols.merged()), (Some(&places[0]), 0));
        symbols.learn(places[1].clone(), Some(symbol(131)));
        // The first one, whichever was known first.
        assert_eq!([one, other].map(|site| symbols.first_alike(site)), [Some(&places[1]); 2]);
        assert_eq!(symbols.merged(), 1);
        assert_eq!(symbols.label(&trace, one), symbols.label(&trace, other));
        // Of another line after all.
        symbols.learn(places[1].clone(), Some(symbol(132)));
        assert_eq!([one, other].map(|site| symbols.first_alike(site)), [Some(&places[0]), Some(&places[1])]);
        assert_eq!(symbols.merged(), 2);
    }

    #[test]
    fn what_is_not_the_same_line_is_not_called_alike() {
        let (mut trace, first) = trace_with_site("/usr/lib/libfoo.so", &[1], 0);
        let known = [
            ("step(int)", "/src/a/util.h", 7),
            ("step(int)", "/src/b/util.h", 7),
            ("step(float)", "/src/b/util.h", 7),
            ("step(int)", "/src/b/util.h", 8),
        ];
        let mut symbols = Symbols::default();
        let mut labels = Vec::new();
        for (at, (function, file, line)) in (0u64..).zip(known) {
            let site = if at == 0 { first } else { trace.sites.find(ProcessId(0), 0x7000_0000 + at, 0).site };
            let place = symbols.place(&trace, site).unwrap();
            symbols.learn(place, Some(Symbol { function: function.into(), file: file.into(), line }));
            labels.push(site);
        }
        let labels: Vec<String> = labels.into_iter().map(|site| symbols.label(&trace, site)).collect();
        assert_eq!(labels, ["a/util.h:7 step()", "b/util.h:7 step(int)", "b/util.h:7 step(float)", "util.h:8 step()"]);
    }

    #[test]
    fn damaged_lines_are_counted_and_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(SIDE_FILE);
        let good = r#"{"path":"/a","build_id":"0102","offset":7,"function":"f","file":"","line":0}"#;
        std::fs::write(&file, format!("{good}\n{{\"path\":1}}\n\n\u{0}\n{}\n", &good[..20])).unwrap();
        let mut symbols = Symbols::default();
        assert_eq!(symbols.read_side_file(&file).unwrap(), 3);
        assert_eq!(symbols.known.len(), 1);
        assert!(Symbols::default().read_side_file(&folder.path().join("none")).is_ok());
    }
}
