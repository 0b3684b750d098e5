//! What is wrong with a command line, in one line: what, where, and what to do.

use crate::session::safe::safe;

/// The line for an error of the parser, without the program's name.
pub(super) fn line(error: &clap::Error) -> String {
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
    let named = if named.is_empty() { String::new() } else { format!(" {}", named.join(", ")) };
    let more: String = more.iter().map(|text| format!("; {text}")).collect();
    safe(&format!("{what}{named}{more}; see `{command} --help`")).into_owned()
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
        let cases: [(&[&str], &str); 6] = [
            (&["opne", "x"], "unrecognized subcommand 'opne'; a similar subcommand exists: 'open'; see `umtui --help`"),
            (&["open"], "the following required arguments were not provided: <PATH>...; see `umtui open --help`"),
            (
                &["open", "--rnage", "1..2", "x"],
                "unexpected argument '--rnage' found; a similar argument exists: '--range'; see `umtui open --help`",
            ),
            (
                &["report", "--format", "xml", "x"],
                "invalid value 'xml' for '--format <FORMAT>'; possible are text, json; see `umtui --help`",
            ),
            (
                &["record"],
                "the following required arguments were not provided: <COMMAND>...; see `umtui record --help`",
            ),
            (&["open", "\x1b[2J\n", "--x"], "unexpected argument '--x' found; "),
        ];
        for (words, told) in cases {
            let error = Arguments::try_parse_from(std::iter::once("umtui").chain(words.iter().copied()));
            let line = line(&error.err().unwrap());
            assert!(line.starts_with(told), "{line}");
            assert!(!line.contains(char::is_control), "{line}");
        }
    }
}
