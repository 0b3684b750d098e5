//! Counters: each value of an event is a sample of a series of its own.

use super::event::{Event, raw_of};
use super::mapping::{Mapping, name_of, pairs};
use crate::parse::imported::Repair;
use crate::parse::json::{Scanner, Value};
use crate::trace::Sampled;
use crate::trace::sampled::Unread;
use std::io;

const NO_NUMBER: Repair = Repair::Mended("values of counters that are no numbers, left out");
const BEYOND: Repair = Repair::Lost("values of counters that no number of 64 bits holds, left out");
const EMPTY: Repair = Repair::Mended("samples of counters without any value, left out");
/// What a counter without a name is called.
const NAMELESS: &str = "(no name)";

/// An event of phase `C`: a counter of its process, by name and id, with a value for each of its series.
pub fn take(mapping: &mut Mapping, event: &Event<'_>, start: u64, scanner: &mut Scanner<'_, '_>) -> io::Result<()> {
    let name = name_of(event, scanner);
    let name = if name.is_empty() { NAMELESS } else { &name };
    let named;
    let counter = match id_of(&event.id) {
        Some(id) => {
            named = format!("{name}[{id}]");
            named.as_str()
        }
        None => name,
    };
    let process = mapping.counting(&event.pid);
    let (mut any, mut done) = (false, Ok(()));
    pairs(&event.args, |key, value| {
        any = true;
        match sampled(&value) {
            Ok(value) if done.is_ok() => {
                let series = scanner.text(&key);
                done = mapping.target.sample(process, (counter, &series), start, value);
            }
            Ok(_) => {}
            Err(Unread::NoNumber) => mapping.repair(NO_NUMBER),
            Err(Unread::Beyond) => mapping.repair(BEYOND),
        }
    });
    if !any {
        mapping.repair(EMPTY);
    }
    done
}

/// A number, or a string that is one.
fn sampled(value: &Value<'_>) -> Result<Sampled, Unread> {
    match value {
        Value::Number(raw) => Sampled::read(raw),
        Value::Text(text) => Sampled::read(text.raw.trim_ascii()),
        _ => Err(Unread::NoNumber),
    }
}

/// An id as it stands, also within `id2`.
fn id_of(id: &Value<'_>) -> Option<String> {
    let mut raw = raw_of(id);
    if let Value::Inner(_) = id {
        raw = &[];
        pairs(id, |_, value| raw = raw_of(&value));
    }
    (!raw.is_empty()).then(|| String::from_utf8_lossy(raw).into_owned())
}
