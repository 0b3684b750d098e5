//! An event in full, as names and values.

use crate::session::view::{EventRow, Outcome};
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

/// The event's fields: what and when first, then its arguments.
pub fn fields(event: &EventRow) -> Vec<(String, String)> {
    let field = |name: &str, value: String| (name.to_owned(), value);
    let thread = match event.thread_name.as_str() {
        "" => format!("{} of process {}", event.thread, event.pid),
        name => format!("{name} ({} of process {})", event.thread, event.pid),
    };
    let took = match event.duration_ns {
        Some(ns) => format!("{}   ({} ns)", format::duration(ns), format::grouped(ns)),
        None => ending(event).to_owned(),
    };
    let mut fields = vec![
        field("call", event.name.clone()),
        field("start", format!("{} s", format::seconds(event.start_ns, 9))),
        field("took", took),
        field("thread", thread),
    ];
    if event.depth > 0 {
        fields.push(field("depth", format!("{} calls above it", event.depth)));
    }
    if !event.site.is_empty() {
        fields.push(field("from", event.site.clone()));
    }
    let result = if event.result.is_empty() { ending(event).to_owned() } else { event.result.clone() };
    fields.push(field("result", result));
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
