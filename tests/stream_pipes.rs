//! Readers of a stream that are late, slow, dead or never there: the program does not feel them, and what they miss is
//! counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
#[path = "common/stream.rs"]
mod stream;

use common::{LONG, UMTUI, calls, counts, lost, program, programs, wait_for};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use stream::{Fifo, demo, frames, number_before, report_of, stress, told};

/// Pitfall 52.
#[test]
fn several_processes_and_threads_share_a_fifo() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let reader = report_of(fifo.path());
    // Held open, so that the stream ends with the second recorder, whenever the first one ends.
    let held = fifo.hold();
    let writers: Vec<_> = (0..3)
        .map(|_| stress(fifo.path(), &["--drain", "30"], &["--threads", "4", "--calls", "30000", "--counts"]))
        .collect();
    let mut made = 0;
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!told(&output).contains("read by nobody"), "{}", told(&output));
        made += number_before(&String::from_utf8_lossy(&output.stdout), "calls cudaGetDevice ");
    }
    drop(held);
    let report = reader.report();
    assert_eq!(report["trace"]["processes"], 3);
    assert_eq!(report["trace"]["truncated"], false, "{report}");
    assert_eq!(lost(&report), 0);
    assert_eq!(calls(&report, "cudaGetDevice"), made);
}

/// Pitfall 51: nobody ever reads.
#[test]
fn a_fifo_without_a_reader_holds_nobody_up() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let begun = Instant::now();
    let writer = stress(fifo.path(), &["--drain", "1"], &["--calls", "20000", "--counts"]);
    let output = writer.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(begun.elapsed() < LONG / 2);
    // All the program's calls, and those of the driver under them, are said to be unread.
    let whole = runs.path().join("whole");
    let plain = demo(&["-o", whole.to_str().unwrap()], &["stress", "--calls", "20000"]).output().unwrap();
    assert!(plain.status.success());
    let recorded = common::report(&[&whole])["trace"]["events"].as_u64().unwrap();
    assert_eq!(unread(&output), recorded, "{}", told(&output));
}

/// Events that are said to have been read by nobody.
fn unread(output: &std::process::Output) -> u64 {
    let told = told(output);
    told.lines()
        .find(|line| line.contains("read by nobody"))
        .map_or(0, |line| line.split_whitespace().nth(1).unwrap().parse().unwrap())
}

/// Pitfall 51: the reader dies in the middle, and nobody follows it.
#[test]
fn a_reader_that_dies_is_not_felt() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let writer = stress(fifo.path(), &["--drain", "1"], &["--rate", "60000", "--seconds", "1", "--counts"]);
    let mut read = Vec::new();
    fifo.open().take(200_000).read_to_end(&mut read).unwrap();
    let output = writer.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let made = number_before(&String::from_utf8_lossy(&output.stdout), "stress threads 1 calls ");
    assert_eq!(made, 60_000);
    // What was read, in whole frames, and what is said to be unread are all there was.
    let seen: u64 = frames(&read).iter().map(|frame| u64::from(frame.events)).sum();
    let cut = frames_cut(&read);
    let whole = runs.path().join("whole");
    let same = demo(&["-o", whole.to_str().unwrap()], &["stress", "--calls", "60000"]).output().unwrap();
    assert!(same.status.success());
    let recorded = common::report(&[&whole])["trace"]["events"].as_u64().unwrap();
    // The frame in whose middle the reader died is read or unread, as one likes: its beginning was read.
    let missing = recorded - seen - unread(&output);
    assert!(missing <= cut, "{missing} of {recorded} events are in no account; {}", told(&output));
}

/// Events that a frame can hold, if the last one was cut.
fn frames_cut(read: &[u8]) -> u64 {
    let whole: usize = frames(read).iter().map(|frame| frame.bytes).sum();
    if whole < read.len() { umtui_wire::frame::EVENT_SLOTS as u64 } else { 0 }
}

/// The next reader gets names and all, and knows what it has not seen.
#[test]
fn a_second_reader_goes_on_where_the_first_died() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let writer = stress(fifo.path(), &["--drain", "30"], &["--threads", "3", "--rate", "50000", "--seconds", "2"]);
    let mut first = Vec::new();
    fifo.open().take(500_000).read_to_end(&mut first).unwrap();
    let report = report_of(fifo.path()).report();
    let output = writer.wait_with_output().unwrap();
    assert_eq!(unread(&output), 0, "{}", told(&output));
    assert_eq!(lost(&report), 0, "{report}");
    let apis = counts(&report, "runtime");
    assert!(apis.contains_key("cudaGetDevice") && apis.keys().all(|name| name.starts_with("cuda")), "{apis:?}");
    let seen: u64 = frames(&first).iter().map(|frame| u64::from(frame.events)).sum();
    let missed = report["trace"]["missed"].as_u64().unwrap();
    assert!(missed > 0 && missed - seen <= umtui_wire::frame::EVENT_SLOTS as u64, "{missed} {seen}");
    let whole = runs.path().join("whole");
    demo(&["-o", whole.to_str().unwrap()], &["stress", "--threads", "3", "--calls", "100000"]).output().unwrap();
    let recorded = common::report(&[&whole])["trace"]["events"].as_u64().unwrap();
    // Unless the first frame was cut right where the first reader died, it is in neither account.
    assert!(recorded - missed - report["trace"]["events"].as_u64().unwrap() <= umtui_wire::frame::EVENT_SLOTS as u64);
}

