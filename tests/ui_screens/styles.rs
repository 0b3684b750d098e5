//! Styles as text: for each row the runs of cells that are not plain.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Color;

fn name(cell: &Cell) -> String {
    let mut parts = Vec::new();
    if cell.fg != Color::Reset {
        parts.push(format!("{}", cell.fg));
    }
    if cell.bg != Color::Reset {
        parts.push(format!("on {}", cell.bg));
    }
    if !cell.modifier.is_empty() {
        parts.push(format!("{:?}", cell.modifier).to_lowercase());
    }
    parts.join(" ")
}

/// `row: from-to style, ...`
pub fn runs(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut out = String::new();
    for y in 0..area.height {
        let mut runs: Vec<(u16, u16, String)> = Vec::new();
        for x in 0..area.width {
            let style = name(&buffer[(x, y)]);
            match runs.last_mut() {
                Some((_, to, last)) if *last == style => *to = x,
                _ => runs.push((x, x, style)),
            }
        }
        let told: Vec<String> = runs
            .iter()
            .filter(|(_, _, style)| !style.is_empty())
            .map(|(from, to, style)| format!("{from}-{to} {style}"))
            .collect();
        if !told.is_empty() {
            out.push_str(&format!("{y}: {}\n", told.join(", ")));
        }
    }
    out
}
