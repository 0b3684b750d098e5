//! The made-up session's unified memory: 64 MiB that bounce between CPU and GPU every 200 ms, prefetched in the end, and
//! 4 MiB that are missed now and then, beyond the room of the device.

use umtui::session::view::*;

const MIB: u64 = 1 << 20;
const BASE: u64 = 0x7f7d_9e00_0000;
const SPAN: (u64, u64) = (1_000_000_000, 3_000_000_000);
const PLACES: [(u64, u64, &str); 2] = [
    (BASE, 64 * MIB, "managed 64 MiB  solver.cu:118 step()"),
    (BASE + (1 << 30), 4 * MIB, "managed 4 MiB  params.cu:7"),
];

/// Allocations in which a text is found.
pub fn found(finds: impl Fn(&str) -> bool) -> Vec<usize> {
    (0..PLACES.len()).filter(|&place| finds(PLACES[place].2)).collect()
}

/// Of a row and a span of time: bytes to the GPU and to the CPU, whether ahead, and faults.
fn what(place: usize, row: u64, (from, to): (u64, u64)) -> Sums {
    let mut sums = Sums::default();
    let (round, leg) = (200_000_000, 80_000_000);
    for turn in 0..10 {
        let begin = SPAN.0 + turn * round;
        for (begin, back) in [(begin, false), (begin + round / 2, true)] {
            let inside = to.min(begin + leg).saturating_sub(from.max(begin));
            let bytes = (u128::from(row) * u128::from(inside) / u128::from(leg)) as u64;
            match (place, back, turn) {
                (0, true, _) => sums.count(Measure::ToHost, bytes),
                (0, false, 7..) => sums.count(Measure::PrefetchedToDevice, bytes),
                (0, false, _) => {
                    sums.count(Measure::ToDevice, bytes);
                    sums.count(Measure::Faults, bytes / (64 << 10));
                }
                (_, true, 3) => sums.count(Measure::Evicted, bytes),
                (_, false, 5) => sums.count(Measure::RemoteMaps, bytes / MIB),
                (_, false, _) => sums.count(Measure::Faults, bytes / (256 << 10)),
                _ => {}
            }
        }
    }
    sums
}

fn mark(sums: &Sums) -> HeatMark {
    let of = |measure| sums.get(measure);
    match (of(Measure::ToDevice), of(Measure::ToHost)) {
        _ if of(Measure::Evicted) > 0 => HeatMark::Evicted,
        (0, 0) if of(Measure::PrefetchedToDevice) > 0 => HeatMark::AheadToDevice,
        (0, 0) if of(Measure::RemoteMaps) > 0 => HeatMark::Mapped,
        (0, 0) if of(Measure::Faults) > 0 => HeatMark::Missed,
        (0, 0) => HeatMark::Nothing,
        (device, host) if device.min(host) > device.max(host) / 4 => HeatMark::BothWays,
        (device, host) if device > host => HeatMark::ToDevice,
        _ => HeatMark::ToHost,
    }
}

