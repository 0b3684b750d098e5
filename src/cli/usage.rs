//! What is wrong with a command line, in one line: what, where, and what to do.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::session::safe::safe;

/// The line for an error of the parser, without the program's name. `words` are those that it read.
pub(super) fn line(error: &clap::Error, words: impl Iterator<Item = OsString>) -> String {
    let told = error.render().to_string();
    let mut lines = told.lines().map(str::trim_end);
    let first = lines.next().unwrap_or_default();
    let what = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    let mut command = "umtui".to_owned();
    let (mut named, mut more) = (Vec::new(), Vec::new());
    for line in lines {
        let text = line.trim_start();
        if let Some(usage) = text.strip_prefix("Usage: ") {
            command = command_of(usage);
            break;
        } else if let Some(tip) = text.strip_prefix("tip: ") {
            more.push(tip.to_owned());
        } else if let Some(values) = text.strip_prefix("[possible values: ").and_then(|rest| rest.strip_suffix(']')) {
            more.push(format!("possible are {values}"));
        } else if !text.is_empty() && !text.starts_with("For more information") {
            named.push(text.to_owned());
        }
    }
    if let Some(what) = in_our_words(error, words) {
        return safe(&format!("{what}; see `{command} --help`")).into_owned();
    }
    let named = if named.is_empty() { String::new() } else { format!(" {}", named.join(", ")) };
    let more: String = more.iter().map(|text| format!("; {text}")).collect();
    safe(&format!("{what}{named}{more}; see `{command} --help`")).into_owned()
}

/// What is wrong, for what goes wrong most.
fn in_our_words(error: &clap::Error, mut words: impl Iterator<Item = OsString>) -> Option<String> {
    let hint = |kind| one(error, kind).map(|near| format!("; did you mean '{near}'?"));
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = one(error, ContextKind::InvalidSubcommand)?;
            let run = || format!("; to run a program of that name, write `umtui -- {name}`");
            let hint = hint(ContextKind::SuggestedSubcommand).unwrap_or_else(run);
            Some(format!("there is no command '{name}'{hint}"))
        }
        ErrorKind::UnknownArgument => {
            let name = one(error, ContextKind::InvalidArg)?;
            let what = if name.starts_with('-') { "option" } else { "further argument" };
            Some(format!("there is no {what} '{name}'{}", hint(ContextKind::SuggestedArg).unwrap_or_default()))
        }
        ErrorKind::InvalidUtf8 => {
            let word = words.find(|word| word.to_str().is_none())?;
            Some(format!("'{}' is not UTF-8, which only paths and programs need not be", word.to_string_lossy()))
        }
        _ => None,
    }
}

/// The first text that an error holds of this kind.
fn one(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// `umtui open` of `umtui open --range <A..B> <PATH>...`.
fn command_of(usage: &str) -> String {
    let is_name =
        |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-');
    usage.split(' ').take_while(is_name).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Arguments;

    #[test]
    fn what_where_and_what_to_do_stand_in_one_line() {
        let cases: [(&[&str], &str); 8] = [
            (&["opne", "x"], "there is no command 'opne'; did you mean 'open'?; see `umtui --help`"),
            (
                &["nvidia-smi"],
                "there is no command 'nvidia-smi'; to run a program of that name, write `umtui -- nvidia-smi`; see",
            ),
            (&["config", "show", "x"], "there is no further argument 'x'; see `umtui config show"),
            (&["open"], "the following required arguments were not provided: <PATH>...; see `umtui open --help`"),
            (
                &["open", "--rnage", "1..2", "x"],
                "there is no option '--rnage'; did you mean '--range'?; see `umtui open --help`",
            ),
            (
                &["report", "--format", "xml", "x"],
                "invalid value 'xml' for '--format <FORMAT>'; possible are text, json; see `umtui --help`",
            ),
            (
                &["record"],
                "the following required arguments were not provided: <COMMAND>...; see `umtui record --help`",
            ),
            (&["open", "\x1b[2J\n", "--x"], "there is no option '--x'; see `umtui open"),
        ];
        for (words, told) in cases {
            let error = Arguments::try_parse_from(std::iter::once("umtui").chain(words.iter().copied()));
            let line = line(&error.err().unwrap(), std::iter::empty());
            assert!(line.starts_with(told), "{line}");
            assert!(!line.contains(char::is_control), "{line}");
        }
    }
    #[test]
    fn what_is_not_utf_8_is_shown() {
        use std::os::unix::ffi::OsStringExt as _;
        let words =
            || [b"umtui".to_vec(), b"report".to_vec(), b"--range".to_vec(), b"1s..\xff".to_vec(), b"x".to_vec()];
        let words = || words().into_iter().map(OsString::from_vec);
        let error = Arguments::try_parse_from(words()).err().unwrap();
        let told = line(&error, words());
        assert!(told.starts_with("'1s..") && told.contains("' is not UTF-8"), "{told}");
    }
}
