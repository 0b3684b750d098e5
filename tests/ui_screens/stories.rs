//! A story for every action of the key table, wherever it is valid: the keys that lead there, its key, and what is
//! different on the screen then.
//!
//! Stories come from the table; what is told here is how to get to where an action has something to do. An action
//! that changes nothing has no story, and the test fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ratatui::backend::TestBackend;
use ratatui::style::Modifier;
use umtui::session::handle::Child;
use umtui::ui::keys::{Context, Keymap, Row};
use umtui::ui::{Outcome, ScreenId};

use crate::fixture::{Stage, live, stage};

/// The sizes that are shown, with the lines of a story at most, and one at which little fits.
const SHOWN: [((u16, u16), usize); 2] = [((80, 24), 8), ((200, 50), 4)];
const SMALL: (u16, u16) = (40, 12);

/// Where a context is found: the screen to start on, and keys.
fn way_to(context: Context) -> Option<(ScreenId, &'static str)> {
    Some(match context {
        Context::Overview => (ScreenId::Overview, ""),
        Context::Calls => (ScreenId::Calls, ""),
        Context::Heatmap => (ScreenId::Heatmap, ""),
        Context::Events => (ScreenId::Events, ""),
        Context::Memory => (ScreenId::Memory, ""),
        Context::Output => (ScreenId::Output, ""),
        Context::Help => (ScreenId::Calls, "?"),
        Context::Columns => (ScreenId::Calls, "f"),
        Context::EventColumns => (ScreenId::Events, "C"),
        Context::Kinds => (ScreenId::Events, "f"),
        Context::Filters => (ScreenId::Calls, "P"),
        Context::Details => (ScreenId::Events, "Enter"),
        Context::Finder => (ScreenId::Calls, "g p"),
        Context::Palette => (ScreenId::Calls, ":"),
        Context::QuitDialog => (ScreenId::Calls, "q"),
        Context::Prompt => (ScreenId::Calls, "/"),
    })
}

/// Keys before an action's own, so that it has something to do: context, or empty for all; action; keys.
const BEFORE: &[(&str, &str, &str)] = &[
    ("", "up", "G"),
    ("finder", "up", "Down Down"),
    ("finder", "page-up", "PgDn"),
    ("commands", "up", "Down Down"),
    ("commands", "page-up", "PgDn"),
    ("", "half-up", "G"),
    ("", "page-up", "G"),
    ("", "top", "G"),
    ("output", "down", "g g"),
    ("output", "half-down", "g g"),
    ("output", "page-down", "g g"),
    ("output", "bottom", "g g"),
    ("", "filter-like", "j j j"),
    ("", "filter-invert", "& f a i l e d Enter"),
    ("", "lens-off", "& f a i l e d Enter"),
    ("", "lens-undo", "& f a i l e d Enter"),
    ("", "all-time", ": + 1 m s Enter"),
    ("filters", "lens-off", "q & f a i l e d Enter P"),
    ("filters", "save-filter", "q & f a i l e d Enter P"),
    ("", "centre", "j j j j j j"),
    ("", "scroll-left", "l l"),
    ("memory", "later", "h"),
    ("memory", "back", "Tab Enter"),
    ("memory", "in-use", "p"),
    ("memory", "filter-like", "j"),
    ("calls", "unfold-or-child", "h"),
    ("calls", "unfold-all", "z M"),
    ("calls", "fold-less", "z M"),
    ("calls", "fold-to-1", "z M"),
    ("calls", "fold-to-2", "z M"),
    ("calls", "fold-to-3", "z M"),
    ("calls", "fold-to-4", "z M"),
    ("calls", "parent", "j j"),
    ("calls", "previous-sibling", "J"),
    ("calls", "back", "1 Enter"),
    ("heatmap", "up", "j j"),
    ("heatmap", "half-up", "j j j j j j j j"),
    ("heatmap", "page-up", "j j j j j j j j"),
    ("heatmap", "top", "j j"),
    ("heatmap", "earlier", "l l"),
    ("heatmap", "earlier-page", "L"),
    ("heatmap", "zoom-time-out", "w w"),
    ("heatmap", "zoom-rows-out", "W W"),
    ("heatmap", "fit", "."),
    ("heatmap", "show-all", "w w"),
    ("heatmap", "filter-like", "j l"),
    ("events", "back", "2 j Enter"),
    ("events", "its-call", "j j j j j j"),
    ("events", "all-events", "2 j j j Enter"),
    ("", "automatic", "Space"),
    ("columns", "open", "j"),
    ("columns", "move-up", "j"),
    ("event-columns", "move-up", "j"),
];