#[allow(clippy::too_many_lines, reason = "one picture, made from top to bottom")]
pub fn heat(request: &HeatRequest) -> HeatRows {
    let chosen = match request.subject {
        HeatSubject::All => None,
        HeatSubject::Found(row) => Some((row as usize).min(1)),
        HeatSubject::One(_, address) if address >= PLACES[1].0 => Some(1),
        _ => Some(0),
    };
    let shown: Vec<usize> = chosen.map_or(vec![0, 1], |place| vec![place]);
    let lines = u64::from(request.lines.max(1));
    let all_rows = |bits: u8| -> Vec<(usize, u64)> {
        shown.iter().flat_map(|&place| (0..PLACES[place].1.div_ceil(1 << bits)).map(move |row| (place, row))).collect()
    };
    let fit = (12..40).find(|&bits| all_rows(bits).len() as u64 <= lines).unwrap_or(39);
    let row_of = |bits: u8, address: u64| {
        let rows = all_rows(bits);
        let lies = |&(place, row): &(usize, u64)| {
            let from = PLACES[place].0 + (row << bits);
            from <= address && address < from + (1 << bits)
        };
        rows.iter().position(lies).unwrap_or(0) as u64
    };
    let (bits, first, around) = match request.at {
        HeatRowsAt::Fit => (fit, 0, None),
        HeatRowsAt::From(bits, first) => (bits.clamp(12, fit), first, None),
        HeatRowsAt::Around(bits, (_, address), line) => {
            let bits = bits.clamp(12, fit);
            let row = row_of(bits, address);
            (bits, row.saturating_sub(lines - 1 - u64::from(line)), Some(row))
        }
    };
    let all = all_rows(bits);
    let total = all.len() as u64;
    let first = first.min(total.saturating_sub(lines));
    let count = lines.min(total - first);
    let columns = u64::from(request.columns.max(1));
    let widest = (SPAN.1 - SPAN.0).div_ceil(columns);
    let (from_ns, column_ns) = match request.time {
        HeatTimeAt::Fit => (SPAN.0, widest),
        HeatTimeAt::From(from, width) => {
            let width = width.clamp(1_000, widest);
            (from.clamp(SPAN.0, SPAN.1.saturating_sub(width * columns).max(SPAN.0)), width)
        }
    };
    let span = |column: u64| (from_ns + column * column_ns, from_ns + (column + 1) * column_ns);
    let size = 1u64 << bits;
    let most = match request.colour {
        HeatColour::Faults => 64,
        _ => size,
    };
    let scale = [most / 16, most / 4, most / 2].map(|from| from.max(1));
    let sums_of =
        |&(place, row): &(usize, u64), column: u64| what(place, size.min(PLACES[place].1 - row * size), span(column));
    let cell = |at: &(usize, u64), column: u64| {
        let sums = sums_of(at, column);
        let amount = match request.colour {
            HeatColour::Bytes => sums.moved(),
            HeatColour::Faults => sums.get(Measure::Faults),
            HeatColour::Alternations => sums.both_ways(),
            HeatColour::Residency => 0,
        };
        if request.colour == HeatColour::Residency {
            let on_device = (span(column).1 - SPAN.0) % 200_000_000 < 100_000_000;
            let mark = if on_device { HeatMark::OnDevice(0) } else { HeatMark::OnHost };
            return HeatCell { shade: 4, mark };
        }
        let shade = if amount == 0 { 0 } else { 1 + scale.iter().filter(|&&from| amount >= from).count() as u8 };
        HeatCell { shade, mark: mark(&sums) }
    };
    let rows: Vec<(usize, u64)> = all[first as usize..(first + count) as usize].iter().rev().copied().collect();
    let line = |at: &(usize, u64)| {
        let (place, row) = *at;
        HeatLine {
            at: (0, PLACES[place].0 + row * size),
            to: PLACES[place].0 + ((row + 1) * size).min(PLACES[place].1),
            place: (row == 0).then_some(place + 1),
            offset: row * size,
            cells: (0..columns).map(|column| cell(at, column)).collect(),
        }
    };
    let moves = (0..columns).map(|column| {
        let mut sums = Sums::default();
        rows.iter().for_each(|at| sums.add(&sums_of(at, column)));
        mark(&sums)
    });
    let kernels = (0..columns).map(|column| {
        let (from, to) = span(column);
        let of = |turn: u64| {
            let begin = SPAN.0 + turn * 200_000_000;
            to.min(begin + 90_000_000).saturating_sub(from.max(begin))
        };
        ((0..10).map(of).sum::<u64>() * 1000 / column_ns) as u16
    });
    let point = rows.get(usize::from(request.cursor.0)).map(|at| {
        let ns = span(u64::from(request.cursor.1));
        let sums = sums_of(at, u64::from(request.cursor.1));
        let lowest = PLACES[at.0].0 + at.1 * size;
        let happened: Vec<(&'static str, String)> = match (sums.moved(), sums.get(Measure::Faults)) {
            (0, 0) => Vec::new(),
            (bytes, 0) => vec![("moved", format!("{bytes} B"))],
            (bytes, faults) => vec![("moved", format!("{bytes} B")), ("faults", faults.to_string())],
        };
        let details = request.details.then(|| {
            vec![
                ("addresses".to_owned(), format!("{lowest:#x} to {:#x}", lowest + size - 1)),
                ("from".to_owned(), "solver.cu:118 step()".to_owned()),
                ("meanwhile".to_owned(), "scale(float*, unsigned long)".to_owned()),
            ]
        });
        HeatPoint {
            label: PLACES[at.0].2.to_owned(),
            site: None,
            generation: Some(at.0 as u64),
            at: (0, lowest, lowest + size),
            ns,
            sums: Some(sums),
            happened,
            kernels: vec![("scale(float*, unsigned long)".to_owned(), 2)],
            more_kernels: 0,
            details,
            more_details: false,
        }
    });
    let one = |place: usize| HeatSubject::One(0, PLACES[place].0);
    HeatRows {
        why_empty: None,
        label: chosen.map_or_else(|| "all 2 places  68 MiB".to_owned(), |place| PLACES[place].2.to_owned()),
        subject: chosen.map_or(HeatSubject::All, one),
        number: chosen.map_or(0, |place| place + 1),
        places: 2,
        next: match chosen {
            Some(0) => one(1),
            Some(_) => HeatSubject::All,
            None => one(0),
        },
        previous: match chosen {
            Some(0) => HeatSubject::All,
            Some(_) => one(0),
            None => one(1),
        },
        bits,
        first,
        total,
        found: around.and_then(|row| u16::try_from((first + count).checked_sub(row + 1)?).ok()),
        found_cell: matches!(request.subject, HeatSubject::Found(_)).then_some((1, 2)),
        from_ns,
        column_ns,
        span: SPAN,
        lines: rows.iter().map(line).collect(),
        moves: moves.collect(),
        kernels: kernels.collect(),
        scale,
        has_faults: true,
        point,
        partial: false,
    }
}
