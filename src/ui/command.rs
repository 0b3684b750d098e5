//! Commands that are typed after `:`. To add one: a row in [`COMMANDS`].
//!
//! What is no command is a place to go to among the events: a time (`1.5s`), an address (`0x7f..`), a row (`1234`).

use super::effect::{Effect, Goal};
use super::memory::GROUPINGS;
use super::screens::ScreenId;
use crate::config::nearest::nearest;
use crate::session::view::{Moment, Steps, TimeRange, parse_range};

/// A command.
#[derive(Debug)]
pub struct Command {
    /// What is typed.
    pub name: &'static str,
    /// What follows, in a word.
    pub arguments: &'static str,
    /// One line for the palette.
    pub doc: &'static str,
    /// Reads what follows; an error says what was expected.
    pub run: fn(&str) -> Result<Effect, String>,
}

impl PartialEq for Command {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// All of them.
pub static COMMANDS: &[Command] = &[
    Command {
        name: "filter",
        arguments: "EXPR",
        doc: "show what fits an expression, or a filter by its name",
        run: filter,
    },
    Command { name: "range", arguments: "1.5s..2s", doc: "look at this time; also 1.5s+10ms", run: range },
    Command {
        name: "step",
        arguments: "3",
        doc: "look at a turn of the range that repeats; also 3..5, NAME#3",
        run: step,
    },
    Command { name: "clear", arguments: "all", doc: "show everything, at all time", run: clear },
    Command { name: "save", arguments: "NAME", doc: "keep the filter in force under this name", run: save },
    Command { name: "screen", arguments: "NAME", doc: "show a screen", run: screen },
    Command { name: "group", arguments: "BY", doc: "put the calls together by thread, stream, ...", run: group },
    Command { name: "theme", arguments: "NAME", doc: "draw in another theme, until the end", run: theme },
    Command {
        name: "moment",
        arguments: "1.5s",
        doc: "look at the memory in use then; also peak, end, step:3, mark:NAME",
        run: moment,
    },
    Command { name: "time", arguments: "1.5s", doc: "go to the first event from that time on", run: time },
    Command { name: "row", arguments: "1234", doc: "go to the event with that number", run: row },
    Command { name: "address", arguments: "0x7f..", doc: "go to the call that allocated it", run: address },
];

/// The name of the command that a line begins with.
pub fn name_of(line: &str) -> Option<&'static str> {
    let word = line.split_whitespace().next()?;
    COMMANDS.iter().map(|command| command.name).find(|name| *name == word)
}

/// Whether a line can be run as it is.
pub fn is_one(line: &str) -> bool {
    match name_of(line) {
        Some("clear") => true,
        Some(name) => line.trim() != name,
        None => goal(line).is_some() || parse_range(line).is_ok(),
    }
}

/// Runs a line.
///
/// # Errors
/// What is wrong with it, and what was expected.
pub fn run(line: &str) -> Result<Effect, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if let Some(command) = COMMANDS.iter().find(|command| command.name == word) {
        return (command.run)(rest.trim());
    }
    if let Ok(range) = parse_range(line) {
        return Ok(Effect::Range(Some(range)));
    }
    goal(line).map(Effect::Events).ok_or_else(|| {
        let meant = nearest(word, COMMANDS.iter().map(|command| command.name));
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        format!("'{word}' is no command, time (1.5s), address (0x7f..) or row (1234){meant}")
    })
}

fn goal(text: &str) -> Option<Goal> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Goal::Address);
    }
    match text.replace([',', '_'], "").parse() {
        Ok(row) => Some(Goal::Row(row)),
        Err(_) => crate::filter::time(text).ok().map(Goal::Time),
    }
}

fn filter(text: &str) -> Result<Effect, String> {
    Ok(Effect::Filter(text.to_owned()))
}

fn range(text: &str) -> Result<Effect, String> {
    parse_range(text).map(|range| Effect::Range(Some(range))).map_err(|error| format!("range: {error}"))
}

