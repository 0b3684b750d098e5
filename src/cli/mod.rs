//! The command line: one file for each subcommand, dispatched here.

mod arguments;
mod child;
mod completions;
mod config;
mod coverage;
mod demo;
mod diff;
mod doctor;
mod env;
mod export;
mod filter;
mod lens;
mod links;
mod man;
mod open;
mod pack;
mod probe;
mod progress;
mod record;
mod report;
mod run;
mod stream;
mod symbolize;
mod usage;
mod whole_file;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

pub use arguments::{Arguments, Command};

use crate::filter::FilterError;
use filter::NotRecorded;

/// What umtui is, in ten lines, for those who start it with nothing else.
const SHORT: &str = include_str!("short.txt");

/// Exit status for usage errors and unreadable input.
const UNUSABLE: u8 = 2;

/// Runs the program; the exit status is the recorded program's, where there is one.
#[must_use]
pub fn main() -> ExitCode {
    if std::env::args_os().len() < 2 {
        use std::io::Write as _;
        let _ = std::io::stdout().write_all(SHORT.as_bytes());
        return ExitCode::from(UNUSABLE);
    }
    let arguments = match Arguments::try_parse_from(with_subcommand(std::env::args_os())) {
        Ok(arguments) => arguments,
        Err(error) => match std::error::Error::source(&error).and_then(|why| why.downcast_ref::<NotRecorded>()) {
            // As `report` and `open` say it: without the whole filter, which may be long.
            Some(why @ NotRecorded::Filter(filter)) => return unusable(why, Some(filter)),
            Some(why) => return unusable(why, None),
            None if error.use_stderr() => return unusable(&usage::line(&error, std::env::args_os()), None),
            None => error.exit(),
        },
    };
    match dispatch(arguments) {
        Ok(status) => ExitCode::from(status),
        Err(error) => unusable(&format_args!("{error:#}"), error.downcast_ref()),
    }
}

/// Says in one line why nothing can be done, and shows the place if it is in a filter.
fn unusable(why: &dyn std::fmt::Display, filter: Option<&FilterError>) -> ExitCode {
    use std::io::Write as _;
    // A reader that has gone is not worth a second error.
    let _ = writeln!(std::io::stderr(), "umtui: {why}");
    if let Some(filter) = filter {
        let _ = write!(std::io::stderr(), "{}", filter.excerpt());
    }
    ExitCode::from(UNUSABLE)
}

fn dispatch(arguments: Arguments) -> anyhow::Result<u8> {
    match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Open(arguments) => open::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Filter(arguments) => filter::run(&arguments),
        Command::Stream(arguments) => stream::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Probe => probe::run(),
        Command::Env(arguments) => env::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Pack(arguments) => pack::run(&arguments),
        Command::Symbolize(arguments) => symbolize::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man => man::run(),
    }
}

/// `umtui [options] -- CMD` means `umtui run [options] -- CMD`.
fn with_subcommand(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = given.collect();
    let named = words.get(1).is_some_and(|first| {
        first.to_str().is_some_and(|first| {
            matches!(first, "--help" | "-h" | "--version" | "-V" | "help") || !first.starts_with('-')
        })
    });
    if !named && words.len() > 1 {
        words.insert(1, "run".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(given: &[&str]) -> Vec<String> {
        let given = given.iter().map(OsString::from);
        with_subcommand(given).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn alone_it_explains_itself_in_ten_lines_that_fit_and_are_true() {
        assert_eq!(SHORT.lines().count(), 10);
        assert!(SHORT.lines().all(|line| line.len() <= 104), "{SHORT}");
        let commands = <Arguments as clap::CommandFactory>::command();
        for line in SHORT.lines().filter_map(|line| line.strip_prefix("  umtui ")) {
            let word = line.split(' ').next().unwrap_or_default();
            assert!(word == "--" || commands.find_subcommand(word).is_some(), "{word}");
        }
    }

    #[test]
    fn a_command_after_two_dashes_is_run() {
        assert_eq!(words(&["umtui", "--", "./app"]), ["umtui", "run", "--", "./app"]);
        assert_eq!(words(&["umtui", "-o", "x", "--", "app"]), ["umtui", "run", "-o", "x", "--", "app"]);
        assert_eq!(words(&["umtui", "open", "x"]), ["umtui", "open", "x"]);
        assert_eq!(words(&["umtui", "--help"]), ["umtui", "--help"]);
        assert_eq!(words(&["umtui"]), ["umtui"]);
    }
}
