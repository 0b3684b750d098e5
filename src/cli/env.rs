//! `umtui env`: the variables for programs that somebody else starts.

use std::io::Write as _;
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
    // Names need not be text, so bytes are written.
    let mut out = Vec::new();
    for (name, value) in environment.variables(|_| None) {
        let quoted = quote(value.as_bytes());
        let (before, after) = match name {
            // What is preloaded there already stays.
            "LD_PRELOAD" => ("", "${LD_PRELOAD:+:$LD_PRELOAD}"),
            "ASAN_OPTIONS" => ("${ASAN_OPTIONS:+$ASAN_OPTIONS:}", ""),
            // The job may have another tool listen to its ranges.
            "NVTX_INJECTION64_PATH" => ("${NVTX_INJECTION64_PATH:-", "}"),
            // The rate is this machine's; the job may run on another.
            "UMTUI_TICKS_PER_SECOND" => continue,
            _ => ("", ""),
        };
        out.extend_from_slice(format!("export {name}={before}").as_bytes());
        out.extend_from_slice(&quoted);
        out.extend_from_slice(after.as_bytes());
        out.push(b'\n');
    }
    std::io::stdout().write_all(&out).context("stdout cannot be written")?;
    Ok(0)
}

/// Single quotes, as every shell understands them.
fn quote(bytes: &[u8]) -> Vec<u8> {
    let escaped = bytes.iter().flat_map(|byte| match byte {
        b'\'' => b"'\\''".as_slice(),
        other => std::slice::from_ref(other),
    });
    b"'".iter().chain(escaped).chain(b"'").copied().collect()
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quotes_survive() {
        assert_eq!(quote(b"/a b"), b"'/a b'");
        assert_eq!(quote(b"it's \xff"), b"'it'\\''s \xff'");
    }
}
