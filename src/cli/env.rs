//! `umtui env`: the variables for programs that somebody else starts.

use std::os::unix::ffi::OsStrExt as _;

use anyhow::Context as _;

use super::arguments::Env;
use super::record::MAX_BYTES;
use crate::forward::Target;
use crate::launch::{self, Environment};

/// Prints `export` lines for a shell.
///
/// # Errors
/// If the hook or the folder cannot be had.
pub fn run(arguments: &Env) -> anyhow::Result<u8> {
    let path = &arguments.output;
    if Target::of(path).is_some() {
        let what =
            "is no folder; variables alone cannot fill a pipe: use `umtui record -o`, or `umtui stream` on a folder";
        anyhow::bail!("{} {what}", path.display());
    }
    std::fs::create_dir_all(path).with_context(|| format!("{} cannot be made", path.display()))?;
    let path = std::fs::canonicalize(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let environment = Environment::new(&launch::hook()?, &path, &arguments.extent.options(MAX_BYTES))?;
    for (name, value) in environment.variables(|_| None) {
        let quoted = quote(value.as_bytes());
        if name == "LD_PRELOAD" {
            // What is preloaded there already stays.
            println!("export LD_PRELOAD={quoted}${{LD_PRELOAD:+:$LD_PRELOAD}}");
        } else if name == "ASAN_OPTIONS" {
            println!("export ASAN_OPTIONS=${{ASAN_OPTIONS:+$ASAN_OPTIONS:}}{quoted}");
        } else if name != "UMTUI_TICKS_PER_SECOND" {
            // The rate is this machine's; the job may run on another.
            println!("export {name}={quoted}");
        }
    }
    Ok(0)
}

/// Single quotes, as every shell understands them.
fn quote(bytes: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quotes_survive() {
        assert_eq!(quote(b"/a b"), "'/a b'");
        assert_eq!(quote(b"it's"), "'it'\\''s'");
    }
}
