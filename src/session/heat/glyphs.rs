//! What cells look like as characters: shades for what moved, others for what was prefetched, letters for what is rare.

use super::view::{HeatCell, HeatColour, HeatMark};

/// Shades of what moved or was missed, and of what was prefetched.
#[must_use]
pub const fn heat_shades(unicode: bool) -> [[&'static str; 4]; 2] {
    if unicode {
        [["░", "▒", "▓", "█"], ["▁", "▃", "▅", "▇"]]
    } else {
        [[".", ":", "*", "#"], ["-", "=", "o", "O"]]
    }
}

/// A cell's character.
#[must_use]
pub fn heat_glyph(cell: HeatCell, colour: HeatColour, unicode: bool) -> &'static str {
    match (cell.mark, cell.shade.checked_sub(1)) {
        (HeatMark::Nothing, _) => " ",
        (HeatMark::Evicted | HeatMark::Mapped | HeatMark::Thrashed, _)
        | (HeatMark::OnHost | HeatMark::OnDevice(_) | HeatMark::OnSeveral, _) => heat_letter(cell.mark),
        // Something happened that cells are not coloured by.
        (_, None) if unicode => "·",
        (_, None) => "'",
        (mark, Some(shade)) => {
            let ahead = matches!(mark, HeatMark::AheadToDevice | HeatMark::AheadToHost);
            let [moved, prefetched] = heat_shades(unicode);
            let ladder = if ahead && colour != HeatColour::Faults { prefetched } else { moved };
            ladder.get(usize::from(shade)).copied().unwrap_or(" ")
        }
    }
}

/// What happened, in a character.
#[must_use]
pub const fn heat_letter(mark: HeatMark) -> &'static str {
    match mark {
        HeatMark::Nothing => " ",
        HeatMark::ToDevice => ">",
        HeatMark::ToHost => "<",
        HeatMark::BothWays => "=",
        HeatMark::AheadToDevice => "P",
        HeatMark::AheadToHost => "p",
        HeatMark::Evicted => "E",
        HeatMark::Mapped => "R",
        HeatMark::Thrashed => "x",
        HeatMark::Missed => "f",
        HeatMark::OnHost => "c",
        HeatMark::OnDevice(device) => match device {
            0 => "0",
            1 => "1",
            2 => "2",
            3 => "3",
            4 => "4",
            5 => "5",
            6 => "6",
            7 => "7",
            _ => "8",
        },
        HeatMark::OnSeveral => "+",
    }
}

/// What letters stand for where cells are coloured by where pages are.
pub const HEAT_HOMES: [(HeatMark, &str); 3] =
    [(HeatMark::OnHost, "CPU"), (HeatMark::OnDevice(0), "GPU 0 and so on"), (HeatMark::OnSeveral, "several")];

/// What the letters stand for.
pub const HEAT_LEGEND: [(HeatMark, &str); 9] = [
    (HeatMark::ToDevice, "to GPU"),
    (HeatMark::ToHost, "to CPU"),
    (HeatMark::BothWays, "both"),
    (HeatMark::AheadToDevice, "prefetch to GPU"),
    (HeatMark::AheadToHost, "to CPU"),
    (HeatMark::Evicted, "evicted"),
    (HeatMark::Mapped, "remote map"),
    (HeatMark::Thrashed, "thrash"),
    (HeatMark::Missed, "fault"),
];