fn step(text: &str) -> Result<Effect, String> {
    let steps = Steps::parse(text).map_err(|error| format!("step: {error}"))?;
    Ok(Effect::Range(Some(TimeRange::Steps(steps))))
}

fn moment(text: &str) -> Result<Effect, String> {
    Moment::parse(text).map(Effect::Moment).map_err(|error| error.to_string())
}

fn clear(_: &str) -> Result<Effect, String> {
    Ok(Effect::ClearLens)
}

fn save(name: &str) -> Result<Effect, String> {
    Ok(Effect::SaveFilter(name.to_owned()))
}

fn screen(name: &str) -> Result<Effect, String> {
    name.parse::<ScreenId>().map(Effect::Go)
}

fn theme(name: &str) -> Result<Effect, String> {
    Ok(Effect::Theme(name.to_owned()))
}

fn group(name: &str) -> Result<Effect, String> {
    let found = GROUPINGS.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, grouping)| Effect::Group(*grouping))
        .ok_or_else(|| format!("group: '{name}' is not one of {}", GROUPINGS.map(|(name, _)| name).join(", ")))
}

fn time(text: &str) -> Result<Effect, String> {
    let time = crate::filter::time(text).map_err(|why| format!("time: {why}"))?;
    Ok(Effect::Events(Goal::Time(time)))
}

fn row(text: &str) -> Result<Effect, String> {
    let row = text.replace([',', '_'], "").parse().map_err(|_| format!("row: '{text}' is not a number"))?;
    Ok(Effect::Events(Goal::Row(row)))
}

fn address(text: &str) -> Result<Effect, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let address = u64::from_str_radix(digits, 16);
    let address = address.map_err(|_| format!("address: '{text}' is not a hexadecimal number"))?;
    Ok(Effect::Events(Goal::Address(address)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::view::Grouping;

    #[test]
    fn times_addresses_and_rows_are_told_apart() {
        let cases = [
            ("1.5s", Goal::Time(1_500_000_000)),
            ("300 ms", Goal::Time(300_000_000)),
            ("0.25us", Goal::Time(250)),
            ("2m", Goal::Time(120_000_000_000)),
            (".5h", Goal::Time(1_800_000_000_000)),
            ("0x7f10", Goal::Address(0x7f10)),
            ("1,234", Goal::Row(1_234)),
        ];
        for (text, goal) in cases {
            assert_eq!(run(text), Ok(Effect::Events(goal)), "{text}");
            assert!(is_one(text));
        }
        for text in ["", "1.5", "s", "1.5.5s", "0xg", "99999999999999999999s", "-1s", "1e9s"] {
            assert!(run(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_line_says_what_was_expected() {
        assert_eq!(run("screen events"), Ok(Effect::Go(ScreenId::Events)));
        assert_eq!(run("group  site "), Ok(Effect::Group(Grouping::CallSite)));
        assert!(run("screen x").unwrap_err().contains("'x' is not one of overview"));
        assert!(run("scren calls").unwrap_err().ends_with("did you mean screen?"));
        for (line, range) in [("1.5s..2s", (1_500_000_000, 2_000_000_000)), ("range +10ms", (0, 10_000_000))] {
            assert_eq!(run(line), Ok(Effect::Range(Some(range.into()))));
            assert!(is_one(line));
        }
        for line in ["step 3", "step:3", "range step:3"] {
            let steps = Steps { name: None, first: 3, last: 3 };
            assert_eq!(run(line), Ok(Effect::Range(Some(TimeRange::Steps(steps)))), "{line}");
            assert!(is_one(line));
        }
        assert!(run("step forward").unwrap_err().starts_with("step: \"forward\" is no step: write 3, 3..5"));
        assert!(run("range 2s..1s").is_err() && is_one("clear"));
        assert!(!is_one("screen") && is_one("screen calls") && !is_one("fold all"));
    }
}
