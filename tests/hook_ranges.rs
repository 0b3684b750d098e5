//! Ranges and marks that programs give names to, as the hook records them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/raw.rs"]
mod raw;

use common::{HOOK, files, hooked, outcome, program, programs, run};
use raw::File;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;
use umtui_wire::activity::{
    EVIDENCE_RANGES, KIND_EVIDENCE, KIND_MARK, KIND_RANGE_END, KIND_RANGE_POP, KIND_RANGE_PUSH, KIND_RANGE_START,
    Range, WHY_NOT_ASKED, WHY_RECORDED, WHY_VARIABLE_TAKEN,
};
use umtui_wire::record::{KIND_CALL, KIND_THREAD};

/// The program with the hook as its tool, as `umtui record` sets it up.
fn command(folder: &Path, arguments: &[&str]) -> Option<Command> {
    let mut command = hooked(folder, &program(programs()?, "ranges", arguments));
    command.env("NVTX_INJECTION64_PATH", HOOK).env_remove("UMTUI_ONLY").env_remove("UMTUI_CAPTURE");
    Some(command)
}

/// What it printed, and what it recorded.
fn recorded(arguments: &[&str], variables: &[(&str, &str)]) -> Option<(String, Vec<File>)> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), arguments)?;
    command.envs(variables.iter().copied());
    let (status, stdout, stderr) = outcome(&run(command));
    assert_eq!((status, stderr.as_str()), (0, ""), "{arguments:?}: {stdout}");
    Some((stdout, files(folder.path(), "umt").iter().map(|path| File::read(path)).collect()))
}

/// A range or a mark with its texts.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    kind: u8,
    name: String,
    domain: String,
    level: u16,
    category: u32,
    range: Range,
}

fn seen(file: &File) -> Vec<Seen> {
    let ranges = file.records.iter().filter_map(|record| Some((record.head, record.range()?)));
    ranges
        .map(|(head, range)| Seen {
            kind: head.kind,
            name: file.string(range.name.into()).to_owned(),
            domain: file.string(range.domain.into()).to_owned(),
            level: head.a,
            category: head.b,
            range,
        })
        .collect()
}

/// In words: `push outer`, `lib pop`, `call`; calls one after another once, since one makes others.
fn story(file: &File) -> Vec<String> {
    let mut seen = seen(file).into_iter();
    let shown = file.records.iter().filter(|record| record.head.kind == KIND_CALL || record.range().is_some());
    let words = shown.map(|record| {
        let Some(_) = record.range() else { return "call".to_owned() };
        let Seen { kind, name, domain, .. } = seen.next().unwrap();
        let what = match kind {
            KIND_RANGE_PUSH => "push",
            KIND_RANGE_POP => "pop",
            KIND_RANGE_START => "start",
            KIND_RANGE_END => "end",
            _ => "mark",
        };
        let words = [domain.as_str(), what, name.as_str()];
        words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
    });
    let mut story: Vec<String> = words.collect();
    story.dedup_by(|one, before| one == "call" && before == "call");
    story
}

/// Why ranges are recorded or not, and the detail, as the file says it last.
fn evidence(file: &File) -> Option<(u32, String)> {
    let said = file.of(KIND_EVIDENCE).filter(|record| record.head.a == EVIDENCE_RANGES).last()?;
    Some((said.head.b, file.string(said.word(2)).to_owned()))
}

/// Every push has its pop in the same thread and domain, at the same level and later; all ticks rise within a thread's
/// pushes and pops. What is open at the end comes back.
fn check_nesting(file: &File) -> Vec<String> {
    let mut open: HashMap<(u32, u32), Vec<(u16, Range)>> = HashMap::new();
    for record in &file.records {
        let Some(range) = record.range() else { continue };
        let stack = open.entry((record.thread, range.domain)).or_default();
        match record.head.kind {
            KIND_RANGE_PUSH => stack.push((record.head.a, range)),
            KIND_RANGE_POP => {
                let (level, pushed) = stack.pop().expect("a pop has its push");
                assert_eq!(level, record.head.a);
                assert!(pushed.ticks <= range.ticks);
            }
            _ => {}
        }
    }
    open.into_values().flatten().map(|(_, range)| file.string(range.name.into()).to_owned()).collect()
}

