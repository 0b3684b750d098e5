//! The user's keys, laid over the table.

use std::collections::BTreeSet;

use super::chord::Key;
use super::keymap::{Binding, Keymap, entries};
use super::{Action, Context, Entry, TABLE};
use crate::config::nearest;
use crate::config::{KeyLine, Place, Problem};

/// The name that takes keys away.
pub const NONE: &str = "none";

/// A line that can be understood.
struct Wish<'a> {
    line: &'a KeyLine,
    keys: Vec<Key>,
    /// What the keys are to do; `None`: nothing.
    name: Option<&'static str>,
    contexts: Vec<Context>,
}

impl Keymap {
    /// The table with these lines over it, and what is wrong with them; a wrong line changes nothing.
    ///
    /// A line for one context overrules one for all. Keys are taken away before others are given.
    #[must_use]
    pub fn with(lines: &[KeyLine]) -> (Self, Vec<Problem>) {
        let (mut keymap, mut problems) = (Self::default(), Vec::new());
        let wishes: Vec<Wish<'_>> = lines.iter().filter_map(|line| wish(line, &mut problems)).collect();
        let wishes = without_doubles(wishes, &mut problems);
        for general in [true, false] {
            let level = || wishes.iter().filter(|wish| wish.line.context.is_none() == general);
            for wish in level().filter(|wish| wish.name.is_none()) {
                keymap.take_away(wish, &mut problems);
            }
            for wish in level() {
                keymap.give(wish, &mut problems);
            }
        }
        keymap.say_what_lost_its_keys(&wishes, &mut problems);
        problems.sort_by_key(|problem| problem.place);
        (keymap, problems)
    }

    /// Takes away the keys of a wish, and all that begin with them.
    fn take_away(&mut self, wish: &Wish<'_>, problems: &mut Vec<Problem>) {
        let before = self.bindings.len();
        self.bindings.retain(|b| !wish.contexts.contains(&b.context) || !b.keys.starts_with(&wish.keys));
        if self.bindings.len() == before {
            let place = wish.line.keys.place;
            let keys = Key::spell(&wish.keys);
            let whereabouts = wish.line.context.as_ref().map_or("anywhere", |context| &context.text);
            problems.push(Problem::note(place, format!("{keys} does nothing {whereabouts} as it is; leave this out")));
        }
    }

    fn give(&mut self, wish: &Wish<'_>, problems: &mut Vec<Problem>) {
        let Some(name) = wish.name else { return };
        let mut clash: Option<(String, Vec<&str>)> = None;
        for &context in &wish.contexts {
            let Some(entry) = entry(name, context) else { continue };
            let others: Vec<&Binding> =
                self.in_context(context).filter(|other| hides(&wish.keys, &other.keys)).collect();
            if !others.is_empty() {
                let told = clash.get_or_insert_with(|| (told_clash(&wish.keys, &others), Vec::new()));
                told.1.push(context.config_name());
                continue;
            }
            self.bindings.retain(|b| b.context != context || b.keys != wish.keys);
            let at = self.bindings.iter().filter(|binding| binding.own).count();
            self.bindings.insert(at, Binding { context, keys: wish.keys.clone(), entry, own: true });
        }
        if let Some((told, contexts)) = clash {
            let text = format!("{told} (in {})", contexts.join(", "));
            problems.push(Problem::error(wish.line.keys.place, text));
        }
    }

