//! What the command palette lists: every action of the key table with its keys, and the commands that take arguments.

use super::picker::{Item, Then};
use crate::ui::command::COMMANDS;
use crate::ui::keys::{Action, Context, Keymap};
use crate::ui::memory::GROUPINGS;
use crate::ui::screens::ScreenId;

/// Screens, and the contexts of their keys.
const SCREENS: [(ScreenId, Context); 6] = [
    (ScreenId::Overview, Context::Overview),
    (ScreenId::Calls, Context::Calls),
    (ScreenId::Heatmap, Context::Heatmap),
    (ScreenId::Memory, Context::Memory),
    (ScreenId::Events, Context::Events),
    (ScreenId::Output, Context::Output),
];

/// All of it: what is valid here first, then what is on other screens.
pub fn items(keymap: &Keymap, here: Context, themes: &[String]) -> Vec<Item> {
    let mut items = of_context(keymap, here, None);
    items.extend(COMMANDS.iter().map(|command| Item {
        kind: "command",
        label: format!("{} {}: {}", command.name, command.arguments, command.doc),
        note: String::new(),
        then: Then::Begin(command),
    }));
    for (screen, context) in SCREENS.into_iter().filter(|(_, context)| *context != here) {
        let known = |item: &Item| items.iter().any(|other| other.label == item.label);
        let others: Vec<Item> =
            of_context(keymap, context, Some(screen)).into_iter().filter(|item| !known(item)).collect();
        items.extend(others);
    }
    items.extend(lines(themes));
    items
}

/// Commands with what may follow them, where that is one of a few names.
fn lines(themes: &[String]) -> impl Iterator<Item = Item> + '_ {
    let screens = ScreenId::ALL.into_iter().map(|screen| format!("screen {}", screen.name()));
    let groupings = GROUPINGS.into_iter().map(|(name, _)| format!("group {name}"));
    let themes = themes.iter().map(|name| format!("theme {name}"));
    let item =
        |line: String| Item { kind: "command", label: line.clone(), note: String::new(), then: Then::Line(line) };
    screens.chain(groupings).chain(themes).map(item)
}

fn of_context(keymap: &Keymap, context: Context, screen: Option<ScreenId>) -> Vec<Item> {
    // Typing is not chosen from a list, and a list has been opened already.
    let rows = keymap.rows(context).filter(|row| !matches!(row.entry.action, Action::Edit(_) | Action::Palette));
    rows.map(|row| Item {
        kind: screen.map_or("here", ScreenId::name),
        label: row.entry.doc.to_owned(),
        note: row.keys.join("  "),
        then: Then::Act(screen, row.entry.action),
    })
    .collect()
}
