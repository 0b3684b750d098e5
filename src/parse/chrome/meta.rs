//! What describes the events: names of processes and threads, devices, the clock.

use super::event::Event;
use super::mapping::{Mapping, arguments};
use crate::parse::json::tree::Json;
use crate::parse::json::{Value, number};
use crate::trace::activity::Device;

/// Longest name that is kept, bytes.
const NAME: usize = 512;

/// An event of phase `M`.
pub fn named(event: &Event<'_>, mapping: &mut Mapping) {
    let Value::Text(what) = event.name else { return };
    if !matches!(what.raw, b"process_name" | b"thread_name") {
        return;
    }
    let mut name = String::new();
    arguments(&event.args, |key, value| {
        if key == b"name"
            && let Value::Text(text) = value
        {
            name = text.text(&mut Default::default()).into_owned();
        }
    });
    if name.len() > NAME {
        let end = (0..=NAME).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        name.truncate(end);
    }
    let at = mapping.pid(&event.pid);
    if what.raw == b"thread_name" {
        let thread = mapping.thread(at, &event.tid);
        mapping.target.thread_name(thread, &name);
        return;
    }
    let device = name.split("device:GPU:").nth(1).and_then(|rest| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse().ok()
    });
    let process = mapping.pid_mut(at).map(|pid| {
        pid.device = device.or(pid.device);
        pid.process
    });
    if let Some(process) = process {
        mapping.target.process_name(process, &name);
    }
}

/// A key beside the events.
pub fn take(key: &[u8], value: &Value<'_>, mapping: &mut Mapping) {
    match key {
        b"baseTimeNanoseconds" => {
            let raw = super::event::raw_of(value);
            mapping.base = number::integer(raw).or_else(|| number::scaled(raw, 0).map(i128::from));
        }
        b"deviceProperties" => {
            for one in Json::of(value).elements() {
                device(one, mapping);
            }
        }
        b"distributedInfo" => {
            let info = Json::of(value);
            mapping.rank = info.get("rank").and_then(Json::integer).and_then(|rank| u32::try_from(rank).ok());
        }
        _ => {}
    }
}

fn device(one: &Json, mapping: &mut Mapping) {
    let number = |key: &str| one.get(key).and_then(Json::integer);
    let small = |key: &str| number(key).and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
    let Some(ordinal) = number("id").and_then(|id| u16::try_from(id).ok()).filter(|&id| id < 255) else { return };
    let device = Device {
        memory_bytes: number("totalGlobalMem").and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0),
        capability: (small("computeMajor"), small("computeMinor")),
        multiprocessors: small("numSms"),
        ..Device::default()
    };
    let name = one.get("name").and_then(Json::text).unwrap_or_default();
    mapping.target.device(mapping.gpu, ordinal, name, &device);
}
