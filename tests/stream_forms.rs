//! What goes through a pipe: a stream is the recording, whatever it is of and wherever it is kept.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
#[path = "common/stream.rs"]
mod stream;

use common::{GUEST, LONG, UMTUI, calls, counts, lost, program, programs, run, status, wait_for};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use stream::{Fifo, demo, through, told};

/// The stream is the recording.
#[test]
fn a_report_of_the_stream_is_that_of_the_folder() {
    let Some(folder) = programs() else { return };
    let runs = tempfile::tempdir().unwrap();
    for (name, arguments) in
        [("threads", &["4", "3000"][..]), ("fork", &[]), ("linked", &[]), ("nested", &[]), ("static_cudart", &[])]
    {
        let command = program(folder, name, arguments);
        let at = runs.path().join(name);
        let plain = run(common::recorded(&at, &command));
        let streamed = through(&command, &["--drain", "30"]);
        assert_eq!(status(&streamed.program), status(&plain), "{name}");
        let (one, other) = (common::report(&[&at]), &streamed.report);
        for layer in ["runtime", "driver"] {
            assert_eq!(counts(&one, layer), counts(other, layer), "{name}");
        }
        for key in ["lost", "missed", "processes", "streams", "devices", "truncated", "evidence", "format"] {
            assert_eq!(one["trace"][key], other["trace"][key], "{name}: {key}");
        }
        assert_eq!(lost(other), 0);
        // What the program prints goes to stderr: stdout is the stream's.
        let printed = String::from_utf8_lossy(&plain.stdout).into_owned();
        let told = String::from_utf8_lossy(&streamed.program.stderr).into_owned();
        assert!(printed.lines().all(|line| told.contains(line)), "{name}: {told}");
    }
}

/// Forked processes are files of their own, and none is torn.
#[test]
fn a_forking_program_streams_all_its_processes() {
    let Some(folder) = programs() else { return };
    let streamed = through(&program(folder, "fork", &[]), &["--drain", "30"]);
    assert_eq!(streamed.report["trace"]["processes"], 2);
    assert_eq!(calls(&streamed.report, "cudaMallocManaged"), 3);
    assert_eq!(lost(&streamed.report), 0);
}

/// Names beyond a frame.
#[test]
fn names_of_twenty_thousand_bytes_arrive_whole() {
    let Some(folder) = programs() else { return };
    let streamed = through(&program(folder, "longname", &["20000"]), &["--drain", "30"]);
    assert_eq!(status(&streamed.program), 0, "{}", told(&streamed.program));
    let name = "k".repeat(20_000);
    assert!(stream::text_bytes(&streamed.stream).contains(&name));
}

#[test]
fn signals_and_statuses_are_the_programs() {
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env_remove("LD_PRELOAD");
        command
    };
    let seven = shell(&format!("{UMTUI} record -o - -- sh -c 'echo out; exit 7' | cat; exit 3")).output().unwrap();
    assert_eq!((seven.status.code(), seven.stdout.as_slice()), (Some(3), &b""[..]));
    assert!(told(&seven).starts_with("out\n") && told(&seven).contains("no CUDA call was seen"), "{}", told(&seven));
    let mut recorder = Command::new(UMTUI);
    recorder.args([
        "record",
        "-o",
        "-",
        "--",
        "sh",
        "-c",
        "trap 'exit 9' TERM; echo ready >&2; while :; do sleep 0.05; done",
    ]);
    let mut recorder = recorder.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    recorder.stderr.as_mut().unwrap().read_exact(&mut ready).unwrap();
    common::signal(recorder.id(), libc::SIGTERM);
    assert_eq!(recorder.wait().unwrap().code(), Some(9));
}

