//! `umtui doctor --coverage LIB`: how each name that a CUDA library exports is traced.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;
use umtui_wire::table::{self, FUNCTIONS, Function, LeftAlone};

use super::arguments::ReportFormat;
use super::doctor;
use crate::report;
use crate::session::safe::safe;
use crate::symbols::{Export, Exports};

/// How much of a call of a function is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Traced {
    /// Name, times, result, thread, call site and arguments.
    Arguments,
    /// The same without arguments: there are none, or none that the table records.
    Duration,
    /// Name and time of the call.
    Entry,
    /// Nothing.
    None,
}

impl Traced {
    const ALL: [Self; 4] = [Self::Arguments, Self::Duration, Self::Entry, Self::None];

    /// First word of the lines, and what it means.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Arguments => ("arguments", "name, duration, result and arguments"),
            Self::Duration => ("duration", "name, duration and result; no arguments to record"),
            Self::Entry => ("entry", "name and time of the call, no duration"),
            Self::None => ("none", "not traced"),
        }
    }
}

/// An exported name.
#[derive(Debug, Serialize)]
struct Name {
    name: String,
    traced: Traced,
    /// Roles of the recorded arguments.
    arguments: Vec<String>,
    /// Why there is no more.
    reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Counts {
    arguments: usize,
    duration: usize,
    entry: usize,
    none: usize,
}

#[derive(Debug, Serialize)]
struct Coverage {
    schema: u32,
    path: String,
    soname: Option<String>,
    counts: Counts,
    names: Vec<Name>,
    notes: Vec<&'static str>,
}

const NOT_PUBLIC: &str = "prototype not public";
const NOT_IN_TABLE: &str = "not known to this version: seen where the program looks it up (dlsym, cuGetProcAddress), not where it is linked to it";
const DATA: &str = "data, not a function";
const OTHER: &str = "not of CUDA's runtime or driver API";
const OTHER_MAJOR: &str = "known with another libcudart's arguments only";
const CONSTRUCTORS: &str = "runs in static constructors and destructors, also where CUDA is never used";
const LAUNCH: &str = "goes with a compiled kernel launch; the launch itself is traced";
const COMPILED: &str = "called by compiled code for its own ends";
const DEBUGGER: &str = "the debugger's own way in";
const EXPORT_TABLES: &str = "calls through the tables that cuGetExportTable hands out have no names and are not seen";

/// Prints the coverage of a library.
///
/// # Errors
/// If it is not found, cannot be read, or exports no function of CUDA's.
pub fn run(library: &Path, format: ReportFormat) -> anyhow::Result<u8> {
    let path = find(library)?;
    let shown = path.display().to_string();
    let shown = safe(&shown);
    let exports = Exports::read(&path).map_err(|error| {
        anyhow::anyhow!("{shown} {error}; name a libcudart.so or libcuda.so, as `ldd` or `umtui doctor` shows it")
    })?;
    let coverage = Coverage::of(&path, exports);
    if coverage.names.iter().all(|name| table::named(name.name.as_bytes()).is_empty()) {
        bail!("{shown} exports no function of CUDA's runtime or driver API; name a libcudart.so or libcuda.so");
    }
    let text = match format {
        ReportFormat::Text => coverage.text(),
        ReportFormat::Json => {
            let json = serde_json::to_string(&coverage).context("the coverage cannot be written as JSON")?;
            report::printable(&json) + "\n"
        }
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        // `| head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    Ok(0)
}

/// The file meant by a path, or by a name that is looked for where doctor looks.
fn find(library: &Path) -> anyhow::Result<PathBuf> {
    let name = library.to_str().filter(|name| !name.contains('/'));
    let Some(name) = name.filter(|_| !library.exists()) else { return Ok(library.to_owned()) };
    let found = doctor::libraries(name);
    let exact = found.iter().find(|path| Path::new(path).file_name() == library.file_name());
    let mut files: Vec<PathBuf> = found.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
    files.sort();
    files.dedup();
    match (exact, files.as_slice()) {
        (Some(path), _) => Ok(path.into()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => bail!(
            "{} is no file here and in none of the usual places; give its path, or its folder in LD_LIBRARY_PATH",
            safe(name)
        ),
        (None, _) => bail!("{} may be any of {}; name one of them", safe(name), safe(&found.join(", "))),
    }
}

impl Coverage {
    fn of(path: &Path, exports: Exports) -> Self {
        let file = path.file_name().map(|name| name.to_string_lossy());
        let major = exports.soname.as_deref().or(file.as_deref()).and_then(runtime_major).unwrap_or(u8::MAX);
        let mut names: Vec<Name> = exports.names.into_iter().map(|export| Name::of(export, major)).collect();
        names.sort_by(|one, other| (one.traced, &one.name).cmp(&(other.traced, &other.name)));
        let count = |traced| names.iter().filter(|name| name.traced == traced).count();
        let has_tables = names.iter().any(|name| name.name == "cuGetExportTable");
        Self {
            schema: 1,
            path: path.display().to_string(),
            soname: exports.soname,
            counts: Counts {
                arguments: count(Traced::Arguments),
                duration: count(Traced::Duration),
                entry: count(Traced::Entry),
                none: count(Traced::None),
            },
            names,
            notes: if has_tables { vec![EXPORT_TABLES] } else { Vec::new() },
        }
    }

    /// Counts first, then one name a line, which begins with how it is traced.
    fn text(&self) -> String {
        let mut out = String::new();
        let soname = self.soname.as_deref().unwrap_or("no soname");
        let head = format!("{}: {soname}, {} exported names", self.path, self.names.len());
        let _ = writeln!(out, "{}", safe(&head));
        let Counts { arguments, duration, entry, none } = self.counts;
        for (traced, count) in Traced::ALL.into_iter().zip([arguments, duration, entry, none]) {
            let (word, meaning) = traced.words();
            let _ = writeln!(out, "{count:>6}  {word:<9}  {meaning}");
        }
        for note in &self.notes {
            let _ = writeln!(out, "note: {note}");
        }
        let widest = self.names.iter().map(|name| name.name.len()).max().unwrap_or(0).min(48);
        for name in &self.names {
            let detail = name.reason.map_or_else(|| name.arguments.join(" "), str::to_owned);
            let line = format!("{:<9}  {:<widest$}  {detail}", name.traced.words().0, name.name);
            let _ = writeln!(out, "{}", safe(line.trim_end()));
        }
        out
    }
}

impl Name {
    fn of(export: Export, major: u8) -> Self {
        let (traced, reason, function) = how(&export, major);
        let arguments = function.map(roles).unwrap_or_default();
        Self { name: export.name, traced, arguments, reason }
    }
}

/// How a name is traced, why no better, and its function if arguments are recorded. The way the hook decides.
fn how(export: &Export, major: u8) -> (Traced, Option<&'static str>, Option<&'static Function>) {
    let none = |reason| (Traced::None, Some(reason), None);
    let name = export.name.as_str();
    if export.is_data {
        return none(DATA);
    }
    match table::left_alone(name) {
        Some(LeftAlone::Debugger) => return none(DEBUGGER),
        Some(LeftAlone::Compiled) if !name.starts_with("__cuda") => return none(OTHER),
        Some(LeftAlone::Compiled) => return none(compiled(name)),
        None => {}
    }
    let candidates = table::named(name.as_bytes());
    let found = if candidates.len() == 1 { Some(candidates.start) } else { table::find(name.as_bytes(), major) };
    match found.and_then(|index| FUNCTIONS.get(index)) {
        Some(function) if !function.known => (Traced::Entry, Some(NOT_PUBLIC), None),
        Some(function) if function.ops.is_empty() => (Traced::Duration, None, None),
        Some(function) => (Traced::Arguments, None, Some(function)),
        None if !candidates.is_empty() => none(OTHER_MAJOR),
        None if looks_like_cuda(name) => (Traced::Entry, Some(NOT_IN_TABLE), None),
        None => none(OTHER),
    }
}

fn compiled(name: &str) -> &'static str {
    match name {
        "__cudaPushCallConfiguration" | "__cudaPopCallConfiguration" | "__cudaGetKernel" => LAUNCH,
        "__cudaInitModule" => CONSTRUCTORS,
        _ if name.starts_with("__cudaRegister") || name.starts_with("__cudaUnregister") => CONSTRUCTORS,
        _ => COMPILED,
    }
}

/// `cuda` or `cu` and a capital letter: what the hook takes for a name of CUDA's.
fn looks_like_cuda(name: &str) -> bool {
    let rest = name.strip_prefix("cu").map(|rest| rest.strip_prefix("da").unwrap_or(rest));
    rest.is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_uppercase()))
}

/// Roles of the arguments that are recorded, from the function's definition text.
fn roles(function: &'static Function) -> Vec<String> {
    let inside = function.signature.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let all = inside.split_whitespace().filter_map(|argument| argument.split(':').next());
    let mut roles: Vec<String> = Vec::new();
    for role in all {
        // Which argument it is may depend on another one.
        if !roles.iter().any(|known| known == role) {
            roles.push(role.to_owned());
        }
    }
    roles
}

/// 12 of `libcudart.so.12`.
fn runtime_major(file: &str) -> Option<u8> {
    let (_, version) = file.strip_prefix("libcudart")?.split_once(".so.")?;
    version.split('.').next()?.parse().ok()
}