/// Likewise on a line to type on.
const TYPED: &[(&str, &str)] = &[
    ("open", "c u"),
    ("complete", "c u"),
    ("older", "c u Enter /"),
    ("newer", "c u Enter / Up"),
    ("edit-left", "c u"),
    ("edit-right", "c u Left"),
    ("edit-word-left", "c u"),
    ("edit-word-right", "c u Ctrl-a"),
    ("edit-start", "c u"),
    ("edit-end", "c u Ctrl-a"),
    ("erase-left", "c u"),
    ("erase-right", "c u Left"),
    ("erase-word", "c u"),
    ("erase-to-start", "c u"),
    ("erase-to-end", "c u Left"),
];

/// What nobody can see, and why.
const UNSEEN: &[(&str, &str, &str)] = &[
    ("", "redraw", "draws what is there already"),
    ("overview", "back", "nothing is behind the first screen"),
    ("prompt", "complete", "a search has nothing to complete"),
    ("output", "back", "nothing is behind a screen that a number led to"),
    ("overview", "go-overview", "is there already"),
    ("calls", "go-calls", "is there already"),
    ("heatmap", "go-heatmap", "is there already"),
    ("heatmap", "back", "nothing is behind a screen that a number led to"),
    ("memory", "go-memory", "is there already"),
    ("events", "go-events", "is there already"),
    ("output", "go-output", "is there already"),
];

fn told<'a>(list: &[(&str, &str, &'a str)], context: Context, action: &str) -> Option<&'a str> {
    let of = |wanted: &str| list.iter().find(|(context, name, _)| *context == wanted && *name == action);
    of(context.config_name()).or_else(|| of("")).map(|(_, _, text)| *text)
}

fn before(context: Context, action: &str) -> Option<&'static str> {
    let typed = TYPED.iter().find(|(name, _)| context.takes_text() && *name == action);
    typed.map(|(_, keys)| *keys).or_else(|| told(BEFORE, context, action))
}

/// What a key did.
#[derive(PartialEq, Eq)]
struct Seen {
    before: Vec<String>,
    after: Vec<String>,
    left: Option<Outcome>,
    suspended: usize,
    terminated: usize,
}

impl Seen {
    fn anything(&self) -> bool {
        self.before != self.after || self.left.is_some() || self.suspended + self.terminated > 0
    }
}

fn act(context: Context, row: &Row, keys: &str, (width, height): (u16, u16)) -> Seen {
    let (first, way) = way_to(context).unwrap_or_else(|| panic!("say in way_to how a story gets to {context:?}"));
    let mut stage = stage(first, width, height, live());
    stage.said.lock().unwrap().child = Some(Child::Running { pid: 4121 });
    for keys in [way, before(context, row.entry.name).unwrap_or("")] {
        assert!(keys.is_empty() || stage.press(keys).is_none(), "{context:?} {}", row.entry.name);
    }
    let before = lines(&stage);
    let left = stage.press(keys);
    let (suspended, terminated) = (stage.host.0.lock().unwrap().0, stage.said.lock().unwrap().terminated);
    Seen { before, after: lines(&stage), left, suspended, terminated }
}

