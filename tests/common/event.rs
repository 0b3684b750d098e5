//! The lines of the text export, taken apart.

use std::collections::BTreeMap;
use std::path::Path;

/// One call.
#[derive(Clone, Debug)]
pub struct Event {
    /// Nanoseconds.
    pub start: u64,
    /// Nanoseconds.
    pub duration: u64,
    pub thread: u32,
    pub thread_name: String,
    pub api: String,
    /// By the name that the table gives them.
    pub arguments: BTreeMap<String, String>,
    pub status: i64,
    /// The status's name, for a failure.
    pub error: String,
    pub depth: u32,
    pub unfinished: bool,
    /// The rest of the line, with flags and the call site.
    pub rest: String,
}

impl Event {
    /// An argument's value.
    pub fn get(&self, name: &str) -> &str {
        self.arguments.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    fn parse(line: &str) -> Option<Self> {
        let mut head = line.splitn(4, ' ');
        let (time, who, thread_name, call) = (head.next()?, head.next()?, head.next()?, head.next()?);
        let (api, rest) = call.split_once('(')?;
        let (arguments, rest) = rest.split_once(") = ")?;
        let (result, rest) = rest.split_once('<')?;
        let (duration, rest) = rest.split_once('>')?;
        let (seconds, fraction) = time.split_once('.')?;
        let mut result = result.split_whitespace();
        let status = result.next()?;
        let depth = rest.trim_start().strip_prefix('d')?.split(' ').next()?;
        let pairs = arguments.split_whitespace().filter_map(|argument| argument.split_once('='));
        Some(Self {
            start: seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction.parse::<u64>().ok()?,
            duration: duration.parse().unwrap_or(0),
            thread: who.split('/').nth(1)?.parse().ok()?,
            thread_name: thread_name.to_owned(),
            api: api.to_owned(),
            arguments: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            unfinished: status == "?",
            status: if status == "?" { -1 } else { status.parse().ok()? },
            error: result.next().unwrap_or_default().to_owned(),
            depth: depth.parse().ok()?,
            rest: rest.trim().to_owned(),
        })
    }
}

/// The calls of a recording in order of start.
pub fn events(path: &Path) -> Vec<Event> {
    let text = super::text(path);
    // Functions of one name with several signatures have labels of their own.
    let mut names = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# api ")) {
        if let Some((label, name)) =
            line.split_once(' ').and_then(|(label, rest)| Some((label, rest.split('"').nth(1)?)))
        {
            names.insert(label.to_owned(), name.to_owned());
        }
    }
    // What the GPU did, and ranges, name their process alone, or are no calls.
    let is_other = |line: &str| matches!(line.split(' ').nth(1), Some("gpu" | "range"));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !is_other(line));
    let mut events: Vec<Event> =
        lines.map(|line| Event::parse(line).unwrap_or_else(|| panic!("not an event: {line}"))).collect();
    for event in &mut events {
        if let Some(name) = names.get(&event.api) {
            event.api.clone_from(name);
        }
    }
    events
}

/// Those of one function.
pub fn of<'a>(events: &'a [Event], api: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.api == api).collect()
}