#[test]
fn every_way_to_say_a_range_is_recorded_as_it_was_said() {
    let Some((stdout, files)) = recorded(&["all"], &[]) else { return };
    assert_eq!(stdout, "handles 1\nlevels 0 1 2 0 1 0 2 1 0 0 1 0 -1 -1\nresource 1\n");
    let [file] = files.as_slice() else { panic!("{} files", files.len()) };
    assert_eq!(
        story(file),
        [
            "call",
            "push outer",
            "push painted",
            "push weiß 日本",
            "lib push registered",
            "lib push weit ü",
            "lib 2 push wide too",
            "call",
            "mark marked",
            "mark märked",
            "lib 2 mark registered",
            "mark",
            "pop",
            "lib pop",
            "lib 2 pop",
            "lib pop",
            "pop",
            "pop",
            "start one",
            "start painted",
            "start three",
            "lib start registered",
            "end",
            "end",
            "lib end",
            "end",
            "end",
            "end",
        ]
    );
    assert_eq!(check_nesting(file), [""; 0]);
    let seen = seen(file);
    let painted: Vec<_> = seen.iter().filter(|seen| seen.name == "painted").collect();
    for one in painted {
        assert_eq!((one.category, one.range.color), (7, 0xff11_2233));
        assert_eq!((one.range.payload_type, one.range.payload.cast_signed()), (2, -5));
    }
    let float = seen.iter().find(|seen| seen.kind == KIND_MARK && seen.name.is_empty()).unwrap();
    assert_eq!((float.range.payload_type, float.range.payload), (6, u64::from(1.5f32.to_bits())));
    let levels: Vec<u16> = seen.iter().filter(|seen| seen.kind == KIND_RANGE_PUSH).map(|seen| seen.level).collect();
    assert_eq!(levels, [0, 1, 2, 3, 4, 5], "of the thread, all domains together");
    // Ends name what began, the domain too.
    let ids = |kind| seen.iter().filter(move |seen| seen.kind == kind).map(|seen| (seen.range.id, seen.range.domain));
    let (started, ended): (BTreeSet<_>, Vec<_>) = (ids(KIND_RANGE_START).collect(), ids(KIND_RANGE_END).collect());
    assert_eq!((started.len(), ended.len()), (4, 6));
    assert!(ended.iter().take(4).all(|end| started.contains(end)), "{started:?} {ended:?}");
    assert_eq!(evidence(file), Some((WHY_RECORDED, String::new())));
    let events = file.records.iter().filter(|record| umtui_wire::frame::is_event(record.head.kind));
    assert_eq!((file.events, file.lost), (events.count() as u64, 0));
}

#[test]
fn what_is_not_as_it_should_be_does_no_harm() {
    let Some((stdout, files)) = recorded(&["garbage"], &[]) else { return };
    assert_eq!(stdout, "handles 1 1\n");
    let file = &files[0];
    assert_eq!(check_nesting(file), [""; 0]);
    let seen = seen(file);
    let pushes: Vec<&Seen> = seen.iter().filter(|seen| seen.kind == KIND_RANGE_PUSH).collect();
    for (size, push) in pushes.iter().take(80).enumerate() {
        assert_eq!(push.name == "whole", size >= 48, "{size}");
        assert_eq!(push.category == 9, size >= 8, "{size}");
        assert_eq!(push.range.color == 0xff00_0001, size >= 16, "{size}");
        assert_eq!((push.range.payload_type, push.range.payload) == (1, 77), size >= 32, "{size}");
    }
    assert_eq!(pushes.len(), 84);
    assert_eq!(
        (pushes[83].domain.as_str(), pushes[83].name.as_str()),
        ("(domain not kept)", "in a domain of somebody else")
    );
    let marks: Vec<&Seen> = seen.iter().filter(|seen| seen.kind == KIND_MARK).collect();
    let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(names[..3], ["whole"; 3]);
    assert_eq!((marks[2].range.payload_type, marks[2].range.color), (u32::MAX, 0));
    assert!(names[3..18].iter().all(|name| name.is_empty()), "{names:?}");
    assert_eq!(names[18], "A\u{fffd}\u{fffd}\u{fffd}B");
    assert_eq!(names[19], "x".repeat(1024));
    assert_eq!(names[20..], ["\u{1b}[31m\u{fffd}\u{fffd}", "last"]);
}

