//! What the GPU does.

use super::category::Category;
use super::event::{Event, integer};
use super::mapping::{Mapping, arguments, name_of};
use crate::parse::imported::{Key, Range, Repair, Work};
use crate::parse::json::{Flaws, Scanner, Value};
use std::io;
use umtui_wire::activity as wire;

const NO_DURATION: Repair = Repair::Mended("work of the GPU without an end, shown with no duration");

/// What an event of the GPU says in its arguments.
#[derive(Clone, Debug, Default)]
struct Said<'a> {
    device: Option<u16>,
    context: Option<u32>,
    stream: Value<'a>,
    correlation: u32,
    bytes: u64,
    registers: u16,
    shared: u32,
    dynamic: u32,
    grid: [u32; 3],
    block: [u16; 3],
    graph: u32,
    node: u64,
    kind: Vec<u8>,
    event: Option<u32>,
    recorded: u32,
    from: Option<u16>,
    to: Option<u16>,
}

fn read<'a>(args: &Value<'a>) -> Said<'a> {
    let mut said = Said::default();
    arguments(args, |key, value| match key {
        b"device" => said.device = small(&value),
        b"context" => said.context = small(&value),
        b"stream" => said.stream = value,
        b"correlation" => said.correlation = correlation(&value),
        b"bytes" => said.bytes = small(&value).unwrap_or(0),
        b"registers per thread" => said.registers = small(&value).unwrap_or(0),
        b"shared memory" => said.shared = small(&value).unwrap_or(0),
        b"grid" => said.grid = three(&value).map(|count| u32::try_from(count).unwrap_or(0)),
        b"block" => said.block = three(&value).map(|count| u16::try_from(count).unwrap_or(0)),
        b"graph id" => said.graph = small(&value).unwrap_or(0),
        b"graph node id" => said.node = small(&value).unwrap_or(0),
        b"cuda_sync_kind" => said.kind = super::event::raw_of(&value).to_vec(),
        b"wait_on_cuda_event_id" | b"event_id" => said.event = small(&value),
        b"wait_on_cuda_event_record_corr_id" => said.recorded = correlation(&value),
        // Of copies between devices, the one that did it.
        b"inDevice" => said.device = said.device.or_else(|| small(&value)),
        b"inContext" => said.context = said.context.or_else(|| small(&value)),
        b"fromDevice" => said.from = small(&value),
        b"toDevice" => said.to = small(&value),
        _ => {}
    });
    said
}

/// A correlation id; zero for none.
pub fn correlation(value: &Value<'_>) -> u32 {
    match integer(value) {
        Some(id) if id > 0 => u32::try_from(id).unwrap_or((id as u64 ^ (id as u64 >> 32)) as u32),
        _ => 0,
    }
}

fn small<T: TryFrom<i128>>(value: &Value<'_>) -> Option<T> {
    integer(value).and_then(|number| T::try_from(number).ok())
}

fn three(value: &Value<'_>) -> [i128; 3] {
    let mut counts = [0; 3];
    if let Value::Inner(bytes) = value {
        if let Some(counts) = plain_three(bytes) {
            return counts;
        }
        let mut flaws = Flaws::default();
        let mut scanner = Scanner::new(bytes, &mut flaws);
        scanner.at = 1;
        for (at, place) in counts.iter_mut().enumerate() {
            match scanner.element(at == 0).and_then(|more| if more { scanner.value().map(Some) } else { Ok(None) }) {
                Ok(Some(value)) => *place = integer(&value).unwrap_or(0),
                _ => break,
            }
        }
    }
    counts
}

/// The commonest: `[128, 1, 1]`.
fn plain_three(bytes: &[u8]) -> Option<[i128; 3]> {
    let mut counts = [0u64; 3];
    let mut places = counts.iter_mut();
    let (mut place, mut before) = (places.next()?, b'[');
    for &byte in bytes.strip_prefix(b"[")?.strip_suffix(b"]")? {
        match (byte, before) {
            (b'0'..=b'9', b'0'..=b'9' | b' ' | b',' | b'[') => {
                *place = place.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
            }
            (b',', b'0'..=b'9') => place = places.next()?,
            (b' ', b',') => {}
            _ => return None,
        }
        before = byte;
    }
    before.is_ascii_digit().then(|| counts.map(i128::from))
}

