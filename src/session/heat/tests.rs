use std::path::Path;
use std::time::Duration;

use super::view::*;
use crate::lens::Lens;
use crate::memory::heat::Counted;
use crate::session::Loaded;
use crate::session::view::{Body, EventKinds, EventsAt, EventsRequest, EventsWithin, TimeRange, View};
use crate::trace::{LaneOf, ProcessId};

const MIB: u64 = 1 << 20;

fn bounce() -> Loaded {
    Loaded::load_all(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-bounce.log")]).unwrap()
}

fn heat(loaded: &mut Loaded, request: HeatRequest) -> HeatRows {
    match loaded.view(View::Heatmap(request)).body {
        Body::Heatmap(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn all(loaded: &Loaded) -> Sums {
    let mut sums = Sums::default();
    loaded.heat_sums().iter().for_each(|cell| sums.add(cell));
    sums
}

const REQUEST: HeatRequest = HeatRequest {
    subject: HeatSubject::Busiest,
    colour: HeatColour::Bytes,
    at: HeatRowsAt::Fit,
    time: HeatTimeAt::Fit,
    lines: 16,
    columns: 60,
    cursor: (0, 0),
    generation: None,
    details: false,
};

#[test]
fn the_busiest_allocation_comes_first_and_all_of_it_fits() {
    let mut loaded = bounce();
    let rows = heat(&mut loaded, REQUEST);
    assert_eq!((rows.number, rows.bits, rows.total, rows.lines.len()), (1, 16, 16, 16));
    assert!(rows.label.starts_with("managed 1 MiB"), "{}", rows.label);
    assert_eq!((rows.lines[15].offset, rows.lines[15].place, rows.lines[0].offset), (0, Some(1), 15 << 16));
    let sums = all(&loaded);
    assert_eq!((sums.to_device(), sums.to_host()), (2 * MIB, 2 * MIB));
    assert_eq!(sums.get(Measure::PrefetchedToDevice), MIB);
    // Both turns have a kernel.
    assert!(rows.kernels.iter().any(|&share| share > 0));
    assert!(rows.moves.contains(&HeatMark::AheadToDevice) && rows.moves.contains(&HeatMark::ToHost));
}

#[test]
fn to_zoom_goes_down_to_a_page_and_a_microsecond_and_no_further() {
    let mut loaded = bounce();
    let whole = heat(&mut loaded, REQUEST);
    let at = whole.lines[3].at;
    let close = HeatRequest { at: HeatRowsAt::Around(3, at, 7), time: HeatTimeAt::From(whole.from_ns, 1), ..REQUEST };
    let rows = heat(&mut loaded, close);
    assert_eq!((rows.bits, rows.total, rows.column_ns), (12, 256, 1_000));
    assert_eq!(rows.found.map(|line| rows.lines[usize::from(line)].at), Some(at));
    // Far too wide and far too late is the whole.
    let far =
        HeatRequest { at: HeatRowsAt::From(60, 9), time: HeatTimeAt::From(u64::MAX / 2, u64::MAX / 2), ..REQUEST };
    let rows = heat(&mut loaded, far);
    assert_eq!((rows.bits, rows.first, rows.from_ns, rows.column_ns), (whole.bits, 0, whole.from_ns, whole.column_ns));
}

#[test]
fn pages_are_on_the_device_and_on_the_host_in_turn() {
    let mut loaded = bounce();
    let rows = heat(&mut loaded, HeatRequest { colour: HeatColour::Residency, columns: 400, ..REQUEST });
    let marks: Vec<HeatMark> = rows.lines[8].cells.iter().map(|cell| cell.mark).collect();
    let turns = marks.chunk_by(|one, next| one == next).map(|same| same[0]);
    let turns: Vec<HeatMark> = turns.filter(|mark| *mark != HeatMark::Nothing).collect();
    let (host, device) = (HeatMark::OnHost, HeatMark::OnDevice(0));
    assert!(turns.ends_with(&[device, host, device, host]), "{turns:?}");
}

#[test]
fn a_lens_chooses_what_is_counted() {
    let mut loaded = bounce();
    let whole = heat(&mut loaded, REQUEST);
    let middle = (whole.span.0 + whole.span.1) / 2;
    let mut parts = Sums::default();
    for range in [(0, middle - 1), (middle, u64::MAX)] {
        let lens = Lens { range: Some(TimeRange::Time(range.0, range.1)), ..Lens::default() };
        loaded.look_through(&lens, "", Duration::ZERO).unwrap();
        heat(&mut loaded, HeatRequest { subject: HeatSubject::All, ..REQUEST });
        parts.add(&all(&loaded));
    }
    assert!(parts.moved() >= 4 * MIB && parts.moved() < 5 * MIB, "what is cut counts in both: {}", parts.moved());
}

#[test]
fn events_of_a_cell_are_those_that_are_in_it() {
    let mut loaded = bounce();
    let whole = heat(&mut loaded, HeatRequest { lines: 4, columns: 6, ..REQUEST });
    let mut listed = 0;
    for (line, column) in (0..4u16).flat_map(|line| (0..6u16).map(move |column| (line, column))) {
        let request = HeatRequest { lines: 4, columns: 6, cursor: (line, column), details: true, ..REQUEST };
        let point = heat(&mut loaded, request).point.unwrap();
        let (process, from, to) = point.at;
        let within = EventsWithin { process, addresses: (from, to), ns: point.ns };
        let kinds = EventKinds::inside(within);
        let request = EventsRequest { node: None, at: EventsAt::Row(0), rows: 1000, kinds, details: None };
        let Body::Events(events) = loaded.view(View::Events(request)).body else { panic!() };
        let trace = loaded.trace();
        let lane = trace.activities.lane(trace.activities.find(ProcessId(process), LaneOf::Unified).unwrap()).unwrap();
        let mut twin = 0;
        lane.for_each(0, |_, activity| {
            let since = activity.start_ns - trace.start_ns();
            let inside = Counted::of(&activity).is_some_and(|counted| counted.within(from, to) > 0);
            twin += u64::from(inside && (point.ns.0..point.ns.1).contains(&since));
        });
        assert_eq!((events.total, events.rows.len() as u64), (twin, twin));
        assert_eq!(point.sums.unwrap().is_empty(), twin == 0);
        let details = point.details.unwrap();
        assert!(details.iter().any(|(name, value)| name == "allocation" && value.contains("managed 1 MiB")));
        let mut page = details.iter().skip_while(|(name, _)| name != "page");
        assert!(page.next().is_some_and(|(_, how)| how.starts_with("0x")), "{details:?}");
        listed += twin;
    }
    assert!(listed > 100, "{listed} of {}", whole.places);
}

/// The bouncing array, released and allocated again twice while its pages move, from two more places.
fn in_turn() -> Loaded {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-bounce.log")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let made = lines.iter().position(|line| line.starts_with("# api cuMemAllocManaged")).unwrap();
    lines.insert(made, "# api cuMemFree_v2 driver \"cuMemFree_v2\" (ptr:ptr@32)".to_owned());
    let at = lines.iter().position(|line| line.starts_with("0.3228")).unwrap();
    let free = |at: &str| {
        format!("{at} 2349/2349 bounce cuMemFree_v2(ptr=0x7f7d9e000000) = 0 <100> d0 @ 0x5616d0af1310 bounce+0x3e310")
    };
    let make = |at: &str, bytes: u64, site: &str| {
        format!(
            "{at} 2349/2349 bounce cuMemAllocManaged(ptr=0x7f7d9e000000 bytes={bytes} flags=0x1) = 0 <100> d0 @ {site}"
        )
    };
    let calls = [
        free("0.322750000"),
        make("0.322760000", 524_288, "0x5616d0af1320 bounce+0x3e320"),
        free("0.322950000"),
        make("0.322960000", 1_048_576, "0x5616d0af1330 bounce+0x3e330"),
    ];
    lines.splice(at..at, calls);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in-turn.log");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    Loaded::load_all(&[path]).unwrap()
}

#[test]
fn allocations_that_lay_at_one_address_in_turn_are_told_apart() {
    let mut loaded = in_turn();
    let whole = heat(&mut loaded, HeatRequest { columns: 400, ..REQUEST });
    assert_eq!((whole.places, whole.label.ends_with("  3 in turn")), (1, true), "{}", whole.label);
    let mut cells = Vec::new();
    for (row, (size, number)) in (0..).zip([("1 MiB", 1), ("512 KiB", 2), ("1 MiB", 3)]) {
        let found = heat(&mut loaded, HeatRequest { subject: HeatSubject::Found(row), columns: 400, ..REQUEST });
        let (line, column) = found.found_cell.unwrap();
        assert_eq!(found.subject, whole.subject);
        let request = HeatRequest { cursor: (line, column), columns: 400, generation: Some(row), ..REQUEST };
        let point = heat(&mut loaded, HeatRequest { details: true, ..request }).point.unwrap();
        assert!(point.label.starts_with(&format!("managed {size}")), "{}", point.label);
        assert!(point.label.contains(&format!("{number} of 3 here in turn")), "{}", point.label);
        assert_eq!(point.generation, Some(row));
        assert!(!point.sums.unwrap().is_empty(), "something happened there");
        let details = point.details.unwrap();
        let told = format!("allocation {number} of 3 that lay here in turn");
        assert!(details.iter().any(|(_, value)| *value == told), "{details:?}");
        cells.push((column, line));
    }
    assert!(cells.is_sorted_by_key(|cell| cell.0), "{cells:?}");
    // All of them in one column: the one that is meant, else the first.
    let one = HeatRequest { columns: 1, cursor: (15, 0), ..REQUEST };
    let of = |point: HeatPoint| (point.generation, point.label.contains("3 in this cell"));
    assert_eq!(heat(&mut loaded, one).point.map(of), Some((Some(0), true)));
    assert_eq!(heat(&mut loaded, HeatRequest { generation: Some(1), ..one }).point.map(of), Some((Some(1), true)));
}

#[test]
fn why_there_is_nothing_is_said() {
    let step = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-step.log");
    let rows = heat(&mut Loaded::load_all(&[step]).unwrap(), REQUEST);
    assert!(rows.why_empty.unwrap().starts_with("no unified memory: nothing was allocated"));
    assert!(rows.lines.is_empty());
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-managed-shared.log");
    let rows = heat(&mut Loaded::load_all(&[shared]).unwrap(), REQUEST);
    assert!(rows.why_empty.unwrap().contains("not recorded"));
}
