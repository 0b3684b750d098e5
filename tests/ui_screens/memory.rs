//! What the made-up session answers to the memory screen.

use umtui::filter::{Condition, Pattern, TextField};
use umtui::session::view::*;

/// Allocations in the made-up trace.
const ALLOCATIONS: u64 = 1_204;
/// Its length, ns.
const LENGTH_NS: u64 = 102_000_000_000;

fn allocation(number: u64) -> AllocationRow {
    use AllocationKind::{Device, Managed, Physical, Pinned, Pool};
    let which = (number % 5) as usize;
    let kind = [Managed, Device, Pool, Pinned, Physical][which];
    let state = match number % 7 {
        0 | 1 => AllocationState::InUse,
        2 => AllocationState::Leaked,
        5 => AllocationState::Temporary,
        6 => AllocationState::Gone,
        _ => AllocationState::Freed,
    };
    let from_ns = 12_345 + number * 80_000_000;
    let ended = !matches!(state, AllocationState::InUse | AllocationState::Leaked);
    let address = 0x7f3a_4000_0000 + number * 0x0400_0000;
    let name = format!("{address:#x}");
    let has_address = kind != Physical;
    let has_moved = kind == Managed;
    AllocationRow {
        id: AllocationId { process: 0, thread: 0, row: number, address, from_ns },
        address: has_address.then_some(address),
        generation: number % 2,
        bytes: (number != 9).then_some((ALLOCATIONS - number) << 20),
        kind,
        device: (kind != Pinned).then_some((number % 2) as u8),
        site: ["solver.cu:88 setup()", "solver.cu:131 step()", "torch::Tensor::empty"][(number % 3) as usize]
            .to_owned(),
        thread: ["main", "memory_monitor 4123"][(number % 2) as usize].to_owned(),
        from_ns,
        until_ns: ended.then_some(from_ns + 6_100_000),
        seen_ns: LENGTH_NS,
        state,
        moved: has_moved.then_some(number << 21),
        moved_back: has_moved.then_some(number << 20),
        faults: has_moved.then_some(number * 512),
        like: has_address.then_some(Condition::Text(TextField::Allocation, Pattern::Glob(name))),
    }
}

fn group(number: usize) -> GroupRow {
    let names = ["solver.cu:88 setup()", "solver.cu:131 step()", "registered"];
    let size = 1 << (30 - number);
    GroupRow {
        key: GroupKey::Site(number as u32),
        name: names[number].to_owned(),
        counted: number < 2,
        count: 400 << number,
        bytes: Some(size * 3),
        peak: Some(size),
        then: (number < 2).then_some(size / 2),
        live_count: number as u64,
        live: Some(size / 4),
        temporary: (number as u64 * 1_200, number as u64 * size),
        like: Some(Condition::Text(TextField::Site, Pattern::Glob(names[number].to_owned()))),
    }
}