    /// Notes the actions that had keys before others took them. Whoever wrote `none` knows.
    fn say_what_lost_its_keys(&self, wishes: &[Wish<'_>], problems: &mut Vec<Problem>) {
        let mut told = BTreeSet::new();
        for row in Context::ALL.iter().flat_map(|&context| self.rows(context).map(move |row| (context, row))) {
            let (context, row) = row;
            if !row.keys.is_empty() {
                continue;
            }
            let took = |wish: &&Wish<'_>| {
                let had = row.entry.keys.iter().any(|keys| Key::parse_sequence(keys).as_ref() == Some(&wish.keys));
                had && wish.name.is_some() && wish.contexts.contains(&context)
            };
            let Some(wish) = wishes.iter().find(took) else { continue };
            if told.insert((wish.line.keys.place, row.entry.name)) {
                let keys = Key::spell(&wish.keys);
                let text = format!(
                    "'{}' has no key in {} now: {keys} was its only one",
                    row.entry.name,
                    context.config_name()
                );
                problems.push(Problem::note(wish.line.keys.place, text));
            }
        }
    }
}

/// The table's row for an action in a context.
fn entry(name: &str, context: Context) -> Option<&'static Entry> {
    entries(context).find(|entry| entry.name == name)
}

/// Whether one of two sequences begins the other, so that one of them could never be reached.
fn hides(one: &[Key], other: &[Key]) -> bool {
    one != other && (one.starts_with(other) || other.starts_with(one))
}

fn told_clash(keys: &[Key], others: &[&Binding]) -> String {
    let ours = Key::spell(keys);
    let told = |other: &&Binding| format!("'{}' ({})", Key::spell(&other.keys), other.entry.name);
    let theirs = others.iter().map(told).collect::<Vec<_>>().join(", ");
    let longer = others.iter().all(|other| other.keys.len() > keys.len());
    let clash = if longer { format!("'{ours}' would hide {theirs}") } else { format!("{theirs} hides '{ours}'") };
    format!("{clash}; choose another key, or set the others to \"{NONE}\" too")
}

fn wish<'a>(line: &'a KeyLine, problems: &mut Vec<Problem>) -> Option<Wish<'a>> {
    let mut wrong = |place: Place, text: String| problems.push(Problem::error(place, text));
    let context = match &line.context {
        None => None,
        Some(name) => match Context::ALL.into_iter().find(|context| context.config_name() == name.text) {
            Some(context) => Some(context),
            // Said once, at the table's name, by whoever looks at the contexts.
            None => return None,
        },
    };
    let keys = Key::read_sequence(&line.keys.text).map_err(|text| wrong(line.keys.place, text)).ok();
    let name = action(line, context).map_err(|text| wrong(line.action.place, text)).ok();
    let (keys, (name, contexts)) = (keys?, name?);
    if keys.contains(&Key::read("ctrl-c").ok()?) {
        let fixed = entries(Context::Calls).find(|entry| entry.action == Action::Interrupt)?.name;
        wrong(line.keys.place, format!("ctrl-c is always '{fixed}', so that there is a way out; choose another key"));
        return None;
    }
    Some(Wish { line, keys, name, contexts })
}

/// What a line's keys are to do, and where.
fn action(line: &KeyLine, context: Option<Context>) -> Result<(Option<&'static str>, Vec<Context>), String> {
    let wanted = line.action.text.as_str();
    if wanted == NONE {
        return Ok((None, context.map_or_else(|| Context::ALL.to_vec(), |context| vec![context])));
    }
    let rows: Vec<&Entry> = TABLE.iter().filter(|entry| entry.name == wanted).collect();
    let Some(first) = rows.first() else {
        let here = TABLE.iter().filter(|entry| context.is_none_or(|context| entry.contexts.contains(&context)));
        let hint = nearest::hint(wanted, here.map(|entry| entry.name).chain([NONE]));
        return Err(format!("there is no action '{wanted}'{hint}"));
    };
    let valid = Context::ALL.into_iter().filter(|context| rows.iter().any(|row| row.contexts.contains(context)));
    let valid: Vec<Context> = valid.collect();
    match context {
        None => Ok((Some(first.name), valid)),
        Some(context) if valid.contains(&context) => Ok((Some(first.name), vec![context])),
        Some(context) => {
            let names: Vec<&str> = valid.into_iter().map(Context::config_name).collect();
            Err(format!("'{wanted}' does nothing in {}; it is for {}", context.config_name(), names.join(", ")))
        }
    }
}

