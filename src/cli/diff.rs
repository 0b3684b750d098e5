//! `umtui diff`: what two recordings, or two moments of one, differ in.

use std::io::Write as _;
use std::path::Path;

use super::arguments::{Compared, Diff, ReportFormat};
use super::lens::{doubts, lens, look_through};
use super::progress::Progress;
use crate::lens::{Lens, Moment};
use crate::report::difference::{Difference, Figure, Side, text};
use crate::session::safe::safe;
use crate::session::{Headway, Loaded, Stage};

/// Exit status if a check has found a regression.
const REGRESSION: u8 = 1;

/// Prints the difference, and checks what was asked for.
///
/// # Errors
/// If something cannot be read, there is no such moment, stdout cannot be written, or a check cannot tell.
pub fn run(arguments: &Diff) -> anyhow::Result<u8> {
    let lens = lens(&arguments.seen)?;
    let mut figures: Vec<Figure> = arguments.regression_of.iter().map(|&figure| figure.into()).collect();
    if figures.is_empty() {
        figures.push(Figure::Memory);
    }
    let whole = arguments.regression_of.iter().find(|&&figure| figure != Compared::Memory);
    if let (None, Some(figure)) = (&arguments.after, whole) {
        anyhow::bail!("--regression-of {}: that is compared between two recordings; name both", figure.word());
    }
    let progress = Progress::begin();
    doubts(&lens, &progress);
    let mut difference = match (&arguments.after, &arguments.from) {
        (Some(after), _) => {
            let moments = moments(arguments);
            let before = side(&arguments.before, &lens, &moments[0], &progress)?;
            Difference::of_traces(before, side(after, &lens, &moments[1], &progress)?)
        }
        (None, Some(from)) => {
            let mut loaded = load(&arguments.before, &lens, &progress)?;
            let to = arguments.to.as_ref().unwrap_or(&Moment::End);
            Difference::of_moments(&mut loaded, &arguments.before.display().to_string(), from, to)?
        }
        (None, None) => anyhow::bail!(
            "one recording alone is compared at two moments: say --from, and --to unless it is the end, or name a second recording"
        ),
    };
    if let Some(threshold) = arguments.fail_on_regression {
        difference.check(&figures, threshold);
    }
    drop(progress);
    let text = match arguments.format {
        ReportFormat::Text => text(&difference),
        ReportFormat::Json => difference.json(),
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        // `umtui diff | head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    if difference.regression == Some(true) {
        return Ok(REGRESSION);
    }
    match difference.checks.iter().find(|check| check.regression.is_none()) {
        Some(check) => anyhow::bail!("--fail-on-regression cannot tell: {} is not recorded in both", safe(&check.what)),
        None => Ok(0),
    }
}

/// Moments of both recordings that are compared: one of each if any was named, else the peak and the end.
fn moments(arguments: &Diff) -> [Vec<Moment>; 2] {
    match (&arguments.from, &arguments.to) {
        (None, None) => [(); 2].map(|()| vec![Moment::Peak, Moment::End]),
        (Some(one), None) | (None, Some(one)) => [(); 2].map(|()| vec![one.clone()]),
        (Some(from), Some(to)) => [from, to].map(|moment| vec![moment.clone()]),
    }
}

fn load(path: &Path, lens: &(Lens, String), progress: &Progress) -> anyhow::Result<Loaded> {
    let mut loaded = Loaded::load_telling(&[path.to_owned()], &mut |headway| progress.tell(headway))?;
    look_through(&mut loaded, lens, progress)?;
    progress.tell(Headway { stage: Stage::Summing, share: None, events: 0 });
    Ok(loaded)
}

fn side(path: &Path, lens: &(Lens, String), moments: &[Moment], progress: &Progress) -> anyhow::Result<Side> {
    let mut loaded = load(path, lens, progress)?;
    Ok(Side::of(&mut loaded, &path.display().to_string(), moments)?)
}
