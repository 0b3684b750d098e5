use super::*;
use crate::trace::activity::Lane;
use crate::trace::{LaneOf, ProcessId, Trace};
use proptest::prelude::*;

/// A record: when, what, why, where, how much.
type One = (u64, u16, u8, u64, u64);

fn activity(&(start_ns, counter, cause, address, value): &One) -> Activity {
    let detail = (counter as u8) | cause << 4;
    Activity { kind: ActivityKind::Unified, start_ns, detail, address, value, ..Activity::default() }
}

fn trace(all: &[One]) -> Trace {
    let mut trace = Trace::default();
    for one in all {
        trace.activities.push(ProcessId(0), LaneOf::Unified, &activity(one), 0);
    }
    trace
}

fn lane(trace: &Trace) -> &Lane {
    trace.activities.lane(trace.activities.find(ProcessId(0), LaneOf::Unified).unwrap()).unwrap()
}

/// Cell by cell, record by record.
fn twin(all: &[One], grid: Grid<'_>, wanted: impl Fn(usize) -> bool) -> Vec<Sums> {
    let mut cells = vec![Sums::default(); grid.columns * grid.rows.len()];
    for (_, one) in all.iter().enumerate().filter(|(row, _)| wanted(*row)) {
        let Some(counted) = Counted::of(&activity(one)) else { continue };
        for column in 0..grid.columns {
            let from = grid.from_ns + column as u64 * grid.column_ns;
            if one.0 < from || one.0 - from >= grid.column_ns {
                continue;
            }
            for (row, &(from, to)) in grid.rows.iter().enumerate() {
                cells[row * grid.columns + column].count(counted.measure, counted.within(from, to));
            }
        }
    }
    cells
}

fn record() -> impl Strategy<Value = One> {
    let page = prop_oneof![3 => 0u64..64, 2 => 0u64..4096, 1 => any::<u64>().prop_map(|page| page >> 16)];
    let bytes = prop_oneof![4 => (0u64..40).prop_map(|pages| pages * 4096), 1 => 0u64..10_000, 1 => 0u64..1 << 40];
    (0u64..1000, 0u16..10, 0u8..6, page.prop_map(|page| page * 4096), bytes)
}

/// Rows that are apart and in order, of edges.
fn rows(mut edges: Vec<u64>) -> Vec<(u64, u64)> {
    edges.sort_unstable();
    edges.dedup();
    let pairs = edges.windows(2).enumerate().filter(|(at, _)| at % 3 != 2);
    pairs.map(|(_, pair)| (pair[0], pair[1])).collect()
}

