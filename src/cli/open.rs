//! `umtui open`: explore recordings.

use std::sync::mpsc;

use super::arguments::Open;
use super::config;
use crate::session::Session;
use crate::ui::{self, Outcome};

/// Shows recordings.
///
/// # Errors
/// If one cannot be read, or there is no terminal.
pub fn run(arguments: &Open) -> anyhow::Result<u8> {
    let mut setup = config::setup(&arguments.screen)?;
    (setup.look, setup.filter_file) = super::lens::look(&arguments.seen)?;
    setup.links = arguments.links.options();
    setup.notice = setup.notice.or_else(|| super::lens::doubt(&setup.look));
    let (answers, received) = mpsc::channel();
    let session = Session::open(
        &arguments.paths,
        None,
        Box::new(move |answer| {
            let _ = answers.send(answer);
        }),
    )?;
    match ui::run(Box::new(session), received, setup)? {
        Outcome::Signalled(signal) => Ok(u8::try_from(128 + signal).unwrap_or(1)),
        Outcome::TerminalLost => Ok(128 + 1),
        Outcome::Quit | Outcome::Detached | Outcome::Terminated => Ok(0),
    }
}
