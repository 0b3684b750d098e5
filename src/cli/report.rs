//! `umtui report`: the numbers of recordings.

use std::io::{IsTerminal as _, Write as _};

use super::arguments::{Report, ReportFormat};
use super::progress::Progress;
use crate::report;
use crate::session::{Headway, Loaded, Stage};
use crate::ui::theme::Charset;

/// Prints the report.
///
/// # Errors
/// If nothing can be read, or stdout cannot be written.
pub fn run(arguments: &Report) -> anyhow::Result<u8> {
    let lens = super::lens::lens(&arguments.seen)?;
    let progress = Progress::begin();
    let mut loaded = Loaded::load_telling(&arguments.paths, &mut |headway| progress.tell(headway))?;
    super::lens::doubts(&lens, &progress);
    super::lens::look_through(&mut loaded, &lens, &progress)?;
    progress.tell(Headway { stage: Stage::Summing, share: None, events: 0 });
    let text = match (arguments.heatmap, arguments.format) {
        (Some(of), ReportFormat::Text) => report::heatmap(&mut loaded, of, look(arguments)),
        (Some(of), ReportFormat::Json) => report::heatmap_json(&mut loaded, of, (arguments.width, arguments.height)),
        (None, format) => {
            let mut report = report::Report::with(&mut loaded, &arguments.links.options());
            let path = arguments.paths.first().map(|path| path.display().to_string()).unwrap_or_default();
            report.snapshots = report::snapshots(&mut loaded, &path, &arguments.snapshot)?;
            Ok(match format {
                ReportFormat::Text => report::text(&report),
                ReportFormat::Json => report::json(&report),
            })
        }
    };
    let text = text.map_err(|why| anyhow::anyhow!("--heatmap: {why}"))?;
    drop(progress);
    match std::io::stdout().write_all(text.as_bytes()) {
        // `umtui report | head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    Ok(0)
}

/// Colours and shades on a terminal; in a pipe, and where no colour is wanted, what any program can read.
fn look(arguments: &Report) -> report::HeatLook {
    let variable = |name: &str| std::env::var(name).ok();
    let unset = |name: &str| variable(name).is_none_or(|value| value.is_empty());
    let colour = std::io::stdout().is_terminal() && unset("NO_COLOR");
    let unicode = colour && Charset::detect(variable) == Charset::Unicode;
    report::HeatLook { size: (arguments.width, arguments.height), colour, unicode }
}
