//! `umtui export`: recordings in other forms.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;

use super::arguments::{Export, ExportFormat};
use crate::export;
use crate::session::Loaded;

/// Writes the recording.
///
/// # Errors
/// If it cannot be read, or the output not written.
pub fn run(arguments: &Export) -> anyhow::Result<u8> {
    let loaded = Loaded::load_all(&arguments.paths)?;
    if arguments.output == Path::new("-") {
        return match write(&loaded, arguments.format, &mut BufWriter::new(io::stdout().lock())) {
            // `umtui export | head` is no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            other => other.map(|()| 0).context("stdout"),
        };
    }
    let path = arguments.output.display();
    let file = File::create(&arguments.output).with_context(|| format!("{path} cannot be made"))?;
    write(&loaded, arguments.format, &mut BufWriter::new(file)).with_context(|| format!("{path} cannot be written"))?;
    Ok(0)
}

fn write(loaded: &Loaded, format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Text => export::text::write(loaded.trace(), &loaded.bytes(), out)?,
    }
    out.flush()
}
