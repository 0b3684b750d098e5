//! Small documents of each kind.

use super::import;
use crate::parse::imported::Imported;
use crate::parse::imported::tests::{load, target};
use crate::trace::range_record::RangeRecord;
use crate::trace::{ActivityKind, LaneOf, RangeKind, Trace};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(text: &[u8]) -> (Trace, Imported) {
    let imported = import(text, "a.json", target()).unwrap();
    (load(&imported), imported)
}

/// Ranges by name, with start, end and thread's name, sorted.
fn ranges(trace: &Trace) -> Vec<Named> {
    let mut list = Vec::new();
    for (at, track) in trace.tracks.iter().enumerate() {
        for range in trace.ranges.of(crate::trace::TrackId(at as u32)) {
            let name = trace.names.get(trace.activities.name(range.name)).to_owned();
            list.push((name, range.start_ns, range.end_ns(), trace.names.get(track.name).to_owned()));
        }
    }
    list.sort();
    list
}

fn lines(imported: &Imported) -> String {
    let lost: Vec<&str> = imported.lost.iter().map(|(_, line)| line.as_str()).collect();
    format!("{}\n{}", lost.join("\n"), imported.notes.join("\n"))
}

const KINETO: &str = r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA X", "totalGlobalMem": 1000, "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
  "distributedInfo": {"rank": 3},
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 12, "tid": 12, "ts": 100.000, "dur": 50.5, "args": {"External id": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 12, "tid": 12, "ts": 110.001, "dur": 4, "args": {"cbid": 211, "correlation": 5}},
  {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 12, "tid": 12, "ts": 111, "dur": 2, "args": {"correlation": 6}},
  {"ph": "X", "cat": "kernel", "name": "saxpy", "pid": 0, "tid": 7, "ts": 120, "dur": 1.234, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 5, "registers per thread": 32, "grid": [8, 1, 1], "block": [128, 1, 1]}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 20, "ts": 122, "dur": 1, "args": {"device": 0, "context": 1, "stream": 20, "correlation": 9, "bytes": 4096}},
  {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 124, "dur": 1, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 10, "bytes": 64}},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 125, "dur": 8, "args": {"cuda_sync_kind": "Stream Sync", "stream": 7, "correlation": 15, "device": 0, "context": 1}},
  {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 12, "tid": 12, "ts": 126, "args": {"Addr": 140000000000, "Bytes": -512, "Device Type": 1, "Device Id": 0}},
  {"ph": "s", "id": 5, "pid": 12, "tid": 12, "ts": 110.001, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 5, "pid": 0, "tid": 7, "ts": 120, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "Trace", "ts": 99, "dur": 200, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)"},
  {"name": "process_name", "ph": "M", "ts": 0, "pid": 12, "tid": 0, "args": {"name": "python3"}}
  ], "traceName": "x.json", "baseTimeNanoseconds": 1727743122000000000}"#;

#[test]
fn kineto_is_calls_work_and_ranges() {
    let (trace, imported) = read(KINETO.as_bytes());
    assert_eq!(trace.processes.len(), 1);
    let process = &trace.processes[0];
    assert_eq!((process.pid, trace.names.get(process.program), process.rank), (12, "python3", Some(3)));
    assert_eq!((trace.calls(), trace.start_ns()), (2, 99_000));
    assert_eq!(process.start.realtime_ns, 1_727_743_122_000_099_000);
    let mut kinds = Vec::new();
    for lane in trace.activities.lanes() {
        lane.for_each(0, |_, one| kinds.push((one.kind, one.start_ns, one.duration_ns, one.correlation)));
    }
    kinds.sort_by_key(|kind| kind.1);
    assert_eq!(kinds[0], (ActivityKind::Kernel, 120_000, 1234, 5));
    assert_eq!(
        (kinds[1].0, kinds[2].0, kinds[3].0, kinds[4].0),
        (ActivityKind::Copy, ActivityKind::Set, ActivityKind::Wait, ActivityKind::Memory)
    );
    let submits = &trace.activities.of(crate::trace::ProcessId(0)).unwrap().submits;
    assert_eq!(submits.len(), 1);
    assert_eq!(ranges(&trace).len(), 2);
    assert!(imported.lost.is_empty() && trace.damage.is_empty(), "{:?} {:?}", imported.lost, trace.damage);
    let device = &trace.activities.of(crate::trace::ProcessId(0)).unwrap().devices[&0];
    assert_eq!((trace.names.get(device.name), device.multiprocessors), ("NVIDIA X", 132));
}

