//! How cells look: what moved red, what was prefetched blue.

use crate::session::view::{HeatCell, HeatColour, HeatMark, heat_glyph};
use crate::ui::theme::{Role, devices};

/// A cell's glyph and role.
pub fn cell(cell: HeatCell, colour: HeatColour, unicode: bool) -> (&'static str, Role) {
    let is_letter = matches!(cell.mark, HeatMark::Evicted | HeatMark::Mapped | HeatMark::Thrashed);
    let role = if cell.shade == 0 && !is_letter { Role::Dim } else { role(cell.mark) };
    (heat_glyph(cell, colour, unicode), role)
}

/// How what happened looks.
pub fn role(mark: HeatMark) -> Role {
    match mark {
        HeatMark::Nothing => Role::Plain,
        HeatMark::ToDevice | HeatMark::ToHost | HeatMark::BothWays => Role::Bad,
        HeatMark::AheadToDevice | HeatMark::AheadToHost => Role::Accent,
        HeatMark::Evicted | HeatMark::Thrashed => Role::Warning,
        HeatMark::Mapped => Role::Driver,
        HeatMark::Missed => Role::Site,
        HeatMark::OnHost => Role::Dim,
        HeatMark::OnDevice(device) => devices::role(u16::from(device)),
        HeatMark::OnSeveral => Role::Accent,
    }
}