#[test]
fn many_levels_are_recorded_and_deeper_ones_counted() {
    for (how, depth, written) in
        [("levels", 40, 40), ("early-levels", 40, 40), ("levels", 70, 64), ("early-levels", 70, 64)]
    {
        let Some((stdout, files)) = recorded(&[how, &depth.to_string()], &[]) else { return };
        assert_eq!(stdout, "", "{how} {depth}");
        let file = &files[0];
        let pushes: Vec<_> = seen(file).into_iter().filter(|seen| seen.kind == KIND_RANGE_PUSH).collect();
        assert_eq!(check_nesting(file), [""; 0]);
        let expected: Vec<(String, u16)> = (0..written).map(|level| (format!("level {level}"), level)).collect();
        let found: Vec<_> = pushes.iter().map(|push| (push.name.clone(), push.level)).collect();
        assert_eq!(found, expected, "{how}");
        let lost = if how == "levels" { depth - written } else { 0 };
        assert_eq!(file.lost, u64::from(lost), "{how}");
        assert_eq!(story(file).last().unwrap(), "mark after");
    }
}

#[test]
fn ranges_that_are_open_when_recording_begins_have_their_true_beginning() {
    let Some((_, files)) = recorded(&["early"], &[]) else { return };
    let file = &files[0];
    let long = format!("{}…", "n".repeat(117));
    assert_eq!(
        story(file),
        [
            "push first",
            "push zwölf",
            &format!("push {long}"),
            "lib push registered early",
            "start started before",
            "call",
            "mark then",
            "pop",
            "pop",
            "lib pop",
            "pop",
            "end",
        ]
    );
    assert_eq!(check_nesting(file), [""; 0]);
    let call = file.of(KIND_CALL).next().unwrap().word(1);
    let mut before = 0;
    for one in seen(file).iter().filter(|seen| seen.kind == KIND_RANGE_PUSH) {
        assert!(one.range.ticks > before && one.range.ticks < call);
        before = one.range.ticks;
    }
    // 20 ms lie between, by whatever clock: that of ticks is faster than one that counts ns.
    assert!(call - before > 20_000_000, "{before} {call}");
}

#[test]
fn each_threads_ranges_lie_beside_its_calls() {
    let Some((_, files)) = recorded(&["threads"], &[]) else { return };
    let file = &files[0];
    assert_eq!(check_nesting(file), [""; 0]);
    let seen = seen(file);
    let count = |name: &str| seen.iter().filter(|seen| seen.kind == KIND_RANGE_PUSH && seen.name == name).count();
    // A thread that makes no calls has its ranges too, since the process records.
    let counts: Vec<usize> = (0..6).map(|number| count(&format!("thread {number}"))).collect();
    assert_eq!(counts, [1501, 1, 1, 1, 1, 1]);
    assert_eq!(count("inner"), 150_600);
    assert_eq!(file.lost, 0);
    let mut names: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for record in file.of(KIND_THREAD) {
        names.entry(record.head.b).or_default().push(file.string(record.word(2)));
    }
    let last: BTreeSet<&str> = names.values().filter_map(|names| names.last().copied()).collect();
    // The last one is the hook's own.
    assert_eq!(last, ["ranges", "the main one", "thread 1", "thread 3", "thread 5", "umtui"].into());
    let across: Vec<u8> = seen.iter().filter(|seen| seen.range.id != 0).map(|seen| seen.kind).collect();
    assert_eq!(across, [KIND_RANGE_START, KIND_RANGE_END]);
}

