//! `umtui open`: explore recordings.

use std::sync::mpsc;

use anyhow::anyhow;

use super::arguments::{Color, Open, Screen};
use crate::session::Session;
use crate::ui::{self, Outcome};

/// Shows recordings.
///
/// # Errors
/// If one cannot be read, or there is no terminal.
pub fn run(arguments: &Open) -> anyhow::Result<u8> {
    let options = options(&arguments.screen)?;
    let (answers, received) = mpsc::channel();
    let session = Session::open(
        &arguments.paths,
        None,
        Box::new(move |answer| {
            let _ = answers.send(answer);
        }),
    )?;
    match ui::run(Box::new(session), received, options)? {
        Outcome::Signalled(signal) => Ok(u8::try_from(128 + signal).unwrap_or(1)),
        Outcome::TerminalLost => Ok(128 + 1),
        Outcome::Quit | Outcome::Detached | Outcome::Terminated => Ok(0),
    }
}

/// The screens' options.
pub(super) fn options(screen: &Screen) -> anyhow::Result<ui::Options> {
    let mut options = ui::Options::default();
    let color = match screen.color {
        Color::Auto => "auto",
        Color::Never => "none",
        Color::Sixteen => "16",
        Color::Indexed => "256",
        Color::Truecolor => "truecolor",
    };
    options.color = color.parse().map_err(|error| anyhow!("{error}"))?;
    if let Some(name) = &screen.screen {
        options.first = name.parse().map_err(|error| anyhow!("--screen {name}: {error}"))?;
    }
    Ok(options)
}
