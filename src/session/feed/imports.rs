//! Inputs of foreign formats, and what is seen of each: nothing, its beginning, or all of it.

use super::Feed;
use super::opening::open_bytes;
use super::reading::Open;
use crate::parse::import::Import;
use crate::parse::imported::Imported;
use crate::parse::{NativeReader, ParseError};
use crate::session::importing::Importing;
use crate::trace::Trace;

/// The imports of a session, in the order of their inputs.
#[derive(Default)]
pub(super) struct Imports {
    inputs: Vec<Input>,
}

struct Input {
    /// Until it has been read.
    importing: Option<Importing>,
    name: String,
    seen: Option<Seen>,
}

/// What is to be seen of an input.
#[derive(Clone)]
pub(super) enum Seen {
    /// What is in its first bytes, and how many.
    Beginning(u64, Imported),
    /// All of it.
    Whole(Import),
}

/// What is new.
#[derive(Default)]
pub(super) struct News {
    /// More is to be seen: what each is called, and what it is.
    pub(super) more: Vec<(String, Seen)>,
    /// Beginnings that were seen are so no longer: what was taken has to be taken anew, from [`Imports::all`].
    pub(super) anew: bool,
    /// Inputs that could not be read, in a line each.
    pub(super) failures: Vec<String>,
}

impl Imports {
    pub(super) fn add(&mut self, importing: Importing) {
        self.inputs.push(Input { name: importing.name.clone(), importing: Some(importing), seen: None });
    }

    /// Looks at what has been read since. `early`: beginnings are to be seen, too.
    pub(super) fn look(&mut self, early: bool) -> News {
        let mut news = News::default();
        // Which is first must not hang on which was read faster: the first one's clock is the axis.
        let mut after = false;
        for input in &mut self.inputs {
            let Some(importing) = &mut input.importing else { continue };
            if after && input.seen.is_none() {
                continue;
            }
            let seen = match importing.result() {
                Some(Ok(whole)) => Seen::Whole(whole),
                Some(Err(error)) => {
                    // A run's folder may hold anything.
                    if importing.named || !matches!(error, ParseError::Format { .. }) {
                        news.failures.push(error.to_string());
                    }
                    input.importing = None;
                    continue;
                }
                None => match early.then(|| importing.beginning()).flatten() {
                    Some((length, beginning)) => Seen::Beginning(length, beginning),
                    None => {
                        after |= input.seen.is_none();
                        continue;
                    }
                },
            };
            if matches!(seen, Seen::Whole(_)) {
                input.importing = None;
            }
            news.anew |= input.seen.is_some();
            news.more.push((input.name.clone(), seen.clone()));
            input.seen = Some(seen);
        }
        news
    }

    /// Everything that is to be seen.
    pub(super) fn all(&self) -> Vec<(String, Seen)> {
        self.inputs.iter().filter_map(|input| Some((input.name.clone(), input.seen.clone()?))).collect()
    }

    /// What is still being read.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &Importing> {
        self.inputs.iter().filter_map(|input| input.importing.as_ref())
    }

    /// Of how many bytes at the beginnings of inputs everything is that is seen of these; zero if nothing is.
    pub(super) fn begun(&self) -> u64 {
        let lengths = self.inputs.iter().map(|input| match &input.seen {
            Some(Seen::Beginning(length, _)) => *length,
            _ => 0,
        });
        lengths.sum()
    }
}

impl Feed {
    /// Beginnings of large imports are to be seen before the rest has been read.
    pub(in crate::session) fn see_beginnings(&mut self) {
        self.early = true;
    }

    /// Takes what has been imported.
    pub(super) fn look_at_imports(&mut self, trace: &mut Trace) {
        // What is read anew must be there a second time: all of what came of imports, and nothing else is.
        let again = self.only_imports && self.pipes.is_empty() && self.waiting.is_empty();
        let news = self.imports.look(self.early && again && self.paths.folders().is_empty());
        self.failures.extend(news.failures);
        self.anew |= news.anew;
        if !self.anew {
            news.more.into_iter().for_each(|(name, seen)| self.see(&name, seen, trace));
        }
    }

    /// Whether everything that was read is to be read anew, by [`Feed::begin_anew`]. Asked once.
    pub(in crate::session) fn begins_anew(&mut self) -> bool {
        std::mem::take(&mut self.anew)
    }

    /// Takes everything that came of imports, into a trace with nothing in it.
    pub(in crate::session) fn begin_anew(&mut self, trace: &mut Trace) {
        self.files.clear();
        self.by_process.clear();
        self.texts.clear();
        self.imported.clear();
        self.packed.clear();
        trace.several_clocks = self.several_clocks;
        self.imports.all().into_iter().for_each(|(name, seen)| self.see(&name, seen, trace));
    }

    fn see(&mut self, name: &str, seen: Seen, trace: &mut Trace) {
        match seen {
            Seen::Beginning(_, imported) | Seen::Whole(Import::Files(imported)) => {
                self.take_imported(name, imported, trace);
            }
            Seen::Whole(Import::Unpacked(bytes, broken)) => {
                let file = trace.files.len();
                let opened = open_bytes(bytes, name, trace);
                self.take(opened, None, trace);
                if let (Some(why), true) = (broken, trace.files.len() > file) {
                    trace.add_damage(file, 0, why);
                }
            }
        }
    }

    /// Of how many bytes at the beginnings of inputs everything is that was read of these; `None` if all was read.
    pub(in crate::session) fn begun(&self) -> Option<u64> {
        Some(self.imports.begun()).filter(|&bytes| bytes > 0)
    }

    fn take_imported(&mut self, name: &str, imported: Imported, trace: &mut Trace) {
        let first = trace.files.len();
        for file in imported.files {
            match NativeReader::open_imported(file.bytes, name, trace) {
                Ok(reader) => {
                    trace.imported += 1;
                    self.imported.insert(reader.file(), imported.format);
                    self.add(Open::new(reader, None));
                }
                Err(error) => self.failures.push(error.to_string()),
            }
        }
        self.names.extend(imported.names);
        for (line, why) in imported.lost {
            trace.add_damage(first, line, why);
        }
        trace.notes.extend(imported.notes.into_iter().map(|note| (first, note)));
        trace.touch();
    }

    /// Whether anything is still being imported.
    pub(in crate::session) fn imports(&self) -> bool {
        self.imports.under_way().next().is_some()
    }

    /// What the first of them is called.
    pub(in crate::session) fn importing(&self) -> Option<&str> {
        self.imports.under_way().next().map(|import| import.name.as_str())
    }

    /// Format of a file of the trace, if it was imported.
    pub(in crate::session) fn imported(&self, file: usize) -> Option<&'static str> {
        self.imported.get(&file).copied()
    }
}
