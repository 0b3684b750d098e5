//! Opens what has to be read into native files first.

use super::imported::{Imported, Input, Progress, Spool, Target};
use super::sniff::{Format, sniff};
use super::unpack::{Packing, unpack};
use super::{ParseError, chrome, nvprof, rmm, torch};
use crate::trace::Bytes;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, PoisonError};

/// Bytes by which a format is known.
const HEAD: usize = 64 * 1024;
/// Layers of compression that are taken off.
const LAYERS: u32 = 3;

/// What came of an input.
#[derive(Clone)]
pub enum Import {
    /// Native files.
    Files(Imported),
    /// It was only packed: this is what was in it, and what is wrong with it, if anything.
    Unpacked(Arc<dyn Bytes>, Option<String>),
}

/// Reads `bytes`, called `name`, which are of `format`.
///
/// # Errors
/// When they cannot be read, are not of the format, temporary files cannot be written, or `progress` was asked to stop.
pub fn import(
    bytes: Arc<dyn Bytes>,
    format: Format,
    name: &str,
    spool: &Arc<Spool>,
    progress: &Arc<Progress>,
) -> Result<Import, ParseError> {
    let io = |cause| ParseError::Io { file: name.to_owned(), offset: 0, cause };
    let input = Input::new(bytes.clone(), progress.clone()).map_err(io)?;
    let packing = match format {
        Format::Gzip => Packing::Gzip,
        Format::Zstd => Packing::Zstd,
        Format::Sqlite | Format::NsightReport => {
            let target = Target::new(name, "nsys", spool.clone(), progress.clone());
            return nsight(&*bytes, format, name, target).map(Import::Files);
        }
        _ => return document(input, format, name, spool, progress).map(Import::Files),
    };
    let (mut packed, mut broken) = unpack(input, packing).map_err(io)?;
    for _ in 0..LAYERS {
        let mut head = Vec::new();
        packed.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(io)?;
        let inner = sniff(&head, name)?;
        let all = Cursor::new(head).chain(packed);
        let why = move || broken.lock().unwrap_or_else(PoisonError::into_inner).clone().map(|why| broken_words(&why));
        match inner {
            Format::Gzip | Format::Zstd => {
                let packing = if inner == Format::Gzip { Packing::Gzip } else { Packing::Zstd };
                (packed, broken) = unpack(all, packing).map_err(io)?;
            }
            Format::Json | Format::Pickle | Format::Nvprof | Format::Rmm => {
                let mut imported = document(all, inner, name, spool, progress)?;
                imported.lost.extend(why().map(|why| (0, why)));
                return Ok(Import::Files(imported));
            }
            _ => {
                let (mut file, bytes) = spool().map_err(io)?;
                let mut all = all;
                copy(&mut all, &mut file).map_err(io)?;
                return Ok(Import::Unpacked(bytes, why()));
            }
        }
    }
    Err(ParseError::Format { file: name.to_owned(), what: "packed more than three times; unpack it first".to_owned() })
}

fn broken_words(why: &str) -> String {
    format!("the compressed data is cut off or damaged, what came before is here ({why})")
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut block = vec![0; 1 << 18];
    loop {
        match from.read(&mut block)? {
            0 => return Ok(()),
            count => to.write_all(block.get(..count).unwrap_or(&[]))?,
        }
    }
}

/// A format that is read from its beginning to its end.
fn document(
    input: impl Read,
    format: Format,
    name: &str,
    spool: &Arc<Spool>,
    progress: &Arc<Progress>,
) -> Result<Imported, ParseError> {
    let target = |format| Target::new(name, format, spool.clone(), progress.clone());
    match format {
        Format::Json => chrome::import(input, name, target("chrome")),
        Format::Nvprof => nvprof::import(input, name, target("nvprof")),
        Format::Rmm => rmm::import(input, name, target("rmm")),
        Format::Pickle => torch::import(input, name, target("torch")),
        _ => Err(ParseError::Format { file: name.to_owned(), what: "not a format that is imported".to_owned() }),
    }
}

/// A database, or a report of which one is made.
#[cfg(feature = "sqlite")]
fn nsight(bytes: &dyn Bytes, format: Format, name: &str, target: Target) -> Result<Imported, ParseError> {
    if format == Format::Sqlite {
        return super::nsys::import(bytes, name, target);
    }
    let Some(path) = bytes.named_file() else {
        let what = "a report of Nsight Systems, which has to be a file of its own".to_owned();
        return Err(ParseError::Format { file: name.to_owned(), what });
    };
    super::nsys::convert(&path, name, target)
}

#[cfg(not(feature = "sqlite"))]
fn nsight(_: &dyn Bytes, _: Format, name: &str, _: Target) -> Result<Imported, ParseError> {
    let what = "this umtui was built without SQLite; build it with the feature `sqlite`".to_owned();
    Err(ParseError::Format { file: name.to_owned(), what })
}
