//! What the memory screen remembers between two frames.

use ratatui::layout::Size;

use super::layout::{self, Layout};
use super::tab::Tab;
use super::{allocations, blocks, facts, transfers};
use crate::session::view::{
    AllocationColumn, AllocationId, AllocationRow, AllocationsRequest, AllocationsRows, BlockRow, BlocksRequest,
    BlocksRows, GroupColumn, GroupKey, GroupRow, GroupRows, GroupsRequest, GrowthGrouping, GrowthRequest, GrowthRow,
    GrowthRows, LinkOptions, LivePlot, MemoryGrouping, MemoryPart, MemoryPartRows, MemoryRequest, MemoryRows, Moment,
    PoolRow, PoolRows, PoolsRequest, TransferRow, TransferRows, TransfersRequest,
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
    /// In place of allocations the blocks of this one are listed.
    pub inside: Option<blocks::Inside>,
    /// Only those in use at the moment are listed.
    pub in_use: bool,
    /// Which groups are on the screen.
    pub groups: Window,
    /// What they are summed up by.
    pub by: MemoryGrouping,
    /// Their sort column, and whether the largest comes first.
    pub groups_sort: (GroupColumn, bool),
    /// Only the allocations of this group are listed, and what it is called.
    pub only: Option<(GroupKey, String)>,
    /// Which rows of what has grown are on the screen.
    pub growth: Window,
    /// What it is summed up by.
    pub growth_by: GrowthGrouping,
    /// Which pools are on the screen.
    pub pools: Window,
    /// The moment since which it has grown, ns since the trace began; `None`: its beginning.
    pub since: Option<u64>,
    /// Which transfers are on the screen.
    pub transfers: Window,
    /// Which devices are shown, and what links can carry.
    pub links: LinkOptions,
    /// The moment that is looked at, ns since the trace began; `None`: the newest.
    pub moment: Option<u64>,
    /// A moment to be found, which is looked at then.
    pub goal: Option<Moment>,
    /// Something to say, once.
    pub notice: Option<String>,
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
            inside: None,
            in_use: false,
            groups: Window::default(),
            by: MemoryGrouping::default(),
            groups_sort: (GroupColumn::Peak, true),
            only: None,
            growth: Window::default(),
            growth_by: GrowthGrouping::default(),
            pools: Window::default(),
            since: None,
            transfers: Window::default(),
            links: LinkOptions::default(),
            moment: None,
            goal: None,
            notice: None,
            opened: false,
            fresh: None,
            rows: None,
        }
    }
}

impl State {
    /// Where one is.
    pub fn place(&self) -> Place {
        let window = if self.inside().is_some() { self.allocations } else { self.window() };
        Place::Memory { tab: self.tab, by: self.by, in_use: self.in_use, moment: self.moment, window }
    }

    /// Goes back there.
    pub fn restore(&mut self, place: Place) {
        let Place::Memory { tab, by, in_use, moment, window } = place else { return };
        (self.tab, self.by, self.in_use, self.moment) = (tab, by, in_use, moment);
        (self.cursor, self.only, self.inside) = (None, None, None);
        *self.window_mut() = window;
    }

    /// The rows to ask for on a body divided so.
    pub fn request(&self, layout: Layout) -> MemoryRequest {
        let (first, rows) = self.window().wanted(u64::from(layout.list.height));
        let has_pane = layout.pane.is_some();
        let part = match (self.tab, self.inside()) {
            (Tab::Allocations, Some(inside)) => MemoryPart::Blocks(BlocksRequest { of: inside.of, first, rows }),
            (Tab::Allocations, None) => MemoryPart::Allocations(AllocationsRequest {
                sort: self.sort,
                in_use: self.in_use,
                only: self.only.as_ref().map(|(key, _)| *key),
                cursor: self.cursor,
                details: if self.opened || has_pane { self.cursor } else { None },
                first,
                rows,
            }),
            (Tab::Groups, _) => MemoryPart::Groups(GroupsRequest { by: self.by, sort: self.groups_sort, first, rows }),
            (Tab::Pools, _) => MemoryPart::Pools(PoolsRequest { first, rows }),
            (Tab::Growth, _) => {
                MemoryPart::Growth(GrowthRequest { since: self.since, by: self.growth_by, first, rows })
            }
            (Tab::Transfers, _) => MemoryPart::Transfers(TransfersRequest {
                options: self.links,
                cells: transfers::use_cells(layout.list.width),
                first,
                rows,
            }),
        };
        MemoryRequest { plot: layout.list.width, moment: self.moment, goal: self.goal.clone(), part }
    }

