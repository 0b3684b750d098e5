//! Where source lies on this machine that was compiled elsewhere.

use std::path::{Path, PathBuf};

/// Beginnings of paths, and what stands for them here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// The longest first.
    prefixes: Vec<(PathBuf, PathBuf)>,
}

impl SourceMap {
    /// From pairs as they are written; `~` at the beginning stands for the home folder.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>, home: Option<&Path>) -> Self {
        let here = |text: &str| match (text.strip_prefix('~'), home) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(text),
        };
        let mut prefixes: Vec<_> = pairs.into_iter().map(|(from, to)| (PathBuf::from(from), here(to))).collect();
        prefixes.sort_by_key(|(from, _)| std::cmp::Reverse(from.components().count()));
        Self { prefixes }
    }

    /// Where this file of the trace lies here. Whole names of folders are compared, and the longest prefix counts.
    #[must_use]
    pub fn here(&self, file: &str) -> PathBuf {
        let file = Path::new(file);
        for (from, to) in &self.prefixes {
            if let Ok(rest) = file.strip_prefix(from) {
                // An empty rest would leave a slash behind a file's name.
                return if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
            }
        }
        file.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_of_whole_names_counts() {
        let map = SourceMap::new(
            [("/build", "/elsewhere"), ("/build/src", "~/src"), ("/build/src/one.cu", "/two.cu"), ("rel", "~")],
            Some(Path::new("/home/me")),
        );
        for (from, to) in [
            ("/build/src/a/train.cu", "/home/me/src/a/train.cu"),
            ("/build/src/one.cu", "/two.cu"),
            ("/build/srcs/train.cu", "/elsewhere/srcs/train.cu"),
            ("/builds/train.cu", "/builds/train.cu"),
            ("rel/train.cu", "/home/me/train.cu"),
            ("train.cu", "train.cu"),
            ("", ""),
        ] {
            assert_eq!(map.here(from), Path::new(to), "{from}");
        }
        // Whose home it is only the shell knows.
        assert_eq!(SourceMap::new([("/a", "~you/b")], Some(Path::new("/h"))).here("/a/c"), Path::new("~you/b/c"));
        assert_eq!(SourceMap::new([("/a", "~/b")], None).here("/a/c"), Path::new("~/b/c"));
        assert_eq!(SourceMap::new([("/a/", "/b/")], None).here("/a/c").as_os_str(), "/b/c");
        assert_eq!(SourceMap::default().here("/a"), Path::new("/a"));
    }
}
