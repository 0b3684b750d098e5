//! What lies at a path, and how it is read.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::parse::native::header;
use crate::parse::packed::Packed;
use crate::parse::sniff::{Format, sniff};
use crate::parse::{NativeReader, ParseError, text};
use crate::session::importing::Importing;
use crate::source::{FileBytes, Pipe};
use crate::trace::{Bytes, Trace};

/// What a path turned out to be.
pub(super) enum Opened {
    /// A native file.
    Native(Box<NativeReader>),
    /// A text, with a native form of each of its processes.
    Text(Vec<NativeReader>),
    /// A packed file.
    Packed(Arc<Packed>),
    /// A stream of frames that was kept in a file.
    Stream(Pipe),
    /// A foreign format, or packed.
    Import(Importing),
    /// Nothing is there yet.
    Nothing,
}

/// Opens the file at a path.
///
/// # Errors
/// When it cannot be read, or is nothing that can be.
pub(super) fn open(path: &Path, trace: &mut Trace) -> Result<Opened, ParseError> {
    let name = path.display().to_string();
    let bytes = Arc::new(FileBytes::open(path).map_err(|source| cannot_read(path, source))?);
    open_file(bytes, &name, trace)
}

/// Likewise an open file.
///
/// # Errors
/// As [`open`].
pub(super) fn open_file(file: Arc<FileBytes>, name: &str, trace: &mut Trace) -> Result<Opened, ParseError> {
    let format = sniff(&*file, name)?;
    if format == Format::Stream {
        let pipe = file.again().and_then(|file| Pipe::of_file(file, name));
        return pipe.map(Opened::Stream).map_err(|source| cannot_read(Path::new(name), source));
    }
    open_as(format, file, name, trace)
}

/// Likewise bytes that lie anywhere.
///
/// # Errors
/// As [`open`].
pub(super) fn open_bytes(bytes: Arc<dyn Bytes>, name: &str, trace: &mut Trace) -> Result<Opened, ParseError> {
    open_as(sniff(&*bytes, name)?, bytes, name, trace)
}

fn open_as(format: Format, bytes: Arc<dyn Bytes>, name: &str, trace: &mut Trace) -> Result<Opened, ParseError> {
    match format {
        _ if format.is_imported() => {
            let import = Importing::start(bytes, format, name);
            return import.map(Opened::Import).map_err(|source| cannot_read(Path::new(name), source));
        }
        Format::Nothing => return Ok(Opened::Nothing),
        Format::Packed => return Packed::open(bytes, name).map(Opened::Packed),
        Format::Text => return open_text(&*bytes, name, trace).map(Opened::Text),
        Format::Stream => {
            let what = "a packed stream of frames; unpack it into `umtui open -`".to_owned();
            return Err(ParseError::Format { file: name.to_owned(), what });
        }
        _ => {}
    }
    match NativeReader::open(bytes, name, trace) {
        Ok(reader) => Ok(Opened::Native(Box::new(reader))),
        Err(error) if error.may_come() => Ok(Opened::Nothing),
        Err(error) => Err(error),
    }
}

fn open_text(bytes: &dyn Bytes, name: &str, trace: &mut Trace) -> Result<Vec<NativeReader>, ParseError> {
    let import = text::import(bytes, name)?;
    if let (true, Some(bad)) = (import.files.is_empty(), import.bad.first()) {
        let what = format!("line {}: {}, and no process is defined", bad.line, bad.why);
        return Err(ParseError::Format { file: name.to_owned(), what });
    }
    let mut readers = Vec::new();
    if trace.processes.is_empty() {
        let boots = import.files.iter().filter_map(|(native, _)| boot(native, name)).collect::<BTreeSet<_>>();
        trace.several_clocks |= boots.len() > 1;
    }
    for (native, killed) in import.files {
        let mut reader = NativeReader::open(Arc::new(native), name, trace)?;
        reader.set_process_gone(killed);
        readers.push(reader);
    }
    if let Some(file) = readers.first().map(NativeReader::file) {
        for bad in import.bad {
            trace.add_damage(file, bad.line, bad.why);
        }
        trace.more_damage = trace.more_damage.saturating_add(import.more_bad);
    }
    Ok(readers)
}

/// Whether files of several clocks may be among these: what was not recorded by umtui itself has a clock of its own.
pub(super) fn several_clocks(paths: &[&Path]) -> bool {
    let mut known = None;
    paths.len() > 1
        && paths.iter().any(|path| {
            let name = path.display().to_string();
            let Ok(bytes) = FileBytes::open(path) else { return false };
            match sniff(&bytes, &name) {
                Ok(Format::Native) => {
                    let Some(boot) = boot(&bytes, &name) else { return false };
                    *known.get_or_insert(boot) != boot
                }
                Ok(Format::Nothing) | Err(_) => false,
                Ok(_) => true,
            }
        })
}

/// Which boot of which machine a native file is of.
fn boot(bytes: &dyn Bytes, name: &str) -> Option<[u8; 16]> {
    header::read(bytes, name).ok().map(|header| header.boot_id)
}

/// Whether the file at a path is one that has to be imported.
pub(super) fn is_foreign(path: &Path) -> bool {
    let format = FileBytes::open(path).ok().and_then(|bytes| sniff(&bytes, "").ok());
    format.is_some_and(Format::is_imported)
}

/// Whether these are the first bytes of something that can be read as a whole.
pub(super) fn is_known(first: &[u8]) -> bool {
    matches!(sniff(&first.to_vec(), ""), Ok(format) if !matches!(format, Format::Nothing | Format::Stream))
}

/// What is said of a file that cannot be read.
pub(super) fn cannot_read(path: &Path, source: io::Error) -> ParseError {
    ParseError::Io { file: path.display().to_string(), offset: 0, cause: source }
}
