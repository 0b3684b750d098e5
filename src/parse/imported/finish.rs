//! The end of an import: what was held is written, and what could not be known before is decided.

use super::actors::{Process, ProcessState};
use super::edges;
use super::identity::{Key, Numbers};
use super::lanes::{Lanes, Output};
use super::outcome::{Imported, ImportedFile};
use super::repairs::{Place, Repair};
use super::target::Target;
use super::work::Work;
use crate::parse::native::writer::{FileInfo, ModuleRecord};
use crate::trace::activity::evidence::What;
use crate::trace::site::NAMED;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use umtui_wire::activity as wire;
use umtui_wire::clock::ClockTriple;
use umtui_wire::header::STATE_ENDED;

/// Time zero belongs to a trace whose other times are no later than this, ns.
const NEAR_ZERO: u64 = 3600 * 1_000_000_000;
const NO_TIME: Repair = Repair::Mended("work of the GPU at time zero, long before all else: its time is not known");
/// Of what is said of ranges.
const CUT: Repair = Repair::Mended("what is said of ranges, cut after 4096 bytes");
const LEFT_OUT: Repair = Repair::Mended("what is said of ranges, left out since it is too many different texts");

impl Target {
    /// The input has ended: writes what was held.
    ///
    /// # Errors
    /// When a temporary file cannot be written or read, or the import was stopped.
    pub fn finish(mut self) -> io::Result<Imported> {
        self.place_zeros()?;
        let edges = std::mem::take(&mut self.edges).finish();
        edges::pair(edges, &mut self.slices, &*self.spool, &mut self.repairs)?;
        self.write_threads()?;
        if self.processes.iter().all(|state| state.binding.is_none()) {
            // An input that has nothing to show is a trace all the same.
            let first = if self.processes.is_empty() { self.nameless_process() } else { Process(0) };
            self.bound(first)?;
        }
        let files = self.write_processes()?;
        if self.texts.altered() > 0 {
            let repair = Repair::Mended("names that are too long or too many, cut or with # in place of digits");
            self.repairs.add(repair, self.texts.altered(), Place::Nowhere);
        }
        let (cut, left_out) = self.sayings.altered();
        for (repair, count) in [(CUT, cut), (LEFT_OUT, left_out)].into_iter().filter(|(_, count)| *count > 0) {
            self.repairs.add(repair, count, Place::Nowhere);
        }
        let (lost, mut notes) = self.repairs.lines();
        notes.append(&mut self.notes);
        if !self.unplaced.is_empty() {
            let kinds: Vec<String> = self.unplaced.iter().map(|(what, count)| format!("{what}: {count}")).collect();
            notes.push(format!("not shown, {}", kinds.join(", ")));
        }
        let lost = lost.into_iter().map(|(place, why)| (place, one_line(why))).collect();
        let notes = notes.into_iter().map(one_line).collect();
        Ok(Imported { format: self.format, files, lost, notes, names: self.sites.into_names() })
    }

    /// Work at time zero: there where everything else is near, without a time otherwise.
    fn place_zeros(&mut self) -> io::Result<()> {
        let near = self.span.0 <= NEAR_ZERO || self.span().is_none();
        for (process, device, correlation, mut work) in std::mem::take(&mut self.zeros) {
            if near {
                self.reach(0, work.times().1);
            } else {
                work.set_times(Work::UNKNOWN, 0);
                self.repairs.add(NO_TIME, 1, Place::Nowhere);
            }
            self.place(process, device, correlation, work)?;
        }
        Ok(())
    }

    fn write_threads(&mut self) -> io::Result<()> {
        let mut slices = std::mem::take(&mut self.slices).finish();
        let mut current: Option<(u32, usize, Lanes)> = None;
        let mut count = 0u32;
        while let Some(slice) = slices.take_next()? {
            count = count.wrapping_add(1);
            if count.is_multiple_of(1 << 16) {
                self.progress.check()?;
            }
            if current.as_ref().is_none_or(|(thread, ..)| *thread != slice.thread) {
                if let Some((_, at, lanes)) = current.take() {
                    self.at(at, |out| lanes.end(out))?;
                }
                let Some(state) = self.threads.get(slice.thread as usize) else { continue };
                let (key, name) = (state.key.clone(), state.name.clone());
                let Some(at) = self.bound(Process(state.process))? else { continue };
                let lanes = self.at(at, |out| {
                    let (number, label) = out.numbers.give(&key);
                    let name = if name.is_empty() { label } else { name };
                    Lanes::begin(number, name, slice.start, out).map(Some)
                })?;
                let Some(lanes) = lanes else { continue };
                current = Some((slice.thread, at, lanes));
            }
            if let Some((_, at, lanes)) = &mut current {
                self.at(*at, |out| lanes.take(&slice, out))?;
            }
        }
        if let Some((_, at, lanes)) = current {
            self.at(at, |out| lanes.end(out))?;
        }
        Ok(())
    }

