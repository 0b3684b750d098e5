//! What an update asks the loop to do: the only way for a screen or popup to reach beyond itself.

use super::keys::Action;
use super::screens::ScreenId;
use super::screens::calls::columns::Chosen;
use super::screens::events::columns::Chosen as EventColumns;
use crate::session::view::{Column, Entry, EventKinds, EventsWithin, Grouping, Moment, NodeKey, TimeRange};

/// How the explorer was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The user quit, and no program was running.
    Quit,
    /// The user quit and let the program run on, or the session was told to by a signal.
    Detached,
    /// The user quit and had asked the program to end.
    Terminated,
    /// This signal ended it; a running program was detached.
    Signalled(i32),
    /// The terminal went away; a running program was detached.
    TerminalLost,
}

/// A node of the calls tree, as a condition on events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The tree's grouping.
    pub grouping: Grouping,
    /// The node.
    pub key: NodeKey,
    /// Its label.
    pub label: String,
}

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ask {
    /// Names to look for.
    Search,
    /// Things to go to.
    Finder,
    /// Actions and commands.
    Palette,
    /// Marks to go to.
    Marks,
    /// What is to be shown.
    Filter,
    /// A name for a filter.
    Name,
}

impl Ask {
    /// Stands before what is typed.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Search => "/",
            Self::Filter => "&",
            Self::Palette => ":",
            Self::Name => "name ",
            Self::Finder | Self::Marks => "> ",
        }
    }

    /// Heading of its popup.
    pub fn title(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Finder => "go to",
            Self::Palette => "commands",
            Self::Marks => "marks",
            Self::Filter => "filter",
            Self::Name => "name",
        }
    }

    /// Said beside an empty line; keys stand by their actions, see [`Keymap::fill`].
    ///
    /// [`Keymap::fill`]: super::keys::Keymap::fill
    pub fn hint(self) -> &'static str {
        match self {
            Self::Finder => "functions, kernels, threads, streams, ranges, call sites, screens",
            Self::Palette => "an action, or a time (1.5s), address (0x7f..) or row (1234) to go to",
            Self::Marks => "marks",
            Self::Filter => "api:cudaMem* -thread:7 dur>=1ms; {open} keeps, {back} goes back",
            Self::Name => "letters, digits, - and _; {open} keeps it, {back} goes back",
            Self::Search => {
                "{open} stays, {back} goes back, then {next-match} {previous-match} go on; 'text as it stands"
            }
        }
    }
}

/// What happened to what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Said {
    /// It has changed.
    Typed,
    /// It is what was meant.
    Entered,
    /// It was not meant after all.
    Cancelled,
}

/// A popup to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Popup {
    /// The column chooser, with the columns that are shown now.
    Columns(Chosen),
    /// That of the events.
    EventColumns(EventColumns),
    /// A prompt, with the text that it begins with.
    Prompt(Ask, String),
    /// The chooser of kinds of events, with those that are shown now.
    Kinds(EventKinds),
    /// Names and values.
    Details {
        /// Heading.
        title: String,
        /// Name and value of each.
        fields: Vec<(String, String)>,
    },
}

/// A place among the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The event with this number, from 1.
    Row(u64),
    /// The first event from this time on, ns since the trace began.
    Time(u64),
    /// The call that allocated the memory at this address.
    Address(u64),
    /// This call: thread and row of it.
    Call(u32, u64),
}

/// What to do after an update.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Effect {
    /// Nothing more; the action was obeyed.
    #[default]
    None,
    /// Show this screen.
    Go(ScreenId),
    /// Show the events behind a node.
    EventsOf(Scope),
    /// Open a popup.
    Open(Popup),
    /// Close the popup.
    Close,
    /// Show these columns in the calls, sorted by one of them if one was picked.
    Columns(Chosen, Option<Column>),
    /// Show these columns in the events.
    EventColumns(EventColumns),
    /// Show these kinds of events.
    Kinds(EventKinds),
    /// Does what a key would do, on this screen.
    Act(Option<ScreenId>, Action),
    /// Runs a line of the command palette.
    Command(String),
    /// Shows the calls, put together in this way, with the cursor on the row of this name.
    Function(Grouping, String),
    /// Goes to a thing of the trace, or to the events behind it.
    GoTo(Box<Entry>, bool),
    /// Looks at this time: from and to, ns since the trace began; `None`: all.
    Range(Option<TimeRange>),
    /// Looks through the filter of this name, or this expression; an empty one shows all.
    Filter(String),
    /// Shows everything, at all time.
    ClearLens,
    /// Saves the filter in force under a name.
    SaveFilter(String),
    /// Asks for a name: for the filter in force, or for the one that has this name.
    NameFilter(Option<String>),
    /// Deletes the user's filter of this name.
    DeleteFilter(String),
    /// Draws in the theme of this name.
    Theme(String),
    /// Looks through a filter that was chosen from a list.
    ChooseFilter(String),
    /// Goes to a mark.
    Jump(usize),
    /// Goes to a place among the events.
    Events(Goal),
    /// Shows what happened within a rectangle of unified memory, and what memory that is.
    EventsWithin(EventsWithin, String),
    /// Shows the pages of an allocation on the heatmap: number of its process, first address.
    Pages(u16, u64),
    /// Shows the memory in use at a moment.
    Moment(Moment),
    /// Puts the calls together in this way.
    Group(Grouping),
    /// Something was typed into a prompt.
    Said(Ask, Said, String),
    /// Let the program run on and leave.
    Detach,
    /// Ask the program to end and leave.
    Terminate,
}
