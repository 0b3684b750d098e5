//! From keys to actions.

use super::chord::Key;
use super::{Action, Context, Entry, TABLE};

/// What a sequence of keys means in a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// An action.
    Action(Action),
    /// The beginning of some.
    Prefix,
    /// Nothing.
    Nothing,
}

/// Keys that do something in a context.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub context: Context,
    pub keys: Vec<Key>,
    pub entry: &'static Entry,
    /// By the user, not by the table.
    pub own: bool,
}

/// Which keys do what: the table, with what the user changed.
#[derive(Clone, Debug)]
pub struct Keymap {
    pub(super) bindings: Vec<Binding>,
}

/// A row of the table as it is bound in a context.
#[derive(Clone, Debug)]
pub struct Row {
    /// The row.
    pub entry: &'static Entry,
    /// Its keys, spelled; none if the user took them all away.
    pub keys: Vec<String>,
    /// Whether they are others than the table's.
    pub changed: bool,
}

impl Default for Keymap {
    fn default() -> Self {
        let mut bindings = Vec::new();
        for context in Context::ALL {
            for entry in entries(context) {
                let keys = entry.keys.iter().filter_map(|keys| Key::parse_sequence(keys));
                bindings.extend(keys.map(|keys| Binding { context, keys, entry, own: false }));
            }
        }
        Self { bindings }
    }
}

impl Keymap {
    pub(super) fn in_context(&self, context: Context) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().filter(move |binding| binding.context == context)
    }

    /// What these keys mean.
    pub fn find(&self, context: Context, keys: &[Key]) -> Match {
        let mut prefix = false;
        for binding in self.in_context(context) {
            if binding.keys == keys {
                return Match::Action(binding.entry.action);
            }
            prefix |= binding.keys.starts_with(keys);
        }
        if prefix { Match::Prefix } else { Match::Nothing }
    }

    /// What may follow a prefix: the key, and what it then does.
    pub fn continuations(&self, context: Context, prefix: &[Key]) -> Vec<(Key, &'static str)> {
        let mut next: Vec<(Key, &'static str)> = Vec::new();
        for binding in self.in_context(context).filter(|binding| binding.keys.starts_with(prefix)) {
            let Some(&key) = binding.keys.get(prefix.len()) else { continue };
            let doc = if binding.keys.len() > prefix.len() + 1 { "more keys" } else { binding.entry.doc };
            if !next.iter().any(|(seen, _)| *seen == key) {
                next.push((key, doc));
            }
        }
        next
    }

    /// The rows that are valid in a context, in the table's order.
    pub fn rows(&self, context: Context) -> impl Iterator<Item = Row> {
        entries(context).map(move |entry| {
            let own = |binding: &&Binding| std::ptr::eq(binding.entry, entry);
            let keys: Vec<String> = self.in_context(context).filter(own).map(|b| Key::spell(&b.keys)).collect();
            let changed = keys != entry.keys;
            Row { entry, keys, changed }
        })
    }

    /// A text in which actions stand for their keys: `{search} searches`. A key is that of this context, else of the
    /// first in which there is one.
    pub fn fill(&self, context: Context, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                text.push('{');
                rest = after;
                continue;
            };
            text.push_str(&self.key_named(context, name).unwrap_or_else(|| format!(":{name}")));
            rest = after;
        }
        text + rest
    }

    fn key_named(&self, context: Context, name: &str) -> Option<String> {
        let mut contexts = std::iter::once(context).chain(Context::ALL);
        contexts.find_map(|context| {
            let mut of_name = self.in_context(context).filter(|binding| binding.entry.name == name);
            of_name.next().map(|binding| Key::spell(&binding.keys))
        })
    }

    /// The first key of an action in a context.
    pub fn key_of(&self, context: Context, action: Action) -> Option<String> {
        let binding = self.in_context(context).find(|binding| binding.entry.action == action)?;
        Some(Key::spell(&binding.keys))
    }
}