/// Where it runs: device, context if that is known, and stream.
fn place(mapping: &mut Mapping, event: &Event<'_>, said: &Said<'_>) -> (Option<u16>, Option<u32>, u32) {
    // Kineto has the device for the process, and the stream for the thread.
    let device = said.device.or_else(|| small::<u16>(&event.pid)).filter(|&device| device < 255);
    let stream = mapping.streams.number(&said.stream).or_else(|| mapping.streams.number(&event.tid));
    let context = mapping.streams.context(device, said.context);
    (device, context, stream.unwrap_or(wire::NONE))
}

/// Hands work over, or keeps it until its context is known.
fn put(
    mapping: &mut Mapping,
    (device, context): (Option<u16>, Option<u32>),
    correlation: u32,
    mut work: Work,
) -> io::Result<()> {
    if context.is_none() {
        if mapping.streams.wait(device, correlation, work) {
            return Ok(());
        }
        work.set_context(mapping.streams.instead(device));
    }
    mapping.target.work(mapping.gpu, device, correlation, work)
}

/// Hands over what was kept for want of its context.
pub fn place_waiting(mapping: &mut Mapping) -> io::Result<()> {
    for (device, correlation, work) in mapping.streams.take_waiting() {
        mapping.target.work(mapping.gpu, device, correlation, work)?;
    }
    Ok(())
}

/// Work by its category.
pub fn work(
    mapping: &mut Mapping,
    event: &Event<'_>,
    category: Category,
    start: u64,
    end: Option<u64>,
    scanner: &mut Scanner<'_, '_>,
) -> io::Result<()> {
    let said = read(&event.args);
    // Overhead is the driver's own, on no device.
    let on_device = category != Category::Overhead;
    let (device, known, stream) = if on_device { place(mapping, event, &said) } else { (None, Some(0), wire::NONE) };
    let context = known.unwrap_or(0);
    let end = end.unwrap_or_else(|| {
        mapping.repair(NO_DURATION);
        start
    });
    let name = name_of(event, scanner);
    let work = match category {
        Category::Copy => {
            let (kind, from, to) = copy_kind(&name);
            let between = kind == BETWEEN;
            Work::Copy(wire::Copied {
                start,
                end,
                bytes: said.bytes,
                context,
                stream,
                kind,
                from,
                to,
                from_device: if between { said.from.unwrap_or(u16::MAX) } else { 0 },
                to_device: if between { said.to.unwrap_or(u16::MAX) } else { 0 },
                graph: said.graph,
                node: said.node,
                ..Default::default()
            })
        }
        Category::Set => {
            let memory = within(&name).map_or(0, memory_kind);
            let (bytes, graph, node) = (said.bytes, said.graph, said.node);
            Work::Set(wire::Set { start, end, bytes, context, stream, memory, graph, node, ..Default::default() })
        }
        Category::Wait => {
            let kind = match said.kind.as_slice() {
                b"Event Sync" => 1,
                b"Stream Wait Event" => 2,
                b"Stream Sync" => 3,
                b"Context Sync" => 4,
                _ => 0,
            };
            let event = said.event.unwrap_or(wire::NONE);
            let event_sync = u64::from(said.recorded);
            Work::Wait(wire::Wait { start, end, context, stream, kind, event, event_sync, ..Default::default() })
        }
        Category::Event => {
            let event = said.event.unwrap_or(wire::NONE);
            let event_sync = u64::from(said.correlation);
            Work::Event(wire::EventRecorded { time: start, event_sync, context, stream, event, ..Default::default() })
        }
        Category::Overhead => {
            let kind = overhead(&name);
            Work::Overhead(wire::Overhead { start, end, kind, ..Default::default() })
        }
        _ => {
            let name = mapping.target.text(&name).0;
            Work::Kernel(kernel(&said, (start, end), (context, stream), name))
        }
    };
    put(mapping, (device, known), said.correlation, work)
}

fn kernel(said: &Said<'_>, (start, end): (u64, u64), (context, stream): (u32, u32), name: u32) -> wire::Kernel {
    wire::Kernel {
        start,
        end,
        name,
        context,
        stream,
        registers: said.registers,
        grid: said.grid,
        block: said.block,
        static_shared: said.shared,
        dynamic_shared: said.dynamic,
        graph: said.graph,
        node: said.node,
        ..Default::default()
    }
}