    /// The window on the rows of the tab.
    pub fn window(&self) -> Window {
        match self.tab {
            Tab::Allocations => self.inside.as_ref().map_or(self.allocations, |inside| inside.window),
            Tab::Groups => self.groups,
            Tab::Growth => self.growth,
            Tab::Pools => self.pools,
            Tab::Transfers => self.transfers,
        }
    }

    /// Likewise, to change.
    pub fn window_mut(&mut self) -> &mut Window {
        match self.tab {
            Tab::Allocations => self.inside.as_mut().map_or(&mut self.allocations, |inside| &mut inside.window),
            Tab::Groups => &mut self.groups,
            Tab::Growth => &mut self.growth,
            Tab::Pools => &mut self.pools,
            Tab::Transfers => &mut self.transfers,
        }
    }

    /// Bytes in use over time, once they have come.
    pub fn plot(&self) -> Option<&LivePlot> {
        self.rows.as_ref().map(|rows| &rows.plot)
    }

    /// Whether the driver said something of devices' memory.
    pub fn has_told(&self) -> bool {
        self.plot().is_some_and(|plot| plot.told.is_some() && !plot.most.is_empty())
    }

    /// A body of this size, divided.
    pub fn layout(&self, body: Size) -> Layout {
        layout::of_size(body, self.has_told())
    }

    /// Rows of the list in a body of this size.
    pub fn list_height(&self, body: Size) -> u64 {
        u64::from(self.layout(body).list.height)
    }

