//! What a cell shows, by its sums.

use super::view::{HeatCell, HeatColour, HeatMark, Measure, Sums};

/// Each shade begins at so many bits below the next.
const STEP: u32 = 2;

/// What cells are coloured by: of each cell, row after row, so many columns in each.
pub fn amounts(cells: &[Sums], columns: usize, colour: HeatColour) -> Vec<u64> {
    match colour {
        HeatColour::Bytes => cells.iter().map(Sums::moved).collect(),
        HeatColour::Faults => cells.iter().map(|cell| cell.get(Measure::Faults)).collect(),
        HeatColour::Residency => vec![0; cells.len()],
        HeatColour::Alternations => cells.chunks(columns.max(1)).flat_map(alternations).collect(),
    }
}

/// Bytes of a row that moved back: within a cell those that went both ways, and what moves the other way than what moved
/// before it in the row.
fn alternations(row: &[Sums]) -> Vec<u64> {
    let mut to_device: Option<bool> = None;
    let back = |cell: &Sums| {
        let (device, host) = (cell.to_device(), cell.to_host());
        if device == 0 && host == 0 {
            return 0;
        }
        let both = cell.both_ways();
        let rest = device.max(host) - both;
        let turned = to_device.is_some_and(|before| rest > 0 && before != (device > host));
        if device != host {
            to_device = Some(device > host);
        }
        both.saturating_mul(2).saturating_add(if turned { rest } else { 0 })
    };
    row.iter().map(back).collect()
}

/// From how much on a cell has the second, third and fourth shade: powers of two below the largest amount.
pub fn scale(amounts: &[u64]) -> [u64; 3] {
    let most = amounts.iter().copied().max().unwrap_or(0).max(1).ilog2();
    [3, 2, 1].map(|below| 1 << most.saturating_sub((below - 1) * STEP))
}

/// Shade of an amount.
fn shade(amount: u64, scale: [u64; 3]) -> u8 {
    if amount == 0 {
        return 0;
    }
    1 + scale.iter().fold(0, |steps, &from| steps + u8::from(amount >= from))
}

/// The cells.
pub fn cells(sums: &[Sums], amounts: &[u64], scale: [u64; 3], colour: HeatColour) -> Vec<HeatCell> {
    let cell = |(sums, &amount): (&Sums, &u64)| {
        let mark = match colour {
            HeatColour::Faults if amount > 0 => HeatMark::Missed,
            _ => mark(sums),
        };
        HeatCell { shade: shade(amount, scale), mark }
    };
    sums.iter().zip(amounts).map(cell).collect()
}

/// What happened mostly; what is rare and bad first.
pub fn mark(sums: &Sums) -> HeatMark {
    let of = |measure| sums.get(measure);
    if of(Measure::Evicted) > 0 {
        return HeatMark::Evicted;
    }
    if of(Measure::Thrashing) > 0 {
        return HeatMark::Thrashed;
    }
    if sums.moved() == 0 {
        return match (of(Measure::RemoteMaps), of(Measure::Faults)) {
            (0, 0) => HeatMark::Nothing,
            (0, _) => HeatMark::Missed,
            _ => HeatMark::Mapped,
        };
    }
    let (ahead, back) = (of(Measure::PrefetchedToDevice), of(Measure::PrefetchedToHost));
    let (device, host) = (of(Measure::ToDevice).saturating_add(of(Measure::Between)), of(Measure::ToHost));
    if ahead.saturating_add(back) > device.saturating_add(host) {
        return if ahead >= back { HeatMark::AheadToDevice } else { HeatMark::AheadToHost };
    }
    // A quarter the other way is as good as both.
    match (device, host) {
        (device, host) if device.min(host) > device.max(host) / 4 => HeatMark::BothWays,
        (device, host) if device >= host => HeatMark::ToDevice,
        _ => HeatMark::ToHost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(list: &[(Measure, u64)]) -> Sums {
        let mut sums = Sums::default();
        list.iter().for_each(|&(measure, amount)| sums.count(measure, amount));
        sums
    }

    #[test]
    fn what_moved_back_is_counted_within_cells_and_from_cell_to_cell() {
        let cell = |device, host| sums(&[(Measure::ToDevice, device), (Measure::PrefetchedToHost, host)]);
        let row = [cell(10, 0), cell(5, 0), cell(0, 0), cell(0, 15), cell(8, 8), cell(9, 1), cell(1, 0)];
        assert_eq!(amounts(&row, 7, HeatColour::Alternations), [0, 0, 0, 15, 16, 10, 0]);
        // Each row by itself.
        assert_eq!(amounts(&[row[0], row[3]], 1, HeatColour::Alternations), [0, 0]);
        assert_eq!(amounts(&row[4..6], 2, HeatColour::Bytes), [16, 10]);
    }

    #[test]
    fn shades_are_powers_of_two_below_the_most() {
        let scale = scale(&[3, 100 << 10, 7]);
        assert_eq!(scale, [4 << 10, 16 << 10, 64 << 10]);
        let shades = [0, 1, 4095, 4096, 16 << 10, 64 << 10, 100 << 10].map(|amount| shade(amount, scale));
        assert_eq!(shades, [0, 1, 1, 2, 3, 4, 4]);
        assert_eq!(self::scale(&[]), [1, 1, 1]);
        assert_eq!(shade(1, [1, 1, 1]), 4);
    }

    #[test]
    fn marks_say_what_happened_mostly() {
        use HeatMark as Is;
        use Measure as Of;
        for (list, wanted) in [
            (&[][..], Is::Nothing),
            (&[(Of::Faults, 3)], Is::Missed),
            (&[(Of::RemoteMaps, 1), (Of::Faults, 3)], Is::Mapped),
            (&[(Of::ToDevice, 9), (Of::ToHost, 1)], Is::ToDevice),
            (&[(Of::ToDevice, 2), (Of::ToHost, 9)], Is::ToHost),
            (&[(Of::ToDevice, 3), (Of::ToHost, 9)], Is::BothWays),
            (&[(Of::PrefetchedToDevice, 9), (Of::ToHost, 8)], Is::AheadToDevice),
            (&[(Of::PrefetchedToHost, 9)], Is::AheadToHost),
            (&[(Of::ToHost, 9000), (Of::Evicted, 1)], Is::Evicted),
            (&[(Of::ToHost, 9000), (Of::Thrashing, 1)], Is::Thrashed),
        ] {
            assert_eq!(mark(&sums(list)), wanted, "{list:?}");
        }
    }
}
