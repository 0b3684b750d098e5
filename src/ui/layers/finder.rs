//! What the finder lists: the screens, and what the session found.

use super::picker::{Item, Then};
use crate::session::view::{Entry, EntryKind};
use crate::ui::screens::ScreenId;
use crate::ui::text::format;

/// Names that are asked for.
pub const NAMES: usize = 200;

/// The screens.
pub fn screens() -> Vec<Item> {
    let item = |screen: ScreenId| Item {
        kind: "screen",
        label: screen.name().to_owned(),
        note: String::new(),
        then: Then::Screen(screen),
    };
    ScreenId::ALL.map(item).to_vec()
}

/// Things of the trace.
pub fn things(entries: Vec<Entry>) -> Vec<Item> {
    let item = |entry: Entry| Item {
        kind: kind_name(entry.kind),
        label: entry.label.clone(),
        note: match entry.kind {
            EntryKind::Allocation => String::new(),
            _ => format!("{}  {}", format::count(entry.count), format::duration(entry.total_ns)),
        },
        then: Then::Thing(Box::new(entry)),
    };
    entries.into_iter().map(item).collect()
}

fn kind_name(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Function => "function",
        EntryKind::Kernel => "kernel",
        EntryKind::Process => "process",
        EntryKind::Thread => "thread",
        EntryKind::Stream => "stream",
        EntryKind::Range => "range",
        EntryKind::Site => "call site",
        EntryKind::Allocation => "memory",
    }
}
