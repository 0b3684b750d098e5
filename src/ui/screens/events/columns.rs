//! The columns of the events screen: titles, widths, which ones fit, and where they stand.

use ratatui::layout::Rect;

use crate::ui::text::format;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the titles say it")]
pub enum Column {
    Start,
    End,
    Took,
    Process,
    Where,
    Kind,
    Event,
    From,
}

/// Every column, as they stand from left to right where nobody wants it otherwise.
pub const ORDER: [Column; 8] = [
    Column::Start,
    Column::End,
    Column::Took,
    Column::Process,
    Column::Where,
    Column::Kind,
    Column::Event,
    Column::From,
];

/// Which columns the user wants.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Chosen {
    /// As many as fit, the most telling first.
    #[default]
    Automatic,
    /// These in this order, as far as they fit.
    Only(Vec<Column>),
}

/// Lists of so many cells have room for more of everything.
const WIDE: u16 = 110;
/// Cells from which on it is told where an event happened.
const WITH_WHERE: u16 = 60;
/// Cells that the event gets before a chosen column is left out.
const EVENT_LEAST: u16 = 18;

impl Column {
    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
            Self::Took => "took",
            Self::Process => "process",
            Self::Where => "where",
            Self::Kind => "kind",
            Self::Event => "event",
            Self::From => "from",
        }
    }

    /// Whether its texts end at its right side.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Start | Self::End | Self::Took | Self::Process)
    }

    /// Its cells; the event has what the others leave.
    fn cells(self, wide: bool) -> u16 {
        match self {
            Self::Start | Self::End if wide => 15,
            Self::Start | Self::End => 11,
            // And one for the mark of what is slow.
            Self::Took => format::DURATION_WIDTH + 1,
            Self::Process => 8,
            Self::Where => 12,
            Self::Kind => 9,
            Self::Event => 0,
            Self::From => 27,
        }
    }
}

/// Where the columns stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Decimals of seconds.
    pub decimals: u32,
    /// From left to right: column, its first cell, and how many it has.
    pub placed: Vec<(Column, u16, u16)>,
}

impl Columns {
    /// The columns that fit this list.
    pub fn of(chosen: &Chosen, area: Rect) -> Self {
        let wide = area.width >= WIDE;
        let columns = visible(chosen, area.width);
        let others: u16 = columns.iter().map(|column| column.cells(wide)).sum();
        let gaps = u16::try_from(columns.len().saturating_sub(1)).unwrap_or(u16::MAX);
        let rest = area.width.saturating_sub(others.saturating_add(gaps));
        let mut x = area.x;
        let place = |column: Column| {
            let cells = if column == Column::Event { rest } else { column.cells(wide) };
            let at = x;
            x = x.saturating_add(cells).saturating_add(1);
            (column, at, cells)
        };
        Self { decimals: if wide { 9 } else { 6 }, placed: columns.into_iter().map(place).collect() }
    }

    /// A column's first cell and how many it has, if it is shown.
    pub fn place(&self, wanted: Column) -> Option<(u16, u16)> {
        self.placed.iter().find(|(column, ..)| *column == wanted).map(|(_, x, cells)| (*x, *cells))
    }

    /// The empty cell behind the first column.
    pub fn gap(&self) -> Option<u16> {
        self.placed.get(1).map(|(_, x, _)| x.saturating_sub(1))
    }
}

/// The columns to show in so many cells, from left to right. The event is always one of them.
pub fn visible(chosen: &Chosen, cells: u16) -> Vec<Column> {
    let wide = cells >= WIDE;
    let mut columns = match chosen {
        Chosen::Automatic => {
            let fits = |column: &Column| match column {
                Column::Start | Column::Took | Column::Event => true,
                Column::Where => cells >= WITH_WHERE,
                Column::From => wide,
                _ => false,
            };
            return ORDER.into_iter().filter(fits).collect();
        }
        Chosen::Only(wanted) => {
            let mut columns: Vec<Column> = Vec::with_capacity(ORDER.len());
            wanted.iter().for_each(|column| {
                if !columns.contains(column) {
                    columns.push(*column)
                }
            });
            columns
        }
    };
    if !columns.contains(&Column::Event) {
        columns.push(Column::Event);
    }
    let taken = |columns: &[Column]| columns.iter().map(|column| column.cells(wide) + 1).sum::<u16>();
    while taken(&columns).saturating_add(EVENT_LEAST) > cells {
        let Some(last) = columns.iter().rposition(|column| *column != Column::Event) else { break };
        columns.remove(last);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::Column::{Event, From, Start, Took, Where};
    use super::*;

    fn area(width: u16) -> Rect {
        Rect::new(3, 0, width, 9)
    }

    #[test]
    fn wider_lists_gain_columns() {
        assert_eq!(visible(&Chosen::Automatic, 40), [Start, Took, Event]);
        assert_eq!(visible(&Chosen::Automatic, 80), [Start, Took, Where, Event]);
        assert_eq!(visible(&Chosen::Automatic, 120), [Start, Took, Where, Event, From]);
        let columns = Columns::of(&Chosen::Automatic, area(80));
        assert_eq!(columns.placed, [(Start, 3, 11), (Took, 15, 9), (Where, 25, 12), (Event, 38, 45)]);
        assert_eq!((columns.gap(), columns.place(From)), (Some(14), None));
    }

    #[test]
    fn chosen_columns_stand_as_they_are_chosen_and_give_way_to_the_event() {
        let chosen = Chosen::Only(vec![From, Took, From]);
        assert_eq!(visible(&chosen, 80), [From, Took, Event]);
        assert_eq!(visible(&chosen, 50), [From, Event]);
        assert_eq!(visible(&chosen, 30), [Event]);
        assert_eq!(visible(&Chosen::Only(vec![Event, Took]), 80), [Event, Took]);
        assert_eq!(visible(&Chosen::Only(Vec::new()), 80), [Event]);
    }

    #[test]
    fn no_column_reaches_beyond_the_list_or_into_another() {
        for chosen in [Chosen::Automatic, Chosen::Only(ORDER.to_vec()), Chosen::Only(vec![Event, From, Start])] {
            for width in 0..250 {
                let columns = Columns::of(&chosen, area(width));
                for pair in columns.placed.windows(2) {
                    assert!(pair[0].1 + pair[0].2 < pair[1].1, "{width} {columns:?}");
                }
                if width >= 30 {
                    let (_, x, cells) = columns.placed.last().copied().expect("a column");
                    assert_eq!(x + cells, 3 + width, "{width} {columns:?}");
                }
            }
        }
    }
}
