//! The tab of transfers: what moved between the host and devices, a row for each pair of ends, with its link's use over time.

use ratatui::layout::Rect;

use crate::session::view::{Busiest, Side, TransferRow, Transferred, rate};
use crate::ui::text::format;
use crate::ui::theme::{Role, devices};
use crate::ui::widgets::columns;
use crate::ui::widgets::paint::Paint;
use crate::ui::widgets::spark;

/// A column right of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Copies,
    Copied,
    CopyRate,
    Migrations,
    Migrated,
    MigrationRate,
    Mapped,
    Peer,
}

/// From left to right.
const ORDER: [Column; 8] = [
    Column::Copies,
    Column::Copied,
    Column::CopyRate,
    Column::Migrations,
    Column::Migrated,
    Column::MigrationRate,
    Column::Mapped,
    Column::Peer,
];

/// The same, the most telling first.
const TELLING: [Column; 8] = [
    Column::Copied,
    Column::Migrated,
    Column::CopyRate,
    Column::Peer,
    Column::MigrationRate,
    Column::Copies,
    Column::Migrations,
    Column::Mapped,
];

/// Between the names of two ends.
const SIGN: &str = " > ";
/// Likewise where devices copied from each other's memory or mapped it, and that is to be marked.
const PEER_SIGN: &str = " => ";
/// Cells of the two ends.
const ENDS: u16 = 24;
/// Cells that a link's use over time has at least, and those that it gets at most.
const USE: (u16, u16) = (8, 60);

fn title(column: Column) -> &'static str {
    match column {
        Column::Copies => "copies",
        Column::Copied => "copied",
        Column::CopyRate | Column::MigrationRate => "rate",
        Column::Migrations => "migrations",
        Column::Migrated => "migrated",
        Column::Mapped => "mapped",
        Column::Peer => "peer",
    }
}

/// Cells of a column, with the space before it.
fn width(column: Column) -> u16 {
    match column {
        Column::Copies => format::COUNT_WIDTH + 2,
        Column::Migrations => 12,
        Column::CopyRate | Column::MigrationRate => 11,
        Column::Peer => 8,
        _ => format::BYTES_WIDTH + 2,
    }
}

/// The columns that fit into so many cells, from left to right.
fn visible(cells: u16) -> Vec<Column> {
    columns::visible(&ORDER, &TELLING, cells.saturating_sub(ENDS + USE.0 + 1), width)
}

/// Cells of a link's use over time in a list of so many.
pub fn use_cells(cells: u16) -> u16 {
    let columns: u16 = visible(cells).into_iter().map(width).sum();
    cells.saturating_sub(ENDS + columns + 1).min(USE.1)
}

fn device(side: Side) -> Option<u16> {
    match side {
        Side::Device(device) => Some(device),
        _ => None,
    }
}

/// Copies with peer access of all between two devices, in a word.
fn peer(row: &TransferRow) -> String {
    let all = row.copies.map_or(0, |copies| copies.count);
    match (row.with_access.count, row.without_access.count) {
        (0, 0) if row.staged.is_some() || row.staged_by_driver.is_some() => "by host".to_owned(),
        (0, 0) => String::new(),
        (with, _) if with > 0 && row.staged_by_driver.is_some() => "mixed".to_owned(),
        (with, _) if with == all => "p2p".to_owned(),
        (0, without) if without == all => "no p2p".to_owned(),
        (0, _) => "?".to_owned(),
        _ => "mixed".to_owned(),
    }
}

/// Whether a device copied from another one, or mapped memory of it.
fn is_peer(row: &TransferRow) -> bool {
    let any = |moved: Option<Transferred>| moved.is_some_and(|moved| moved.count > 0);
    let between = device(row.from).is_some() && device(row.to).is_some() && row.from != row.to;
    between && (any(row.copies) || any(row.mapped))
}

