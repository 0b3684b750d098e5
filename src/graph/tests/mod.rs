//! The tree against a twin that looks for every call's caller by brute force.

mod ranges;
mod sought;
pub(crate) mod twin;
mod windows;
mod work;

use super::*;
use crate::trace::{ApiId, Call, CallFlags, NameId, OpenCall, ProcessId, SiteId, StreamId, TrackId};
use proptest::prelude::*;
use std::collections::BTreeMap;
use twin::{Program, Twin, program};

/// Threads 0 and 1 are of process 0, the others have one each.
pub(super) struct Fake;

impl Directory for Fake {
    fn process(&self, track: TrackId) -> (ProcessId, NameId) {
        (ProcessId(u16::try_from(track.0 / 2).unwrap()), NameId(1))
    }

    fn text(&self, text: crate::trace::activity::TextId) -> NameId {
        NameId(text.0)
    }

    fn identity(&self, what: What) -> u64 {
        match what {
            What::Process(id) => u64::from(id.0),
            What::Thread(id) => u64::from(id.0),
            What::Stream(id) => u64::from(id.0),
            What::Device(host, id) => u64::from(host.0) << 8 | u64::from(id),
            What::Site(id) => u64::from(id.0),
            What::Call(id) => u64::from(id.0),
            What::Ids(id, context, stream) => u64::from(id.0) << 48 | u64::from(context) << 24 | u64::from(stream),
            What::Kernel(name) => u64::from(name.0),
            What::Copy(kind, pageable) => u64::from(kind) << 1 | u64::from(pageable),
            What::Range(domain, name) => u64::from(domain.0) << 32 | u64::from(name.0),
            What::Set | What::Graph | What::Outside => 0,
            What::Unified(counter, flags) => u64::from(counter) << 8 | u64::from(flags),
        }
    }
}

/// All cells of a tree, finished and not, by where they are.
fn cells_of(tree: &Tree, program: &Program) -> BTreeMap<twin::Path, Stats> {
    let mut all: BTreeMap<twin::Path, Stats> = BTreeMap::new();
    for cells in [tree.cells(), &unfinished(tree, program)] {
        for (_, cell) in cells.iter() {
            let mut calls = vec![cell.api.0];
            let mut above = cell.parent;
            while let Some(caller) = above.and_then(|id| cells.get(id)) {
                calls.insert(0, caller.api.0);
                above = caller.parent;
            }
            let Place { track, site, stream, device, .. } = cell.place;
            all.entry((track.0, site.0, stream.0, device, calls)).or_default().merge(&cell.stats);
        }
    }
    all.retain(|_, stats| stats.sums.any());
    all
}

fn unfinished(tree: &Tree, program: &Program) -> Cells {
    tree.unfinished(|track| program.open.get(track.index()).map_or(&[][..], Vec::as_slice), program.open.len())
}

/// Takes the calls of all threads, a few of each in turn as `turns` says.
fn feed(tree: &mut Tree, program: &Program, turns: &[(usize, usize)], mut between: impl FnMut(&mut Tree, &[usize])) {
    let mut done = vec![0; program.ended.len()];
    let whole = (0..program.ended.len()).map(|track| (track, usize::MAX));
    for (track, count) in turns.iter().copied().chain(whole) {
        let track = track % program.ended.len();
        tree.begin_batch();
        for call in program.ended[track].iter().skip(done[track]).take(count) {
            tree.push(TrackId(u32::try_from(track).unwrap()), call);
            done[track] += 1;
        }
        between(tree, &done);
    }
}

fn by_key(rows: &Rows, cells: &Cells) -> BTreeMap<NodeKey, (u16, What, Stats)> {
    (1..u32::try_from(rows.len()).unwrap())
        .filter_map(|id| rows.get(id).map(|row| (id, row)))
        .filter(|(_, row)| row.any())
        .map(|(id, row)| (row.key, (row.depth, row.what, rows.stats(id, cells))))
        .collect()
}

