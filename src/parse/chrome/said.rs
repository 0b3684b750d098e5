//! What slices and marks say of themselves beside their names: the arguments of operators, most of all.

use super::event::Event;
use crate::parse::imported::{Said, Target};
use crate::parse::json::{Flaws, Scanner, Value};

/// Numbers that are another one for each event, and tell nothing alone: with them no two texts would be alike. What they
/// tie together is known otherwise, by correlation ids, flows and nesting.
const NUMBERS: [&[u8]; 7] = [
    b"External id",
    b"External ID",
    b"Ev Idx",
    b"Record function id",
    b"Sequence number",
    b"Python id",
    b"Python parent id",
];

/// Bytes of one event's text that are looked at: more than are kept.
const ENOUGH: usize = 8192;

/// Keeps what events say as they say it.
#[derive(Debug, Default)]
pub struct Sayer {
    text: Vec<u8>,
}

impl Sayer {
    /// What an event says: its arguments as they stand, without such numbers.
    pub fn of(&mut self, event: &Event<'_>, target: &mut Target) -> Said {
        let Value::Inner(args) = event.args else { return Said::NOTHING };
        self.text.clear();
        let mut flaws = Flaws::default();
        let mut scanner = Scanner::new(args, &mut flaws);
        if scanner.take(b'{') != Ok(true) {
            return Said::NOTHING;
        }
        let mut first = true;
        while let Ok(Some(key)) = scanner.key(first) {
            first = false;
            // The key lies in the arguments, behind its quote.
            let from = (key.raw.as_ptr() as usize).saturating_sub(args.as_ptr() as usize + 1);
            if scanner.value().is_err() {
                break;
            }
            if !NUMBERS.contains(&key.raw) {
                self.text.extend_from_slice(if self.text.is_empty() { b"{" } else { b", " });
                let said = args.get(from..scanner.at).unwrap_or(&[]);
                self.text.extend_from_slice(said.get(..ENOUGH).unwrap_or(said));
            }
            if self.text.len() > ENOUGH {
                break;
            }
        }
        if self.text.is_empty() {
            return Said::NOTHING;
        }
        self.text.push(b'}');
        if memchr::memchr(b'\n', &self.text).is_some() {
            one_line(&mut self.text);
        }
        match std::str::from_utf8(&self.text) {
            Ok(text) => target.said(text),
            Err(_) => target.said(&String::from_utf8_lossy(&self.text)),
        }
    }
}

/// A space in place of a line's end and the white space around it.
fn one_line(text: &mut Vec<u8>) {
    let space = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'\t' | b' ');
    let mut line = Vec::with_capacity(text.len());
    for run in text.chunk_by(|one, next| space(one) == space(next)) {
        line.extend_from_slice(if run.contains(&b'\n') { b" " } else { run });
    }
    *text = line;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::imported::tests::target;

    #[test]
    fn numbers_of_one_event_are_left_out() {
        for (args, said) in [
            (r#"{"External id": 5, "Input Dims": [[2, 3], []], "Ev Idx": 7}"#, r#"{"Input Dims": [[2, 3], []]}"#),
            ("{\"a\":\n   [1,\n 2] , \"b\": \"x  y\"}", r#"{"a": [1, 2], "b": "x  y"}"#),
            (r#"{"a": 1, "b": }"#, r#"{"a": 1}"#),
            (r#"{"Sequence number": 5}"#, ""),
            ("{}", ""),
            ("[1]", ""),
        ] {
            let (mut sayer, mut target) = (Sayer::default(), target());
            let event = Event { args: Value::Inner(args.as_bytes()), ..Event::default() };
            let number = sayer.of(&event, &mut target);
            assert_eq!(number, target.said(said), "{args}");
        }
    }
}
