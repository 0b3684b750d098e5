//! Values against serde's.

use super::tree::Json;
use super::*;
use crate::parse::imported::Place;
use proptest::prelude::*;
use serde_json::Value as Serde;

fn twin(value: &Serde) -> Json {
    match value {
        Serde::Null => Json::Null,
        Serde::Bool(is) => Json::Bool(*is),
        Serde::Number(number) => Json::Number(number.to_string()),
        Serde::String(text) => Json::Text(text.clone()),
        Serde::Array(list) => Json::Array(list.iter().map(twin).collect()),
        Serde::Object(map) => Json::Object(map.iter().map(|(key, value)| (key.clone(), twin(value))).collect()),
    }
}

fn values() -> impl Strategy<Value = Serde> {
    let leaf = prop_oneof![
        Just(Serde::Null),
        any::<bool>().prop_map(Serde::from),
        any::<i64>().prop_map(Serde::from),
        ".{0,12}".prop_map(Serde::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Serde::from),
            prop::collection::btree_map(".{0,5}", inner, 0..5).prop_map(|map| Serde::Object(map.into_iter().collect())),
        ]
    })
}

fn read(text: &[u8]) -> (Result<Json, Stop>, Flaws) {
    let mut flaws = Flaws::default();
    let value = Scanner::new(text, &mut flaws).value().map(|value| Json::of(&value));
    (value, flaws)
}

proptest! {
    #[test]
    fn values_are_those_of_serde(value in values(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let (read, flaws) = read(format!("{text} ").as_bytes());
        prop_assert_eq!(read, Ok(twin(&value)));
        prop_assert!(flaws.list.is_empty());
    }

    #[test]
    fn whatever_was_cut_or_flipped_ends(value in values(), cut in 0usize..200, flip in 0usize..200, bit in 0u8..8) {
        let mut text = serde_json::to_vec(&value).unwrap();
        let length = text.len();
        text[flip % length] ^= 1 << bit;
        text.truncate(cut);
        let _ = read(&text);
    }

    #[test]
    fn windows_of_any_size_show_the_same(text in "[ \n\\[\\]a-z0-9\"]{0,200}", size in 1usize..20) {
        let mut window = Window::reading(text.as_bytes(), size);
        let mut seen = Vec::new();
        while let Some(byte) = window.peek().unwrap() {
            seen.push((byte, window.place(0)));
            window.advance(1);
        }
        let mut twin = Vec::new();
        for (line, content) in text.split('\n').enumerate() {
            for (column, byte) in content.bytes().enumerate().filter(|(_, byte)| *byte != b' ') {
                twin.push((byte, Place::At(line as u64 + 1, column as u64 + 1)));
            }
        }
        prop_assert_eq!(seen, twin);
    }
}

#[test]
fn flaws_are_told_with_their_places() {
    let (value, flaws) = read(br#"{"a": [1, 2,], "b": NaN,, "c": "C:\Users", } "#);
    assert_eq!(value.unwrap().get("c").unwrap().text(), Some("C:\\Users"));
    assert!(flaws.list.iter().any(|(flaw, _)| *flaw == Flaw::Escape), "{flaws:?}");
    let deep = [b"[".repeat(1_000_000), b"]".repeat(1_000_000), b" ".to_vec()].concat();
    assert!(read(&deep).0.is_ok());
    assert_eq!(read(b"[1, 2").0, Err(Stop::Incomplete));
    assert_eq!(read(b"hello ").0, Err(Stop::Malformed));
}
