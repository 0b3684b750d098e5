//! Numbers of streams and contexts, which some writers leave out or have others for.

use super::event::integer;
use super::mapping::key_of;
use crate::parse::imported::{Key, Work};
use crate::parse::json::Value;
use rustc_hash::FxHashMap;
use umtui_wire::activity as wire;

/// First number that is made up.
const MADE_UP: u32 = 0x8000_0000;
/// Streams that get one at most; further ones share the last.
const STREAMS: usize = 1 << 16;
/// Pieces of work that wait for their context at most.
const WAITING: usize = 1 << 12;
/// Streams that a note names.
const NAMED: usize = 3;

/// The streams and contexts of an input.
#[derive(Debug, Default)]
pub struct Streams {
    /// Those whose number does not fit, or is none.
    made_up: FxHashMap<Key, u32>,
    first: Vec<String>,
    /// Device of each context.
    devices: FxHashMap<u32, u16>,
    /// The first context of each device.
    contexts: FxHashMap<Option<u16>, u32>,
    waiting: Vec<(Option<u16>, u32, Work)>,
}

impl Streams {
    /// The number of a stream; `None` if `value` says nothing.
    pub fn number(&mut self, value: &Value<'_>) -> Option<u32> {
        let key = match (integer(value), value) {
            (Some(number), _) => match u32::try_from(number) {
                Ok(number) => return Some(number),
                Err(_) => Key::Number(number),
            },
            (None, Value::Text(text)) if !text.raw.is_empty() => key_of(value),
            _ => return None,
        };
        // No stream, as the driver writes it.
        if key == Key::Number(-1) {
            return Some(wire::NONE);
        }
        if let Some(&known) = self.made_up.get(&key) {
            return Some(known);
        }
        let number = MADE_UP + self.made_up.len().min(STREAMS) as u32;
        if self.made_up.len() < STREAMS {
            if self.first.len() < NAMED {
                self.first.push(match &key {
                    Key::Text(text) => text.chars().take(40).collect(),
                    Key::Number(number) => number.to_string(),
                    Key::None => String::new(),
                });
            }
            self.made_up.insert(key, number);
        }
        Some(number)
    }

    /// The context of work on a device, of which an event says `said`: where it says nothing, that of other work there,
    /// if that is known.
    pub fn context(&mut self, device: Option<u16>, said: Option<u32>) -> Option<u32> {
        let Some(mut context) = said else { return self.contexts.get(&device).copied() };
        // Some writers give all contexts one number, which is of one device each.
        let of = device.unwrap_or(u16::MAX);
        while *self.devices.entry(context).or_insert(of) != of && self.devices.len() < 10_000 {
            context = context.wrapping_add(1000);
        }
        let first = self.contexts.entry(device).or_insert(context);
        *first = context.min(*first);
        Some(context)
    }

    /// What stands for the context where none is said: one that is known, or the device's number.
    pub fn instead(&mut self, device: Option<u16>) -> u32 {
        match self.contexts.get(&device) {
            Some(&known) => known,
            None => {
                let number = device.map_or(0, u32::from);
                self.context(device, Some(number)).unwrap_or(number)
            }
        }
    }

    /// Keeps work until its context is known; whether there is room.
    pub fn wait(&mut self, device: Option<u16>, correlation: u32, work: Work) -> bool {
        let room = self.waiting.len() < WAITING;
        if room {
            self.waiting.push((device, correlation, work));
        }
        room
    }

    /// What was kept, with its context.
    pub fn take_waiting(&mut self) -> Vec<(Option<u16>, u32, Work)> {
        let mut waiting = std::mem::take(&mut self.waiting);
        for (device, _, work) in &mut waiting {
            let context = self.instead(*device);
            work.set_context(context);
        }
        waiting
    }

    /// A line about streams whose numbers were made up.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let count = self.made_up.len();
        let more = if count > self.first.len() { ", ..." } else { "" };
        (count > 0).then(|| {
            let names = self.first.join(", ");
            format!("streams that have no number of 32 bits, numbered from {MADE_UP} on: {count} ({names}{more})")
        })
    }
}
