//! What threads of the host do: calls, ranges, marks.

use super::category::Category;
use super::event::{Event, integer};
use super::flows::End;
use super::gpu;
use super::mapping::{Mapping, arguments, name_of};
use crate::parse::imported::{Call, Range};
use crate::parse::json::{Scanner, Value};
use crate::trace::Layer;
use std::io;

/// `nvtxPayloadType_t` of an unsigned number.
const UNSIGNED: u16 = 1;

/// A call of CUDA.
pub fn call(
    mapping: &mut Mapping,
    event: &Event<'_>,
    category: Category,
    start: u64,
    end: Option<u64>,
    scanner: &mut Scanner<'_, '_>,
) -> io::Result<()> {
    let layer = if category == Category::Driver { Layer::Driver } else { Layer::Runtime };
    let mut correlation = 0;
    arguments(&event.args, |key, value| {
        if matches!(key, b"correlation" | b"correlation_id") {
            correlation = gpu::correlation(&value);
        }
    });
    let name = name_of(event, scanner);
    submit(mapping, event, layer, &name, correlation, (start, end))
}

fn submit(
    mapping: &mut Mapping,
    event: &Event<'_>,
    layer: Layer,
    name: &str,
    correlation: u32,
    (start, end): (u64, Option<u64>),
) -> io::Result<()> {
    let at = mapping.pid(&event.pid);
    let thread = mapping.thread(at, &event.tid);
    mapping.seen(at, true, true);
    let function = mapping.function(layer, name);
    mapping.target.call(thread, &Call { function, start, end, correlation, ..Call::default() })
}

/// A call of CUDA without a category, as TensorFlow and JAX write them; whether it is one.
pub fn described(
    mapping: &mut Mapping,
    event: &Event<'_>,
    start: u64,
    end: Option<u64>,
    scanner: &mut Scanner<'_, '_>,
) -> io::Result<bool> {
    let Value::Text(name) = event.name else { return Ok(false) };
    let layer = match name.raw {
        [b'c', b'u', b'd', b'a', next, ..] if next.is_ascii_uppercase() => Layer::Runtime,
        [b'c', b'u', next, ..] if next.is_ascii_uppercase() => Layer::Driver,
        _ => return Ok(false),
    };
    let mut correlation = None;
    arguments(&event.args, |key, value| {
        if matches!(key, b"correlation_id" | b"correlation") {
            correlation = Some(gpu::correlation(&value));
        }
    });
    let Some(correlation) = correlation else { return Ok(false) };
    let name = scanner.text(&name);
    let plain = name.split([':', ' ', '(']).next().unwrap_or_default();
    submit(mapping, event, layer, plain, correlation, (start, end))?;
    Ok(true)
}

/// Any other slice.
pub fn range(
    mapping: &mut Mapping,
    event: &Event<'_>,
    start: u64,
    end: Option<u64>,
    scanner: &mut Scanner<'_, '_>,
) -> io::Result<()> {
    let at = mapping.pid(&event.pid);
    let thread = mapping.thread(at, &event.tid);
    let mut range = mapping.named(event, start, end, scanner);
    if let Value::Text(name) = event.name
        && name.raw == b"record_param_comms"
    {
        // Which communicator it is: a number that needs all of its 64 bits.
        arguments(&event.args, |key, value| {
            if key == b"Comms Id"
                && let Some(id) = integer(&value).and_then(|id| u64::try_from(id).ok())
            {
                range.payload = Some((UNSIGNED, id));
            }
        });
    }
    mapping.seen(at, false, event.category.raw != b"Trace");
    mapping.target.range(thread, &range)
}

/// A moment: a mark, or what a caching allocator did.
pub fn mark(mapping: &mut Mapping, event: &Event<'_>, start: u64, scanner: &mut Scanner<'_, '_>) -> io::Result<()> {
    if let Value::Text(name) = event.name
        && name.raw == b"[memory]"
        && gpu::memory(mapping, event, start)?
    {
        return Ok(());
    }
    let at = mapping.pid(&event.pid);
    let thread = mapping.thread(at, &event.tid);
    let range = mapping.named(event, start, None, scanner);
    mapping.seen(at, false, !matches!(event.pid, Value::Text(_)));
    mapping.target.mark(thread, &range)
}

/// An end of a flow, which is an arrow from one slice to another: a mark of its thread, whose domain says which end, and
/// whose payload which flow.
pub fn flow(
    mapping: &mut Mapping,
    event: &Event<'_>,
    id: &Value<'_>,
    end: End,
    start: u64,
    scanner: &mut Scanner<'_, '_>,
) -> io::Result<()> {
    let at = mapping.pid(&event.pid);
    let thread = mapping.thread(at, &event.tid);
    let name = name_of(event, scanner);
    let name = mapping.target.text(if name.is_empty() { "flow" } else { &name });
    let domain = mapping.target.text(end.words());
    let payload = integer(id).and_then(|id| u64::try_from(id).ok()).map(|id| (UNSIGNED, id));
    mapping.target.mark(thread, &Range { name, domain, start, payload, ..Range::default() })
}