/// What the program said of its ranges, as shown on a stream: a range of a thread that is called like the stream.
pub fn on_stream(
    mapping: &mut Mapping,
    event: &Event<'_>,
    start: u64,
    end: Option<u64>,
    scanner: &mut Scanner<'_, '_>,
) -> io::Result<()> {
    let said = read(&event.args);
    let device = said.device.or_else(|| small::<u16>(&event.pid)).unwrap_or(0);
    let stream = integer(&said.stream).or_else(|| integer(&event.tid)).unwrap_or(-1);
    let key = Key::text(&format!("GPU {device} stream {stream}"));
    let thread = mapping.target.thread(mapping.gpu, &key);
    let range: Range = mapping.named(event, start, end, scanner);
    mapping.target.range(thread, &range)
}

/// What PyTorch's caching allocator did; whether it says so.
pub fn memory(mapping: &mut Mapping, event: &Event<'_>, time: u64) -> io::Result<bool> {
    const CUDA: i128 = 1;
    const DEVICE_MEMORY: u8 = 3;
    const PAGEABLE: u8 = 1;
    let (mut address, mut bytes, mut kind, mut device) = (None, None, 0, None);
    arguments(&event.args, |key, value| match key {
        b"Addr" => address = small::<u64>(&value),
        b"Bytes" => bytes = integer(&value),
        b"Device Type" => kind = integer(&value).unwrap_or(0),
        b"Device Id" => device = small::<u16>(&value).filter(|&device| device < 255),
        _ => {}
    });
    let (Some(address), Some(bytes)) = (address, bytes) else { return Ok(false) };
    let name = mapping.target.text("PyTorch's allocator").0;
    let memory = wire::Memory {
        time,
        address,
        bytes: u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX),
        stream: wire::NONE,
        context: wire::NONE,
        operation: if bytes < 0 { 2 } else { 1 },
        kind: if kind == CUDA { DEVICE_MEMORY } else { PAGEABLE },
        name,
        ..Default::default()
    };
    let device = device.filter(|_| kind == CUDA);
    mapping.target.work(mapping.gpu, device, 0, Work::Memory(memory))?;
    Ok(true)
}

/// Work that says what it is in its arguments alone, as TensorFlow and JAX write it; whether it is such.
pub fn described(
    mapping: &mut Mapping,
    event: &Event<'_>,
    start: u64,
    end: Option<u64>,
    scanner: &mut Scanner<'_, '_>,
) -> io::Result<bool> {
    let (mut details, mut what, mut said) = (String::new(), Category::Other, Said::default());
    arguments(&event.args, |key, value| {
        what = match key {
            b"kernel_details" => Category::Kernel,
            b"memcpy_details" => Category::Copy,
            b"memset_details" => Category::Set,
            b"correlation_id" => {
                said.correlation = correlation(&value);
                return;
            }
            _ => return,
        };
        if let Value::Text(text) = value {
            details = text.text(&mut Default::default()).into_owned();
        }
    });
    if what == Category::Other {
        return Ok(false);
    }
    let at = mapping.pid(&event.pid);
    said.device = mapping.pid_mut(at).and_then(|pid| pid.device);
    let (mut from, mut to) = (0, 0);
    for pair in details.split_ascii_whitespace() {
        let Some((key, value)) = pair.split_once(':') else { continue };
        let number = || value.parse::<u64>().unwrap_or(0);
        let threes = || {
            let mut counts = [0u32; 3];
            value.split(',').zip(&mut counts).for_each(|(text, place)| *place = text.parse().unwrap_or(0));
            counts
        };
        match key {
            "regs" => said.registers = u16::try_from(number()).unwrap_or(0),
            "static_shared" => said.shared = u32::try_from(number()).unwrap_or(0),
            "dynamic_shared" => said.dynamic = u32::try_from(number()).unwrap_or(0),
            "grid" => said.grid = threes(),
            "block" => said.block = threes().map(|count| u16::try_from(count).unwrap_or(0)),
            "size" | "num_bytes" => said.bytes = number(),
            "kind_src" => from = memory_kind(value),
            "kind_dst" => to = memory_kind(value),
            "dest" => said.to = value.parse().ok(),
            _ => {}
        }
    }
    let (device, known, stream) = place(mapping, &Event { pid: Value::None, ..*event }, &said);
    let context = known.unwrap_or(0);
    let end = end.unwrap_or(start);
    let bytes = said.bytes;
    let work = match what {
        Category::Copy => {
            let (host, on_device) = (|kind| matches!(kind, 1 | 2), |kind| kind == 3);
            let kind = match (from, to) {
                (from, to) if host(from) && on_device(to) => 1,
                (from, to) if on_device(from) && host(to) => 2,
                (from, to) if on_device(from) && on_device(to) => 8,
                (from, to) if host(from) && host(to) => 9,
                _ => 0,
            };
            Work::Copy(wire::Copied { start, end, bytes, context, stream, kind, from, to, ..Default::default() })
        }
        Category::Set => Work::Set(wire::Set { start, end, bytes, context, stream, ..Default::default() }),
        _ => {
            let name = name_of(event, scanner);
            let name = mapping.target.text(&name).0;
            Work::Kernel(kernel(&said, (start, end), (context, stream), name))
        }
    };
    put(mapping, (device, known), said.correlation, work)?;
    Ok(true)
}

