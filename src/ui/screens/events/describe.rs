//! An event in full, as names and values.

use crate::session::view::{EventGroup, EventRow, MADE_UP, Outcome};
use crate::ui::text::format;

/// Arguments one by one: a word with `=` in it begins the next, so that "bytes=64 MiB" stays together.
fn arguments(text: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match (word.split_once('='), out.last_mut()) {
            (Some((name, value)), _) if !name.is_empty() => out.push((name.to_owned(), value.to_owned())),
            (_, Some((_, value))) => {
                value.push(' ');
                value.push_str(word);
            }
            (_, None) => out.push(("arguments".to_owned(), word.to_owned())),
        }
    }
    out
}

/// How it ended, in words.
pub fn ending(event: &EventRow) -> &'static str {
    match event.outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::Running => "running",
        Outcome::EntryOnly => "end not recorded",
    }
}

/// A group of events in words.
pub fn group_name(group: EventGroup) -> &'static str {
    match group {
        EventGroup::Calls => "calls",
        EventGroup::Kernels => "kernels, whole graphs",
        EventGroup::Copies => "copies, memory set",
        EventGroup::Waits => "waits, events recorded",
        EventGroup::Migrations => "migrations of pages",
        EventGroup::Faults => "page faults, thrashing, mappings",
        EventGroup::Allocations => "the driver's allocations",
        EventGroup::Overheads => "time of driver and recorder",
        EventGroup::Ranges => "ranges, marks",
    }
}

/// A group of events in a word of at most 9 letters.
pub fn kind_word(group: EventGroup) -> &'static str {
    match group {
        EventGroup::Calls => "call",
        EventGroup::Kernels => "kernel",
        EventGroup::Copies => "copy, set",
        EventGroup::Waits => "wait",
        EventGroup::Migrations => "migration",
        EventGroup::Faults => "fault",
        EventGroup::Allocations => "memory",
        EventGroup::Overheads => "overhead",
        EventGroup::Ranges => "range",
    }
}

/// The event's fields: what and when first, then its arguments; of what no thread did what is known beyond them.
pub fn fields(event: &EventRow, more: &[(String, String)]) -> Vec<(String, String)> {
    let field = |name: &str, value: String| (name.to_owned(), value);
    let thread = match event.thread_name.as_str() {
        "" if event.thread == 0 => format!("process {}", event.pid),
        name if event.thread == 0 => format!("{name}, process {}", event.pid),
        "" => format!("{} of process {}", event.thread, event.pid),
        name if event.thread >= MADE_UP => format!("{name}, process {}", event.pid),
        name => format!("{name} ({} of process {})", event.thread, event.pid),
    };
    let took = match event.duration_ns {
        Some(ns) => format!("{}   ({} ns)", format::duration(ns), format::grouped(ns)),
        None => ending(event).to_owned(),
    };
    let mut fields = vec![
        field(if event.group == EventGroup::Calls { "call" } else { "event" }, event.name.clone()),
        field("start", format!("{} s", format::seconds(event.start_ns, 9))),
        field("took", took),
        field(if event.thread == 0 { "where" } else { "thread" }, thread),
    ];
    if event.depth > 0 {
        let above = if event.group == EventGroup::Ranges { "ranges" } else { "calls" };
        fields.push(field("depth", format!("{} {above} above it", event.depth)));
    }
    if !event.site.is_empty() {
        fields.push(field("from", event.site.clone()));
    }
    if event.group != EventGroup::Calls {
        fields.push(field("", String::new()));
        let arguments = arguments(&event.arguments);
        fields.extend(if more.is_empty() { arguments } else { more.to_vec() });
        return fields;
    }
    let result = if event.result.is_empty() { ending(event).to_owned() } else { event.result.clone() };
    fields.push(field("result", result));
    if !event.recorded_as.is_empty() {
        fields.push(field("recorded as", event.recorded_as.clone()));
    }
    fields.push(field("", String::new()));
    fields.extend(arguments(&event.arguments));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_units() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            arguments("ptr=0x7f bytes=64 MiB kind=h2d"),
            [pair("ptr", "0x7f"), pair("bytes", "64 MiB"), pair("kind", "h2d")]
        );
        assert_eq!(arguments("raw words"), [pair("arguments", "raw words")]);
        assert!(arguments("").is_empty());
    }
}
