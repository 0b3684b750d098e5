//! `umtui filter`: check, convert, list and show filters.

use std::ffi::OsString;
use std::io::Write as _;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};

use crate::filter::{self, FilterError, Spelling};
use crate::session::safe::safe;

/// `umtui filter`.
#[derive(Args, Debug)]
pub struct Filter {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What `umtui filter` does.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Say whether files and expressions are filters, and what in them may not be meant
    Check {
        /// Files in XML, TOML or one line, names from `umtui filter list`, or expressions
        #[arg(required = true, value_name = "FILE|EXPR", allow_hyphen_values = true)]
        filters: Vec<OsString>,
    },
    /// Write a filter in another spelling
    Convert {
        /// A file, a name from `umtui filter list`, or an expression
        #[arg(value_name = "FILE|EXPR", allow_hyphen_values = true)]
        filter: OsString,
        /// Spelling to write
        #[arg(long, value_enum, default_value = "expr")]
        to: To,
    },
    /// List the filters that have a name: yours, and those that come with umtui
    List,
    /// Show a filter that has a name
    Show {
        /// One of `umtui filter list`
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// `<filter>`.
    Xml,
    /// Tables.
    Toml,
    /// One line.
    Expr,
}

/// A filter for a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// As the hook reads it.
    pub compiled: String,
}

/// Why nothing can be recorded by a filter.
#[derive(Debug, thiserror::Error)]
pub enum NotRecorded {
    /// It is none.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// It asks for what the hook cannot know.
    #[error("--filter: {0}")]
    Unknown(String),
}

/// The filter that stands for a recording on the command line.
pub(super) fn recorded(text: &str) -> Result<Recorded, NotRecorded> {
    let filter = filter::named_or_read(text.as_ref())?;
    filter::compiled(&filter).map(|compiled| Recorded { compiled }).map_err(NotRecorded::Unknown)
}

/// Does what was asked for; 1 if what was to be checked is no filter.
///
/// # Errors
/// If there is no such filter, or stdout cannot be written.
pub fn run(arguments: &Filter) -> anyhow::Result<u8> {
    match &arguments.action {
        Action::Check { filters } => check(filters),
        Action::Convert { filter, to } => {
            let spelling = match to {
                To::Xml => Spelling::Xml,
                To::Toml => Spelling::Toml,
                To::Expr => Spelling::Expression,
            };
            print(&filter::named_or_read(filter)?.write(spelling))
        }
        Action::List => list(),
        Action::Show { name } => show(name),
    }
}

fn print(text: &str) -> anyhow::Result<u8> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // A reader that has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        written => written.context("stdout cannot be written").map(|()| 0),
    }
}

fn check(filters: &[OsString]) -> anyhow::Result<u8> {
    let mut status = 0;
    let mut text = String::new();
    for given in filters {
        let name = safe(&given.to_string_lossy()).into_owned();
        match filter::named_or_read(given) {
            Ok(filter) => {
                text.push_str(&format!("{name}: {}", filter.write(Spelling::Expression)));
                for doubt in filter::doubts(&filter.condition) {
                    eprintln!("umtui: {name}: {doubt}");
                }
            }
            Err(error) => {
                say(&error);
                status = 1;
            }
        }
    }
    print(&text)?;
    Ok(status)
}

/// Prints what is wrong with a filter, and the line below it.
fn say(error: &FilterError) {
    eprintln!("umtui: {error}");
    eprint!("{}", error.excerpt());
}

fn list() -> anyhow::Result<u8> {
    let all = filter::listed();
    let width = all.iter().map(|listed| listed.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for listed in &all {
        let what = match &listed.filter {
            Ok(filter) if filter.description.is_empty() => filter.write(Spelling::Expression).trim_end().to_owned(),
            Ok(filter) => filter.description.clone(),
            Err(error) => format!("cannot be read: {error}"),
        };
        let origin = listed.path.as_ref().map_or_else(String::new, |path| format!("  ({})", path.display()));
        text.push_str(&format!("{:width$}  {what}{origin}\n", listed.name));
    }
    print(&text)
}

fn show(name: &str) -> anyhow::Result<u8> {
    let all = filter::listed();
    let Some(listed) = all.into_iter().find(|listed| listed.name == name) else {
        let all = filter::listed();
        let near = filter::fields::nearest(name, all.iter().map(|listed| listed.name.as_str()));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        anyhow::bail!("no filter is called {name}{hint}; `umtui filter list` says which there are");
    };
    let filter = listed.filter?;
    let origin = listed.path.map_or_else(|| "comes with umtui".to_owned(), |path| path.display().to_string());
    let description = if filter.description.is_empty() { "no description" } else { &filter.description };
    print(&format!("{name}: {description}\n{origin}\n\n{}", filter.write(Spelling::Expression)))
}