    /// Writes to the file of a process.
    fn at<T: Default>(&mut self, at: usize, write: impl FnOnce(&mut Output<'_>) -> io::Result<T>) -> io::Result<T> {
        let Self { processes, texts, sayings: said, functions, repairs, together, .. } = self;
        let Some(ProcessState { binding: Some(binding), correlations, numbers, ids, .. }) = processes.get_mut(at)
        else {
            return Ok(T::default());
        };
        let together = *together;
        write(&mut Output { binding, texts, said, functions, correlations, numbers, repairs, ids, together })
    }

    fn write_processes(&mut self) -> io::Result<Vec<ImportedFile>> {
        let (first, last) = self.span().unwrap_or((0, 0));
        let moment = |ns: u64| ClockTriple {
            ticks: ns,
            monotonic_ns: ns,
            realtime_ns: self.wall_ns.map_or(0, |wall| u64::try_from(wall + i128::from(ns)).unwrap_or(0)),
        };
        let (start, end) = (moment(first), moment(last));
        let boot_id = own_boot(&self.name);
        let mut numbers = Numbers::default();
        let detail = self.texts.of(self.format.as_bytes());
        let mut files = Vec::new();
        for state in &mut self.processes {
            let Some(mut binding) = state.binding.take() else { continue };
            let key = state.key.take().unwrap_or(Key::None);
            let (pid, label) = numbers.give(&key);
            let program = if state.name.is_empty() { label } else { std::mem::take(&mut state.name) };
            *binding.writer.info_mut() = FileInfo {
                pid,
                parent_pid: state.parent,
                rank: state.rank,
                local_rank: state.local_rank,
                boot_id,
                start,
                last: end,
                state: STATE_ENDED,
                host: std::mem::take(&mut state.host),
                program,
                folder: std::mem::take(&mut state.folder),
                arguments: std::mem::take(&mut state.arguments),
                ..FileInfo::default()
            };
            for (path, start, end) in self.sites.modules() {
                let path = binding.writer.string(path.as_bytes())?;
                let module = ModuleRecord { path, start, end, file_offset: 0, ticks: first, build_id: NAMED.to_vec() };
                binding.writer.module(&module)?;
            }
            for (number, (name, device)) in &state.devices {
                let name = binding.writer.string(name.as_bytes())?;
                binding.writer.device(*number, name, device)?;
            }
            for what in What::ALL {
                let why = if self.never.contains(&what) {
                    wire::WHY_NOT_IN_FORMAT
                } else if self.seen >> what as u16 & 1 == 0 && EXPECTED.contains(&what) {
                    wire::WHY_NOT_IN_INPUT
                } else {
                    continue;
                };
                binding.statement(what as u16, why, detail, first, &self.texts)?;
            }
            files.push(ImportedFile { bytes: binding.finish()? });
        }
        Ok(files)
    }
}

/// Kinds whose absence is told.
const EXPECTED: [What; 3] = [What::Activity, What::Migrations, What::Faults];

/// What is told may have names of the input in it, which may have anything in them.
fn one_line(text: String) -> String {
    if text.contains(char::is_control) { text.replace(char::is_control, "_") } else { text }
}

/// Clocks of two inputs have nothing to do with each other, but for the time of day.
fn own_boot(name: &str) -> [u8; 16] {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let mut hasher = FxHasher::default();
    // An import may be packed, and opened beside one that another process has made.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    (name, std::process::id(), now).hash(&mut hasher);
    let id = u128::from(hasher.finish()) << 64 | u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    id.to_be_bytes()
}
