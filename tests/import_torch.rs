//! Snapshots of PyTorch's allocator as they are opened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::{Value, json};
use umtui::correlate::{AllocationKind, End};
use umtui::session::Loaded;
use umtui::trace::{RangeKind, TrackId};

/// Protocol 2, without a memo.
fn pickled(value: &Value, out: &mut Vec<u8>) {
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
            list.iter().for_each(|value| pickled(value, out));
            out.push(b'e');
        }
        Value::Object(map) => {
            out.extend(b"}(");
            for (key, value) in map {
                pickled(&Value::String(key.clone()), out);
                pickled(value, out);
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
fn other_pickles_are_named() {
    let error = load(&bytes_of(&json!({"weights": []}))).err().unwrap();
    assert!(error.contains("no snapshot"), "{error}");
    let evil = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.".to_vec();
    let error = load(&evil).err().unwrap();
    assert!(error.contains("posix.system"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

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