const ALL: [Grouping; 6] =
    [Grouping::Thread, Grouping::Stream, Grouping::Device, Grouping::CallSite, Grouping::Flat, Grouping::Inverted];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_call_is_under_its_caller(program in program(), turns in prop::collection::vec((0usize..4, 0usize..9), 0..40)) {
        let mut tree = Tree::default();
        feed(&mut tree, &program, &turns, |_, _| {});
        prop_assert_eq!(cells_of(&tree, &program), Twin::of(&program).cells);
    }

    #[test]
    fn merging_what_waits_changes_nothing(program in program(), waiting in 1usize..6) {
        // Where callers were lost, merging may put their children elsewhere (see `Forest`).
        prop_assume!(!program.lossy);
        let mut tree = Tree::with_waiting(waiting);
        feed(&mut tree, &program, &[], |_, _| {});
        prop_assert_eq!(cells_of(&tree, &program), Twin::of(&program).cells);
    }

    #[test]
    fn nothing_is_lost_or_counted_twice_where_callers_were_lost(program in program(), waiting in 1usize..6) {
        let mut tree = Tree::with_waiting(waiting);
        feed(&mut tree, &program, &[], |_, _| {});
        let sums = |cells: BTreeMap<twin::Path, Stats>| {
            let mut sums = Sums::default();
            cells.values().for_each(|stats| sums.add(&stats.sums));
            (sums.count, sums.failed, sums.running, sums.total_ns, sums.min_ns, sums.max_ns)
        };
        prop_assert_eq!(sums(cells_of(&tree, &program)), sums(Twin::of(&program).cells));
    }

    #[test]
    fn live_rows_equal_reopened_rows(program in program(), turns in prop::collection::vec((0usize..4, 0usize..9), 0..40)) {
        for grouping in ALL {
            let mut live = Rows::new(grouping);
            let mut tree = Tree::default();
            feed(&mut tree, &program, &turns, |tree, done| {
                live.refresh(tree.cells(), unfinished(tree, &program.cut(done)), &Fake);
            });
            live.refresh(tree.cells(), unfinished(&tree, &program), &Fake);
            let mut whole = Tree::default();
            feed(&mut whole, &program, &[], |_, _| {});
            let mut reopened = Rows::new(grouping);
            reopened.refresh(whole.cells(), unfinished(&whole, &program), &Fake);
            prop_assert_eq!(by_key(&live, tree.cells()), by_key(&reopened, whole.cells()));
            prop_assert_eq!(live.outermost_ns(), reopened.outermost_ns());
        }
    }

    #[test]
    fn rows_equal_the_twins(program in program()) {
        let mut tree = Tree::default();
        feed(&mut tree, &program, &[], |_, _| {});
        let twin = Twin::of(&program);
        for grouping in ALL {
            let mut rows = Rows::new(grouping);
            rows.refresh(tree.cells(), unfinished(&tree, &program), &Fake);
            let mut found: BTreeMap<Vec<String>, Stats> = BTreeMap::new();
            for (id, row) in (1..).map_while(|id| rows.get(id).map(|row| (id, row))).filter(|(_, row)| row.any()) {
                let mut path = vec![format!("{:?}", row.what)];
                let mut above = row.parent;
                while above != TOP {
                    let row = rows.get(above).unwrap();
                    path.insert(0, format!("{:?}", row.what));
                    above = row.parent;
                }
                prop_assert_eq!(usize::from(row.depth) + 1, path.len());
                found.insert(path, rows.stats(id, tree.cells()));
            }
            prop_assert_eq!(found, twin.rows(grouping), "{:?}", grouping);
        }
    }
}

proptest! {
    #[test]
    fn calls_are_found_where_they_were_counted(program in program()) {
        let mut tree = Tree::default();
        feed(&mut tree, &program, &[], |_, _| {});
        let unfinished = unfinished(&tree, &program);
        let (mut ended, mut running) = (BTreeMap::new(), BTreeMap::new());
        for (track, calls) in program.ended.iter().enumerate() {
            let whole = calls.iter().rposition(|call| call.depth == 0).map_or(0, |last| last + 1);
            let id = TrackId(u32::try_from(track).unwrap());
            for cell in tree.cells().locate(id, &calls[..whole]) {
                *ended.entry(cell.unwrap()).or_insert(0) += 1;
            }
            let (open, rest) = tree.locate_unfinished(&unfinished, id, &program.open[track], &calls[whole..]);
            prop_assert_eq!(open.len(), program.open[track].len());
            for (cell, running_calls) in open.into_iter().map(|cell| (cell, 1)).chain(rest.into_iter().map(|cell| (cell, 0))) {
                let entry = running.entry(cell.unwrap()).or_insert((0, 0));
                entry.0 += 1 - running_calls;
                entry.1 += running_calls;
            }
        }
        for (id, cell) in tree.cells().iter() {
            prop_assert_eq!(ended.get(&id).copied().unwrap_or(0), cell.stats.sums.count);
        }
        for (id, cell) in unfinished.iter() {
            let found = running.get(&id).copied().unwrap_or((0, 0));
            prop_assert_eq!(found, (cell.stats.sums.count, cell.stats.sums.running));
        }
    }
}

