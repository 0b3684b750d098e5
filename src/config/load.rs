//! Finding and reading the file.

use std::io;
use std::path::{Path, PathBuf};

use super::path::{self, Named};
use super::problem::{Place, Problem};
use super::read::{self, Config};

/// Nobody writes so many settings; more is another file.
const LARGEST: usize = 1 << 20;

/// The user's settings, from wherever they are. A file that cannot be read is a problem, unless nobody named it.
#[must_use]
pub fn load(flag: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Config {
    let Some((file, named)) = path::find(flag, variable) else { return Config::default() };
    let mut config = match crate::files::read_small(&file, LARGEST) {
        Ok(bytes) => from_bytes(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound && named == Named::Usual => Config::default(),
        Err(error) => Config { problems: vec![Problem::error(None, unreadable(&error, named))], ..Config::default() },
    };
    config.file = Some(file);
    config
}

fn unreadable(error: &io::Error, named: Named) -> String {
    let by = match named {
        Named::ByFlag => " (named by --config)",
        Named::ByVariable => " (named by UMTUI_CONFIG)",
        Named::Usual => "",
    };
    format!("cannot be read{by}: {error}")
}

fn from_bytes(bytes: Vec<u8>) -> Config {
    let refused =
        |place, text: &str| Config { found: true, problems: vec![Problem::error(place, text)], ..Config::default() };
    if bytes.len() > LARGEST {
        return refused(None, "is larger than 1 MiB, which no config file is");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Config { found: true, ..read::read(&text) },
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or_default()).into_owned();
            refused(Some(Place::of(&text, good)), "this is not UTF-8; write the file anew in UTF-8")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_matters_only_if_it_was_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().to_owned();
        let config = load(None, |name| (name == "HOME").then(|| home.clone()));
        assert!(config.problems.is_empty() && !config.found);
        let config = load(Some(&home.join("none.toml")), |_| None);
        assert!(config.problems[0].text.starts_with("cannot be read (named by --config): "), "{:?}", config.problems);
        // A folder is no file either.
        assert_eq!(load(Some(&home), |_| None).problems.len(), 1);
        std::fs::create_dir_all(home.join(".config/umtui")).expect("a folder");
        std::fs::write(home.join(".config/umtui/config.toml"), "[look]\ntheme = \"dark\"\n").expect("a file");
        let config = load(None, |name| (name == "HOME").then(|| home.clone()));
        assert_eq!((config.found, config.word("look.theme").as_str()), (true, "dark"));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let config = from_bytes(b"[look]\ntheme = \"d\xff\"\n".to_vec());
        assert_eq!(config.problems[0].told("f"), "f:2:11: this is not UTF-8; write the file anew in UTF-8");
        assert_eq!(from_bytes(vec![b'#'; 1 << 21]).problems.len(), 1);
    }
}