fn value(column: Column, row: &TransferRow) -> String {
    type Text = fn(&Transferred) -> Option<String>;
    let of = |moved: Option<Transferred>, text: Text| match moved {
        None => "?".to_owned(),
        Some(moved) if moved.count == 0 => "-".to_owned(),
        Some(moved) => text(&moved).unwrap_or_else(|| "?".to_owned()),
    };
    let count: Text = |moved| Some(format::count(moved.count));
    let bytes: Text = |moved| Some(format::bytes(moved.bytes));
    let fast: Text = |moved| moved.bandwidth().map(rate);
    match column {
        Column::Copies => of(row.copies, count),
        Column::Copied => of(row.copies, bytes),
        Column::CopyRate => of(row.copies, fast),
        Column::Migrations => of(row.migrations, count),
        Column::Migrated => of(row.migrations, bytes),
        Column::MigrationRate => of(row.migrations, fast),
        Column::Mapped => of(row.mapped, bytes),
        Column::Peer => peer(row),
    }
}

/// Draws the titles.
pub fn heading(paint: &mut Paint<'_>, line: Rect) {
    paint.text(line.x, line.y, ENDS.min(line.width), "from > to", Role::Dim);
    let mut x = line.x + ENDS.min(line.width);
    for column in visible(line.width) {
        let cells = width(column);
        if column == Column::Peer {
            paint.text(x + 2, line.y, cells - 2, title(column), Role::Dim);
        } else {
            paint.right(x + 1, line.y, cells - 1, title(column), Role::Dim);
        }
        x += cells;
    }
    paint.text(x + 1, line.y, line.right().saturating_sub(x + 1), "use over time", Role::Dim);
}

/// Draws a row.
///
/// `markers`: peer copies and mappings are marked.
pub fn row(paint: &mut Paint<'_>, line: Rect, row: &TransferRow, markers: bool) {
    let (from, to) = row.name.split_once(SIGN).unwrap_or((&row.name, ""));
    let end = |side: Side, name: &str| match device(side) {
        Some(number) => (format!("{}{name}", devices::mark(number)), devices::role(number)),
        None => (name.to_owned(), Role::Plain),
    };
    let ((from, from_role), (to, to_role)) = (end(row.from, from), end(row.to, to));
    let sign = if markers && is_peer(row) { (PEER_SIGN, Role::Strong) } else { (SIGN, Role::Dim) };
    let pieces = [(from.as_str(), from_role), sign, (to.as_str(), to_role)];
    paint.pieces(line.x, line.y, ENDS.min(line.width), &pieces);
    let mut x = line.x + ENDS.min(line.width);
    for column in visible(line.width) {
        let (cells, value) = (width(column), value(column, row));
        let role = match value.as_str() {
            "-" | "?" => Role::Dim,
            "no p2p" | "mixed" | "by host" => Role::Warning,
            _ => Role::Plain,
        };
        if column == Column::Peer {
            paint.text(x + 2, line.y, cells - 2, &value, role);
        } else {
            paint.right(x + 1, line.y, cells - 1, &value, role);
        }
        x += cells;
    }
    let most = row.over_time.iter().copied().max().unwrap_or(0).max(1);
    // Heights alone matter.
    let scaled = |&bytes: &u64| u32::try_from(u128::from(bytes) * 1_000_000 / u128::from(most)).unwrap_or(u32::MAX);
    let heights: Vec<u32> = row.over_time.iter().map(|bytes| scaled(bytes).max(u32::from(*bytes > 0))).collect();
    let bars = spark::line(&heights, usize::from(line.right().saturating_sub(x + 1)), &paint.theme.glyphs);
    let role = device(row.to).or(device(row.from)).map_or(Role::Plain, devices::role);
    paint.text(x + 1, line.y, line.right().saturating_sub(x + 1), &bars, role);
}

/// When the link carried most, in words.
fn busiest(most: &Busiest) -> String {
    let share = most.share_pct.map_or(String::new(), |share| format!(", {share} % of its limit"));
    let at = format::seconds(most.at_ns, 6);
    format!("{}{share}, for {} at {at} s", rate(most.bytes_per_second), format::duration(most.for_ns))
}