#[test]
fn a_childs_file_has_the_ranges_that_are_open_in_it() {
    // With so many names the child cannot take the parent's definitions over.
    for before in ["0", "400"] {
        let Some((stdout, files)) = recorded(&["fork", before], &[]) else { return };
        assert_eq!(stdout, "child 0\n");
        let mut stories: Vec<Vec<String>> = files.iter().map(story).collect();
        stories.sort_by_key(|story| !story.contains(&"push open in the child".to_owned()));
        let [child, parent] = stories.as_mut_slice() else { panic!("{stories:?}") };
        assert_eq!(
            *child,
            [
                "lib push registered",
                "push open over fork",
                "push open in the child",
                "start started over fork",
                "call",
                "lib mark registered",
                "pop",
                "pop",
                "lib pop",
                "end",
            ]
        );
        parent.retain(|line| !line.starts_with("mark ppp"));
        assert_eq!(
            *parent,
            ["call", "lib push registered", "push open over fork", "start started over fork", "pop", "lib pop", "end"]
        );
        for file in &files {
            assert_eq!((check_nesting(file), file.lost), (vec![], 0));
            assert_eq!(evidence(file), Some((WHY_RECORDED, String::new())));
        }
    }
}

#[test]
fn clients_in_one_process_share_ranges_and_handles() {
    let Some((stdout, files)) = recorded(&["clients"], &[]) else { return };
    assert_eq!(stdout, "same 1\n");
    assert_eq!(
        story(&files[0]),
        ["push first's", "call", "push second's", "shared push by the first", "shared pop", "pop", "pop",]
    );
    assert_eq!(check_nesting(&files[0]), [""; 0]);
    let said = files[0].of(KIND_EVIDENCE).filter(|record| record.head.a == EVIDENCE_RANGES);
    assert_eq!(said.count(), 1, "said once");
}

#[test]
fn errno_is_kept() {
    for variables in [&[][..], &[("UMTUI_PLACE", "written")], &[("UMTUI_MAX_BYTES", "1048576")]] {
        let Some((stdout, files)) = recorded(&["errno"], variables) else { return };
        assert_eq!(stdout, "errno kept\n");
        assert_eq!(files.len(), 1);
        if !variables.iter().any(|(name, _)| *name == "UMTUI_MAX_BYTES") {
            assert_eq!(check_nesting(&files[0]), [""; 0]);
        }
    }
}

#[test]
fn while_recording_is_paused_only_ends_of_what_is_recorded_are() {
    let Some((_, files)) = recorded(&["paused"], &[("UMTUI_CAPTURE", "profiler")]) else { return };
    let story: Vec<String> = story(&files[0]).into_iter().filter(|line| line != "call").collect();
    assert_eq!(story, ["push outer", "push while on", "pop", "push left open", "pop", "pop"]);
    assert_eq!(check_nesting(&files[0]), [""; 0]);
}