/// Pitfall 51: a reader that takes nothing for a while holds up nobody, and gets everything afterwards.
#[test]
fn a_reader_that_stops_loses_nothing_that_has_room() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let mut reader = fifo.open_later();
    let writer = stress(fifo.path(), &["--drain", "30"], &["--threads", "2", "--calls", "100000", "--counts"]);
    let mut from = reader.take_open();
    // The pipe is full long before the program has ended.
    wait_for("the program's end", LONG, || stream::children(writer.id()).is_empty());
    let mut read = Vec::new();
    from.read_to_end(&mut read).unwrap();
    let output = writer.wait_with_output().unwrap();
    assert_eq!(unread(&output), 0);
    let report = stream::report_bytes(&read);
    assert_eq!(lost(&report), 0);
    let made = number_before(&String::from_utf8_lossy(&output.stdout), "calls cudaGetDevice ");
    assert_eq!(calls(&report, "cudaGetDevice"), made);
}

/// With little room and a slow reader events are lost, and every one is counted.
#[test]
fn what_has_no_room_is_counted() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let mut reader = fifo.open_later();
    let options = ["--drain", "30", "--max-size", "2M"];
    let writer = stress(fifo.path(), &options, &["--threads", "2", "--calls", "100000", "--counts"]);
    let mut from = reader.take_open();
    wait_for("the program's end", LONG, || stream::children(writer.id()).is_empty());
    let mut read = Vec::new();
    from.read_to_end(&mut read).unwrap();
    let output = writer.wait_with_output().unwrap();
    let report = stream::report_bytes(&read);
    let whole = runs.path().join("whole");
    demo(&["-o", whole.to_str().unwrap()], &["stress", "--threads", "2", "--calls", "100000"]).output().unwrap();
    let recorded = common::report(&[&whole])["trace"]["events"].as_u64().unwrap();
    assert!(lost(&report) > 0, "{report}");
    assert_eq!(report["trace"]["events"].as_u64().unwrap() + lost(&report) + unread(&output), recorded);
}

/// The program is as fast with a dead reader as with a folder.
#[test]
fn a_dead_reader_costs_the_program_nothing() {
    let runs = tempfile::tempdir().unwrap();
    let own = |output: &std::process::Output| {
        let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &told(output);
        number_before(&printed, "calls 100000 ns ")
    };
    let arguments = ["stress", "--calls", "100000"];
    let (mut into_folder, mut into_pipe) = (u64::MAX, u64::MAX);
    for round in 0..2 {
        let at = runs.path().join(format!("folder{round}"));
        into_folder = into_folder.min(own(&demo(&["-o", at.to_str().unwrap()], &arguments).output().unwrap()));
        let fifo = Fifo::new(runs.path(), &format!("fifo{round}"));
        let mut reader = fifo.open_later();
        let writer = stress(fifo.path(), &["--drain", "0"], &arguments[1..]);
        // Opens it, and never reads.
        let held = reader.take_open();
        into_pipe = into_pipe.min(own(&writer.wait_with_output().unwrap()));
        drop(held);
    }
    // Blocking would cost seconds; the recorder itself takes a part of a processor.
    assert!(into_pipe < 4 * into_folder + 200_000_000, "{into_pipe} ns against {into_folder} ns");
}

#[test]
fn the_recorder_can_be_killed_and_the_next_one_cleans_up() {
    let runs = tempfile::tempdir().unwrap();
    let private = runs.path().join("tmp");
    std::fs::create_dir(&private).unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let out = runs.path().join("out.txt");
    let mut recorder =
        stream::stress_command(fifo.path(), &[], &["--calls", "100000", "--rate", "100000", "--seconds", "1"])
            .env("XDG_RUNTIME_DIR", &private)
            .stdout(std::fs::File::create(&out).unwrap())
            .spawn()
            .unwrap();
    wait_for("a recording", LONG, || {
        stream::folders(&private).iter().any(|folder| !common::files(folder, "umt").is_empty())
    });
    common::signal(recorder.id(), 9);
    recorder.wait().unwrap();
    wait_for("the program's own end", LONG, || {
        std::fs::read_to_string(&out).unwrap().contains("stress threads 1 calls 100000")
    });
    assert_eq!(stream::folders(&private).len(), 1, "nobody was there to remove it");
    let mut next = stream::stress_command(fifo.path(), &["--drain", "0"], &["--calls", "10"]);
    assert!(next.env("XDG_RUNTIME_DIR", &private).output().unwrap().status.success());
    assert!(stream::folders(&private).is_empty());
}

