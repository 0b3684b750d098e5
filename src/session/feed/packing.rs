//! Packing: the files that a session would read, written into one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Feed;
use crate::parse::ParseError;
use crate::parse::imported::SiteName;
use crate::parse::packed::layout::{ROLE_ABOUT, ROLE_NAMES};
use crate::parse::packed::{About, Member, Standing, Writer, take, take_first_page};
use crate::session::headway::{Headway, Stage};
use crate::symbols::{SIDE_FILE, Symbol, Symbols};
use crate::trace::{Damage, Trace};

/// Time between two looks at what is being imported.
const PAUSE: Duration = Duration::from_millis(10);

/// What was packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// Files, one for each process.
    pub files: usize,
    /// Bytes of them as native files.
    pub native_bytes: u64,
    /// Bytes written.
    pub packed_bytes: u64,
    /// Processes that still recorded: what they do from now on is not in it.
    pub recording: usize,
    /// Files that could not be read, in a line each. Not safe for the terminal.
    pub unreadable: Vec<String>,
}

/// Why nothing was packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A path is not there or cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// None of the files can be read, or there is none.
    #[error("{0}")]
    Nothing(String),
    /// Reading or writing failed on the way.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Packs files, and folders of runs with all files in them, as far as they are written.
///
/// # Errors
/// When nothing in any of the paths can be read, or `out` cannot be written.
pub fn pack(paths: &[PathBuf], out: impl Write, tell: &mut dyn FnMut(Headway)) -> Result<Packing, PackError> {
    let mut trace = Trace::default();
    let mut feed = Feed::new(paths)?;
    loop {
        feed.look(&mut trace, Instant::now());
        let (read, all) = feed.opening().unwrap_or_default();
        let share = (all > 0 && feed.imports()).then(|| thousandths(read, all));
        tell(Headway { stage: Stage::Reading, share, events: 0 });
        if !feed.imports() && !feed.streams() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    // How streams have ended is told at a look.
    feed.looked = None;
    feed.glanced = None;
    feed.look(&mut trace, Instant::now());
    if feed.files.is_empty() {
        let empty = || {
            let path = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
            format!("{path}: no trace here to pack")
        };
        return Err(PackError::Nothing(feed.failures.first().cloned().unwrap_or_else(empty)));
    }
    feed.note_losses(&mut trace);
    feed.pack(paths, &mut trace, out, tell)
}

fn thousandths(done: u64, all: u64) -> u16 {
    u16::try_from(u128::from(done.min(all)) * 1000 / u128::from(all.max(1))).unwrap_or(1000)
}

impl Feed {
    fn pack(
        &mut self,
        paths: &[PathBuf],
        trace: &mut Trace,
        out: impl Write,
        tell: &mut dyn FnMut(Headway),
    ) -> Result<Packing, PackError> {
        let mut writer = Writer::new(out)?;
        // Of what was packed before: what is damaged in it is said of it here, too.
        let lost = self.check_packed(trace)?;
        let inputs = self.describe(trace);
        let abouts: Vec<Vec<u8>> =
            inputs.iter().map(serde_json::to_vec).collect::<Result<_, _>>().map_err(io::Error::from)?;
        let put_abouts = |writer: &mut Writer<_>| {
            abouts.iter().zip(0..).try_for_each(|(about, number)| writer.put_text(ROLE_ABOUT, number, &**about))
        };
        put_abouts(&mut writer)?;
        let lengths: Vec<u64> = self.files.iter().map(|file| file.reader.bytes().len()).collect::<Result<_, _>>()?;
        let all: u64 = lengths.iter().sum();
        let mut done = 0;
        for ((file, length), number) in self.files.iter().zip(&lengths).zip(0..) {
            take(&**file.reader.bytes(), number, &mut writer, &mut |bytes| {
                let share = Some(thousandths(done + bytes, all));
                tell(Headway { stage: Stage::Writing, share, events: 0 });
            })?;
            done += length;
        }
        for (file, number) in self.files.iter().zip(0..) {
            take_first_page(&**file.reader.bytes(), number, &mut writer)?;
        }
        put_abouts(&mut writer)?;
        let names = self.names(paths)?;
        writer.put_text(ROLE_NAMES, 0, &*names)?;
        let (_, packed_bytes) = writer.finish()?;
        let unreadable = self.failures.iter().cloned().chain(lost).collect();
        let recording =
            inputs.iter().flat_map(|input| &input.files).filter(|file| file.standing == Standing::Alive).count();
        Ok(Packing { files: self.files.len(), native_bytes: all, packed_bytes, recording, unreadable })
    }

    /// What is to be said of each file besides what is in it; files of one input that follow one another together.
    fn describe(&self, trace: &mut Trace) -> Vec<About> {
        let mut inputs: Vec<About> = Vec::new();
        for (at, image) in (0..self.files.len()).zip(0..) {
            let Some(open) = self.files.get(at) else { continue };
            let file = open.reader.file();
            let imported = self.imported(file);
            let format = imported.unwrap_or(if self.is_text(file) { "text" } else { "native" });
            // Of a text lines are told; what else is missing of it once it is packed has a place in the image.
            let lines = self.is_text(file) && !self.is_packed(file);
            let damage = trace.damage.iter().filter(|damage| damage.file == file);
            let damage = damage.map(|Damage { offset, why, .. }| {
                (*offset, if lines { format!("line {offset}: {why}") } else { why.clone() })
            });
            let notes = trace.notes.iter().filter(|(of, _)| *of == file);
            let member = Member {
                image,
                name: trace.files.get(file).cloned().unwrap_or_default(),
                length: open.reader.bytes().len().unwrap_or(0),
                standing: self.standing(at, trace),
                missed: trace.process(open.reader.process()).map_or(0, |process| process.missed),
                damage: damage.collect(),
                notes: notes.map(|(_, note)| note.clone()).collect(),
            };
            match inputs.last_mut().filter(|last| last.format == format) {
                Some(last) => last.files.push(member),
                None => inputs.push(About {
                    format: format.to_owned(),
                    imported: imported.is_some(),
                    files: vec![member],
                    more_damage: 0,
                    several_clocks: trace.several_clocks,
                }),
            }
        }
        if let Some(first) = inputs.first_mut() {
            first.more_damage = trace.more_damage;
        }
        inputs
    }

    /// Names of call sites that are known without looking at any program: those of imports, of packed files, and what lies
    /// beside recordings.
    fn names(&mut self, paths: &[PathBuf]) -> io::Result<Vec<u8>> {
        let mut symbols = Symbols::default();
        for folder in beside(paths) {
            // Without the side file there are fewer names, nothing worse.
            let _ = symbols.read_side_file(&folder.join(SIDE_FILE));
        }
        for packed in std::mem::take(&mut self.packed_names) {
            for names in packed.names() {
                let _ = symbols.read_lines(io::BufReader::new(names));
            }
        }
        for SiteName { module, offset, function, file, line } in std::mem::take(&mut self.names) {
            symbols.tell(&module, offset, Symbol { function, file, line });
        }
        let mut lines = Vec::new();
        symbols.write_lines(&mut lines)?;
        Ok(lines)
    }
}

/// Folders in which names of call sites may lie beside what was opened.
pub(in crate::session) fn beside(paths: &[PathBuf]) -> Vec<&Path> {
    let mut folders: Vec<&Path> = Vec::new();
    // Beside a pipe lies nothing.
    for path in paths.iter().filter(|path| !crate::source::is_pipe(path)) {
        let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
        folders.extend(folder.filter(|folder| !folders.contains(folder)));
    }
    folders
}
