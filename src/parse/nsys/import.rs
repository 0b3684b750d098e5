//! An export into native files: which tables in which order, and what holds for all of them.

use super::about;
use super::calls::Calls;
use super::database::{Database, Row};
use super::kinds::Kinds;
use super::nvtx::Domains;
use super::rows;
use super::strings::Strings;
use crate::parse::ParseError;
use crate::parse::imported::{Imported, Key, Place, Process, Progress, Repair, Target, Text, Thread};
use crate::trace::Bytes;
use crate::trace::activity::evidence::What;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows between two looks at whether to stop.
const CHECK: u64 = 1 << 13;

/// Tables that an export of a trace has one of at least, whatever was recorded.
const MARKS: &[&str] = &["StringIds", "META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV"];

/// Reads a database into `target`; `name` is what errors call it. Where its bytes have no path (they came packed, or
/// through a pipe) they are copied into a temporary file, since SQLite opens files only.
///
/// # Errors
/// When it is no export of Nsight Systems, or cannot be read at all, or a temporary file cannot be written.
pub fn import(bytes: &dyn Bytes, name: &str, target: Target) -> Result<Imported, ParseError> {
    let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
    let length = bytes.len().map_err(io)?;
    target.progress().set_all(length);
    let database = match bytes.named_file() {
        Some(path) => Database::open(&path, name)?,
        None => {
            let copy = Copied::of(bytes, target.progress()).map_err(io)?;
            Database::open(&copy.0, name)?
        }
    };
    read(&database, name, target, length)
}

/// Reads what `nsys export` has written to `path`.
pub(super) fn import_file(path: &Path, name: &str, target: Target) -> Result<Imported, ParseError> {
    let database = Database::open(path, name)?;
    let length = std::fs::metadata(path).map_or(0, |file| file.len());
    target.progress().set_all(length);
    read(&database, name, target, length)
}

fn read(database: &Database, name: &str, target: Target, bytes: u64) -> Result<Imported, ParseError> {
    let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
    let known = rows::TABLES.iter().chain(MARKS).any(|table| database.has(table));
    if !known || database.has("StringTable") {
        return Err(ParseError::Format { file: name.to_owned(), what: stranger(database) });
    }
    let mut importer = Importer::new(database, target, bytes);
    if let Some(cut) = database.cut() {
        importer.lost(cut.to_owned());
    }
    importer.all().map_err(io)?;
    let lost = std::mem::take(&mut importer.damage);
    let mut imported = importer.target.finish().map_err(io)?;
    imported.lost.extend(lost);
    Ok(imported)
}

/// A copy under a name, for as long as it is being opened.
struct Copied(PathBuf);

impl Copied {
    fn of(bytes: &dyn Bytes, progress: &Progress) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(".umtui-{}-{number}.sqlite", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let copy = Self(path);
        let (mut block, mut offset) = (vec![0; 1 << 20], 0u64);
        loop {
            progress.check()?;
            let count = bytes.read_at(offset, &mut block)?;
            if count == 0 {
                return Ok(copy);
            }
            file.write_all(block.get(..count).unwrap_or(&[]))?;
            offset += count as u64;
        }
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // What was opened stays readable.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a database is that is none of Nsight Systems'.
fn stranger(database: &Database) -> String {
    if database.has("StringTable") {
        return "a database of nvprof; print it with `nvprof -i FILE --print-gpu-trace --csv --log-file OUT`, \
                and open what that writes"
            .to_owned();
    }
    let mut names = database.tables();
    let more = if names.len() > 5 { ", ..." } else { "" };
    names.truncate(5);
    let names: Vec<String> = names.iter().map(|name| name.escape_debug().take(40).collect()).collect();
    format!("an SQLite database, but no export of Nsight Systems: its tables are {}{more}", names.join(", "))
}

/// What is kept while an export is read.
pub(super) struct Importer<'a> {
    pub(super) database: &'a Database,
    pub(super) target: Target,
    pub(super) strings: Strings,
    pub(super) kinds: Kinds,
    pub(super) calls: Calls,
    pub(super) domains: Domains,
    texts: FxHashMap<i64, Text>,
    processes: FxHashMap<i64, Process>,
    threads: FxHashMap<i64, Thread>,
    /// Numbers of processes, of whichever machine.
    pids: FxHashSet<i64>,
    /// The process of the calls, while there is one only.
    only: Option<Process>,
    /// It was looked for.
    looked: bool,
    bytes: u64,
    rows: u64,
    all_rows: u64,
    /// Tables that could not be read to their ends.
    damage: Vec<(u64, String)>,
}

impl<'a> Importer<'a> {
    fn new(database: &'a Database, target: Target, bytes: u64) -> Self {
        let (strings, extent) = Strings::read(database);
        let mut importer = Self {
            database,
            target,
            strings,
            kinds: Kinds::read(database),
            calls: Calls::default(),
            domains: Domains::default(),
            texts: FxHashMap::default(),
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            pids: FxHashSet::default(),
            only: None,
            looked: false,
            bytes,
            rows: 0,
            all_rows: rows::TABLES.iter().map(|table| database.about_rows(table)).fold(1, u64::saturating_add),
            damage: Vec::new(),
        };
        importer.ended("StringIds", extent.rows, extent.why);
        if importer.strings.left_out() > 0 {
            let what = format!("{} names are more than there is room for", importer.strings.left_out());
            importer.damage.push((0, what));
        }
        importer
    }

