//! The `umtui` program: parses its arguments and dispatches.

use std::process::ExitCode;

fn main() -> ExitCode {
    umtui::cli::main()
}
