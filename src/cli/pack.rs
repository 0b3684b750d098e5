//! `umtui pack`: recordings and traces of other tools in one small file.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;

use anyhow::Context as _;

use super::arguments::Pack;
use super::progress::Progress;
use super::whole_file::WholeFile;
use crate::session::safe::safe;
use crate::session::{PackError, Packing, pack};

/// Packs.
///
/// # Errors
/// If nothing can be read, or the output not written.
pub fn run(arguments: &Pack) -> anyhow::Result<u8> {
    let progress = Progress::begin();
    let mut tell = |headway| progress.tell(headway);
    if arguments.output == Path::new("-") {
        anyhow::ensure!(!io::stdout().is_terminal(), "stdout is a terminal; name a file with -o");
        progress.hush_for_stdout();
        let packing = pack(&arguments.paths, BufWriter::new(io::stdout().lock()), &mut tell);
        return match packing {
            // A reader that has gone is no failure.
            Err(PackError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            other => other.map(|packing| said(&packing)).context("stdout"),
        };
    }
    let path = arguments.output.display();
    if let Some(folder) = arguments.paths.iter().find(|folder| holds(folder, &arguments.output)) {
        // Whoever opened the folder afterwards would see everything twice.
        anyhow::bail!("{path} would lie in {}, which is packed; put it beside", folder.display());
    }
    let whole = WholeFile::create(&arguments.output, &progress).with_context(|| format!("{path} cannot be made"))?;
    let packing = match pack(&arguments.paths, BufWriter::new(whole.file()), &mut tell) {
        Err(PackError::Io(error)) => return Err(error).with_context(|| format!("{path} cannot be written")),
        other => other?,
    };
    whole.keep().with_context(|| format!("{path} cannot be written"))?;
    drop(progress);
    Ok(said(&packing))
}

/// Whether a path is a folder in which the output lies.
fn holds(folder: &Path, output: &Path) -> bool {
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(folder), Ok(parent)) = (folder.canonicalize(), parent.canonicalize()) else { return false };
    folder.is_dir() && folder == parent
}

/// Says what is not in the file.
fn said(packing: &Packing) -> u8 {
    let mut lines: Vec<String> = packing.unreadable.iter().map(|why| safe(why).into_owned()).collect();
    if packing.recording > 0 {
        let (count, still) = if packing.recording == 1 {
            ("one process".to_owned(), "records")
        } else {
            (format!("{} processes", packing.recording), "record")
        };
        lines.push(format!("{count} still {still}; what comes from now on is not in the packed file"));
    }
    for line in lines {
        // A reader that has gone is not worth a second error.
        let _ = writeln!(io::stderr(), "umtui: {line}");
    }
    0
}
