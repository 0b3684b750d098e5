//! `umtui report`: the numbers of recordings.

use std::io::Write as _;

use super::arguments::{Report, ReportFormat};
use super::progress::Progress;
use crate::report;
use crate::session::{Headway, Loaded, Stage};

/// Prints the report.
///
/// # Errors
/// If nothing can be read, or stdout cannot be written.
pub fn run(arguments: &Report) -> anyhow::Result<u8> {
    let lens = super::lens::lens(&arguments.seen)?;
    let progress = Progress::begin();
    let mut loaded = Loaded::load_telling(&arguments.paths, &mut |headway| progress.tell(headway))?;
    super::lens::look_through(&mut loaded, &lens, &progress)?;
    progress.tell(Headway { stage: Stage::Summing, share: None, events: 0 });
    let report = report::Report::with(&mut loaded, &arguments.links.options());
    let text = match arguments.format {
        ReportFormat::Text => report::text(&report),
        ReportFormat::Json => report::json(&report),
    };
    drop(progress);
    match std::io::stdout().write_all(text.as_bytes()) {
        // `umtui report | head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    Ok(0)
}
