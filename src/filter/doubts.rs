//! What a filter may not have been meant to say: names that nothing has.

use umtui_wire::table::FUNCTIONS;

use super::error::quoted;
use super::fields::{self, Field, hint};
use super::{Condition, Matcher, Pattern, TextField};

/// Fields whose values are few and known.
const CLOSED: [(TextField, &[&str]); 3] = [
    (TextField::Layer, &["runtime", "driver", "gpu"]),
    (TextField::Kind, KINDS),
    (TextField::Cause, &["user", "coherence", "prefetch", "eviction", "access-counters", "unknown"]),
];

/// What the lens calls things (`lens::words`).
const KINDS: &[&str] = &[
    "call",
    "kernel",
    "graph",
    "copy",
    "set",
    "migration",
    "fault",
    "range",
    "mark",
    "wait",
    "event",
    "allocation",
    "overhead",
    "cpu-fault",
    "gpu-fault",
    "thrashing",
    "throttling",
    "remote-map",
    "device",
    "managed",
    "host",
    "pinned",
    "registered",
    "pool",
    "mapped",
    "pageable",
    "peer",
    "p2p",
    "h2d",
    "d2h",
    "d2d",
    "h2h",
    "h2a",
    "a2h",
    "a2a",
    "a2d",
    "d2a",
    "host-to-device",
    "device-to-host",
    "device-to-device",
    "host-to-host",
    "host-to-array",
    "array-to-host",
    "array-to-array",
    "array-to-device",
    "device-to-array",
];

/// The values that a field can have, if they are few and known.
#[must_use]
pub fn known(field: TextField) -> Option<&'static [&'static str]> {
    CLOSED.iter().find(|(closed, _)| *closed == field).map(|(_, known)| *known)
}

/// Sentences about patterns that fit nothing known, each with the nearest name.
#[must_use]
pub fn doubts(condition: &Condition) -> Vec<String> {
    let mut doubts = Vec::new();
    add(condition, &mut doubts);
    doubts
}

fn add(condition: &Condition, doubts: &mut Vec<String>) {
    match condition {
        Condition::All(parts) => parts.iter().for_each(|part| add(part, doubts)),
        Condition::Any(parts) => {
            // A word stands for either; one of both is enough.
            let of = |wanted| parts.iter().any(|part| matches!(part, Condition::Text(field, _) if *field == wanted));
            let word = of(TextField::Api) && of(TextField::Kernel);
            let is_api = |part: &Condition| matches!(part, Condition::Text(TextField::Api, _));
            parts.iter().filter(|part| !(word && is_api(part))).for_each(|part| add(part, doubts));
        }
        Condition::Not(inner) | Condition::ChildrenOf(inner) | Condition::CallersOf(inner) => add(inner, doubts),
        Condition::Text(field, pattern @ Pattern::Glob(text)) => {
            let Ok(matcher) = Matcher::new(pattern) else { return };
            let what = if *field == TextField::Api {
                let known = || FUNCTIONS.iter().map(|function| function.name);
                if known().any(|name| matcher.matches(name)) {
                    return;
                }
                format!("no known CUDA function fits {}{}", quoted(text), hint(text, known()))
            } else {
                let Some(known) = known(*field) else { return };
                if known.iter().any(|name| matcher.matches(name)) {
                    return;
                }
                let name = fields::name_of(Field::Text(*field));
                let list = known.get(..13).map_or_else(|| known.join(", "), |some| some.join(", ") + ", ...");
                format!("no {name} fits {}; known are {list}{}", quoted(text), hint(text, known.iter().copied()))
            };
            doubts.push(what);
        }
        Condition::Text(..) | Condition::Number(..) | Condition::Address(..) | Condition::Failed => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::expression;

    #[test]
    fn names_that_nothing_has_are_doubted() {
        let doubts = |text: &str| doubts(&expression::read("", text).unwrap());
        assert_eq!(doubts("api:cudaMem* layer:driver -cause:coherence kernel:x cudaMalloc"), Vec::<String>::new());
        let doubted = ["no known CUDA function fits `cudaMalocManaged`; did you mean cudaMallocManaged?"];
        assert_eq!(doubts("-under(api:cudaMalocManaged)"), doubted);
        let doubted = "no cause fits `evction`; known are user, coherence, prefetch, eviction, access-counters, unknown; did you mean eviction?";
        assert_eq!(doubts("cause:evction"), [doubted]);
        assert_eq!(doubts("my_kernel"), Vec::<String>::new());
        let doubted = doubts("kind:kernal");
        assert!(doubted[0].starts_with("no kind fits `kernal`; known are call, kernel, "), "{doubted:?}");
        assert!(doubted[0].ends_with(", ...; did you mean kernel?"), "{doubted:?}");
        assert_eq!(doubts("kind:h2d,host-*,PINNED"), Vec::<String>::new());
    }

    #[test]
    fn every_kind_that_the_lens_knows_is_known_here() {
        let source = include_str!("../lens/words.rs");
        let kinds = &source[source.find("fn call_kinds").unwrap()..source.find("fn cause").unwrap()];
        let is_kind =
            |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        for word in kinds.split('"').skip(1).step_by(2).filter(is_kind) {
            assert!(KINDS.contains(&word) || word.starts_with("cu"), "{word}");
        }
    }
}
