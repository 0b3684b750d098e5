//! What the memory screen gets of the demo's workloads, held against the report of the same recording.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{UMTUI, report, run};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use umtui::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
use umtui::session::Loaded;
use umtui::session::view::*;
use umtui::trace::Layer;

const MIB: u64 = 1 << 20;

fn record(folder: &Path, arguments: &[&str]) -> Loaded {
    let mut command = Command::new(UMTUI);
    command.args(["demo", "--report", "-o"]).arg(folder).args(arguments).env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Loaded::load_all(&[folder.to_owned()]).unwrap()
}

const ALL: AllocationsRequest = AllocationsRequest {
    sort: (AllocationColumn::Size, true),
    in_use: false,
    only: None,
    cursor: None,
    details: None,
    first: 0,
    rows: usize::MAX,
};

fn ask(loaded: &mut Loaded, moment: Option<u64>, part: MemoryPart) -> MemoryRows {
    match loaded.view(View::Memory(MemoryRequest { plot: 60, moment, goal: None, part })).body {
        Body::Memory(rows) => {
            assert!(!rows.partial);
            rows
        }
        other => panic!("{other:?}"),
    }
}

fn allocations(loaded: &mut Loaded, moment: Option<u64>, request: AllocationsRequest) -> AllocationsRows {
    match ask(loaded, moment, MemoryPart::Allocations(request)).part {
        MemoryPartRows::Allocations(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn groups(loaded: &mut Loaded, moment: Option<u64>, by: MemoryGrouping) -> Vec<GroupRow> {
    let request = GroupsRequest { by, sort: (GroupColumn::Peak, true), first: 0, rows: usize::MAX };
    match ask(loaded, moment, MemoryPart::Groups(request)).part {
        MemoryPartRows::Groups(rows) => rows.rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_training_sums_up_to_what_the_report_says_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut loaded = record(folder.path(), &["training", "--", "--rounds", "4"]);
    let report = report(&[folder.path()]);
    let told = |key: &str| report["allocations"][key].as_u64().unwrap();
    let rows = ask(&mut loaded, None, MemoryPart::Allocations(ALL));
    let plot = rows.plot;
    assert_eq!((plot.peak_bytes, plot.peak_ns), (told("peak_bytes"), told("peak_ns")));
    assert_eq!((plot.most.len(), plot.most.iter().max()), (60, Some(&plot.peak_bytes)));
    assert_eq!(plot.moment_bytes, told("live_bytes"));
    let all = allocations(&mut loaded, None, ALL);
    assert_eq!((all.total, all.rows.len() as u64), (told("count"), told("count")));
    assert_eq!(all.rows.iter().filter_map(|row| row.bytes).sum::<u64>(), told("bytes"));
    assert!(all.rows.iter().all(|row| row.state >= AllocationState::Freed && row.until_ns >= Some(row.from_ns)));
    // At the peak those are in use that make it up.
    let then = allocations(&mut loaded, Some(plot.peak_ns), AllocationsRequest { in_use: true, ..ALL });
    assert_eq!(then.rows.iter().filter_map(|row| row.bytes).sum::<u64>(), plot.peak_bytes);
    for by in [MemoryGrouping::Site, MemoryGrouping::Kind, MemoryGrouping::Device] {
        let groups = groups(&mut loaded, Some(plot.peak_ns), by);
        assert_eq!(groups.iter().map(|row| row.count).sum::<u64>(), told("count"), "{by:?}");
        assert_eq!(groups.iter().filter_map(|row| row.then).sum::<u64>(), plot.peak_bytes, "{by:?}");
        // The allocations of each are as many and as large as it says.
        for group in groups {
            let only = allocations(&mut loaded, None, AllocationsRequest { only: Some(group.key), ..ALL });
            assert_eq!(only.total, group.count, "{}", group.name);
            assert_eq!(Some(only.rows.iter().filter_map(|row| row.bytes).sum()), group.bytes, "{}", group.name);
        }
    }
    // From its beginning to the peak all of the peak has grown, and from there to the end all of it is gone.
    let mut grown = |since, moment| {
        let request = GrowthRequest { since, by: GrowthGrouping::Site, first: 0, rows: usize::MAX };
        match ask(&mut loaded, moment, MemoryPart::Growth(request)).part {
            MemoryPartRows::Growth(rows) => rows,
            other => panic!("{other:?}"),
        }
    };
    let up = grown(None, Some(plot.peak_ns));
    assert_eq!((up.before.bytes, up.after.bytes), (Some(0), Some(plot.peak_bytes)));
    assert_eq!(up.rows.iter().filter_map(|row| row.bytes).sum::<i64>(), plot.peak_bytes as i64);
    let down = grown(Some(plot.peak_ns), None);
    assert_eq!(down.rows.iter().filter_map(|row| row.bytes).sum::<i64>(), -(plot.peak_bytes as i64));
    assert!(down.rows.iter().all(|row| row.verdict == "gone"));
}

#[test]
fn what_leaked_lived_until_the_last_that_is_known_of_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leak.umt");
    let out = std::fs::File::create(&path).unwrap();
    // Its header knows of no moment after the first.
    let mut writer = NativeWriter::new(out, FileInfo::default(), 1 << 20);
    let make = writer.api(Layer::Runtime, "cudaMalloc(ptr:*ptr@28 bytes:size@36)").unwrap();
    let other = writer.api(Layer::Runtime, "cudaGetDevice(device:*dev@28)").unwrap();
    let arguments = [0x7000_0000_0000u64.to_le_bytes(), 4096u64.to_le_bytes()].concat();
    writer.call(1, &CallRecord { api: make, start: 1000, duration: 50, arguments, ..CallRecord::default() }).unwrap();
    writer.call(2, &CallRecord { api: other, start: 9000, duration: 100, ..CallRecord::default() }).unwrap();
    writer.finish(true).unwrap();
    let mut loaded = Loaded::load_all(&[path]).unwrap();
    let rows = allocations(&mut loaded, None, ALL).rows;
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.state, row.until_ns, row.from_ns, row.seen_ns), (AllocationState::Leaked, None, 0, 8100));
}

#[test]
fn moments_are_found_by_what_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let mut loaded = record(folder.path(), &["training", "--", "--rounds", "4"]);
    let peak_ns = ask(&mut loaded, None, MemoryPart::Allocations(ALL)).plot.peak_ns;
    let mut found = |text: &str| {
        let goal = Some(Moment::parse(text).unwrap());
        let request = MemoryRequest { plot: 60, moment: None, goal, part: MemoryPart::Allocations(ALL) };
        match loaded.view(View::Memory(request)).body {
            Body::Memory(rows) => (rows.found.unwrap(), rows.plot.moment_ns),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(found("peak"), (Ok(Some(peak_ns)), peak_ns));
    assert_eq!(found("1us"), (Ok(Some(1_000)), 1_000));
    assert_eq!(found("end").0, Ok(None));
    let (step, _) = found("step:2");
    assert!(step.as_ref().is_ok_and(|at| at.is_some_and(|at| at > 0)), "{step:?}");
    assert!(found("mark:nothing is called so").0.is_err());
}

#[test]
fn rows_are_in_the_order_that_was_asked_for_and_the_cursor_is_found_in_each() {
    let folder = tempfile::tempdir().unwrap();
    let mut loaded = record(folder.path(), &["training", "--", "--rounds", "4"]);
    let cursor = allocations(&mut loaded, None, ALL).rows[7].id;
    for column in [
        AllocationColumn::Address,
        AllocationColumn::Size,
        AllocationColumn::Kind,
        AllocationColumn::Site,
        AllocationColumn::Thread,
        AllocationColumn::Made,
        AllocationColumn::Lifetime,
        AllocationColumn::State,
    ] {
        for largest_first in [false, true] {
            let sort = (column, largest_first);
            let all = allocations(&mut loaded, None, AllocationsRequest { sort, ..ALL });
            let key = |row: &AllocationRow| match column {
                AllocationColumn::Address => (row.id.address, String::new()),
                AllocationColumn::Size => (row.bytes.unwrap_or(0), String::new()),
                AllocationColumn::Kind => (row.kind as u64, String::new()),
                AllocationColumn::Site => (0, row.site.clone()),
                AllocationColumn::Thread => (0, row.thread.clone()),
                AllocationColumn::Made => (row.from_ns, String::new()),
                // From its return on to its release, of which the row has the begin of the call.
                AllocationColumn::Lifetime => (0, String::new()),
                _ => (row.state as u64, String::new()),
            };
            for pair in all.rows.windows(2) {
                let (one, next) = (key(&pair[0]), key(&pair[1]));
                assert!(if largest_first { one >= next } else { one <= next }, "{sort:?}");
            }
            // A window of few rows moves to where the cursor's is.
            let few = AllocationsRequest { sort, cursor: Some(cursor), details: Some(cursor), rows: 5, ..ALL };
            let window = allocations(&mut loaded, None, few);
            let row = window.cursor.unwrap();
            assert_eq!(window.rows[(row - window.first) as usize].id, cursor);
            assert_eq!(all.rows[row as usize].id, cursor);
            assert_eq!(window.details.unwrap().0, cursor);
        }
    }
}

#[test]
fn what_moved_is_told_of_the_allocation_and_a_lens_counts_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut loaded = record(folder.path(), &["pingpong", "--", "--rounds", "7"]);
    let all = allocations(&mut loaded, None, ALL);
    let row = all.rows.iter().find(|row| row.kind == AllocationKind::Managed).unwrap();
    assert_eq!((row.bytes, row.moved, row.moved_back), (Some(64 * MIB), Some(14 * 64 * MIB), Some(13 * 64 * MIB)));
    assert_eq!(row.faults, None, "they are not recorded unless asked for");
    let like = row.like.clone().unwrap();
    let lens = Lens { condition: Some(like.into()), range: None };
    loaded.look_through(&lens, "", Duration::from_secs(60)).unwrap();
    assert_eq!(allocations(&mut loaded, None, ALL).total, 1);
    // After it was released it is not told of, but what moved before was its own.
    let text = umtui::filter::expression::read("", "kind:migration").unwrap();
    loaded.look_through(&Lens { condition: Some(text.into()), range: None }, "", Duration::from_secs(60)).unwrap();
    let seen = allocations(&mut loaded, None, ALL);
    assert_eq!(seen.rows.iter().map(|row| row.moved).collect::<Vec<_>>(), [Some(14 * 64 * MIB)]);
}

#[test]
fn what_is_looked_for_is_found_by_site_kind_and_address() {
    let folder = tempfile::tempdir().unwrap();
    let mut loaded = record(folder.path(), &["training", "--", "--rounds", "4"]);
    let all = allocations(&mut loaded, None, ALL);
    let view = View::Memory(MemoryRequest { plot: 60, moment: None, goal: None, part: MemoryPart::Allocations(ALL) });
    let mut look = |text: &str| {
        let search = SearchRequest { id: 1, text: text.to_owned(), from: SearchFrom::Row(0), step: Step::Here };
        let request = ViewRequest { id: 1, view: view.clone(), search: Some(search), lens: Lens::default() };
        loaded.search(&request, Duration::from_secs(60)).search.unwrap()
    };
    let is_pool = |row: &&AllocationRow| row.kind == AllocationKind::Pool;
    let found = look("pool");
    assert!(found.count >= all.rows.iter().filter(is_pool).count() as u64);
    let last = all.rows.last().unwrap();
    let found = look(&format!("'{:#x}", last.id.address));
    assert!(found.count >= 1 && found.found.is_some(), "{found:?}");
    assert_eq!(look("'no such name anywhere").count, 0);
}

#[test]
fn use_prefetches_and_who_may_touch_it_are_told_of_an_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let mut loaded = record(folder.path(), &["prefetch", "--", "--rounds", "6"]);
    let all = allocations(&mut loaded, None, ALL);
    let id = all.rows.iter().find(|row| row.kind == AllocationKind::Managed).unwrap().id;
    let told = allocations(&mut loaded, None, AllocationsRequest { details: Some(id), rows: 5, ..ALL });
    let (of, fields) = told.details.unwrap();
    assert_eq!(of, id);
    let values = |wanted: &str| -> Vec<&str> {
        fields.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.as_str()).collect()
    };
    // Kernels were given it, which is all that is known: faults are not recorded.
    let (first, last) = (values("first use"), values("last use"));
    assert!(first.len() == 1 && first[0].contains("possibly: kernel"), "{fields:?}");
    assert!(last.len() == 1 && last[0].contains(", cudaLaunchKernel from "), "{fields:?}");
    let prefetches = values("prefetch");
    assert_eq!((prefetches.len(), prefetches.last()), (5, Some(&"[2 more]")), "{fields:?}");
    assert!(prefetches[0].starts_with("to GPU 0 at "), "{fields:?}");
    assert_eq!(values("may touch"), ["attached global from ".to_owned() + &made_at(&fields)], "{fields:?}");
}

/// When the memory came into use, by the first of those who may touch it.
fn made_at(fields: &[(String, String)]) -> String {
    let text = &fields.iter().find(|(name, _)| name == "may touch").unwrap().1;
    text.rsplit(" from ").next().unwrap().to_owned()
}
