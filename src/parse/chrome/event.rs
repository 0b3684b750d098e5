//! One event: its fields as they stand.

use crate::parse::json::{Scanner, Stop, Str, Value, number};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// An event's fields; later ones of the same name count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// Phase.
    pub phase: Option<Str<'a>>,
    /// Name.
    pub name: Value<'a>,
    /// Category.
    pub category: Str<'a>,
    /// Process.
    pub pid: Value<'a>,
    /// Thread.
    pub tid: Value<'a>,
    /// When, us.
    pub ts: Value<'a>,
    /// How long, us.
    pub dur: Value<'a>,
    /// Which one, of what comes in several events.
    pub id: Value<'a>,
    /// What its id is unique in, beside the category.
    pub scope: Value<'a>,
    /// Flows that end or begin at this slice.
    pub bound: Value<'a>,
    /// They end at this slice.
    pub flow_in: bool,
    /// They begin at this slice.
    pub flow_out: bool,
    /// The rest.
    pub args: Value<'a>,
}

impl<'a> Event<'a> {
    /// Reads an event whose opening bracket comes next.
    ///
    /// # Errors
    /// When it is cut short, or none.
    pub fn read(scanner: &mut Scanner<'a, '_>) -> Result<Self, Stop> {
        if !scanner.take(b'{')? {
            return Err(Stop::Malformed);
        }
        let mut event = Self::default();
        let mut first = true;
        while let Some(key) = scanner.key(first)? {
            first = false;
            let value = scanner.value()?;
            match key.raw {
                b"ph" => event.phase = text(value),
                b"name" => event.name = value,
                b"cat" => event.category = text(value).unwrap_or_default(),
                b"pid" => event.pid = value,
                b"tid" => event.tid = value,
                b"ts" => event.ts = value,
                b"dur" => event.dur = value,
                b"id" | b"id2" => event.id = value,
                b"scope" => event.scope = value,
                b"bind_id" => event.bound = value,
                b"flow_in" => event.flow_in = value == Value::Bool(true),
                b"flow_out" => event.flow_out = value == Value::Bool(true),
                b"args" => event.args = value,
                _ => {}
            }
        }
        Ok(event)
    }

    /// When, ns; `None` if it does not say.
    #[must_use]
    pub fn start(&self) -> Option<i64> {
        micros(&self.ts)
    }

    /// When it ends, ns: `None` if it says nothing sensible.
    #[must_use]
    pub fn end(&self, start: u64) -> Option<u64> {
        micros(&self.dur).and_then(|ns| u64::try_from(ns).ok()).map(|ns| start.saturating_add(ns))
    }

    /// Key of what belongs together by category and id; what is within a process is told apart by it.
    #[must_use]
    pub fn key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.category.raw.hash(&mut hasher);
        raw_of(&self.scope).hash(&mut hasher);
        match self.id {
            Value::Number(raw) => raw.hash(&mut hasher),
            Value::Text(text) => text.raw.hash(&mut hasher),
            Value::Inner(raw) => {
                raw.hash(&mut hasher);
                raw_of(&self.pid).hash(&mut hasher);
            }
            _ => {}
        }
        hasher.finish()
    }
}

/// A number or string as it stands.
#[must_use]
pub fn raw_of<'a>(value: &Value<'a>) -> &'a [u8] {
    match value {
        Value::Number(raw) | Value::Inner(raw) => raw,
        Value::Text(text) => text.raw,
        _ => &[],
    }
}

/// Microseconds, as a number or in a string, in ns.
#[must_use]
pub fn micros(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Number(raw) => number::scaled(raw, 3),
        Value::Text(text) => number::scaled(text.raw.trim_ascii(), 3),
        _ => None,
    }
}

/// An integer, as a number or in a string. What has a point is cut there.
#[must_use]
pub fn integer(value: &Value<'_>) -> Option<i128> {
    let raw = match value {
        Value::Number(raw) => raw,
        Value::Text(text) => text.raw.trim_ascii(),
        _ => return None,
    };
    if let Some(digits) = raw.strip_prefix(b"0x") {
        return i128::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    }
    number::integer(raw).or_else(|| number::scaled(raw, 0).map(i128::from))
}

const fn text<'a>(value: Value<'a>) -> Option<Str<'a>> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}
