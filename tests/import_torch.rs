//! Snapshots of PyTorch's allocator as they are opened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::{Value, json};
use umtui::correlate::{AllocationKind, End};
use umtui::session::Loaded;
use umtui::trace::Style;
use umtui::trace::raw::RawCall;
use umtui::trace::{RangeKind, TrackId};

/// Protocol 2, without a memo; keys of dictionaries as they come.
fn pickled(value: &Value, out: &mut Vec<u8>) {
    shuffled(value, &mut 0, out);
}

/// Likewise, keys in an order that `seed` says; none for zero.
fn shuffled(value: &Value, seed: &mut u64, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(b'N'),
        Value::Bool(value) => out.push(if *value { 0x88 } else { 0x89 }),
        Value::Number(number) => {
            out.extend([0x8a, 9]);
            out.extend(number.as_u64().unwrap().to_le_bytes());
            out.push(0);
        }
        Value::String(text) => {
            out.push(b'X');
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.as_bytes());
        }
        Value::Array(list) => {
            out.extend(b"](");
            list.iter().for_each(|value| shuffled(value, seed, out));
            out.push(b'e');
        }
        Value::Object(map) => {
            out.extend(b"}(");
            let mut pairs: Vec<_> = map.iter().collect();
            if *seed != 0 {
                for at in (1..pairs.len()).rev() {
                    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    pairs.swap(at, (*seed >> 33) as usize % (at + 1));
                }
            }
            for (key, value) in pairs {
                pickled(&Value::String(key.clone()), out);
                shuffled(value, seed, out);
            }
            out.push(b'u');
        }
    }
}

fn bytes_of(value: &Value) -> Vec<u8> {
    let mut out = vec![0x80, 2];
    pickled(value, &mut out);
    out.push(b'.');
    out
}

fn load(bytes: &[u8]) -> Result<Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pickle");
    std::fs::write(&path, bytes).unwrap();
    Loaded::load_all(&[path]).map_err(|error| error.to_string())
}

