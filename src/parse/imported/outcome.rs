//! What came of an input.

use super::sites::SiteName;
use crate::trace::Bytes;
use std::sync::Arc;

/// A native file of an import.
#[derive(Clone)]
pub struct ImportedFile {
    /// Its bytes.
    pub bytes: Arc<dyn Bytes>,
}

/// What came of an input.
#[derive(Clone)]
pub struct Imported {
    /// What format it was, in a word: `chrome`.
    pub format: &'static str,
    /// A native file for each process with anything in it.
    pub files: Vec<ImportedFile>,
    /// What is missing: a line or row of the input (zero for none), and what.
    pub lost: Vec<(u64, String)>,
    /// What was mended, what has no place in the model, and what else is to be known, a line each.
    pub notes: Vec<String>,
    /// What call sites are called that the input knows by name.
    pub names: Vec<SiteName>,
}