/// Names and values of a row.
pub fn facts(row: &TransferRow) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut say = |name: &str, value: String| facts.push((name.to_owned(), value));
    for (number, name) in &row.devices {
        say(&format!("GPU {number}"), name.clone());
    }
    for (name, moved) in [("copies", row.copies), ("migrations", row.migrations), ("mapped", row.mapped)] {
        let text = match moved {
            None => "not recorded".to_owned(),
            Some(moved) if moved.count == 0 => continue,
            Some(moved) => {
                let fast = moved
                    .bandwidth()
                    .filter(|_| name != "mapped")
                    .map_or(String::new(), |fast| format!(", {} while under way", rate(fast)));
                format!("{}, {}{fast}", format::grouped(moved.count), format::bytes(moved.bytes))
            }
        };
        say(name, text);
    }
    if row.from.end() != row.to.end() {
        say("link at most", row.busiest.as_ref().map_or_else(|| "nothing".to_owned(), busiest));
    }
    let (with, without) = (row.with_access, row.without_access);
    if with.count + without.count > 0 {
        let part = |moved: Transferred| format!("{} ({})", format::grouped(moved.count), format::bytes(moved.bytes));
        say("peer access", format!("with {}, without {}", part(with), part(without)));
    }
    if let Some((count, bytes)) = row.staged {
        let text =
            format!("{} times, {}: a peer copy would not go there", format::grouped(count), format::bytes(bytes));
        say("through the host", text);
    }
    if let Some((count, bytes)) = row.staged_by_driver {
        let text = format!("{} times, {}: without peer access", format::grouped(count), format::bytes(bytes));
        say("by the driver through the host", text);
    }
    if let Some(way) = row.way.filter(|_| row.from != row.to) {
        let answer = |answer: Option<bool>, yes: &str, no: &str| match answer {
            None => "not asked".to_owned(),
            Some(true) => yes.to_owned(),
            Some(false) => no.to_owned(),
        };
        say("connected by", row.link.or(way.link()).unwrap_or("not known").to_owned());
        say("can access", answer(way.can_access, "yes", "no"));
        say("access enabled", if way.was_enabled { "at some time" } else { "never" }.to_owned());
    }
    facts
}

/// A row in two lines.
pub fn lines(row: &TransferRow) -> [String; 2] {
    let facts = facts(row);
    let of = |names: &[&str]| {
        let wanted = facts.iter().filter(|(name, _)| names.iter().any(|wanted| name.starts_with(wanted)));
        wanted.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join("   ")
    };
    let more = of(&["peer access", "through the host", "by the driver"]);
    let link = of(&["link at most"]);
    let second = if more.is_empty() { link } else { format!("{more}   {link}") };
    [format!("{}: {}", row.name, of(&["copies", "migrations"])), second]
}

/// A row as text to copy.
pub fn text(row: &TransferRow) -> String {
    let facts = facts(row).into_iter().map(|(name, value)| format!("{name} {value}"));
    format!("{}\t{}", row.name, facts.collect::<Vec<_>>().join("\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_screens_gain_columns_and_a_link_always_has_room() {
        let mut before = Vec::new();
        for cells in 40..260 {
            let now = visible(cells);
            assert!(before.iter().all(|column| now.contains(column)), "{cells}");
            assert!(cells < ENDS + 20 || use_cells(cells) >= USE.0.min(cells - ENDS - 1), "{cells}");
            before = now;
        }
        assert_eq!(before, ORDER);
        assert_eq!(visible(80), [Column::Copied, Column::CopyRate, Column::Migrated, Column::Peer]);
    }

    #[test]
    fn peer_access_is_a_word() {
        let moved = |count| Transferred { count, ..Transferred::default() };
        let row = |all, with, without, staged| TransferRow {
            name: String::new(),
            devices: Vec::new(),
            from: Side::Device(0),
            to: Side::Device(1),
            copies: Some(moved(all)),
            migrations: None,
            mapped: None,
            with_access: moved(with),
            without_access: moved(without),
            staged,
            staged_by_driver: None,
            over_time: Vec::new(),
            busiest: None,
            way: None,
            link: None,
        };
        for (all, with, without, staged, word) in [
            (3, 3, 0, None, "p2p"),
            (3, 0, 3, None, "no p2p"),
            (3, 1, 2, None, "mixed"),
            (3, 0, 0, None, ""),
            (0, 0, 0, Some((2, 100)), "by host"),
        ] {
            assert_eq!(peer(&row(all, with, without, staged)), word);
        }
    }
}