#[test]
fn a_range_that_recording_waits_for_is_recorded_with_those_around_it() {
    let Some(programs) = programs() else { return };
    for (capture, how, round) in [
        ("nvtx:step", "push", vec!["push outer", "push step", "push inner", "call", "pop", "pop", "pop"]),
        ("nvtx:step", "start", vec!["start step", "call", "end"]),
        ("nvtx:step@lib", "domain", vec!["lib push step", "lib push inner", "call", "lib pop", "lib pop"]),
        ("nvtx:inn*", "push", vec!["push outer", "push step", "push inner", "call", "pop", "pop", "pop"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = hooked(folder.path(), &program(programs, "part", &[how]));
        command.env("NVTX_INJECTION64_PATH", HOOK).env("UMTUI_CAPTURE", capture);
        let (status, stdout, _) = outcome(&run(command));
        assert!(status == 0 && stdout.starts_with("90 good"), "{stdout}");
        let files = files(folder.path(), "umt");
        assert_eq!(story(&File::read(&files[0])), round.repeat(3), "{capture} {how}");
    }
}

#[test]
fn handlers_may_have_ranges() {
    let Some((_, files)) = recorded(&["signals"], &[]) else { return };
    let file = &files[0];
    let story = story(file);
    let count = |line: &str| story.iter().filter(|other| *other == line).count() as u64;
    assert_eq!(count("push outside"), 100_000, "what is interrupted is recorded all the same");
    assert!(count("push in a handler") > 0);
    assert_eq!(count("pop"), count("push outside") + count("push in a handler"));
    assert_eq!(check_nesting(file), [""; 0]);
    assert_eq!(story.last().unwrap(), "mark after");
}

#[test]
fn names_without_end_leave_room_for_others() {
    let Some((_, files)) = recorded(&["many", "40000"], &[]) else { return };
    let file = &files[0];
    let seen = seen(file);
    let pushes: Vec<&str> =
        seen.iter().filter(|seen| seen.kind == KIND_RANGE_PUSH).map(|seen| seen.name.as_str()).collect();
    assert!((0..40_000).all(|number| pushes[number] == format!("aten::ones, op_id = {number}")));
    // One slot each.
    assert!(file.string_bytes < 41_000 * 48, "{}", file.string_bytes);
    // With a cap they may take an eighth of it beyond their share, then they lose their numbers.
    let Some((_, files)) = recorded(&["many", "40000"], &[("UMTUI_MAX_BYTES", "4194304")]) else { return };
    let seen = self::seen(&files[0]);
    let shaped = seen.iter().filter(|seen| seen.name == "aten::ones, op_id = #").count();
    assert!(shaped > 10_000, "{shaped}");
    assert!(files[0].string_bytes < 17_000 * 48 + (4 << 20) / 8, "{}", files[0].string_bytes);
    assert_eq!(evidence(&files[0]), Some((WHY_RECORDED, String::new())), "said again when old chunks have gone");
}

#[test]
fn it_is_said_why_there_are_no_ranges() {
    let Some(programs) = programs() else { return };
    let recorded = |options: &[&str], variable: Option<&str>| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let inner = program(programs, "ranges", &["all"]);
        let mut command = Command::new(common::UMTUI);
        command.arg("record").arg("-o").arg(&out).args(options).arg("--").arg(inner.get_program()).arg("all");
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env_remove("NVTX_INJECTION64_PATH");
        command.envs(variable.map(|path| ("NVTX_INJECTION64_PATH", path)));
        let output = run(command);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let file = File::read(&files(&out, "umt")[0]);
        (evidence(&file), seen(&file).len())
    };
    let said = |why: u32, detail: &str| Some((why, detail.to_owned()));
    assert_eq!(recorded(&[], None), (said(WHY_RECORDED, ""), 26));
    assert_eq!(recorded(&[], Some("")), (said(WHY_RECORDED, ""), 26));
    assert_eq!(recorded(&[], Some("/some/tool.so")), (said(WHY_VARIABLE_TAKEN, "/some/tool.so"), 0));
    assert_eq!(recorded(&["--no-nvtx"], None), (said(WHY_NOT_ASKED, ""), 0));
    assert_eq!(recorded(&["--no-nvtx"], Some(HOOK)), (said(WHY_NOT_ASKED, ""), 0));
    assert_eq!(recorded(&["--only", "device"], None), (said(WHY_NOT_ASKED, ""), 0));
    assert_eq!(recorded(&["--only", "device,range"], None), (said(WHY_RECORDED, ""), 26));
    let output = Command::new(common::UMTUI)
        .args(["record", "--no-nvtx", "--capture", "nvtx:step", "-o", "/nonexistent/x", "--", "true"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("leave --no-nvtx out"), "{told}");
}