const BETWEEN: u8 = 10;

/// What stands in parentheses.
fn within(name: &str) -> Option<&str> {
    Some(name.split_once('(')?.1.split(')').next().unwrap_or_default())
}

/// Kind and both sides of `Memcpy HtoD (Pageable -> Device)`.
fn copy_kind(name: &str) -> (u8, u8, u8) {
    let way = name.split_ascii_whitespace().nth(1).unwrap_or_default();
    let kind = match way {
        "HtoD" => 1,
        "DtoH" => 2,
        "HtoA" => 3,
        "AtoH" => 4,
        "AtoA" => 5,
        "AtoD" => 6,
        "DtoA" => 7,
        "DtoD" => 8,
        "HtoH" => 9,
        "PtoP" => BETWEEN,
        _ => 0,
    };
    let sides = within(name).and_then(|sides| sides.split_once("->"));
    let (from, to) = sides.map_or((0, 0), |(from, to)| (memory_kind(from), memory_kind(to)));
    (kind, from, to)
}

fn memory_kind(words: &str) -> u8 {
    match words.trim().to_ascii_lowercase().as_str() {
        "pageable" | "host" => 1,
        "pinned" => 2,
        "device" => 3,
        "array" => 4,
        "managed" | "unified" => 5,
        "device static" => 6,
        "managed static" => 7,
        _ => 0,
    }
}

/// `CUpti_ActivityOverheadKind` by Kineto's name.
fn overhead(name: &str) -> u32 {
    match name {
        "Driver Compiler" => 1,
        "Buffer Flush" => 1 << 16,
        "Instrumentation" => 2 << 16,
        "Resource" => 3 << 16,
        "Runtime Triggered Module Loading" => 4 << 16,
        "Lazy Function Loading" => 5 << 16,
        "Command Buffer Full" => 6 << 16,
        "Activity Buffer Request" => 7 << 16,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threes_are_read_either_way() {
        for (text, plain) in [
            (&b"[128, 1, 1]"[..], Some([128, 1, 1])),
            (b"[7]", Some([7, 0, 0])),
            (b"[1,2, 3]", Some([1, 2, 3])),
            (b"[]", None),
            (b"[1, 2, 3, 4]", None),
            (b"[1 2]", None),
            (b"[-1]", None),
        ] {
            assert_eq!(plain_three(text), plain, "{text:?}");
        }
        assert_eq!(three(&Value::Inner(b"[1,2 , 3]")), [1, 2, 3]);
        assert_eq!(three(&Value::Inner(b"[\"5\", 2.5, [3]]")), [5, 2, 0]);
    }

    #[test]
    fn copies_say_what_they_are_in_their_names() {
        assert_eq!(copy_kind("Memcpy HtoD (Pageable -> Device)"), (1, 1, 3));
        assert_eq!(copy_kind("Memcpy DtoH (Device -> Pinned)"), (2, 3, 2));
        assert_eq!(copy_kind("Memcpy PtoP (Device -> Device)"), (10, 3, 3));
        assert_eq!(copy_kind("CopyHostToDevice"), (0, 0, 0));
        assert_eq!(within("Memset (Managed)").map(memory_kind), Some(5));
    }
}
