//! `umtui completions`.

use clap::CommandFactory as _;

use super::arguments::{Arguments, Completions};

/// Prints completions for a shell.
///
/// # Errors
/// None so far.
pub fn run(arguments: &Completions) -> anyhow::Result<u8> {
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "umtui", &mut std::io::stdout());
    Ok(0)
}