fn snapshot() -> Value {
    let frames = json!([
        {"filename": "/x/torch/csrc/a.cpp", "name": "at::empty", "line": 0},
        {"filename": "/home/me/train.py", "name": "step", "line": 42},
    ]);
    let entry = |action: &str, addr: u64, size: u64, time_us: u64| json!({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time_us, "frames": frames});
    json!({
        "segments": [
            {"device": 0, "address": 0x7000_0000, "total_size": 2_097_152, "stream": 0, "segment_type": "small", "blocks": [
                {"address": 0x7000_0000, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": frames},
                {"address": 0x7000_0200, "size": 1024, "state": "inactive"},
            ]},
            {"device": 0, "address": 0x6000_0000, "total_size": 20_971_520, "stream": 0, "segment_type": "large", "blocks": [
                {"address": 0x6000_0000, "size": 4096, "state": "active_allocated"},
                {"address": 0x6000_1000, "size": 4096, "state": "active_pending_free"},
            ]},
        ],
        "device_traces": [[
            entry("free_requested", 0x7000_0400, 256, 1_700_000_000_000_000),
            entry("free_completed", 0x7000_0400, 256, 1_700_000_000_000_000),
            entry("segment_alloc", 0x6000_0000, 20_971_520, 1_700_000_000_000_010),
            entry("alloc", 0x6000_0000, 4096, 1_700_000_000_000_010),
            entry("alloc", 0x6000_1000, 4096, 1_700_000_000_000_010),
            entry("free_requested", 0x6000_1000, 4096, 1_700_000_000_000_020),
            json!({"action": "oom", "size": 999, "device_free": 5, "stream": 0, "time_us": 1_700_000_000_000_030u64, "frames": []}),
            entry("snapshot", 0, 0, 1_700_000_000_000_040),
            entry("dance", 0, 0, 1_700_000_000_000_050),
        ]],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": ""},
    })
}

#[test]
fn segments_and_blocks() {
    let mut loaded = load(&bytes_of(&snapshot())).unwrap();
    assert_eq!(loaded.format(), "torch");
    let found = loaded.allocations().remove(0);
    let list: Vec<_> =
        found.all().iter().map(|one| (one.kind, one.address, one.bytes, one.end == End::Lives)).collect();
    let (segment, block) = (AllocationKind::Device, AllocationKind::Block);
    let mut expected = [
        (segment, 0x7000_0000, 2_097_152, true),
        (segment, 0x6000_0000, 20_971_520, true),
        (block, 0x7000_0000, 512, true),
        (block, 0x7000_0400, 256, false),
        (block, 0x6000_0000, 4096, true),
        (block, 0x6000_1000, 4096, true),
    ];
    let mut list = list;
    list.sort_unstable();
    expected.sort_unstable();
    assert_eq!(list, expected);
    assert_eq!((found.refused().len(), found.refused()[0].bytes), (1, Some(999)));
    let trace = loaded.trace();
    assert_eq!(trace.start_ns(), 1_699_999_999_999_999_999);
    let marks = trace.ranges.of(TrackId(1)).iter().filter(|range| range.kind == RangeKind::Mark).count();
    assert_eq!(marks, 2, "out of memory, and the snapshot");
    let site = found.all().iter().find(|one| one.address == 0x6000_1000).unwrap().site;
    assert_eq!(loaded.site(site), "train.py:42 step", "the library's own frames are passed over");
}

#[test]
fn without_a_history() {
    let mut value = snapshot();
    value["device_traces"] = json!([[]]);
    let mut loaded = load(&bytes_of(&value)).unwrap();
    assert_eq!(loaded.allocations().remove(0).all().len(), 4);
}

#[test]
fn snapshots_of_pytorch_without_python_say_the_types_of_their_containers() {
    let mut bytes = b"\x80\x02ctorch.jit._pickle\nrestore_type_tag\n".to_vec();
    pickled(&snapshot(), &mut bytes);
    pickled(&json!("Dict[str, Any]"), &mut bytes);
    bytes.extend(b"\x86R.");
    let mut loaded = load(&bytes).unwrap();
    let mut plain = load(&bytes_of(&snapshot())).unwrap();
    assert_eq!(loaded.allocations().remove(0).all().len(), plain.allocations().remove(0).all().len());
}

#[test]
fn what_the_program_said_it_was_doing_is_a_range() {
    let mut value = snapshot();
    let end = |stage, name, time: u64| json!({"name": name, "stage": stage, "device": 0, "time_us": 1_700_000_000_000_000 + time});
    value["external_annotations"] = json!([
        end("START", "step", 10),
        end("START", "forward", 12),
        end("END", "forward", 20),
        end("END", "step", 30),
        {"name": "no time", "stage": "START"},
    ]);
    let loaded = load(&bytes_of(&value)).unwrap();
    let trace = loaded.trace();
    let ranges = trace.ranges.of(TrackId(1)).iter().filter(|range| range.kind != RangeKind::Mark);
    let seen: Vec<_> = ranges
        .map(|range| (trace.names.get(trace.activities.name(range.name)), range.end_ns().unwrap() - range.start_ns))
        .collect();
    assert_eq!(seen, [("step", 20_000), ("forward", 8000)]);
}

#[test]
fn other_pickles_are_named() {
    let error = load(&bytes_of(&json!({"weights": []}))).err().unwrap();
    assert!(error.contains("no snapshot"), "{error}");
    let evil = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.".to_vec();
    let error = load(&evil).err().unwrap();
    assert!(error.contains("posix.system"), "{error}");
}

/// The arguments of every call, in the order of the trace.
fn arguments(loaded: &Loaded) -> Vec<String> {
    let (trace, files) = (loaded.trace(), loaded.bytes());
    let mut all = Vec::new();
    for track in &trace.tracks {
        for row in 0.. {
            let Some(call) = track.call(row) else { break };
            let place = track.location(row).unwrap();
            let raw = RawCall::read(&*files[place.file as usize], place).unwrap();
            let api = trace.api(call.api).unwrap();
            all.push(format!("{} {}", trace.api_name(call.api), raw.text(trace, track.process, api, Style::Short)));
        }
    }
    all
}

#[test]
fn streams_of_blocks_are_shown_where_they_are_known() {
    let mut value = snapshot();
    value["segments"][0]["stream"] = json!(0x5566_7788_1000u64);
    value["device_traces"][0][3]["stream"] = json!(0x7f00_1234_5678u64);
    let all = arguments(&load(&bytes_of(&value)).unwrap());
    let of = |name: &str, part: &str| all.iter().find(|text| text.starts_with(name) && text.contains(part)).unwrap();
    assert!(of("torch::alloc", "0x60000000").contains("stream=0x7f0012345678"), "{all:?}");
    assert!(of("torch::alloc", "0x70000000").contains("stream=0x556677881000"), "of its segment: {all:?}");
    assert!(of("torch::alloc", "0x60000000").contains("device=0"), "{all:?}");
    value["segments"][0].as_object_mut().unwrap().remove("stream");
    value["segments"][1].as_object_mut().unwrap().remove("stream");
    for entry in value["device_traces"][0].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("stream");
    }
    let all = arguments(&load(&bytes_of(&value)).unwrap());
    assert!(!all.is_empty() && all.iter().all(|text| !text.contains("stream")), "{all:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn keys_in_any_order(mut seed in 1u64..) {
        let mut bytes = vec![0x80, 2];
        shuffled(&snapshot(), &mut seed, &mut bytes);
        bytes.push(b'.');
        let (mut plain, mut other) = (load(&bytes_of(&snapshot())).unwrap(), load(&bytes).unwrap());
        prop_assert_eq!(arguments(&other), arguments(&plain));
        let (plain, other) = (plain.allocations().remove(0), other.allocations().remove(0));
        prop_assert_eq!(format!("{:?}", other.all()), format!("{:?}", plain.all()));
    }

    #[test]
    fn damaged_snapshots(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = bytes_of(&snapshot());
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Err(error) = load(&bytes) {
            prop_assert_eq!(error.lines().count(), 1);
        }
    }
}