/// Rows of the table that are valid in a context, in order.
pub fn entries(context: Context) -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().filter(move |entry| entry.contexts.contains(&context))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn texts_name_the_keys_that_hold() {
        let keymap = Keymap::default();
        let fill = |text: &str| keymap.fill(Context::Calls, text);
        assert_eq!(fill("{search} searches, {lens-undo} undoes; {open"), "/ searches, Backspace undoes; {open");
        assert_eq!(fill("{no-such-action}"), ":no-such-action");
        assert_eq!(keymap.fill(Context::Prompt, "{back}, {complete}"), "Esc, Tab");
    }

    #[test]
    fn every_spelling_is_read_and_gives_its_action() {
        let keymap = Keymap::default();
        for entry in TABLE {
            assert!(!entry.keys.is_empty(), "{:?} cannot be reached", entry.action);
            assert!(!entry.doc.is_empty() && !entry.contexts.is_empty(), "{:?}", entry.action);
            for keys in entry.keys {
                let parsed = Key::parse_sequence(keys).expect(keys);
                let spelled: Vec<String> = parsed.iter().map(Key::to_string).collect();
                assert_eq!(spelled.join(" "), *keys);
                for &context in entry.contexts {
                    assert_eq!(keymap.find(context, &parsed), Match::Action(entry.action), "{keys} in {context:?}");
                }
            }
        }
    }

    #[test]
    fn no_two_bindings_of_a_context_clash() {
        for context in Context::ALL {
            let all: Vec<Vec<Key>> =
                entries(context).flat_map(|e| e.keys).filter_map(|keys| Key::parse_sequence(keys)).collect();
            for (i, one) in all.iter().enumerate() {
                for (j, other) in all.iter().enumerate() {
                    assert!(i == j || !other.starts_with(one), "{context:?}: {one:?} hides {other:?}");
                }
            }
        }
    }

    #[test]
    fn keys_that_tmux_docker_and_keyboards_take_are_not_the_only_way() {
        for entry in TABLE {
            let taken = |keys: &&str| matches!(*keys, "Ctrl-b" | "Ctrl-p");
            assert!(!entry.keys.iter().all(taken), "{:?}", entry.action);
            let alt_gr = |keys: &&str| keys.contains(['[', ']', '{', '}', '\\', '@', '~', '|']);
            assert!(!entry.keys.iter().all(alt_gr), "{:?} needs AltGr", entry.action);
        }
    }

    #[test]
    fn an_action_is_documented_once_for_a_context() {
        for context in Context::ALL {
            let mut seen = BTreeSet::new();
            for entry in entries(context) {
                assert!(seen.insert(format!("{:?}", entry.action)), "{:?} twice in {context:?}", entry.action);
            }
        }
    }

    #[test]
    fn an_action_has_one_name_and_a_name_one_action() {
        for entry in TABLE {
            for other in TABLE {
                assert_eq!(entry.action == other.action, entry.name == other.name, "{} {}", entry.name, other.name);
            }
            let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(entry.name.chars().all(kebab) && entry.name != "none" && !entry.name.is_empty(), "{}", entry.name);
        }
        let names: BTreeSet<&str> = Context::ALL.into_iter().map(Context::config_name).collect();
        assert_eq!(names.len(), Context::ALL.len());
    }

    #[test]
    fn rows_say_the_keys_of_the_table() {
        let keymap = Keymap::default();
        for context in Context::ALL {
            assert!(keymap.rows(context).all(|row| row.keys == row.entry.keys && !row.changed));
        }
        assert_eq!(keymap.key_of(Context::Calls, Action::FoldAll).as_deref(), Some("z M"));
        assert_eq!(keymap.key_of(Context::Events, Action::FoldAll), None);
    }

    #[test]
    fn a_prefix_lists_what_may_follow() {
        let keymap = Keymap::default();
        let g = Key::parse("g").expect("g");
        assert_eq!(keymap.find(Context::Events, &[g]), Match::Prefix);
        let keys: Vec<String> =
            keymap.continuations(Context::Events, &[g]).iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(keys, ["p", "g", "e"]);
        assert_eq!(keymap.find(Context::Events, &[Key::parse("Ctrl-y").expect("key")]), Match::Nothing);
    }
}