    fn all(&mut self) -> io::Result<()> {
        // Neither is anywhere in an export.
        self.target.never(What::Pointers);
        about::read(self)?;
        self.read(Self::process_name)?;
        self.read(Self::thread_name)?;
        self.read(Self::usage)?;
        self.read(Self::pool)?;
        self.read(Self::frame)?;
        self.read_backtraces();
        self.read(Self::call)?;
        for _ in 0..self.calls.memory.pools_left() {
            self.target.unplaced("events of memory pools that no call is known of");
        }
        self.read(Self::kernel)?;
        self.read(Self::copy)?;
        self.read(Self::set)?;
        self.read(Self::sync)?;
        self.read(Self::event)?;
        self.read(Self::graph_run)?;
        self.read(Self::graph_event)?;
        self.read(Self::graph_node)?;
        self.read(Self::cpu_fault)?;
        self.read(Self::gpu_fault)?;
        self.read_domains()?;
        self.read(Self::range)?;
        self.devices();
        self.count_others();
        Ok(())
    }

    /// Hands over the rows of a table.
    pub(super) fn read<R: Row>(&mut self, take: impl Fn(&mut Self, &R, u64) -> io::Result<()>) -> io::Result<()> {
        let database = self.database;
        let mut result = Ok(());
        let mut number = 0;
        let extent = database.each::<R>(|row| {
            number += 1;
            self.rows = self.rows.saturating_add(1);
            if self.rows.is_multiple_of(CHECK) {
                result = self.tell();
            }
            if result.is_ok() {
                result = take(self, &row, number);
            }
            result.is_ok()
        });
        self.ended(R::TABLE, extent.rows, extent.why);
        result
    }

    fn tell(&self) -> io::Result<()> {
        let share = u128::from(self.bytes) * u128::from(self.rows.min(self.all_rows)) / u128::from(self.all_rows);
        self.target.progress().set_done(u64::try_from(share).unwrap_or(0));
        self.target.progress().check()
    }

    fn ended(&mut self, table: &str, rows: u64, why: Option<String>) {
        if let Some(why) = why {
            self.damage.push((rows, format!("{table}: {rows} rows could be read, then: {why}")));
        }
    }

    /// What `DIAGNOSTIC_EVENT` or another table says is missing.
    pub(super) fn lost(&mut self, what: String) {
        self.damage.push((0, what));
    }

    /// A name of `StringIds`.
    pub(super) fn text(&mut self, id: Option<i64>) -> Text {
        let Some(id) = id else { return Text::NONE };
        if let Some(&known) = self.texts.get(&id) {
            return known;
        }
        let text = self.strings.get(Some(id)).map_or(Text::NONE, |name| self.target.text(name));
        self.texts.insert(id, text);
        text
    }

    /// A time; what was before the session began was at its beginning.
    pub(super) fn time(&mut self, ns: i64, row: u64) -> u64 {
        u64::try_from(ns).unwrap_or_else(|_| {
            self.target.repair(Repair::Mended("times before the session began, set to its beginning"), Place::Row(row));
            0
        })
    }

    /// Start and end; `None` without a start, which is counted. An end that is missing or before the start is `None`.
    pub(super) fn times(&mut self, start: Option<i64>, end: Option<i64>, row: u64) -> Option<(u64, Option<u64>)> {
        let Some(start) = start else {
            self.target.repair(Repair::Lost("rows without a time"), Place::Row(row));
            return None;
        };
        let end = end.filter(|&end| end >= start);
        let start = self.time(start, row);
        Some((start, end.map(|end| u64::try_from(end).unwrap_or(0))))
    }