fn allocations(request: &AllocationsRequest) -> AllocationsRows {
    let numbers = 0..if request.in_use { ALLOCATIONS / 3 } else { ALLOCATIONS };
    let step = if request.only.is_some() { 3 } else { 1 };
    let mut all: Vec<AllocationRow> = numbers.step_by(step).map(allocation).collect();
    let (column, largest_first) = request.sort;
    if (column == AllocationColumn::Size) != largest_first {
        all.reverse();
    }
    let cursor = request.cursor.and_then(|id| all.iter().position(|row| row.id == id));
    let total = all.len() as u64;
    let mut first = (request.first as usize).min(all.len());
    if let Some(row) = cursor {
        first = first.min(row).max((row + 1).saturating_sub(request.rows));
    }
    let details = request.details.map(|id| {
        let fields =
            [("address", "0x7f3a40000000"), ("size", "64 MiB   (67108864 bytes)"), ("by", "cudaMallocManaged in main")];
        (id, fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    });
    let rows = all.into_iter().skip(first).take(request.rows).collect();
    AllocationsRows { total, first: first as u64, cursor: cursor.map(|row| row as u64), rows, details }
}

/// Of the first allocation forty blocks, of others none are known.
fn blocks(request: &BlocksRequest) -> BlocksRows {
    const MIB: u64 = 1 << 20;
    let total = if request.of.row == 0 { 40 } else { 0 };
    let row = |number: u64| BlockRow {
        offset: number * 30 * MIB,
        address: 0x7f3a_4000_0000 + number * 30 * MIB,
        bytes: (!number.is_multiple_of(3)).then_some(number << 18),
        room: (number < 39).then_some(30 * MIB),
        from_ns: 1_000_000 + number * 2_000_000_000,
        until_ns: (!number.is_multiple_of(5)).then_some(21_000_000 + number * 2_100_000_000),
        uses: (number % 3 < 2).then_some(number as u32 * 17 + 1),
        known_by: [KnownBy::Kernels, KnownBy::Copies, KnownBy::Allocator][(number % 3) as usize],
        site: ["solver.cu:131 step()", "torch::Tensor::copy_"][(number % 2) as usize].to_owned(),
        then: number.is_multiple_of(5),
    };
    let first = request.first.min(total);
    BlocksRows {
        total,
        first,
        rows: (first..total).take(request.rows).map(row).collect(),
        then: HeldThen { count: total / 5, bytes: Some(total / 5 * 30 * MIB) },
        free: (total > 0).then_some((964 * MIB, 120 * MIB)),
        cut: false,
    }
}

fn pools() -> PoolRows {
    let row = |name: &str, handle: Option<&str>, reserved: Option<u64>| PoolRow {
        name: name.to_owned(),
        handle: handle.map(str::to_owned),
        count: 4_096,
        used: 0,
        peak: 1 << 28,
        reserved,
        unused: reserved.map(|_| 375),
        keeps: handle.map(|_| u64::MAX),
        details: vec![("pool".to_owned(), name.to_owned()), ("trims".to_owned(), "2".to_owned())],
    };
    let rows = vec![row("default of GPU 0", None, Some(1 << 29)), row("created of GPU 1", Some("0x7f10"), None)];
    PoolRows { total: 2, first: 0, rows }
}

fn growth(request: &GrowthRequest) -> GrowthRows {
    let held = |count, mib: u64| HeldThen { count, bytes: Some(mib << 20) };
    let of = |name: &str, before: (u64, u64), after: (u64, u64), verdict| GrowthRow {
        name: name.to_owned(),
        class: if request.by == GrowthGrouping::Site { "4 MiB".to_owned() } else { String::new() },
        before: held(before.0, before.1),
        after: held(after.0, after.1),
        bytes: Some((after.1 << 20) as i64 - (before.1 << 20) as i64),
        count: after.0 as i64 - before.0 as i64,
        verdict,
        like: None,
    };
    let names = match request.by {
        GrowthGrouping::Site => ["solver.cu:131 step()", "solver.cu:88 setup()", "torch::Tensor::empty"],
        GrowthGrouping::Range => ["0x7f3a40000000, 512 MiB", "0x7f3b00000000, 2 MiB", "without an address"],
    };
    let before = if request.since.is_some() { 100 } else { 0 };
    let rows = vec![
        of(names[0], (before, before * 4), (1_300, 5_200), if before == 0 { "new" } else { "grown" }),
        of(names[1], (1, 64), (1, 64), "same"),
        of(names[2], (12, 48), (0, 0), "gone"),
    ];
    GrowthRows { total: 3, first: 0, rows, before: held(before + 13, before * 4 + 112), after: held(1_301, 5_264) }
}

/// Where rows of the list stand in which a text is found, all of them looked through.
pub fn found(request: &MemoryRequest, finds: impl Fn(&str) -> bool) -> Vec<usize> {
    let mut whole = request.clone();
    match &mut whole.part {
        MemoryPart::Allocations(part) => (part.first, part.rows, part.cursor) = (0, usize::MAX, None),
        MemoryPart::Groups(part) => (part.first, part.rows) = (0, usize::MAX),
        MemoryPart::Growth(part) => (part.first, part.rows) = (0, usize::MAX),
        MemoryPart::Pools(part) => (part.first, part.rows) = (0, usize::MAX),
        MemoryPart::Transfers(part) => (part.first, part.rows) = (0, usize::MAX),
        MemoryPart::Blocks(part) => (part.first, part.rows) = (0, usize::MAX),
    }
    let names: Vec<String> = match memory(&whole).part {
        MemoryPartRows::Allocations(rows) => {
            rows.rows.into_iter().map(|row| format!("{} {}", row.site, row.kind.word())).collect()
        }
        MemoryPartRows::Groups(rows) => rows.rows.into_iter().map(|row| row.name).collect(),
        MemoryPartRows::Pools(rows) => rows.rows.into_iter().map(|row| row.name).collect(),
        MemoryPartRows::Growth(rows) => rows.rows.into_iter().map(|row| row.name).collect(),
        MemoryPartRows::Transfers(rows) => rows.rows.into_iter().map(|row| row.name).collect(),
        MemoryPartRows::Blocks(rows) => rows.rows.into_iter().map(|row| row.site).collect(),
    };
    (0..names.len()).filter(|&row| finds(&names[row])).collect()
}

/// What the demo's workload `multi-gpu` moves in a hundred rounds, each way with a link of its own.
fn transfers(request: &TransfersRequest) -> TransferRows {
    use Side::{Device, Managed, Pageable, Pinned};
    const MIB: u64 = 1 << 20;
    let moved = |count: u64, bytes: u64, rate: u64| Transferred {
        count,
        bytes,
        time_ns: bytes.checked_div(rate).unwrap_or(0),
        timed_bytes: bytes,
    };
    let name = |side: Side| match side {
        Pageable => "host pageable".to_owned(),
        Pinned => "host pinned".to_owned(),
        Managed => "host managed".to_owned(),
        Device(device) => format!("GPU {device}"),
        Side::Unknown => "GPU ?".to_owned(),
    };
    let row = |(number, from, to, copies, migrations): (u64, Side, Side, Transferred, Transferred)| {
        let cell =
            |cell: u64| if (cell / 3 + number).is_multiple_of(4) { ((cell + 1) * (number + 1)) << 20 } else { 0 };
        let devices = [from, to].into_iter().filter_map(|side| match side {
            Device(device) => Some((device, "NVIDIA H200".to_owned())),
            _ => None,
        });
        let between = matches!((from, to), (Device(_), Device(_)));
        let count =
            |part: u64| if between { moved(copies.count / 2, copies.bytes / 9 * part, 50) } else { moved(0, 0, 0) };
        TransferRow {
            name: format!("{} > {}", name(from), name(to)),
            from,
            to,
            devices: devices.collect(),
            copies: Some(copies),
            migrations: Some(migrations),
            mapped: None,
            with_access: if from == Device(1) && between { copies } else { count(1) },
            without_access: if from == Device(1) { moved(0, 0, 0) } else { count(8) },
            staged: (from == Device(1) && to == Device(0)).then_some((100, 200 * MIB)),
            staged_by_driver: None,
            over_time: (0..u64::from(request.cells)).map(cell).collect(),
            busiest: Some(Busiest {
                bytes_per_second: 21_500_000_000,
                at_ns: 1_234_567_890,
                for_ns: 65_536,
                share_pct: request.options.limit.map(|_| 86),
            }),
            link: None,
            way: between.then_some(Way {
                can_access: Some(true),
                native_atomics: Some(true),
                rank: None,
                was_enabled: true,
            }),
        }
    };
    let none = moved(0, 0, 0);
    let all = [
        (0, Pageable, Device(0), moved(100, 50 * MIB, 12), none),
        (1, Pageable, Device(1), moved(100, 50 * MIB, 12), none),
        (2, Pinned, Device(0), moved(100, 200 * MIB, 25), none),
        (3, Managed, Device(0), none, moved(13_420, 400 * MIB, 24)),
        (4, Device(0), Device(1), moved(200, 900 * MIB, 20), moved(13_966, 400 * MIB, 24)),
        (5, Device(1), Pinned, moved(100, 200 * MIB, 25), none),
        (6, Device(1), Managed, none, moved(2_400, 400 * MIB, 24)),
        (7, Device(1), Device(0), moved(100, 400 * MIB, 200), none),
    ];
    let total = all.len() as u64;
    let rows = all.into_iter().skip(request.first as usize).take(request.rows).map(row).collect();
    TransferRows { total, first: request.first.min(total), rows }
}

pub fn memory(request: &MemoryRequest) -> MemoryRows {
    let part = match &request.part {
        MemoryPart::Allocations(request) => MemoryPartRows::Allocations(allocations(request)),
        MemoryPart::Pools(_) => MemoryPartRows::Pools(pools()),
        MemoryPart::Growth(request) => MemoryPartRows::Growth(growth(request)),
        MemoryPart::Transfers(request) => MemoryPartRows::Transfers(transfers(request)),
        MemoryPart::Blocks(request) => MemoryPartRows::Blocks(blocks(request)),
        MemoryPart::Groups(request) => {
            let mut rows: Vec<GroupRow> = (0..3).map(group).collect();
            if (request.sort.0 == GroupColumn::Peak) != request.sort.1 {
                rows.reverse();
            }
            if request.by != MemoryGrouping::Site {
                rows.truncate(2);
            }
            MemoryPartRows::Groups(GroupRows { total: rows.len() as u64, first: 0, rows })
        }
    };
    let height = |cell: u64| if cell % 20 < 10 { cell << 26 } else { (cell << 26) + (1 << 30) };
    let most: Vec<u64> = (0..u64::from(request.plot)).map(height).collect();
    let peak = most.iter().copied().max().unwrap_or(0);
    let at = most.iter().position(|&bytes| bytes == peak).unwrap_or(0) as u64;
    let moment_ns = request.moment.unwrap_or(LENGTH_NS);
    let plot = LivePlot {
        length_ns: LENGTH_NS,
        peak_bytes: peak,
        peak_ns: (LENGTH_NS * at).div_ceil(most.len().max(1) as u64),
        peak_held: "4.5 GiB managed from solver.cu:88 setup(), 1 GiB pool from solver.cu:131 step(), 3 more".to_owned(),
        moment_ns,
        moment_bytes: peak / LENGTH_NS.max(1) * moment_ns + 12_345,
        told: Some(ToldPlot {
            device: "GPU 0".to_owned(),
            others: 1,
            most: (0..u64::from(request.plot)).map(|cell| (cell % 7 < 3).then_some((cell % 30) << 30)).collect(),
            at_ns: LENGTH_NS / 2,
            used: 13_316_000_000,
            total: 150_110_000_000,
            by: "cudaMemGetInfo",
        }),
        most,
    };
    let devices = vec![("GPU 0".to_owned(), "NVIDIA H200   used 12.4 of 139.8 GiB".to_owned())];
    let found = request.goal.as_ref().map(|goal| match goal {
        Moment::Time(ns) => Ok(Some(*ns)),
        Moment::End => Ok(None),
        other => Err(format!("{other}: no range repeats; name one, as in step:NAME#3")),
    });
    MemoryRows { plot, part, devices, found, partial: false, moved_share: None, why_empty: None }
}
