//! docs/keys.md.

use std::fmt::Write;

use super::keymap::entries;
use super::{Context, Entry, TABLE};

fn line(out: &mut String, entry: &Entry) {
    let keys: Vec<String> = entry.keys.iter().map(|keys| format!("`{keys}`")).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "| {} | {} | {} |", keys.join(" "), entry.name, entry.doc);
}

/// The table as Markdown: what holds on every screen first, then screen by screen.
pub fn document() -> String {
    let mut out = String::from(
        "# Keys\n\nWritten from the key table (src/ui/keys/table.rs) by `umtui::ui::keys::markdown::document`; \
         a test holds the two equal.\nTwo keys with a space between them are pressed one after the other.\n\n\
         A key is bound otherwise by the action's name in the config file (`umtui config path` says which that is), \
         for one context or wherever the action means something; `none` takes a key away:\n\n\
         ```toml\n[keys]\n\"ctrl-r\" = \"redraw\"\n\n[keys.calls]\n\"ctrl-x\" = \"fold-all\"\n\"x f\" = \"flat\"\n\"S\" = \"none\"\n```\n\n\
         `umtui config check` says what is wrong with it. `Ctrl-c` cannot be bound otherwise.\n",
    );
    let screens = [Context::Overview, Context::Calls, Context::Events, Context::Output];
    let everywhere = |entry: &Entry| screens.iter().all(|context| entry.contexts.contains(context));
    heading(&mut out, "On every screen");
    for entry in TABLE.iter().filter(|entry| everywhere(entry)) {
        line(&mut out, entry);
    }
    for context in Context::ALL {
        let popup = !screens.contains(&context);
        let title = match context.config_name() {
            name if name == context.name() => format!("In {name}"),
            name => format!("In {} (`{name}` in the config file)", context.name()),
        };
        heading(&mut out, &title);
        for entry in entries(context).filter(|entry| !everywhere(entry) || popup) {
            line(&mut out, entry);
        }
    }
    out
}

fn heading(out: &mut String, title: &str) {
    let _ = write!(out, "\n## {title}\n\n| keys | action | what they do |\n|---|---|---|\n");
}
