//! What the memory screen remembers between two frames.

use super::layout::Layout;
use super::tab::Tab;
use super::{allocations, facts};
use crate::session::view::{
    AllocationColumn, AllocationId, AllocationRow, AllocationsRequest, AllocationsRows, GroupColumn, GroupRow,
    GroupRows, GroupsRequest, LivePlot, MemoryGrouping, MemoryPart, MemoryPartRows, MemoryRequest, MemoryRows,
};
use crate::ui::screens::Place;
use crate::ui::widgets::list::Window;

/// State of the memory screen.
#[derive(Clone, Debug)]
pub struct State {
    /// What stands below the plot.
    pub tab: Tab,
    /// Which allocations are on the screen.
    pub allocations: Window,
    /// The allocation that the cursor is on, which a refresh does not change. `None` until its row has come.
    pub cursor: Option<AllocationId>,
    /// Sort column of the allocations, and whether the largest comes first.
    pub sort: (AllocationColumn, bool),
    /// Only those in use at the moment are listed.
    pub in_use: bool,
    /// Which groups are on the screen.
    pub groups: Window,
    /// What they are summed up by.
    pub by: MemoryGrouping,
    /// Their sort column, and whether the largest comes first.
    pub groups_sort: (GroupColumn, bool),
    /// The moment that is looked at, ns since the trace began; `None`: the newest.
    pub moment: Option<u64>,
    /// A popup waits for all that is known of the cursor's row.
    pub opened: bool,
    /// What it waits for.
    pub fresh: Option<Vec<(String, String)>>,
    /// The rows that came last.
    pub rows: Option<MemoryRows>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            tab: Tab::default(),
            allocations: Window::default(),
            cursor: None,
            sort: (AllocationColumn::Size, true),
            in_use: false,
            groups: Window::default(),
            by: MemoryGrouping::default(),
            groups_sort: (GroupColumn::Peak, true),
            moment: None,
            opened: false,
            fresh: None,
            rows: None,
        }
    }
}

impl State {
    /// Where one is.
    pub fn place(&self) -> Place {
        Place::Memory { tab: self.tab, by: self.by, in_use: self.in_use, moment: self.moment, window: self.window() }
    }

    /// Goes back there.
    pub fn restore(&mut self, place: Place) {
        let Place::Memory { tab, by, in_use, moment, window } = place else { return };
        (self.tab, self.by, self.in_use, self.moment) = (tab, by, in_use, moment);
        self.cursor = None;
        *self.window_mut() = window;
    }

    /// The rows to ask for on a body divided so.
    pub fn request(&self, layout: Layout) -> MemoryRequest {
        let (first, rows) = self.window().wanted(u64::from(layout.list.height));
        let has_pane = layout.pane.is_some() || layout.below.is_some();
        let part = match self.tab {
            Tab::Allocations => MemoryPart::Allocations(AllocationsRequest {
                sort: self.sort,
                in_use: self.in_use,
                cursor: self.cursor,
                details: if self.opened || has_pane { self.cursor } else { None },
                first,
                rows,
            }),
            Tab::Groups => MemoryPart::Groups(GroupsRequest { by: self.by, sort: self.groups_sort, first, rows }),
        };
        MemoryRequest { plot: layout.list.width, moment: self.moment, part }
    }

    /// The window on the rows of the tab.
    pub fn window(&self) -> Window {
        match self.tab {
            Tab::Allocations => self.allocations,
            Tab::Groups => self.groups,
        }
    }

    /// Likewise, to change.
    pub fn window_mut(&mut self) -> &mut Window {
        match self.tab {
            Tab::Allocations => &mut self.allocations,
            Tab::Groups => &mut self.groups,
        }
    }

    /// Bytes in use over time, once they have come.
    pub fn plot(&self) -> Option<&LivePlot> {
        self.rows.as_ref().map(|rows| &rows.plot)
    }

    fn allocation_rows(&self) -> Option<&AllocationsRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Allocations(rows)) if self.tab == Tab::Allocations => Some(rows),
            _ => None,
        }
    }

    fn group_rows(&self) -> Option<&GroupRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Groups(rows)) if self.tab == Tab::Groups => Some(rows),
            _ => None,
        }
    }

    /// Rows in the list; `None` until they have come.
    pub fn known_total(&self) -> Option<u64> {
        let allocations = self.allocation_rows().map(|rows| rows.total);
        allocations.or_else(|| self.group_rows().map(|rows| rows.total))
    }

    /// Rows in the list.
    pub fn total(&self) -> u64 {
        self.known_total().unwrap_or(0)
    }

    /// An allocation, if its row has come.
    pub fn allocation_at(&self, number: u64) -> Option<&AllocationRow> {
        let rows = self.allocation_rows()?;
        rows.rows.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// A group, if its row has come.
    pub fn group_at(&self, number: u64) -> Option<&GroupRow> {
        let rows = self.group_rows()?;
        rows.rows.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// The cursor's allocation, if its row has come.
    pub fn allocation(&self) -> Option<&AllocationRow> {
        let row = self.allocation_at(self.allocations.cursor)?;
        (self.cursor.is_none() || self.cursor == Some(row.id)).then_some(row)
    }

    /// The cursor's group, if its row has come.
    pub fn group(&self) -> Option<&GroupRow> {
        self.group_at(self.groups.cursor)
    }

    /// All that is known of the cursor's row, if it has come.
    pub fn details(&self) -> Vec<(String, String)> {
        if let Some(row) = self.allocation() {
            let details = self.allocation_rows().and_then(|rows| rows.details.as_ref());
            return match details {
                Some((id, fields)) if *id == row.id => fields.clone(),
                _ => facts::of_allocation(row),
            };
        }
        self.group().map(facts::of_group).unwrap_or_default()
    }

    /// Heading of that.
    pub fn heading(&self) -> String {
        match (self.allocation(), self.group()) {
            (Some(row), _) => allocations::place_of(row),
            (None, Some(row)) => row.name.clone(),
            (None, None) => String::new(),
        }
    }

    /// Moves the cursor to a row number and remembers which allocation it is.
    pub fn go_to_row(&mut self, row: u64, height: u64) {
        let total = self.total();
        self.window_mut().put(row, total, height);
        if self.tab == Tab::Allocations {
            self.cursor = self.allocation_at(self.allocations.cursor).map(|row| row.id);
        }
    }

    /// Other rows come first from now on: goes to the first one.
    pub fn begin_anew(&mut self) {
        *self.window_mut() = Window::default();
        self.cursor = None;
    }

    /// Takes rows. The cursor stays on its allocation and, as far as the list allows, on its line of the screen.
    pub fn take(&mut self, rows: MemoryRows, newest: bool, height: u64) -> bool {
        let before = (self.window(), self.cursor);
        let changed = self.rows.as_ref() != Some(&rows);
        self.rows = Some(rows);
        let Some(total) = self.known_total() else { return changed };
        match (self.cursor, self.allocation_rows().map(|rows| rows.cursor)) {
            (Some(_), Some(Some(row))) => self.allocations.put_in_place(row, total, height),
            // Rows that answer an older view, or of which more are coming, need not hold it.
            (Some(_), Some(None)) if !newest || self.rows.as_ref().is_some_and(|rows| rows.partial) => {}
            _ => self.go_to_row(self.window().cursor, height),
        }
        let has_come = self
            .allocation_rows()
            .is_some_and(|rows| rows.details.as_ref().is_some_and(|(id, _)| Some(*id) == self.cursor));
        if self.opened && has_come {
            self.opened = false;
            self.fresh = Some(self.details());
        }
        changed || before != (self.window(), self.cursor)
    }
}