#[test]
fn a_complete_recording_and_a_growing_one_can_be_sent_on() {
    let runs = tempfile::tempdir().unwrap();
    let at = runs.path().join("whole");
    demo(&["-o", at.to_str().unwrap()], &["stress", "--threads", "3", "--calls", "30000"]).output().unwrap();
    let sent = Command::new(UMTUI).arg("stream").arg(&at).output().unwrap();
    assert!(sent.status.success(), "{}", told(&sent));
    let (one, other) = (common::report(&[&at]), stream::report_bytes(&sent.stdout));
    assert_eq!(counts(&one, "runtime"), counts(&other, "runtime"));
    assert_eq!(one["apis"], other["apis"], "times and all");
    assert_eq!(one["threads"], other["threads"]);
    // One with a cap, whose oldest events have made room.
    let capped = runs.path().join("capped");
    let options = ["-o", capped.to_str().unwrap(), "--max-size", "1M"];
    demo(&options, &["stress", "--threads", "3", "--calls", "90000"]).output().unwrap();
    let sent_capped = Command::new(UMTUI).arg("stream").arg(&capped).output().unwrap();
    let (mine, theirs) = (common::report(&[&capped]), stream::report_bytes(&sent_capped.stdout));
    assert!(mine["trace"]["discarded"].as_u64().unwrap() > 0, "{mine}");
    for key in ["discarded", "events", "lost", "missed"] {
        assert_eq!(mine["trace"][key], theirs["trace"][key], "{key}");
    }
    assert_eq!(mine["apis"], theirs["apis"]);
    // Kept in a file a stream can be opened too.
    let kept = runs.path().join("kept.stream");
    std::fs::write(&kept, &sent.stdout).unwrap();
    assert_eq!(common::report(&[&kept])["apis"], one["apis"]);
    // One that grows.
    let at = runs.path().join("growing");
    let growing =
        demo(&["-o", at.to_str().unwrap()], &["stress", "--calls", "50000", "--rate", "50000", "--seconds", "1"])
            .spawn()
            .unwrap();
    wait_for("a recording", LONG, || !common::files(&at, "umt").is_empty());
    let sent = Command::new(UMTUI).arg("stream").arg(&at).output().unwrap();
    growing.wait_with_output().unwrap();
    let other = stream::report_bytes(&sent.stdout);
    assert_eq!(counts(&common::report(&[&at]), "runtime"), counts(&other, "runtime"));
    assert_eq!(other["trace"]["truncated"], false, "{other}");
}

#[test]
fn other_traces_come_through_a_pipe_as_well() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-driver.umt");
    let native = std::fs::read(&data).unwrap();
    let text = common::text(&data);
    let plain = common::report(&[&data]);
    for bytes in [native.as_slice(), text.as_bytes()] {
        assert_eq!(stream::report_bytes(bytes)["apis"], plain["apis"]);
    }
    // As a file for standard input too.
    let from = std::fs::File::open(&data).unwrap();
    let output = Command::new(UMTUI).args(["report", "-", "--format", "json"]).stdin(from).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["apis"], plain["apis"]);
    // What is none is named in one line.
    for (bytes, why) in
        [(&b""[..], "nothing came"), (b"hello\n", "begins with"), (b"UMF\x1b\x30\0\x07\0", "newer umtui")]
    {
        let output = stream::report_command(bytes);
        assert_eq!(output.status.code(), Some(2));
        let said = told(&output);
        assert!(said.lines().count() == 1 && said.contains(why), "{said}");
    }
}

