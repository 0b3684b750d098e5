//! What an update asks the loop to do: the only way for a screen or popup to reach beyond itself.

use super::screens::ScreenId;
use super::screens::calls::columns::Chosen;
use crate::session::view::{Column, EventKinds, Grouping, NodeKey};

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
}

impl Ask {
    /// Stands before what is typed.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Search => "/",
        }
    }

    /// Said beside an empty line.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Search => "Enter stays there, Esc goes back, then n N go on; 'text as it stands",
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
    /// Show these kinds of events.
    Kinds(EventKinds),
    /// Something was typed into a prompt.
    Said(Ask, Said, String),
    /// Let the program run on and leave.
    Detach,
    /// Ask the program to end and leave.
    Terminate,
}
