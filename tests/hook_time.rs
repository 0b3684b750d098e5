//! Times: long calls, threads that change processors, a machine that was suspended.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::event::{Event, events, of};
use common::{HOOK, again, faked, hooked, layer, lost, outcome, programs, report, run};
use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, Stdio};
use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::trace::Layer;
use umtui_wire::clock::ClockTriple;

/// With each of the two clocks.
fn by_each_clock(command: &Command, folder: &std::path::Path) -> Vec<(&'static str, std::path::PathBuf, Command)> {
    ["ticks", "monotonic"]
        .into_iter()
        .map(|clock| {
            let recording = folder.join(clock);
            let mut command = hooked(&recording, &again(command));
            command.env("UMTUI_CLOCK", clock);
            (clock, recording, command)
        })
        .collect()
}

#[test]
fn a_clock_that_another_library_has_stopped_holds_nobody_up() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let frozen = programs.join("libfrozen.so");
    let command = faked(programs, "loop", &["20000", "none"]);
    for (clock, recording, mut hooked) in by_each_clock(&command, folder.path()) {
        for (order, preload) in
            [format!("{HOOK}:{}", frozen.display()), format!("{}:{HOOK}", frozen.display())].iter().enumerate()
        {
            let recording = recording.join(order.to_string());
            std::fs::create_dir_all(&recording).unwrap();
            hooked.env("LD_PRELOAD", preload).env("UMTUI_OUT", &recording);
            assert_eq!(outcome(&run(again(&hooked))), (0, String::new(), String::new()), "{clock} {preload}");
            let report = report(&[&recording]);
            assert_eq!((layer(&report, "driver"), lost(&report)), (20_000, 0), "{clock} {preload}");
            // The time is the system's, not the program's.
            assert!(report["trace"]["duration_ns"].as_u64().unwrap() > 10_000, "{clock} {preload}: {report}");
            let start = report["trace"]["start_unix_ns"].as_u64().unwrap();
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            assert!(now.as_nanos() as u64 - start < 3_600_000_000_000, "{clock} {preload}: {start}");
        }
    }
}

#[test]
fn calls_of_seconds_are_as_long_as_they_were() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // 2^32 ticks are 1 to 2.2 seconds on the processors there are, 2^32 ns are 4.3.
    let wanted = [50u64, 2400, 4400];
    let arguments = wanted.map(|ms| ms.to_string());
    let command = faked(programs, "slow", &arguments.each_ref().map(String::as_str));
    let runs = by_each_clock(&command, folder.path());
    let children = runs
        .into_iter()
        .map(|(clock, recording, mut command)| (clock, recording, command.stdout(Stdio::piped()).spawn().unwrap()));
    for (clock, recording, child) in children.collect::<Vec<_>>() {
        let output = child.wait_with_output().unwrap();
        let took: Vec<u64> = outcome(&output).1.lines().map(|line| line.parse().unwrap()).collect();
        let mut durations: Vec<u64> =
            of(&events(&recording), "cuCtxSynchronize").iter().map(|event| event.duration).collect();
        durations.sort_unstable();
        assert_eq!(durations.len(), wanted.len(), "{clock}");
        for ((duration, took), wanted) in durations.iter().zip(took).zip(wanted) {
            // The rate of the counter is known to some parts in a million.
            let least = wanted * 999_000;
            assert!((least..=took + took / 1000).contains(duration), "{clock}: {duration} of {took} ns, {wanted} ms");
        }
        assert_eq!(lost(&report(&[&recording])), 0, "{clock}");
    }
}

#[test]
fn a_thread_that_changes_processors_sees_time_go_forward() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (threads, each) = (3, 4000);
    let command = faked(programs, "moves", &[&each.to_string(), &threads.to_string()]);
    for (clock, recording, command) in by_each_clock(&command, folder.path()) {
        let (status, stdout, stderr) = outcome(&run(command));
        assert_eq!(status, 0, "{stderr}");
        let mut by_thread: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
        for event in events(&recording) {
            by_thread.entry(event.thread).or_default().push(event);
        }
        assert_eq!(by_thread.len(), threads, "{clock} {stdout}");
        for calls in by_thread.values() {
            // They come by their start; each carries its number.
            let numbers: Vec<u64> = calls
                .iter()
                .map(|call| u64::from_str_radix(call.get("flags").trim_start_matches("0x"), 16).unwrap())
                .collect();
            assert!(numbers.iter().copied().eq(1..=each), "{clock} {stdout}: out of order");
            let overlaps = calls.windows(2).filter(|pair| pair[0].start + pair[0].duration > pair[1].start).count();
            // Start and end are rounded to whole nanoseconds each.
            let beyond = calls.windows(2).filter(|pair| pair[0].start + pair[0].duration > pair[1].start + 1).count();
            assert_eq!(beyond, 0, "{clock} {stdout}: {overlaps} calls begin before the one before them has ended");
        }
    }
}

#[test]
fn a_suspended_machine_leaves_no_hole_and_no_call_of_hours() {
    const HOUR: u64 = 3_600_000_000_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("suspended.umt");
    // One tick a nanosecond. The counter goes on while the machine sleeps, MONOTONIC does not, REALTIME does.
    let reading = |ticks: u64, slept: u64| ClockTriple {
        ticks,
        monotonic_ns: ticks - slept,
        realtime_ns: 1_700_000_000_000_000_000 + ticks,
    };
    let info = FileInfo {
        pid: 40,
        start: reading(1_000_000_000, 0),
        last: reading(3_000_000_000 + HOUR, HOUR),
        ticks_per_second: 1_000_000_000,
        ..FileInfo::default()
    };
    let mut writer = NativeWriter::new(File::create(&path).unwrap(), info, 1 << 16);
    let wait = writer.api(Layer::Driver, "cuCtxSynchronize()").unwrap();
    let call = |start, duration, depth| CallRecord { api: wait, start, duration, depth, ..CallRecord::default() };
    writer.clock(40, &reading(1_000_000_000, 0)).unwrap();
    writer.call(40, &call(1_100_000_000, 1000, 0)).unwrap();
    // In this one it falls asleep. The first thing after it is the inner call's end, for which the clock is read.
    writer.clock(40, &reading(1_200_009_000 + HOUR, HOUR)).unwrap();
    writer.call(40, &call(1_200_005_000 + HOUR, 3000, 1)).unwrap();
    writer.call(40, &call(1_200_000_000, 10_000 + HOUR, 0)).unwrap();
    writer.call(40, &call(1_300_000_000 + HOUR, 2000, 0)).unwrap();
    writer.finish(true).unwrap();

    let times: Vec<(u64, u64, u32)> =
        events(&path).iter().map(|event| (event.start, event.duration, event.depth)).collect();
    assert_eq!(times, [(0, 1000, 0), (100_000_000, 10_000, 0), (100_005_000, 3000, 1), (200_000_000, 2000, 0)]);
    let report = report(&[&path]);
    assert_eq!((report["trace"]["truncated"].as_bool(), lost(&report)), (Some(false), 0));
    assert!(report["trace"]["duration_ns"].as_u64().unwrap() < 3_000_000_000, "{report}");
}
