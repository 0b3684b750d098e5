//! What is asked of a search, and what it answers.

use crate::filter::Condition;
use crate::graph::{Grouping, NodeKey, What};

/// Where the cursor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// At a node of the calls tree; `None`: at its beginning.
    Node(Option<NodeKey>),
    /// At this row of a list.
    Row(u64),
    /// At a thing, wherever in the trace it is.
    Thing(What),
}

/// Which match is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The cursor's own row, or else the next.
    Here,
    /// The next one; after the last the first.
    Next,
    /// The one before; before the first the last.
    Previous,
    /// None: the best names, wherever in the trace they are, so many.
    Names(usize),
    /// None: likewise those of a kind, whatever a lens hides.
    NamesOf(EntryKind, usize),
    /// None: the source line that the cursor's row is about.
    Source,
    /// None: what the cursor's row is like, and when it was.
    About,
}

/// What kind of thing has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum EntryKind {
    Function,
    Kernel,
    Process,
    Thread,
    Stream,
    Range,
    Site,
    Allocation,
}

/// A thing that has a name, and where it is found: a row of the calls tree, or a place of the heatmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What kind of thing it is.
    pub kind: EntryKind,
    /// Its name.
    pub label: String,
    /// How the calls are to be put together.
    pub grouping: Grouping,
    /// The row.
    pub target: Target,
    /// Sum of durations there, ns.
    pub total_ns: u64,
    /// How often, in all such rows.
    pub count: u64,
    /// What its events are like; `None` if no filter can say it.
    pub like: Option<Condition>,
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct About {
    /// What its events are like; `None` if no filter can say it.
    pub like: Option<Condition>,
    /// First begin and last end of its events, ns since the trace began; `None` if there are none.
    pub span: Option<(u64, u64)>,
}

/// What is looked for on the screen that is shown, in the order of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// Another number for each match that is wanted; comes back with the answer.
    pub id: u64,
    /// What was typed.
    pub text: String,
    /// Where the cursor was.
    pub from: From,
    /// Which match is wanted.
    pub step: Step,
}

/// Where a match is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node of the calls tree.
    Node {
        /// The node.
        key: NodeKey,
        /// The nodes above it, the outermost first, each with its depth.
        path: Vec<(NodeKey, u16)>,
    },
    /// A row of a list.
    Row(u64),
    /// Unified memory: number of its process, first address.
    Memory(u16, u64),
}

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub target: Target,
    /// Its number among the matches, from 1; `None` as long as those before it are not counted.
    pub number: Option<u64>,
    /// Where that is, in a few words.
    pub place: String,
    /// It was looked for beyond the end, or the beginning.
    pub wrapped: bool,
}

/// How a search stands.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SearchAnswer {
    /// The request's.
    pub id: u64,
    /// Matches that have been counted.
    pub count: u64,
    /// Further matches that a lens hides; `None` if there is no lens, or it is not known yet.
    pub hidden: Option<u64>,
    /// Share of the rows that have been looked at, thousandths; `None` when that is all.
    pub share: Option<u16>,
    /// The match that was wanted, once it is found.
    pub found: Option<Found>,
    /// For [`Step::Names`] and [`Step::NamesOf`]: the best.
    pub entries: Vec<Entry>,
    /// For [`Step::Source`]: file and line, or why they are not known.
    pub source: Option<Result<(String, u32), String>>,
    /// For [`Step::About`], once it is known.
    pub about: Option<About>,
}
