//! `umtui man`.

use clap::CommandFactory as _;

use super::arguments::Arguments;

/// Prints the manual page, all subcommands in one.
///
/// # Errors
/// If stdout cannot be written.
pub fn run() -> anyhow::Result<u8> {
    let mut out = std::io::stdout();
    let mut command = Arguments::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut out)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        clap_mangen::Man::new(subcommand.clone()).render_synopsis_section(&mut out)?;
        clap_mangen::Man::new(subcommand.clone()).render_options_section(&mut out)?;
        if subcommand.get_after_help().is_some() {
            clap_mangen::Man::new(subcommand.clone()).render_extra_section(&mut out)?;
        }
    }
    Ok(0)
}