#[test]
fn damage_costs_only_what_is_damaged() {
    for (text, seen, told) in [
        (r#"[{"name":"a","ph":"X","ts":1,"dur":2},"#, 1, "before its brackets are closed"),
        (r#"[{"name":"a","ph":"X","ts":1,"dur":2},]"#, 1, "commas too many (at 1:39"),
        (r#"{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2}, {"name":"b","ph":"X","ts":"#, 1, "in the middle"),
        (
            r#"[{"name":"a","ph":"X","ts":1,"dur":NaN}, {"name":"b","ph":"X","ts":Infinity}]"#,
            1,
            "NaN or Infinity for a number: 2 (at 1:36",
        ),
        (r#"[{"name":"C:\Users\x","ph":"X","ts":1,"dur":1}]"#, 1, "begin no escape"),
        ("[{\"name\":\"a\u{1}\",\"ph\":\"X\",\"ts\":1,\"dur\":1}]", 1, "control characters"),
        (r#"[{"name":"\ud800","ph":"X","ts":1,"dur":1}]"#, 1, "surrogate"),
        (r#"[{"name":"a","ph" "X"}, {"name":"b","ph":"X","ts":1,"dur":1}]"#, 1, "JSON is damaged"),
        (r#"[17, {"name":"b","ph":"X","ts":1,"dur":1}, {"x":1}]"#, 1, "that are none: 2"),
        (r#"[{"name":"b","ph":"XXX","ts":1,"dur":1}]"#, 1, "unknown phase"),
        (r#"[{"name":"b","ph":"X","dur":1}]"#, 0, "without a time"),
        (r#"[{"name":"b","ph":"X","ts":-5,"dur":1}]"#, 1, "before time zero"),
        (r#"[{"name":"b","ph":"X","ts":5,"dur":-1},{"name":"b","ph":"X","ts":5}]"#, 2, "shown as unfinished: 2"),
        (
            r#"[{"name":"b","ph":"C","ts":5,"args":{"a":1,"b":NaN,"c":"x"}}]"#,
            1,
            "counters that are no numbers, left out: 2",
        ),
        (r#"[{"name":"b","ph":"C","ts":5,"args":{"a":18446744073709551617}}]"#, 0, "that no number of 64 bits holds"),
        (
            r#"[{"name":"b","ph":"C","ts":5,"args":{}},{"name":"b","ph":"C","ts":6}]"#,
            0,
            "without any value, left out: 2",
        ),
        (r#"[{"name":"b","ph":"C","args":{"a":1}}]"#, 0, "without a time"),
        (r#"[{"name":"b","ph":"C","ts":-5,"args":{"a":1}}]"#, 1, "before time zero"),
        ("\u{feff}[] tail", 0, "after the end"),
    ] {
        let (trace, imported) = read(text.as_bytes());
        assert_eq!(ranges(&trace).len(), seen, "{text}");
        assert!(lines(&imported).contains(told), "{text}: {}", lines(&imported));
        assert!(trace.damage.is_empty(), "{:?}", trace.damage);
    }
    let (_, imported) = read(b"[{\"name\":\"\xff\",\"ph\":\"X\",\"ts\":1,\"dur\":1}]");
    assert!(lines(&imported).contains("not UTF-8"));
    assert!(import(&b"{\"a\": 1}"[..], "a.json", target()).is_err());
    assert!(import(&b"17"[..], "a.json", target()).is_err());
}

#[test]
fn what_is_wrong_with_an_event_is_told_with_its_place() {
    let text = "[{\"name\":\"a\",\"ph\":\"X\",\"ts\":5,\"dur\":-1},\n {\"name\":\"b\",\"ph\":\"X\",\"dur\":5}\n
         {\"name\":\"c\",\"ph\":\"?\",\"ts\":-1}, {\"name\":\"d\",\"ph\":\"X\",\"ts\":1,\"dur\":0},
  {\"cat\":\"kernel\",\"name\":\"k\",\"ph\":\"X\",\"ts\":2},\n{\"name\":\"e\",\"ph\":\"X\",\"ts\":1e30,\"dur\":2}, 17]";
    let (trace, imported) = read(text.as_bytes());
    assert_eq!((ranges(&trace).len(), trace.activities.records()), (4, 1));
    for told in [
        "slices with no or a negative duration, shown as unfinished (at 1:2)",
        "events without a time, left out (at 2:2)",
        "commas that are missing between events (at 4:10)",
        "events of an unknown phase, shown as marks (at 4:10)",
        "events before time zero, shown at zero (at 4:10)",
        "slices with a duration of zero (at 4:41)",
        "work of the GPU without an end, shown with no duration (at 5:3)",
        "times beyond what 64 bits of nanoseconds hold, shown at the last one (at 6:1)",
        "values among the events that are none (at 6:",
    ] {
        assert!(lines(&imported).contains(told), "{told}: {}", lines(&imported));
    }
}

#[test]
fn commas_prove_nothing_after_damage() {
    let event = r#"{"ph":"X","name":"a","ts":1,"dur":1}"#;
    let (trace, imported) = read(format!("[{event},{{\"ph\" \"X\"}} x {event},{event}]").as_bytes());
    assert_eq!(ranges(&trace).len(), 3);
    assert!(!lines(&imported).contains("commas"), "{}", lines(&imported));
}

#[test]
fn documents_may_stand_one_after_the_other() {
    let event = |at: u32| format!(r#"{{"name":"n{at}","ph":"X","ts":{at},"dur":1,"pid":1,"tid":1}}"#);
    let object = |at: u32| format!(r#"{{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{}]}}"#, event(at));
    for (text, seen, told) in [
        (format!("[{},{}][{}]\n", event(1), event(5), event(9)), 3, "2 JSON documents"),
        (format!("{}\n{}", object(1), object(5)), 2, "2 JSON documents"),
        (format!("{}\n{}\n{}\n", event(1), event(5), event(9)), 3, ""),
        (format!("{},\n{}", event(1), event(5)), 2, ""),
        (format!("[{}] the end", event(1)), 1, "text after the end of the JSON, left out"),
        (format!("{}{}", object(1), object(5).replace("17", "18")), 2, "whose times are not right"),
    ] {
        let (trace, imported) = read(text.as_bytes());
        assert_eq!(ranges(&trace).len(), seen, "{text}");
        assert!(lines(&imported).contains(told), "{text}: {}", lines(&imported));
    }
    // Of the last line there is only a part.
    let text = format!("{}\n{}\n", event(1), event(5));
    let (trace, imported) = read(&text.as_bytes()[..text.len() - 9]);
    assert_eq!(ranges(&trace).len(), 1);
    assert!(imported.lost[0].1.contains("in the middle of an event"), "{:?}", imported.lost);
}

/// The streams that work is on; what says that it is on none is left out, as the report does.
fn streams(trace: &Trace) -> Vec<LaneOf> {
    let mut list: Vec<LaneOf> = trace.activities.lanes().iter().map(|lane| lane.of).collect();
    list.retain(|of| matches!(of, LaneOf::Stream { stream, .. } if *stream != umtui_wire::activity::NONE));
    list
}

#[test]
fn streams_are_told_apart_whatever_they_are_called() {
    let kernel = |tid: &str, args: &str| {
        format!(r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":{tid},"ts":5,"dur":1,"args":{{{args}}}}}"#)
    };
    let cases: [(&[String], usize); 5] = [
        (&[kernel("1", r#""stream":1099511627776"#), kernel("1", r#""stream":1099511627777"#), kernel("7", "")], 3),
        (&[kernel("\"stream 7\"", ""), kernel("\"stream 8\"", ""), kernel("\"stream 7\"", "")], 2),
        (&[kernel("7", ""), kernel("\"7\"", ""), kernel("1", r#""stream":"7""#)], 1),
        (&[kernel("-5", ""), kernel("-6", ""), kernel("-1", "")], 2),
        // One context of a device is the context of what does not say its own.
        (&[kernel("7", ""), kernel("7", r#""context":3,"stream":7"#), kernel("7", r#""device":0"#)], 1),
    ];
    for (events, count) in cases {
        let (trace, _) = read(format!("[{}]", events.join(",")).as_bytes());
        assert_eq!(trace.activities.records(), events.len() as u64);
        assert_eq!(streams(&trace).len(), count, "{events:?}");
    }
    let (_, imported) = read(format!("[{}]", kernel("\"a stream\"", "")).as_bytes());
    assert!(lines(&imported).contains("numbered from 2147483648 on: 1 (a stream)"), "{}", lines(&imported));
}

#[test]
fn a_copy_between_devices_is_on_the_stream_of_the_one_that_did_it() {
    let text = r#"[{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":5,"dur":1,"args":{"device":1,"context":2,"stream":7}},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy PtoP (Device -> Device)","pid":1,"tid":7,"ts":7,"dur":1,"args":{
            "fromDevice":0,"inDevice":1,"toDevice":1,"fromContext":1,"inContext":2,"toContext":2,"stream":7,"bytes":10}}]"#;
    let (trace, _) = read(text.as_bytes());
    assert_eq!((trace.activities.records(), streams(&trace).len()), (2, 1));
}

#[test]
fn asynchronous_slices_are_told_apart_by_their_scope() {
    let text = r#"[{"ph":"b","cat":"c","id":1,"scope":"x","name":"a","ts":1},{"ph":"b","cat":"c","id":1,"scope":"y","name":"a","ts":2},
        {"ph":"e","cat":"c","id":1,"scope":"x","name":"a","ts":5}]"#;
    let (trace, _) = read(text.as_bytes());
    let seen: Vec<_> = ranges(&trace).into_iter().map(|(_, start, end, _)| (start, end)).collect();
    assert_eq!(seen, [(1000, Some(5000)), (2000, None)]);
}

#[test]
fn slices_of_all_phases_become_ranges() {
    let text = r#"{"traceEvents": [
        {"name":"a","ph":"B","ts":1,"pid":1,"tid":1}, {"name":"b","ph":"b","cat":"x","id":"0x1","ts":2,"pid":1,"tid":1},
        {"ph":"E","ts":3,"pid":1,"tid":1}, {"name":"b","ph":"e","cat":"x","id":"0x1","ts":5,"pid":1,"tid":2},
        {"name":"m","ph":"i","ts":4,"pid":1,"tid":1}, {"name":"c","ph":"X","ts":"6.5","dur":"1","pid":"p","tid":"t"}]}"#;
    let (trace, imported) = read(text.as_bytes());
    let seen: Vec<_> = ranges(&trace).into_iter().map(|(name, start, end, _)| (name, start, end)).collect();
    let row = |name: &str, start, end| (name.to_owned(), start, Some(end));
    assert_eq!(seen, [row("a", 1000, 3000), row("b", 2000, 5000), row("c", 6500, 7500), row("m", 4000, 4000)]);
    assert_eq!(trace.processes.len(), 2);
    assert!(imported.lost.is_empty(), "{:?}", imported.lost);
    let kinds: Vec<RangeKind> = (0..trace.tracks.len() as u32)
        .flat_map(|track| {
            trace.ranges.of(crate::trace::TrackId(track)).iter().map(|range| range.kind).collect::<Vec<_>>()
        })
        .collect();
    assert!(kinds.contains(&RangeKind::Mark) && kinds.contains(&RangeKind::Started));
}

/// Found by fuzzing.
#[test]
fn what_is_told_is_one_line_whatever_names_are_in_it() {
    let text = "[{\"ph\":\"C\",\"name\":\"a\nb\",\"ts\":1,\"args\":{\"c\u{1b}[31m\":1}},
        {\"ph\":\"s\",\"cat\":\"x\ny\",\"id\":1,\"ts\":1,\"name\":\"f\"}]";
    let (trace, imported) = read(text.as_bytes());
    assert_eq!(ranges(&trace)[0].0, "a\nb c\u{1b}[31m");
    let told = imported.notes.iter().chain(imported.lost.iter().map(|(_, why)| why));
    let bad: Vec<_> = told.filter(|line| line.contains(char::is_control)).collect();
    assert!(bad.is_empty(), "{bad:?}");
    assert!(imported.notes.iter().any(|note| note.starts_with("flows x_y")), "{:?}", imported.notes);
}

#[test]
fn flows_and_counters_are_told() {
    let text = r#"[{"ph":"f","cat":"fwdbwd","id":1,"ts":9}, {"ph":"s","cat":"fwdbwd","id":1,"ts":1},
        {"ph":"s","cat":"fwdbwd","id":2,"ts":1}, {"ph":"t","cat":"fwdbwd","id":1,"ts":2}, {"ph":"s","cat":"ac2g","id":1,"ts":1},
        {"ph":"X","cat":"ipc","bind_id":"0x4","flow_out":true,"ts":1,"dur":2}, {"ph":"X","cat":"ipc","bind_id":"0x4","flow_in":true,"ts":4,"dur":2},
        {"ph":"X","cat":"ipc","bind_id":"0x5","flow_in":true,"ts":4,"dur":2},
        {"ph":"C","name":"memory","ts":5,"args":{"used":7.5,"free":"12"}}, {"ph":"C","name":"memory","ts":3,"args":{"used":-1e2}},
        {"ph":"C","name":"memory","ts":9,"args":{"used":3,"free":NaN}}]"#;
    let (trace, imported) = read(text.as_bytes());
    // Three slices, a mark for each end of a flow that is not known otherwise, and one for each value of a counter.
    assert_eq!(ranges(&trace).len(), 3 + 7 + 4);
    for line in [
        "flows fwdbwd, shown as marks: 2 begin, 1 end, 1 hand on; 1 begin and never end",
        "flows ipc, shown as marks: 1 begin, 2 end; 1 end and never begin",
        "values of counters that are no numbers, left out (at 6:9)",
    ] {
        assert!(imported.notes.iter().any(|note| note == line), "{line}: {:?}", imported.notes);
    }
}

#[test]
fn tensorflow_says_it_in_arguments() {
    let text = r#"{"traceEvents": [
        {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:1"}},
        {"ph":"X","pid":1,"tid":13,"ts":10,"dur":2,"name":"fusion_1","args":{"correlation_id":"7","kernel_details":"regs:32 static_shared:0 dynamic_shared:16 grid:8,1,1 block:256,1,1 occ_pct:100"}},
        {"ph":"X","pid":1,"tid":14,"ts":13,"dur":2,"name":"MemcpyH2D","args":{"memcpy_details":"kind_src:host\nkind_dst:device\nsize:800\ndest:0\nasync:1"}},
        {"ph":"X","pid":9,"tid":1,"ts":8,"dur":1,"name":"cuLaunchKernel: fusion_1","args":{"correlation_id":"7"}},
        {"ph":"X","pid":9,"tid":1,"ts":7,"dur":3,"name":"Executor","args":{}}]}"#;
    let (trace, _) = read(text.as_bytes());
    assert_eq!((trace.calls(), trace.activities.records(), ranges(&trace).len()), (1, 2, 1));
    assert_eq!(trace.activities.of(crate::trace::ProcessId(0)).unwrap().submits.len(), 1);
    let mut bytes = Vec::new();
    for lane in trace.activities.lanes() {
        lane.for_each(0, |_, one| bytes.push((one.kind, one.value)));
    }
    assert!(bytes.contains(&(ActivityKind::Copy, 800)), "{bytes:?}");
}

#[test]
fn counters_are_of_their_process_by_name_and_id() {
    let text = r#"[{"ph":"C","pid":1,"tid":5,"name":"m","id":"0x1","ts":1,"args":{"used":1}},
        {"ph":"C","pid":1,"tid":6,"name":"m","id2":{"local":"0x2"},"ts":1,"args":{"us\u00e9d":2}},
        {"ph":"C","pid":"gpu","name":"","ts":1,"args":{"":3}}, {"ph":"C","pid":1,"name":"m","ts":1,"args":{"used":4}}]"#;
    let (trace, _) = read(text.as_bytes());
    let seen: Vec<_> = ranges(&trace).into_iter().map(|(name, _, _, thread)| (name, thread)).collect();
    let row = |name: &str| (name.to_owned(), "counters".to_owned());
    assert_eq!(seen, [row("(no name)"), row("m used"), row("m[0x1] used"), row("m[0x2] us\u{e9}d")]);
    assert_eq!((trace.processes.len(), trace.tracks.iter().filter(|track| track.thread != u32::MAX).count()), (2, 2));
}

/// Name, start, end, and the thread's name.
type Named = (String, u64, Option<u64>, String);

/// What a trace holds, whatever order it came in.
#[derive(Debug, PartialEq)]
struct Summary {
    ranges: Vec<Named>,
    work: Vec<(u64, u64)>,
    calls: Vec<(u64, u64, u8)>,
}

fn summary(trace: &Trace) -> Summary {
    let (mut work, mut calls) = (Vec::new(), Vec::new());
    for lane in trace.activities.lanes() {
        lane.for_each(0, |_, one| work.push((one.start_ns, one.duration_ns)));
    }
    for track in &trace.tracks {
        track.for_each(0..track.len(), |call| calls.push((call.start_ns, call.duration_ns, call.depth)));
    }
    work.sort_unstable();
    calls.sort_unstable();
    Summary { ranges: ranges(trace), work, calls }
}

fn arguments() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "Input Dims",
        "Concrete Inputs",
        "External id",
        "Ev Idx",
        "Sequence number",
        "x\"y",
        "\u{e4}",
    ]);
    let values = prop_oneof![
        any::<u64>().prop_map(Value::from),
        prop::collection::vec(0u8..4, 0..4).prop_map(Value::from),
        prop::sample::select(vec!["", "a  b", "{\"c\": [", "\n\t\u{1f600}"]).prop_map(Value::from),
        Just(json!({"d": [null, true, -1.5e-3], "e": {}})),
    ];
    prop::collection::vec((keys, values), 0..6).prop_map(|pairs| pairs.into_iter().collect())
}

fn events() -> impl Strategy<Value = Vec<Value>> {
    let one = (0u32..4, 0u32..3, 0u64..60, 0u64..20, 0u32..3).prop_map(|(kind, tid, ts, dur, name)| {
        let name = format!("n{name}");
        let mut event = json!({"ph": "X", "pid": 5, "tid": tid, "ts": ts, "dur": dur, "name": name});
        event["cat"] = ["cpu_op", "cuda_runtime", "kernel", "other"][kind as usize].into();
        event["args"] = json!({"correlation": ts + 1, "stream": tid, "device": 0, "x": [{"y": "\\\""}]});
        event
    });
    prop::collection::vec(one, 1..40)
}

proptest! {
    #[test]
    fn order_of_events_and_keys_makes_no_difference(events in events(), seed in any::<u64>()) {
        // The slices are made different, since of equal ones the first in the file is the outer.
        let unique: Vec<Value> = events.into_iter().enumerate().map(|(at, mut event)| {
            event["name"] = format!("n{at}").into();
            event["ts"] = (event["ts"].as_u64().unwrap() * 100 + at as u64).into();
            event
        }).collect();
        let plain = json!({"traceEvents": unique, "baseTimeNanoseconds": 1_700_000_000_000_000_000u64});
        let (one, _) = read(plain.to_string().as_bytes());
        let mut shuffled: Vec<&Value> = unique.iter().collect();
        let length = shuffled.len();
        for at in 0..length {
            shuffled.swap(at, (seed as usize).wrapping_mul(at + 7).wrapping_add(at) % length);
        }
        let texts: Vec<String> = shuffled.iter().map(|event| {
            let mut keys: Vec<String> = event.as_object().unwrap().iter().map(|(key, value)| format!("{key:?}: {value}")).collect();
            let count = keys.len();
            keys.rotate_left(seed as usize % count);
            format!("{{{}}}", keys.join(" ,\n"))
        }).collect();
        let text = format!("{{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": [{}]}}", texts.join(","));
        let (other, imported) = read(text.as_bytes());
        prop_assert_eq!(summary(&one), summary(&other));
        prop_assert!(imported.lost.is_empty());
        let twin = unique.iter().filter(|event| event["cat"] == "cuda_runtime").count() as u64;
        prop_assert_eq!(one.calls(), twin);
        let kernels = unique.iter().filter(|event| event["cat"] == "kernel").count() as u64;
        prop_assert_eq!(one.activities.records(), kernels);
        prop_assert_eq!(one.ranges.rows(), unique.len() as u64 - twin - kernels);
    }

    #[test]
    fn what_slices_say_is_what_a_plain_reader_finds(said in prop::collection::vec((arguments(), 0usize..5, any::<bool>()), 1..20)) {
        let events: Vec<Value> = said.iter().enumerate().map(|(at, (args, kind, _))| {
            let mut event = json!({"pid": 5, "tid": at % 2, "ts": at * 10, "name": format!("n{at}"), "args": args});
            event["ph"] = ["X", "i", "B", "b", "X"][*kind].into();
            event["id"] = at.into();
            if *kind != 4 {
                event["dur"] = 5.into();
            }
            event
        }).collect();
        let pretty = said[0].2;
        let text = if pretty { serde_json::to_string_pretty(&events) } else { serde_json::to_string(&events) }.unwrap();
        let (trace, imported) = read(text.as_bytes());
        let mut seen = 0;
        for track in (0..trace.tracks.len() as u32).map(crate::trace::TrackId) {
            for range in trace.ranges.of(track) {
                let record = RangeRecord::read(&trace, track, range, |file| Some(&*imported.files[file].bytes)).unwrap();
                let name = trace.names.get(trace.activities.name(range.name));
                let mut known = events[name[1..].parse::<usize>().unwrap()]["args"].as_object().unwrap().clone();
                known.retain(|key, _| !["External id", "Ev Idx", "Sequence number"].contains(&key.as_str()));
                let said = record.said(&trace);
                prop_assert_eq!(said.is_empty(), known.is_empty());
                if !said.is_empty() {
                    prop_assert_eq!(serde_json::from_str::<Value>(said).unwrap(), Value::Object(known), "{}", said);
                    prop_assert!(!said.contains('\n'));
                }
                seen += 1;
            }
        }
        prop_assert_eq!(seen, events.len());
        prop_assert!(trace.damage.is_empty(), "{:?}", trace.damage);
    }

    #[test]
    fn cut_anywhere_all_whole_events_are_there(events in events(), cut in 0usize..4000) {
        let text = Value::from(events.clone()).to_string();
        let cut = cut.min(text.len());
        let part = &text.as_bytes()[..cut];
        if part.is_empty() {
            return Ok(());
        }
        let (trace, imported) = read(part);
        let mut whole = 0;
        let mut at = 1;
        for event in &events {
            at += event.to_string().len();
            whole += u64::from(at <= cut);
            at += 1;
        }
        prop_assert_eq!(trace.calls() + trace.activities.records() + trace.ranges.rows(), whole);
        prop_assert_eq!(imported.lost.is_empty(), cut == text.len());
    }

    #[test]
    fn flipped_bits_end_in_some_trace(events in events(), flips in prop::collection::vec((0usize..5000, 0u8..8), 1..6)) {
        let mut text = Value::from(events).to_string().into_bytes();
        let length = text.len();
        for (at, bit) in flips {
            text[at % length] ^= 1 << bit;
        }
        if let Ok(imported) = import(&text[..], "a.json", target()) {
            load(&imported);
        }
    }
}

#[test]
fn an_import_that_is_stopped_ends() {
    use crate::parse::imported::{Input, Target};
    use crate::parse::testing::spool;
    use std::sync::Arc;
    let progress = Arc::<crate::parse::imported::Progress>::default();
    let bytes: Arc<dyn crate::trace::Bytes> = Arc::new(KINETO.as_bytes().to_vec());
    let input = Input::new(bytes, progress.clone()).unwrap();
    progress.stop();
    let target = Target::new("a.json", "chrome", spool(), progress);
    assert!(import(input, "a.json", target).is_err());
}

#[test]
fn brackets_that_never_close_do_not_take_for_ever() {
    let text = format!("[{{\"x\" 1}},{}", "{\"a\":".repeat(200_000));
    let (trace, imported) = read(text.as_bytes());
    assert_eq!(trace.events(), 0);
    assert!(!imported.lost.is_empty());
}

#[test]
fn deep_and_huge_arguments_are_skipped() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = "x".repeat(3 << 20);
    let text = format!(
        r#"[{{"args":{{"a":{deep},"b":"{long}"}},"ph":"X","ts":1,"dur":1,"name":"a"}},{{"ph":"X","ts":1,"dur":1,"name":"{long}"}}]"#
    );
    let (trace, imported) = read(text.as_bytes());
    assert_eq!(ranges(&trace).len(), 2);
    assert!(lines(&imported).contains("too long or too many"));
}