/// Leaves out lines that say something else of the same keys than one before them.
fn without_doubles<'a>(wishes: Vec<Wish<'a>>, problems: &mut Vec<Problem>) -> Vec<Wish<'a>> {
    let mut kept: Vec<Wish<'a>> = Vec::new();
    for wish in wishes {
        let context = |wish: &Wish<'_>| wish.line.context.as_ref().map(|context| context.text.clone());
        // Lines for all contexts may name actions of different ones.
        let same = |other: &&Wish<'a>| {
            other.keys == wish.keys
                && context(other) == context(&wish)
                && other.contexts.iter().any(|context| wish.contexts.contains(context))
        };
        match kept.iter().find(same) {
            Some(other) => {
                let text = format!(
                    "{} is '{}' by line {} already; leave one of the two out",
                    Key::spell(&wish.keys),
                    other.line.action,
                    other.line.keys.place.line
                );
                problems.push(Problem::error(wish.line.keys.place, text));
            }
            None => kept.push(wish),
        }
    }
    kept
}

/// What is wrong with the name of a `[keys.NAME]` table, if anything is.
#[must_use]
pub fn context_problem(name: &str) -> Option<String> {
    let known = || Context::ALL.into_iter().map(Context::config_name);
    if known().any(|context| context == name) {
        return None;
    }
    let names: Vec<&str> = known().collect();
    Some(format!("there are no keys of '{name}'{}; there are {}", nearest::hint(name, known()), names.join(", ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::{Level, Spelled};
    use crate::ui::keys::Match;

    fn lines(text: &[(&str, &str, &str)]) -> Vec<KeyLine> {
        let spelled = |text: &str, line, column| Spelled { text: text.to_owned(), place: Place { line, column } };
        let line = |(number, (context, keys, action)): (usize, &(&str, &str, &str))| KeyLine {
            context: (!context.is_empty()).then(|| spelled(context, 0, 1)),
            keys: spelled(keys, number + 1, 1),
            action: spelled(action, number + 1, 20),
        };
        text.iter().enumerate().map(line).collect()
    }

    fn told(text: &[(&str, &str, &str)]) -> Vec<String> {
        Keymap::with(&lines(text)).1.iter().map(|problem| problem.told("f")).collect()
    }

    fn find(keymap: &Keymap, context: Context, keys: &str) -> Match {
        keymap.find(context, &Key::parse_sequence(keys).expect(keys))
    }

    #[test]
    fn a_line_adds_a_key_and_one_for_a_context_overrules_one_for_all() {
        let (keymap, problems) = Keymap::with(&lines(&[
            ("", "ctrl-x", "redraw"),
            ("calls", "Ctrl-X", "fold-all"),
            ("calls", "x y", "flat"),
            ("", "?", "none"),
        ]));
        assert_eq!(problems, []);
        assert_eq!(find(&keymap, Context::Calls, "Ctrl-x"), Match::Action(Action::FoldAll));
        assert_eq!(find(&keymap, Context::Events, "Ctrl-x"), Match::Action(Action::Redraw));
        assert_eq!(find(&keymap, Context::Calls, "x"), Match::Prefix);
        assert_eq!(find(&keymap, Context::Calls, "x y"), Match::Action(Action::Flat));
        assert_eq!(find(&keymap, Context::Events, "?"), Match::Nothing);
        let row = keymap.rows(Context::Calls).find(|row| row.entry.action == Action::FoldAll).expect("a row");
        assert!(row.changed);
        assert_eq!(row.keys, ["Ctrl-x", "z M", "C"]);
        assert_eq!(keymap.key_of(Context::Events, Action::Help).as_deref(), Some("F1"));
    }

    #[test]
    fn a_prefix_is_free_once_all_that_it_begins_is_taken_away() {
        let clash = told(&[("calls", "z", "toggle")]);
        assert_eq!(clash.len(), 1);
        assert!(clash[0].starts_with("f:1:1: 'z' would hide 'z M' (fold-all), 'z R' (unfold-all), "), "{clash:?}");
        // A table cannot say two things of one key, but one for all contexts can take it away.
        let (keymap, problems) = Keymap::with(&lines(&[("", "z", "none"), ("calls", "z", "toggle")]));
        assert!(problems.iter().all(|problem| problem.level == Level::Note), "{problems:?}");
        assert_eq!(find(&keymap, Context::Calls, "z"), Match::Action(Action::Toggle));
        let apart = Keymap::with(&lines(&[
            ("events", "g g", "none"),
            ("events", "g e", "none"),
            ("events", "g p", "none"),
            ("events", "g", "top"),
        ]));
        assert_eq!(apart.1, []);
        assert_eq!(find(&apart.0, Context::Events, "g"), Match::Action(Action::Top));
        assert_eq!(find(&apart.0, Context::Calls, "g"), Match::Prefix);
        let behind = told(&[("calls", "o o", "toggle")]);
        assert!(behind[0].contains("'o' (toggle) hides 'o o'; choose another key"), "{behind:?}");
    }

    #[test]
    fn every_mistake_is_told_where_it_is() {
        let told = told(&[
            ("calls", "ctrl-i", "fold-all"),
            ("calls", "x", "fold-al"),
            ("events", "x", "fold-all"),
            ("calls", "ctrl-c", "quit"),
            ("calls", "w", "top"),
            ("calls", "w", "bottom"),
            ("calls", "pgdwn", "nonsense"),
            ("", "ctrl-y", "none"),
            ("quit", "d", "terminate"),
        ]);
        let begins = [
            "f:1:1: no terminal can send 'ctrl-i'",
            "f:2:20: there is no action 'fold-al'; did you mean 'fold-all'?",
            "f:3:20: 'fold-all' does nothing in events; it is for calls",
            "f:4:1: ctrl-c is always 'interrupt'",
            "f:6:1: w is 'top' by line 5 already",
            "f:7:1: there is no key 'pgdwn'; did you mean 'PgDn'?",
            "f:7:20: there is no action 'nonsense'",
            "f:8:1: note: Ctrl-y does nothing anywhere",
            "f:9:1: note: 'detach' has no key in quit now",
        ];
        assert_eq!(told.len(), begins.len(), "{told:#?}");
        for (told, begin) in told.iter().zip(begins) {
            assert!(told.starts_with(begin), "{told}\nnot {begin}");
        }
        assert!(context_problem("cals").expect("unknown").contains("did you mean 'calls'?"));
        assert_eq!(context_problem("calls"), None);
    }

    proptest! {
        #[test]
        fn no_lines_make_keys_that_hide_each_other_or_close_the_way_out(
            lines_ in prop::collection::vec(
                (
                    prop::sample::select(vec!["", "calls", "events", "quit", "help", "nowhere"]),
                    prop::sample::select(vec!["g", "z", "g g", "z M", "z M M", "x", "q", "ctrl-c", "ctrl-i", "Esc", "1", "ü"]),
                    prop::sample::select(vec!["none", "quit", "fold-all", "top", "stay", "help", "go-calls", "what"]),
                ),
                0..12,
            )
        ) {
            let (keymap, _) = Keymap::with(&lines(&lines_));
            for context in Context::ALL {
                let usual = find(&Keymap::default(), context, "Ctrl-c");
                prop_assert_eq!(find(&keymap, context, "Ctrl-c"), usual);
                let all: Vec<&Binding> = keymap.in_context(context).collect();
                for (i, one) in all.iter().enumerate() {
                    prop_assert!(one.entry.contexts.contains(&context));
                    for (j, other) in all.iter().enumerate() {
                        prop_assert!(i == j || !other.keys.starts_with(&one.keys), "{:?} {:?}", one, other);
                    }
                }
            }
        }
    }
}
