//! Where one is on a screen: enough to come back to it.

use std::sync::Arc;

use super::ScreenId;
use super::memory::Tab;
use crate::session::view::{
    Column, EventKinds, Folds, Grouping, HeatColour, HeatRowsAt, HeatSubject, HeatTimeAt, MemoryGrouping, NodeKey,
};
use crate::ui::effect::Scope;
use crate::ui::marks::Moment;
use crate::ui::widgets::list::Window;

/// A place on a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The overview, which has but one.
    Overview,
    /// A row of the calls.
    Calls {
        /// How calls are put together.
        grouping: Grouping,
        /// Sort column, and whether the largest comes first.
        sort: (Column, bool),
        /// Which nodes are open.
        folds: Arc<Folds>,
        /// Where the row stands.
        window: Window,
        /// The row's node.
        cursor: Option<NodeKey>,
    },
    /// An event.
    Events {
        /// Only the events behind a node.
        scope: Option<Scope>,
        /// Kinds that are shown.
        kinds: EventKinds,
        /// Where the event stands.
        window: Window,
        /// The newest is followed.
        follow: bool,
        /// The event, wherever its row is then.
        event: Option<Moment>,
    },
    /// A cell of the heatmap.
    Heatmap {
        /// Whose addresses are shown.
        subject: HeatSubject,
        /// By what cells are coloured.
        colour: HeatColour,
        /// Which rows.
        at: HeatRowsAt,
        /// Which columns.
        time: HeatTimeAt,
        /// Line and column of the cell.
        cursor: (u16, u16),
    },
    /// A row of the memory screen.
    Memory {
        /// What stands below the plot.
        tab: Tab,
        /// What allocations are summed up by.
        by: MemoryGrouping,
        /// Only allocations in use at the moment are listed.
        in_use: bool,
        /// The moment that is looked at, ns since the trace began.
        moment: Option<u64>,
        /// Where the row stands.
        window: Window,
    },
    /// A line of the output; `None` for the newest.
    Output(Option<u64>),
}

impl Place {
    /// The screen it is on.
    pub fn screen(&self) -> ScreenId {
        match self {
            Self::Overview => ScreenId::Overview,
            Self::Calls { .. } => ScreenId::Calls,
            Self::Heatmap { .. } => ScreenId::Heatmap,
            Self::Events { .. } => ScreenId::Events,
            Self::Memory { .. } => ScreenId::Memory,
            Self::Output(_) => ScreenId::Output,
        }
    }
}
