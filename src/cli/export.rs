//! `umtui export`: recordings in other forms.

use super::arguments::Export;

/// Writes the recording.
///
/// # Errors
/// If it cannot be read or written.
pub fn run(arguments: &Export) -> anyhow::Result<u8> {
    anyhow::bail!("{:?} is not written yet", arguments.format)
}
