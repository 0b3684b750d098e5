//! `umtui export`: recordings in other forms.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;

use super::arguments::{Export, ExportFormat};
use super::progress::Progress;
use super::whole_file::WholeFile;
use crate::export;
use crate::session::{Headway, Loaded, Stage};

/// Calls written before it is told again how far that is.
const TOLD: u64 = 1024;

/// Writes the recording.
///
/// # Errors
/// If it cannot be read, or the output not written.
pub fn run(arguments: &Export) -> anyhow::Result<u8> {
    let lens = super::lens::lens(&arguments.seen)?;
    let progress = Progress::begin();
    let mut loaded = Loaded::load_telling(&arguments.paths, &mut |headway| progress.tell(headway))?;
    super::lens::doubts(&lens, &progress);
    super::lens::look_through(&mut loaded, &lens, &progress)?;
    let loaded = loaded;
    if arguments.output == Path::new("-") {
        progress.hush_for_stdout();
        return match write(&loaded, arguments.format, &progress, &mut BufWriter::new(io::stdout().lock())) {
            // `umtui export | head` is no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            other => other.map(|()| 0).context("stdout"),
        };
    }
    let path = arguments.output.display();
    let whole = WholeFile::create(&arguments.output, &progress).with_context(|| format!("{path} cannot be made"))?;
    let written = write(&loaded, arguments.format, &progress, &mut BufWriter::new(whole.file()));
    written.and_then(|()| whole.keep()).with_context(|| format!("{path} cannot be written"))?;
    Ok(0)
}

/// The text form, with what it was seen through.
fn text(loaded: &Loaded, tell: &mut dyn FnMut(u64), out: &mut dyn Write) -> io::Result<()> {
    let (Some(selected), Some(status)) = (loaded.selected(), loaded.lens_status()) else {
        return export::text::write_some(loaded.trace(), &loaded.bytes(), None, tell, out);
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
    export::text::write_some(loaded.trace(), &loaded.bytes(), Some(&part), tell, out)
}

fn write(loaded: &Loaded, format: ExportFormat, progress: &Progress, out: &mut dyn Write) -> io::Result<()> {
    let trace = loaded.trace();
    let (start, calls) = (trace.start_ns(), trace.calls());
    let span = u128::from(trace.end_ns().saturating_sub(start).max(1));
    let mut steps = 0u64;
    let mut tell = |ns: u64| {
        if steps.is_multiple_of(TOLD) {
            let share = u128::from(ns.saturating_sub(start)) * 1000 / span;
            let share = Some(u16::try_from(share).unwrap_or(1000));
            progress.tell(Headway { stage: Stage::Writing, share, events: steps.min(calls) });
        }
        steps += 1;
    };
    match format {
        ExportFormat::Text => text(loaded, &mut tell, out)?,
    }
    out.flush()
}
