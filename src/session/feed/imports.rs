//! Inputs of foreign formats, and what is seen of each: nothing, its beginning, or all of it.

use super::Feed;
use super::opening::open_bytes;
use super::reading::Open;
use crate::parse::import::Import;
use crate::parse::imported::Imported;
use crate::parse::{NativeReader, ParseError};
use crate::session::importing::Importing;
use crate::source::Found;
use crate::trace::Trace;

/// The inputs of a session that are imported, and what has to wait for them, in their order.
#[derive(Default)]
pub(super) struct Imports {
    inputs: Vec<Input>,
}

struct Input {
    name: String,
    stage: Stage,
    seen: Option<Seen>,
}

/// How far an input is.
enum Stage {
    /// It is being read, or has been.
    Import(Box<Importing>, Option<Result<Import, ParseError>>),
    /// Not imported, but it comes after what is.
    Path(Found),
    /// It has been told.
    Told,
}

/// What is to be seen of an input.
#[derive(Clone)]
pub(super) enum Seen {
    /// What is in its first bytes, and how many.
    Beginning(u64, Imported),
    /// All of it.
    Whole(Import),
}

/// Something that is new.
pub(super) enum New {
    /// More is to be seen of an import: what it is called, and what that is.
    Seen(String, Seen),
    /// A file that has waited for its turn.
    Path(Found),
}

/// What is new.
#[derive(Default)]
pub(super) struct News {
    pub(super) new: Vec<New>,
    /// Beginnings that were seen are so no longer: what was taken has to be taken anew, from [`Imports::all`].
    pub(super) anew: bool,
    /// Inputs that could not be read, in a line each.
    pub(super) failures: Vec<String>,
}

impl Imports {
    pub(super) fn add(&mut self, importing: Importing) {
        let name = importing.name.clone();
        self.inputs.push(Input { name, stage: Stage::Import(Box::new(importing), None), seen: None });
    }

    /// A file whose turn comes after all of these.
    pub(super) fn add_path(&mut self, found: Found) {
        self.inputs.push(Input { name: String::new(), stage: Stage::Path(found), seen: None });
    }

    /// Looks at what has been read since. Inputs are told in their order, but nothing waits for a large one if `early`:
    /// of those beginnings are to be seen, too.
    pub(super) fn look(&mut self, early: bool) -> News {
        let mut news = News::default();
        let mut waits = false;
        for input in &mut self.inputs {
            let (importing, result) = match &mut input.stage {
                Stage::Import(importing, result) => (importing, result),
                Stage::Path(_) if !waits => {
                    if let Stage::Path(found) = std::mem::replace(&mut input.stage, Stage::Told) {
                        news.new.push(New::Path(found));
                    }
                    continue;
                }
                Stage::Path(_) | Stage::Told => continue,
            };
            *result = result.take().or_else(|| importing.result());
            let seen = if result.is_none() {
                waits |= !(early && importing.is_large());
                match early.then(|| importing.beginning()).flatten() {
                    Some((length, beginning)) => Seen::Beginning(length, beginning),
                    None => continue,
                }
            } else if waits {
                continue;
            } else {
                let (named, result) = (importing.named, result.take());
                input.stage = Stage::Told;
                match result {
                    Some(Ok(whole)) => Seen::Whole(whole),
                    // A run's folder may hold anything.
                    Some(Err(ParseError::Format { .. })) if !named => continue,
                    Some(Err(error)) => {
                        news.failures.push(error.to_string());
                        continue;
                    }
                    None => continue,
                }
            };
            news.anew |= input.seen.is_some();
            news.new.push(New::Seen(input.name.clone(), seen.clone()));
            input.seen = Some(seen);
        }
        news
    }

    /// Everything that is to be seen of imports.
    pub(super) fn all(&self) -> Vec<(String, Seen)> {
        self.inputs.iter().filter_map(|input| Some((input.name.clone(), input.seen.clone()?))).collect()
    }

    /// What is still being read, or waits for that.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &Importing> {
        self.inputs.iter().filter_map(|input| match &input.stage {
            Stage::Import(importing, _) => Some(&**importing),
            _ => None,
        })
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
        for new in news.new {
            match new {
                // It will be, anew.
                New::Seen(..) if self.anew => {}
                New::Seen(name, seen) => self.see(&name, seen, trace),
                New::Path(found) => self.open(found, trace),
            }
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