/// The lines of the screen, with a sign at those that are marked.
fn lines(stage: &Stage<TestBackend>) -> Vec<String> {
    let buffer = stage.event_loop.terminal().backend().buffer();
    let marked = |y: u16| (0..buffer.area.width).any(|x| buffer[(x, y)].modifier.contains(Modifier::REVERSED));
    // A single cell is the place where is typed.
    let reversed = |x: u16, y: u16| buffer.cell((x, y)).is_some_and(|cell| cell.modifier.contains(Modifier::REVERSED));
    let typed = |y: u16| {
        let place = (1..buffer.area.width).find(|&x| reversed(x, y) && !reversed(x - 1, y) && !reversed(x + 1, y));
        place.map(|x| format!(" (at {x})")).unwrap_or_default()
    };
    let line = |y| {
        let sign = if marked(y) { '>' } else { ' ' };
        format!("{sign} {}{}", stage.line(y), typed(y)).trim_end().to_owned()
    };
    (0..buffer.area.height).map(line).collect()
}

fn story(context: Context, row: &Row, size: (u16, u16), most: usize) -> String {
    let name = row.entry.name;
    let mut keys = row.keys.iter();
    let first = keys.next().expect("a key");
    let seen = act(context, row, first, size);
    for other in keys {
        assert!(act(context, row, other, size) == seen, "{other} does not do in {context:?} what {first} does");
    }
    let before = before(context, name).map(|keys| format!("{keys} then ")).unwrap_or_default();
    let mut out = format!("## {name}: {before}{first}\n");
    // Writing to a String cannot fail.
    match seen.left {
        Some(outcome) => drop(writeln!(out, "leaves: {outcome:?}")),
        None if seen.suspended > 0 => out.push_str("suspends\n"),
        None if seen.terminated > 0 => out.push_str("interrupts the program\n"),
        None => {}
    }
    let changed: Vec<usize> = (0..seen.after.len()).filter(|&y| seen.before.get(y) != seen.after.get(y)).collect();
    for &y in changed.iter().take(most) {
        let _ = writeln!(out, "{y:>2}{}", seen.after[y]);
    }
    if changed.len() > most {
        let _ = writeln!(out, "   and {} lines more", changed.len() - most);
    }
    out
}

#[test]
fn every_action_does_something_wherever_it_is_valid() {
    let keymap = Keymap::default();
    let mut without = BTreeMap::new();
    for context in Context::ALL {
        for row in keymap.rows(context) {
            let name = row.entry.name;
            let sizes = SHOWN.iter().map(|(size, _)| *size).chain([SMALL]);
            let does = sizes.clone().any(|size| act(context, &row, &row.keys[0], size).anything());
            if !does && told(UNSEEN, context, name).is_none() {
                without.insert((context.config_name(), name), row.keys);
            }
        }
    }
    assert!(without.is_empty(), "without a story; say in BEFORE what comes before: {without:#?}");
}

#[test]
fn stories_of_every_action() {
    let keymap = Keymap::default();
    for ((width, height), most) in SHOWN {
        for context in Context::ALL {
            let stories: Vec<String> =
                keymap.rows(context).map(|row| story(context, &row, (width, height), most)).collect();
            insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
                let name = format!("stories_{}_{width}x{height}", context.config_name());
                insta::assert_snapshot!(name, stories.join(""));
            });
        }
    }
}

#[test]
fn what_is_told_of_actions_is_of_actions_that_are_there() {
    let keymap = Keymap::default();
    let known = |context: &str, action: &str| {
        let contexts = Context::ALL.into_iter().filter(|c| context.is_empty() || c.config_name() == context);
        contexts.into_iter().any(|context| keymap.rows(context).any(|row| row.entry.name == action))
    };
    for (context, action, _) in BEFORE.iter().chain(UNSEEN) {
        assert!(known(context, action), "{context} {action}");
    }
}
