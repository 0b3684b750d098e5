//! From keys to actions.

use super::chord::Key;
use super::table::{Action, Context, Entry, TABLE};

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

struct Binding {
    keys: Vec<Key>,
    entry: &'static Entry,
}

/// The table with its spellings read.
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Default for Keymap {
    fn default() -> Self {
        let spelled = TABLE.iter().flat_map(|entry| entry.keys.iter().map(move |keys| (entry, *keys)));
        let bindings =
            spelled.filter_map(|(entry, keys)| Some(Binding { keys: Key::parse_sequence(keys)?, entry })).collect();
        Self { bindings }
    }
}

impl Keymap {
    fn in_context(&self, context: Context) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().filter(move |binding| binding.entry.contexts.contains(&context))
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
        let longer = self.in_context(context).filter(|binding| binding.keys.starts_with(prefix));
        longer.filter_map(|binding| Some((*binding.keys.get(prefix.len())?, binding.entry.doc))).collect()
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
            for keys in entry.keys {
                assert!(!matches!(*keys, "Ctrl-b" | "Ctrl-p"), "{:?}", entry.action);
            }
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
    fn a_prefix_lists_what_may_follow() {
        let keymap = Keymap::default();
        let g = Key::parse("g").expect("g");
        assert_eq!(keymap.find(Context::Events, &[g]), Match::Prefix);
        let keys: Vec<String> =
            keymap.continuations(Context::Events, &[g]).iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(keys, ["g", "e"]);
        assert_eq!(keymap.find(Context::Events, &[Key::parse("Ctrl-p").expect("key")]), Match::Nothing);
    }
}