fn columns_of(grid: Grid<'_>) -> usize {
    grid.columns.max(1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_picture_is_that_of_looking_at_each_record(
        some in prop::collection::vec(record(), 1..200),
        times in 1usize..120,
        sorted: bool,
        steps in prop::collection::vec(1usize..5000, 1..6),
        edges in prop::collection::vec(prop_oneof![
            3 => (0u64..4200).prop_map(|page| page * 4096),
            1 => 0u64..1 << 24,
            1 => any::<u64>(),
        ], 0..30),
        (from_ns, column_ns, columns) in (0u64..900, 1u64..400, 0usize..9),
        leave_out in 2usize..7,
    ) {
        let mut all: Vec<One> = some.iter().cycle().take(some.len() * times).copied().collect();
        for (at, one) in all.iter_mut().enumerate() {
            one.0 = (one.0 + at as u64 / 60) % 2000;
        }
        if sorted {
            all.sort_by_key(|one| one.0);
        }
        let trace = trace(&all);
        let lane = lane(&trace);
        let wanted = |row: usize| !row.is_multiple_of(leave_out);
        let mut heat = Heat::default();
        let mut to = 0;
        for step in steps.iter().cycle() {
            to += step;
            heat.take(lane, to, wanted);
            if to >= all.len() {
                break;
            }
        }
        prop_assert_eq!(heat.rows(), all.len());
        let rows = rows(edges);
        let grid = Grid { from_ns, column_ns, columns, rows: &rows };
        let cells = twin(&all, grid, wanted);
        prop_assert_eq!(&heat.picture(lane, grid), &cells);
        // In slices, of a heat that grows meanwhile, and what is said to be done is.
        let (mut growing, mut half) = (Heat::default(), all.len() / 2);
        growing.take(lane, half, wanted);
        let now = twin(&all[..half], grid, wanted);
        let mut drawing = Drawing::new(&growing, grid);
        loop {
            let done = drawing.go_on(&growing, lane, || false);
            let columns = drawing.done_columns(&growing);
            for (line, known) in drawing.cells().chunks(columns_of(grid)).zip(now.chunks(columns_of(grid))) {
                prop_assert_eq!(&line[..columns.min(line.len())], &known[..columns.min(line.len())]);
            }
            prop_assert_eq!((done, done || columns <= grid.columns), (drawing.is_done(), true));
            if done {
                prop_assert_eq!(columns, grid.columns);
                break;
            }
            half += 700;
            growing.take(lane, half, wanted);
        }
        prop_assert_eq!(drawing.into_cells(), now);
        let everything = [(0, u64::MAX)];
        let whole = Grid { from_ns: 0, column_ns: u64::MAX, columns: 1, rows: &everything };
        prop_assert_eq!(heat.picture(lane, whole), vec![*heat.total()]);
        let counted: Vec<Counted> = all.iter().enumerate().filter(|(row, _)| wanted(*row))
            .filter_map(|(_, one)| Counted::of(&activity(one))).collect();
        let extents = heat.extents(0);
        prop_assert!(extents.windows(2).all(|pair| pair[0].1 < pair[1].0));
        for one in counted {
            prop_assert!(extents.iter().any(|&(from, to)| from <= one.from && one.to <= to));
        }
    }
}

#[test]
fn what_a_record_counts_as() {
    let of = |counter, cause| Counted::of(&activity(&(0, counter, cause, 0x1000, 0x2000)));
    let bytes = |measure| Some(Counted { measure, from: 0x1000, to: 0x3000 });
    assert_eq!(of(wire::UNIFIED_TO_DEVICE, 2), bytes(Measure::ToDevice));
    assert_eq!(of(wire::UNIFIED_TO_DEVICE, 1), bytes(Measure::PrefetchedToDevice));
    assert_eq!(of(wire::UNIFIED_TO_HOST, 1), bytes(Measure::PrefetchedToHost));
    assert_eq!(of(wire::UNIFIED_TO_HOST, 4), bytes(Measure::Evicted));
    assert_eq!(of(wire::UNIFIED_TO_HOST, 3), bytes(Measure::ToHost));
    assert_eq!(of(wire::UNIFIED_BETWEEN_DEVICES, 2), bytes(Measure::Between));
    let once = |measure| Some(Counted { measure, from: 0x1000, to: 0x1001 });
    assert_eq!(of(wire::UNIFIED_GPU_FAULT, 1), once(Measure::Faults));
    assert_eq!(of(wire::UNIFIED_REMOTE_MAP, 1), once(Measure::RemoteMaps));
    assert_eq!(of(wire::UNIFIED_THROTTLING, 1), once(Measure::Thrashing));
    assert_eq!(of(12, 1), None);
    assert_eq!(Counted::of(&activity(&(0, wire::UNIFIED_TO_HOST, 2, u64::MAX, 4096))), None);
}

/// 10 M records: how long until they are there and until a picture is; `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn ten_million_records() {
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let all: Vec<One> = (0..10_000_000u64)
        .map(|at| {
            let page = 0x7f00_0000_0000 + (random() % 262_144) * 4096;
            match at % 10 {
                0..6 => (at * 1000, wire::UNIFIED_GPU_FAULT, 1, page, 1),
                6..8 => (at * 1000, wire::UNIFIED_TO_DEVICE, 2, page & !0xffff, 65_536),
                _ => (at * 1000, wire::UNIFIED_TO_HOST, 2, page & !0x1f_ffff, 2 << 20),
            }
        })
        .collect();
    let trace = trace(&all);
    let lane = lane(&trace);
    let began = std::time::Instant::now();
    let mut heat = Heat::default();
    heat.take(lane, usize::MAX, |_| true);
    println!("taken in {:?}, {:.1} bytes a record", began.elapsed(), heat.heap_bytes() as f64 / all.len() as f64);
    for (what, base, size, from_ns, column_ns) in [
        ("all", 0u64, 32u64 << 20, 0, 10_000_000_000 / 185),
        ("a few pages, all time", 77 << 20, 4096, 0, 10_000_000_000 / 185),
        ("odd rows", 4096, (25 << 20) + 4096, 0, 10_000_000_000 / 185),
        ("all, a millisecond a column", 0, 32 << 20, 5_000_000_000, 1_000_000),
        ("all, a microsecond a column", 0, 32 << 20, 5_000_000_000, 1_000),
        ("pages, microseconds", 77 << 20, 4096, 5_000_000_000, 1_000),
    ] {
        let rows: Vec<(u64, u64)> = (0..40)
            .map(|row| (0x7f00_0000_0000 + base + row * size, 0x7f00_0000_0000 + base + (row + 1) * size))
            .collect();
        let grid = Grid { from_ns, column_ns, columns: 185, rows: &rows };
        let began = std::time::Instant::now();
        let cells = heat.picture(lane, grid);
        println!("{what}: {:?}, {} cells", began.elapsed(), cells.iter().filter(|cell| !cell.is_empty()).count());
    }
}
