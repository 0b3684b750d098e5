//! Which file the settings are read from.

use std::path::{Path, PathBuf};

/// Where the file's name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// `--config`.
    ByFlag,
    /// `UMTUI_CONFIG`.
    ByVariable,
    /// The usual place; it need not be there.
    Usual,
}

/// The file's path and where that comes from; nothing if there is no home to look in.
#[must_use]
pub fn find(flag: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<(PathBuf, Named)> {
    let set = |name: &str| variable(name).filter(|value| !value.as_os_str().is_empty());
    if let Some(path) = flag {
        return Some((path.to_owned(), Named::ByFlag));
    }
    if let Some(path) = set("UMTUI_CONFIG") {
        return Some((path, Named::ByVariable));
    }
    // A relative path there is to be ignored, as the XDG specification has it.
    let folder = set("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    let folder = folder.or_else(|| Some(set("HOME")?.join(".config")))?;
    Some((folder.join("umtui/config.toml"), Named::Usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_before_the_variable_before_the_usual_place() {
        let all = [("UMTUI_CONFIG", "mine.toml"), ("XDG_CONFIG_HOME", "/xdg"), ("HOME", "/home/me")];
        let find = |flag: Option<&str>, variables: &[(&str, &str)]| {
            let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| PathBuf::from(v));
            find(flag.map(Path::new), variable).map(|(path, named)| (path.display().to_string(), named))
        };
        let found = |path: &str, named| Some((path.to_owned(), named));
        assert_eq!(find(Some("x.toml"), &all), found("x.toml", Named::ByFlag));
        assert_eq!(find(None, &all), found("mine.toml", Named::ByVariable));
        assert_eq!(find(None, &all[1..]), found("/xdg/umtui/config.toml", Named::Usual));
        assert_eq!(find(None, &all[2..]), found("/home/me/.config/umtui/config.toml", Named::Usual));
        let relative = [("UMTUI_CONFIG", ""), ("XDG_CONFIG_HOME", "xdg"), ("HOME", "/home/me")];
        assert_eq!(find(None, &relative), found("/home/me/.config/umtui/config.toml", Named::Usual));
        assert_eq!(find(None, &[]), None);
    }
}