pub(crate) fn call(start_ns: u64, end_ns: u64, depth: u8, api: u16) -> Call {
    Call {
        start_ns,
        duration_ns: end_ns - start_ns,
        api: ApiId(api),
        site: SiteId(3),
        stream: StreamId::NONE,
        device: 0,
        depth,
        flags: CallFlags::default(),
        extra: 0,
    }
}

#[test]
fn calls_that_begin_in_the_same_nanosecond_keep_their_places() {
    // A parent and its child, then two calls one after another, all at once.
    let mut tree = Tree::default();
    tree.begin_batch();
    for call in [call(5, 5, 1, 1), call(5, 5, 1, 2), call(5, 6, 0, 3), call(6, 6, 0, 1), call(6, 6, 0, 2)] {
        tree.push(TrackId(0), &call);
    }
    let mut rows = Rows::new(Grouping::CallSite);
    rows.refresh(tree.cells(), Cells::default(), &Fake);
    let mut paths: Vec<(u16, What)> =
        (1..).map_while(|id| rows.get(id)).map(|row| (row.depth, row.what)).filter(|path| path.0 > 0).collect();
    paths.sort_by_key(|path| format!("{path:?}"));
    let call = |depth, api| (depth, What::Call(ApiId(api)));
    assert_eq!(paths, [call(1, 1), call(1, 2), call(1, 3), call(2, 1), call(2, 2)]);
}

#[test]
fn recursion_does_not_count_time_twice() {
    let mut tree = Tree::default();
    tree.begin_batch();
    for call in [call(20, 30, 2, 7), call(15, 40, 1, 8), call(10, 100, 0, 7)] {
        tree.push(TrackId(0), &call);
    }
    let mut rows = Rows::new(Grouping::Flat);
    rows.refresh(tree.cells(), Cells::default(), &Fake);
    let sums = rows.get(1).unwrap().sums();
    assert_eq!((sums.count, sums.total_ns, sums.self_ns, sums.min_ns, sums.max_ns), (2, 90, 75, 10, 90));
    let sums = rows.get(2).unwrap().sums();
    assert_eq!((sums.count, sums.total_ns, sums.self_ns), (1, 25, 15));
    assert_eq!(rows.outermost_ns(), 90);
}

#[test]
fn a_killed_process_leaves_its_calls_under_the_running_one() {
    let open = OpenCall { api: ApiId(1), start_ns: 10, site: SiteId(3), depth: 0, registers: [0; 3] };
    let mut tree = Tree::default();
    tree.begin_batch();
    tree.push(TrackId(0), &call(0, 5, 0, 1));
    tree.push(TrackId(0), &call(20, 30, 1, 2));
    let mut rows = Rows::new(Grouping::CallSite);
    rows.refresh(tree.cells(), tree.unfinished(|_| std::slice::from_ref(&open), 1), &Fake);
    let sums: Vec<_> = (1..4).map(|row| rows.get(row).unwrap()).map(|row| (row.depth, row.sums())).collect();
    // Call site, running call, the nested one that has ended.
    assert_eq!((sums[0].0, sums[0].1.count, sums[0].1.running, sums[0].1.total_ns), (0, 1, 1, 5));
    assert_eq!((sums[1].0, sums[1].1.count, sums[1].1.running, sums[1].1.total_ns), (1, 1, 1, 5));
    assert_eq!((sums[2].0, sums[2].1.count, sums[2].1.total_ns), (2, 1, 10));
    assert_eq!(rows.outermost_ns(), 5);
    // Once it has ended the same paths are those of a finished call.
    tree.begin_batch();
    tree.push(TrackId(0), &call(10, 60, 0, 1));
    rows.refresh(tree.cells(), tree.unfinished(|_| std::slice::from_ref(&open), 1), &Fake);
    assert_eq!(rows.get(2).unwrap().sums().running, 0);
    assert_eq!((rows.get(2).unwrap().sums().count, rows.get(2).unwrap().sums().self_ns), (2, 45));
    assert_eq!((rows.get(3).unwrap().sums().count, rows.len()), (1, 4));
}