/// Whatever comes is taken whole, however slowly it comes.
#[test]
fn what_comes_in_pieces_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let data = tests_data();
    let driver = std::fs::read(&data).unwrap();
    let stream = Command::new(UMTUI).arg("stream").arg(&data).output().unwrap().stdout;
    // Longer than what is looked at to know what it is; a tool that speaks late; and joined in the middle of a frame.
    let packed = folder.path().join("many.umtp");
    let logs = ["h200-bounce.log", "h200-managed-shared.log", "h200-step.log", "demo-pingpong.log.gz"];
    let logs = logs.iter().map(|name| data.with_file_name(name));
    let output = Command::new(UMTUI).arg("pack").args(logs).arg("-o").arg(&packed).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let packed = std::fs::read(packed).unwrap();
    assert!(packed.len() > 60_000, "{}", packed.len());
    let nvprof = "==5== NVPROF is profiling process 5, command: ./a\n==5== Profiling result:\n\
        \"Start\",\"Duration\",\"Name\"\nms,us,\n1.0,2.0,\"k(int)\"\n";
    let late = format!("{}{nvprof}", "step 17, loss 0.25\n".repeat(1500));
    let twice = [packed.as_slice(), &vec![0; 40_000]].concat();
    let joined = [&stream[3000..3100], &stream].concat();
    for (what, bytes, pieces) in [
        ("native", driver.as_slice(), 9000),
        ("packed", &packed, 5000),
        ("packed, with more behind it", &twice, 5000),
        ("nvprof", late.as_bytes(), 3000),
        ("stream", &stream, 700),
        ("stream, joined in the middle of a frame", &joined, 1300),
    ] {
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let whole = if bytes == joined { stream::report_bytes(&stream) } else { common::report(&[&path]) };
        let whole = whole.to_string().replace(path.to_str().unwrap(), "-");
        assert_eq!(stream::report_pieces(bytes, pieces).to_string(), whole, "{what}");
    }
}

#[test]
fn a_stream_that_breaks_off_is_no_running_program() {
    let stream = Command::new(UMTUI).arg("stream").arg(tests_data()).output().unwrap().stdout;
    let report = stream::report_bytes(&stream[..stream.len() - 100]);
    assert_eq!(report["trace"]["truncated"], true);
    let mut text =
        Command::new(UMTUI).args(["report", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    text.stdin.take().unwrap().write_all(&stream[..stream.len() - 100]).unwrap();
    let text = String::from_utf8(text.wait_with_output().unwrap().stdout).unwrap();
    assert!(text.contains("the stream ended without its end"), "{text}");
    assert!(!text.contains("still running"), "{text}");
}

fn tests_data() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-driver.umt")
}

#[test]
fn what_cannot_be_piped_says_so_in_one_line() {
    let runs = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(runs.path(), "fifo");
    let path = fifo.path().to_str().unwrap();
    let file = runs.path().join("text");
    std::fs::write(&file, "# umtui trace 1\n").unwrap();
    for (arguments, why) in [
        (&["env", "-o", path][..], "umtui stream"),
        (&["env", "-o", "-"], "umtui record -o"),
        (&["--", "true"], "terminal"),
        (&["-o", path, "--", "true"], "only `umtui record`"),
        (&["stream", "-o", file.to_str().unwrap(), GUEST], "mkfifo"),
        (&["stream", file.to_str().unwrap()], "only what the hook records"),
        (&["stream", "/nowhere/at/all"], "/nowhere/at/all"),
    ] {
        let output = Command::new(UMTUI).args(arguments).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = told(&output);
        assert!(said.lines().count() == 1 && said.contains(why), "{arguments:?}: {said}");
    }
}

/// Nobody comes to read what is complete: that ends after a while, too.
#[test]
fn a_complete_recording_waits_for_a_reader_no_longer_than_it_was_told_to() {
    if programs().is_none() {
        return;
    }
    let runs = tempfile::tempdir().unwrap();
    let at = runs.path().join("rec");
    assert!(demo(&["-o", at.to_str().unwrap()], &["stress", "--calls", "50"]).output().unwrap().status.success());
    let fifo = Fifo::new(runs.path(), "fifo");
    let output = Command::new(UMTUI).arg("stream").arg(&at).arg("-o").arg(fifo.path()).args(["--drain", "0"]).output();
    let output = output.unwrap();
    assert_eq!(status(&output), 0, "{}", told(&output));
    assert!(told(&output).contains("were recorded and read by nobody"), "{}", told(&output));
}