    /// The process that `globalPid` or `globalTid` names: HwID:8, VMID:8, PID:24, TID:24.
    pub(super) fn process(&mut self, global: Option<i64>) -> Process {
        let Some(global) = global else {
            // Older exports do not say whose work it is.
            if self.only.is_none() && self.processes.is_empty() {
                self.find_only();
            }
            return self.only.unwrap_or_else(|| self.target.process(&Key::None));
        };
        let place = global >> 24;
        if let Some(&known) = self.processes.get(&place) {
            return known;
        }
        let pid = place & 0xff_ffff;
        // Of several machines two processes may have one number.
        let key = if self.pids.insert(pid) {
            Key::Number(i128::from(pid))
        } else {
            Key::text(&format!("machine {:x}: {pid}", (place >> 24) & 0xffff))
        };
        let process = self.target.process(&key);
        self.processes.insert(place, process);
        process
    }

    /// Finds the process of the calls before they are read, if there is one only.
    fn find_only(&mut self) {
        if std::mem::replace(&mut self.looked, true) {
            return;
        }
        let (mut first, mut several) = (None, false);
        self.database.each::<rows::Call>(|row| {
            several |= row.thread.is_some_and(|thread| *first.get_or_insert(thread) >> 24 != thread >> 24);
            !several
        });
        if let Some(thread) = first.filter(|_| !several) {
            self.only = Some(self.process(Some(thread)));
        }
    }

    /// The thread that `globalTid` names.
    pub(super) fn thread(&mut self, global: Option<i64>) -> Thread {
        let known = global.and_then(|global| self.threads.get(&global).copied());
        if let Some(known) = known {
            return known;
        }
        let process = self.process(global);
        let key = global.map_or(Key::None, |global| Key::Number(i128::from(global & 0xff_ffff)));
        let thread = self.target.thread(process, &key);
        if let Some(global) = global {
            self.threads.insert(global, thread);
            let only = self.processes.len() == 1;
            self.only = only.then_some(process);
        }
        thread
    }

    /// The processes there are.
    pub(super) fn processes(&self) -> impl Iterator<Item = (i64, Process)> + '_ {
        self.processes.iter().map(|(&place, &process)| (place & 0xff_ffff, process))
    }

    fn process_name(&mut self, row: &rows::Process, _: u64) -> io::Result<()> {
        if let (Some(global), Some(name)) = (row.global, &row.name) {
            self.calls.names.insert(global >> 24, name.clone());
        }
        Ok(())
    }

    fn thread_name(&mut self, row: &rows::ThreadName, _: u64) -> io::Result<()> {
        if let (Some(global), Some(name)) = (row.global, row.name) {
            self.calls.thread_names.push((global, name));
        }
        Ok(())
    }

    /// Names the processes and threads that are there; of the many others of the machine nothing is shown.
    pub(super) fn name_them(&mut self) {
        let names = std::mem::take(&mut self.calls.names);
        for (place, name) in names {
            if let Some(&process) = self.processes.get(&place) {
                self.target.process_name(process, &name);
            }
        }
        for (global, name) in std::mem::take(&mut self.calls.thread_names) {
            if let (Some(&thread), Some(name)) = (self.threads.get(&global), self.strings.get(Some(name))) {
                self.target.thread_name(thread, name);
            }
        }
    }

    /// Says what is in the export that has no place in the model.
    fn count_others(&mut self) {
        self.name_them();
        const OTHERS: &[(&str, &str)] = &[
            ("CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE_AND_HOST_LAUNCH", "host nodes of graphs"),
            ("CUDA_HOST_CALLBACK", "host callbacks"),
            ("CUPTI_ACTIVITY_KIND_OVERHEAD", "overheads of CUPTI"),
            ("CUPTI_ACTIVITY_KIND_JIT", "just-in-time compilations"),
            ("PROFILER_OVERHEAD", "overheads of the profiler"),
            ("OSRT_API", "calls of the operating system"),
            ("CUDNN_EVENTS", "calls of cuDNN"),
            ("CUBLAS_EVENTS", "calls of cuBLAS"),
            ("MPI_P2P_EVENTS", "MPI messages"),
            ("MPI_COLLECTIVES_EVENTS", "MPI collectives"),
            ("GPU_METRICS", "metrics of the GPU"),
            ("SAMPLING_CALLCHAINS", "frames of samples"),
        ];
        let rows = |(table, words): &(&str, &str)| {
            let count = self.database.about_rows(table);
            (count > 0).then(|| format!("{words}: about {count}"))
        };
        let there: Vec<String> = OTHERS.iter().filter_map(rows).collect();
        if !there.is_empty() {
            self.target.note(format!("in the export and not shown: {}", there.join(", ")));
        }
        let known = |view: &&String| rows::TABLES.contains(&view.as_str());
        let views: Vec<&str> = self.database.views().iter().filter(known).map(String::as_str).collect();
        if !views.is_empty() {
            self.target.note(format!("views in place of tables, which are not read: {}", views.join(", ")));
        }
    }
}