    fn allocation_rows(&self) -> Option<&AllocationsRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Allocations(rows)) if self.tab == Tab::Allocations && self.inside.is_none() => {
                Some(rows)
            }
            _ => None,
        }
    }

    fn group_rows(&self) -> Option<&GroupRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Groups(rows)) if self.tab == Tab::Groups => Some(rows),
            _ => None,
        }
    }

    /// What has grown, if it is shown.
    pub fn growth_rows(&self) -> Option<&GrowthRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Growth(rows)) if self.tab == Tab::Growth => Some(rows),
            _ => None,
        }
    }

    fn pool_rows(&self) -> Option<&PoolRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Pools(rows)) if self.tab == Tab::Pools => Some(rows),
            _ => None,
        }
    }

    fn transfer_rows(&self) -> Option<&TransferRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Transfers(rows)) if self.tab == Tab::Transfers => Some(rows),
            _ => None,
        }
    }

    /// The allocation whose blocks are listed, if any are.
    pub fn inside(&self) -> Option<&blocks::Inside> {
        self.inside.as_ref().filter(|_| self.tab == Tab::Allocations)
    }

    /// Lists the blocks of the cursor's allocation.
    pub fn go_inside(&mut self) {
        if let Some(row) = self.allocation() {
            let name = format!("{} {}", allocations::place_of(row), row.site);
            self.inside = Some(blocks::Inside { of: row.id, name, window: Window::default() });
        }
    }

    /// Lists allocations again; false if they are listed.
    pub fn leave_inside(&mut self) -> bool {
        self.tab == Tab::Allocations && self.inside.take().is_some()
    }

    /// The blocks, if they are shown.
    pub fn block_rows(&self) -> Option<&BlocksRows> {
        match self.rows.as_ref().map(|rows| &rows.part) {
            Some(MemoryPartRows::Blocks(rows)) if self.inside().is_some() => Some(rows),
            _ => None,
        }
    }

    /// A block, if its row has come.
    pub fn block_at(&self, number: u64) -> Option<&BlockRow> {
        let rows = self.block_rows()?;
        rows.rows.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// The cursor's block, if its row has come.
    pub fn block(&self) -> Option<&BlockRow> {
        self.block_at(self.inside()?.window.cursor)
    }

    /// Rows in the list; `None` until they have come.
    pub fn known_total(&self) -> Option<u64> {
        let allocations = self.allocation_rows().map(|rows| rows.total);
        let groups = self.group_rows().map(|rows| rows.total);
        let growth = self.growth_rows().map(|rows| rows.total);
        let pools = || self.pool_rows().map(|rows| rows.total);
        let transfers = || self.transfer_rows().map(|rows| rows.total);
        let blocks = self.block_rows().map(|rows| rows.total);
        allocations.or(blocks).or(groups).or(growth).or_else(pools).or_else(transfers)
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

    /// A row of what has grown, if it has come.
    pub fn grown_at(&self, number: u64) -> Option<&GrowthRow> {
        let rows = self.growth_rows()?;
        rows.rows.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// A pool, if its row has come.
    pub fn pool_at(&self, number: u64) -> Option<&PoolRow> {
        let rows = self.pool_rows()?;
        rows.rows.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// The cursor's pool, if its row has come.
    pub fn pool(&self) -> Option<&PoolRow> {
        self.pool_at(self.pools.cursor)
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

    /// The cursor's row of what has grown, if it has come.
    pub fn grown(&self) -> Option<&GrowthRow> {
        self.grown_at(self.growth.cursor)
    }

    /// What moved between two ends, if its row has come.
    pub fn transfer_at(&self, number: u64) -> Option<&TransferRow> {
        let rows = self.transfer_rows()?;
        rows.rows.get(usize::try_from(number.checked_sub(rows.first)?).ok()?)
    }

    /// The cursor's pair of ends, if its row has come.
    pub fn transfer(&self) -> Option<&TransferRow> {
        self.transfer_at(self.transfers.cursor)
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
        if let Some((row, rows)) = self.block().zip(self.block_rows()) {
            return blocks::facts(row, rows);
        }
        let growth = || self.grown().map(facts::of_growth);
        let pool = || self.pool().map(|row| row.details.clone());
        let transfer = || self.transfer().map(transfers::facts);
        self.group().map(facts::of_group).or_else(growth).or_else(pool).or_else(transfer).unwrap_or_default()
    }

    /// Heading of that.
    pub fn heading(&self) -> String {
        match (self.allocation(), self.group(), self.grown()) {
            (Some(row), ..) => allocations::place_of(row),
            (None, Some(row), _) => row.name.clone(),
            (None, None, Some(row)) => row.name.clone(),
            (None, None, None) => {
                let transfer = || self.transfer().map(|row| row.name.clone());
                let block = || self.block().map(blocks::name);
                self.pool().map(|row| row.name.clone()).or_else(transfer).or_else(block).unwrap_or_default()
            }
        }
    }

    /// Moves the cursor to a row number and remembers which allocation it is.
    pub fn go_to_row(&mut self, row: u64, height: u64) {
        let total = self.total();
        self.window_mut().put(row, total, height);
        if self.tab == Tab::Allocations && self.inside.is_none() {
            self.cursor = self.allocation_at(self.allocations.cursor).map(|row| row.id);
        }
    }

    /// Lists the allocations of this group alone; `None`: all.
    pub fn show_only(&mut self, only: Option<(GroupKey, String)>) {
        self.tab = Tab::Allocations;
        (self.only, self.inside) = (only, None);
        self.begin_anew();
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
        if newest && let Some(found) = &rows.found {
            self.goal = None;
            match found {
                Ok(moment) => self.moment = *moment,
                Err(why) => self.notice = Some(why.clone()),
            }
        }
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