/// Pitfall 53, through a pipe: an event is with the reader soon.
#[test]
fn an_event_arrives_within_two_hundred_milliseconds() {
    let Some(folder) = programs() else { return };
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let mut reader = fifo.open_later();
    let mut recorder = Command::new(UMTUI);
    recorder.args(["record", "-o"]).arg(fifo.path()).arg("--");
    let traced = program(folder, "onkey", &[]);
    recorder.arg(traced.get_program()).envs(traced.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut recorder = recorder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut from = reader.take_open();
    let mut lags: Vec<Duration> = Vec::new();
    let mut read = Vec::new();
    let mut buffer = vec![0; 65536];
    for key in 0..20 {
        let pause = Duration::from_millis(if key % 4 == 0 { 300 } else { 20 });
        std::thread::sleep(pause);
        let before = stream::events_of(&read);
        let asked = Instant::now();
        recorder.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        while stream::events_of(&read) == before {
            let count = from.read(&mut buffer).unwrap();
            assert!(count > 0, "the recorder has gone");
            read.extend_from_slice(&buffer[..count]);
        }
        lags.push(asked.elapsed());
    }
    drop(recorder.stdin.take());
    let rest = std::thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()));
    assert!(recorder.wait().unwrap().success());
    rest.join().unwrap().unwrap();
    lags.sort();
    // The machine may be busy: most of them, not each.
    assert!(lags[lags.len() * 3 / 4] < Duration::from_millis(200), "{lags:?}");
}

/// Pitfall 51: a reader that is slower than the program, with room for little: what was overwritten is counted, live.
#[test]
fn a_slow_reader_costs_events_and_never_time() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let mut reader = fifo.open_later();
    let options = ["--drain", "30", "--max-size", "2M"];
    let workload = ["--threads", "4", "--rate", "100000", "--seconds", "1"];
    let begun = Instant::now();
    let writer = stress(fifo.path(), &options, &workload);
    let mut from = reader.take_open();
    let pid = writer.id();
    let reading = std::thread::spawn(move || {
        let mut read = Vec::new();
        let mut buffer = vec![0; 4096];
        while !stream::children(pid).is_empty() {
            let count = from.read(&mut buffer).unwrap();
            read.extend_from_slice(&buffer[..count]);
            std::thread::sleep(Duration::from_millis(50));
        }
        let ended = Instant::now();
        from.read_to_end(&mut read).unwrap();
        (read, ended)
    });
    let output = writer.wait_with_output().unwrap();
    let (read, ended) = reading.join().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(ended - begun < LONG / 2, "{:?}", ended - begun);
    let report = stream::report_bytes(&read);
    let whole = runs.path().join("whole");
    demo(&["-o", whole.to_str().unwrap()], &["stress", "--threads", "4", "--calls", "100000"]).output().unwrap();
    let recorded = common::report(&[&whole])["trace"]["events"].as_u64().unwrap();
    assert!(lost(&report) > 0, "{report}");
    assert_eq!(unread(&output), 0, "{}", told(&output));
    assert_eq!(report["trace"]["missed"], 0);
    assert_eq!(report["trace"]["events"].as_u64().unwrap() + lost(&report), recorded);
}

/// A reader that never takes anything is given up, and what it could not have is counted.
#[test]
fn a_reader_that_never_reads_is_given_up() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let mut reader = fifo.open_later();
    let writer = stress(fifo.path(), &["--drain", "1"], &["--threads", "2", "--calls", "60000"]);
    let mut from = reader.take_open();
    let output = writer.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    // Afterwards it reads what still lay in the pipe.
    let mut read = Vec::new();
    from.read_to_end(&mut read).unwrap();
    let whole = runs.path().join("whole");
    demo(&["-o", whole.to_str().unwrap()], &["stress", "--threads", "2", "--calls", "60000"]).output().unwrap();
    let recorded = common::report(&[&whole])["trace"]["events"].as_u64().unwrap();
    assert!(unread(&output) > 0);
    assert_eq!(stream::events_of(&read) + unread(&output), recorded, "{}", told(&output));
}

/// As sshd starts commands: stdout is a socket.
#[test]
fn a_socket_takes_the_stream_as_well() {
    let runs = tempfile::tempdir().unwrap();
    let (ours, mut reader) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut command = demo(&["-o", "-"], &["stress", "--threads", "2", "--calls", "40000"]);
    let mut recorder = command.stdout(std::os::fd::OwnedFd::from(ours)).spawn().unwrap();
    // It holds our copy of the recorder's end.
    drop(command);
    let mut read = Vec::new();
    // In pieces that no frame fits, so that frames are cut.
    let mut buffer = vec![0; 1000];
    loop {
        match reader.read(&mut buffer).unwrap() {
            0 => break,
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
    assert!(recorder.wait().unwrap().success());
    let report = stream::report_bytes(&read);
    let whole = runs.path().join("whole");
    demo(&["-o", whole.to_str().unwrap()], &["stress", "--threads", "2", "--calls", "40000"]).output().unwrap();
    assert_eq!(counts(&report, "runtime"), counts(&common::report(&[&whole]), "runtime"));
    assert_eq!((lost(&report), &report["trace"]["truncated"]), (0, &false.into()));
}
