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
    let lens = super::lens::lens(&arguments.seen)?;
    let mut loaded = Loaded::load_all(&arguments.paths)?;
    super::lens::look_through(&mut loaded, &lens)?;
    let loaded = loaded;
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

/// The text form, with what it was seen through.
fn text(loaded: &Loaded, out: &mut dyn Write) -> io::Result<()> {
    let (Some(selected), Some(status)) = (loaded.selected(), loaded.lens_status()) else {
        return export::text::write(loaded.trace(), &loaded.bytes(), out);
    };
    let mut words = Vec::new();
    if loaded.lens().condition.is_some() {
        words.push(format!("filter {}", loaded.filter_text()));
    }
    if let Some(range) = &loaded.lens().range {
        words.push(format!("range {range}"));
    }
    words.push(format!("{} events, {} hidden; the calls around them are here, too", status.shown, status.hidden));
    let part = export::text::Part { selected, open: &loaded.open(), words: &words };
    export::text::write_some(loaded.trace(), &loaded.bytes(), Some(&part), out)
}

fn write(loaded: &Loaded, format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Text => text(loaded, out)?,
    }
    out.flush()
}
