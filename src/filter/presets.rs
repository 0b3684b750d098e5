//! Filters that have a name: those that come with umtui, and those in the user's folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::error::{FilterError, quoted};
use super::fields::nearest;
use super::{Filter, expression};

/// Most files of a folder that are looked at.
const MAX_FILES: usize = 1000;

macro_rules! presets {
    ($($file:literal),* $(,)?) => {
        [$(($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/filters/", $file)))),*]
    };
}

/// File name and text.
const PRESETS: [(&str, &str); 8] = presets![
    "unified-memory.xml",
    "migrations-only.toml",
    "slow-calls.xml",
    "sync-storms.toml",
    "allocations.xml",
    "launches.toml",
    "errors.xml",
    "one-stream.toml",
];

/// A filter that can be named.
#[derive(Clone, Debug)]
pub struct Listed {
    /// By which name.
    pub name: String,
    /// The user's file; `None` if it comes with umtui.
    pub path: Option<PathBuf>,
    /// The filter, or why it cannot be read.
    pub filter: Result<Filter, FilterError>,
}

/// Where the user's filters lie: `filters` in umtui's configuration folder.
#[must_use]
pub fn user_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(base.join("umtui/filters"))
}

/// All filters that can be named: the user's, then those that come with umtui and are not replaced by one of the user's.
#[must_use]
pub fn listed() -> Vec<Listed> {
    listed_in(user_folder().as_deref())
}

/// Likewise, with this folder as the user's.
#[must_use]
pub fn listed_in(folder: Option<&Path>) -> Vec<Listed> {
    let mut all: Vec<Listed> = Vec::new();
    for path in folder.map(files_in).unwrap_or_default() {
        let Some(name) = path.file_stem().and_then(OsStr::to_str).map(str::to_owned) else { continue };
        if all.iter().all(|known| known.name != name) {
            all.push(Listed { name, filter: Filter::read(&path), path: Some(path) });
        }
    }
    for (file, text) in PRESETS {
        let name = stem(file);
        if all.iter().all(|known| known.name != name) {
            let filter = Filter::of_bytes(file, Some(Path::new(file)), text.as_bytes());
            all.push(Listed { name: name.to_owned(), path: None, filter });
        }
    }
    all
}

/// The files of a folder that can be filters, by name.
#[must_use]
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().take(MAX_FILES).map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.retain(|path| path.extension().is_some_and(|kind| kind == "xml" || kind == "toml" || kind == "expr"));
    files.sort();
    files
}

fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

/// The filter of this name, if there is one.
#[must_use]
pub fn named(name: &str) -> Option<Result<Filter, FilterError>> {
    listed().into_iter().find(|listed| listed.name == name).map(|listed| listed.filter)
}

/// What stands for a filter on a command line or in a file: the path of one, else a name, else an expression.
///
/// # Errors
/// If it is none of them; with the place.
pub fn named_or_read(text: &OsStr) -> Result<Filter, FilterError> {
    let path = Path::new(text);
    // Also what is no plain file: `--filter <(...)` is a pipe.
    if path.exists() && !path.is_dir() {
        return Filter::read(path);
    }
    let Some(text) = text.to_str() else {
        return Err(FilterError::whole(&path.to_string_lossy(), "no such file"));
    };
    if let Some(filter) = named(text) {
        return filter;
    }
    let is_file_name = path.extension().is_some_and(|kind| kind == "xml" || kind == "toml" || kind == "expr");
    // No function has a slash in its name; regular expressions and call sites (`site:src/a.cu`) come with a sign.
    let is_path = is_file_name || text.contains('/');
    if path.is_dir() && !text.is_empty() {
        return Err(FilterError::whole(text, "is a folder; a filter is a file, a name or an expression"));
    }
    let is_word = !text.contains(|char: char| char.is_whitespace() || ":~<>='\"(,".contains(char));
    if is_path && is_word {
        return Err(FilterError::whole(text, "no such file"));
    }
    if text.trim_start().starts_with('<') {
        return Filter::of_bytes("", None, text.as_bytes());
    }
    let filter = expression::read("", text).map(Filter::from)?;
    if !is_word {
        return Ok(filter);
    }
    let all = listed();
    // A word alone is more likely to be a misspelt name than a function.
    match nearest(text, all.iter().map(|listed| listed.name.as_str())) {
        Some(near) => {
            let why = format!(
                "no filter {}; did you mean {near}? For a function or kernel: api:..., kernel:...",
                quoted(text)
            );
            Err(FilterError::at("", text, 0..text.len(), why))
        }
        None => Ok(filter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Spelling;

    #[test]
    fn presets_are_read_and_have_a_name_and_a_line() {
        for listed in listed_in(None) {
            let filter = listed.filter.unwrap();
            assert_eq!(filter.name, listed.name);
            assert!((10..90).contains(&filter.description.len()), "{}", filter.description);
            assert!(!filter.condition.is_everything(), "{}", listed.name);
            for spelling in [Spelling::Xml, Spelling::Toml] {
                let written = filter.write(spelling);
                assert_eq!(Filter::of_bytes("", None, written.as_bytes()).as_ref(), Ok(&filter), "{written}");
            }
            let written = filter.write(Spelling::Expression);
            assert_eq!(
                Filter::of_bytes("", None, written.as_bytes()).unwrap().condition,
                filter.condition,
                "{written}"
            );
        }
    }

    #[test]
    fn the_folder_holds_what_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filters");
        let mut files: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        let mut embedded: Vec<&str> = PRESETS.iter().map(|(file, _)| *file).collect();
        embedded.sort_unstable();
        assert_eq!(files, embedded);
    }

    #[test]
    fn the_users_come_first_and_say_what_is_wrong_with_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("errors.toml"), "[include]\nfailed = true\n").unwrap();
        std::fs::write(folder.path().join("mine.expr"), "dur>=1ms\n").unwrap();
        std::fs::write(folder.path().join("broken.xml"), "<filter>\n  <includ/>\n</filter>").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "no filter").unwrap();
        let all = listed_in(Some(folder.path()));
        assert_eq!(all.len(), 10);
        let one = |name: &str| all.iter().find(|listed| listed.name == name).unwrap();
        assert!(one("errors").path.is_some());
        assert_eq!(one("mine").filter.as_ref().unwrap().write(Spelling::Expression), "duration>=1ms\n");
        let error = one("broken").filter.as_ref().unwrap_err().to_string();
        assert!(
            error.ends_with(
                "broken.xml:2:3: expected <include>, <exclude> or <threshold>, found <includ>; did you mean include?"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_path_a_name_or_an_expression() {
        let read = |text: &str| named_or_read(OsStr::new(text));
        assert_eq!(read("errors").unwrap().name, "errors");
        assert_eq!(read("failed").unwrap().condition, crate::filter::Condition::Failed);
        assert!(read("<filter><include><failed/></include></filter>").is_ok());
        for gone in ["gone.xml", "gone.expr", "./gone", "/nowhere/gone"] {
            assert!(read(gone).unwrap_err().to_string().contains("no such file"), "{gone}");
        }
        assert!(read("filters").unwrap_err().to_string().contains("is a folder"));
        assert!(read("/dev/zero").unwrap_err().to_string().contains("is larger"));
        for expression in ["site:src/a.cu", "api~a/b", "'a/b'", "(site:src/gone.toml)", "allocation:x"] {
            assert!(read(expression).is_ok(), "{expression}");
        }
        assert!(read("slow-cals").unwrap_err().to_string().contains("did you mean slow-calls?"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.xml");
        std::fs::write(&path, "<filter name='x'/>").unwrap();
        assert_eq!(named_or_read(path.as_os_str()).unwrap().name, "x");
    }
}
