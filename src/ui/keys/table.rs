//! The table. To add an action: a variant here, a row here, and a handler where it is to be obeyed.

use crate::ui::screens::ScreenId;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table documents each")]
pub enum Action {
    Go(ScreenId),
    Help,
    Back,
    Quit,
    Interrupt,
    Suspend,
    Redraw,
    Pause,
    Down,
    Up,
    HalfDown,
    HalfUp,
    PageDown,
    PageUp,
    Top,
    Bottom,
    Centre,
    ScrollLeft,
    ScrollRight,
    Open,
    Toggle,
    FoldOrParent,
    UnfoldOrChild,
    FoldAll,
    UnfoldAll,
    FoldLess,
    FoldMore,
    FoldTo(u16),
    Parent,
    Hottest,
    NextSibling,
    PreviousSibling,
    SortNext,
    SortPrevious,
    SortReverse,
    GroupNext,
    Invert,
    Flat,
    Percent,
    Columns,
    Kinds,
    Launcher,
    Details,
    Follow,
    Unscope,
    Check,
    Automatic,
    Detach,
    Terminate,
    Stay,
}

/// Where keys go: a screen or a popup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Context {
    Overview,
    Calls,
    Events,
    Output,
    Help,
    Columns,
    Kinds,
    Details,
    QuitDialog,
}

impl Context {
    /// Every context.
    pub const ALL: [Self; 9] = [
        Self::Overview,
        Self::Calls,
        Self::Events,
        Self::Output,
        Self::Help,
        Self::Columns,
        Self::Kinds,
        Self::Details,
        Self::QuitDialog,
    ];

    /// Its name in docs and headings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Calls => "calls",
            Self::Events => "events",
            Self::Output => "output",
            Self::Help => "help",
            Self::Columns => "columns",
            Self::Kinds => "kinds of events",
            Self::Details => "details",
            Self::QuitDialog => "quit dialog",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What is asked for.
    pub action: Action,
    /// One line for help and docs.
    pub doc: &'static str,
    /// Spellings of its keys; the first is shown where there is room for one.
    pub keys: &'static [&'static str],
    /// Where it is valid.
    pub contexts: &'static [Context],
    /// Word or two for the hint line; empty: not shown there.
    pub hint: &'static str,
}

use Context::{Calls, Columns, Details, Events, Help, Kinds, Output, Overview, QuitDialog};

const ALL: &[Context] = &Context::ALL;
const SCREENS: &[Context] = &[Overview, Calls, Events, Output];
const POPUPS: &[Context] = &[Help, Columns, Kinds, Details];
const CURSOR: &[Context] = &[Calls, Events, Columns, Kinds];
const SCROLL: &[Context] = &[Calls, Events, Output, Help, Columns, Kinds, Details];

const fn row(
    action: Action,
    keys: &'static [&'static str],
    contexts: &'static [Context],
    hint: &'static str,
    doc: &'static str,
) -> Entry {
    Entry { action, doc, keys, contexts, hint }
}

/// Every key there is. The order is that of help and hints.
pub static TABLE: &[Entry] = &[
    row(Action::Open, &["Enter"], &[Overview], "calls", "Go to the calls"),
    row(Action::Open, &["Enter"], &[Calls], "events", "Show the raw events behind this row"),
    row(Action::Open, &["Enter"], &[Events], "details", "Show this event in full"),
    row(Action::Open, &["Enter"], &[Columns], "sort", "Sort by this column"),
    row(Action::Open, &["Enter"], &[Kinds], "only", "Show this kind alone"),
    row(Action::Kinds, &["f"], &[Events], "kinds", "Choose which kinds of events are shown"),
    row(Action::Launcher, &["c"], &[Events], "its call", "Go to the call that submitted this work"),
    row(Action::Details, &["d"], &[Calls], "details", "Show what is known of this row"),
    row(Action::Toggle, &["o"], &[Calls], "fold", "Fold or unfold this row"),
    row(Action::GroupNext, &["t"], &[Calls], "group by", "Group by thread, stream, device, range, call site, function"),
    row(Action::SortNext, &["s", ">"], &[Calls], "sort", "Sort by the next column"),
    row(Action::Percent, &["%"], &[Calls], "of", "Times, or shares of the whole"),
    row(Action::Invert, &["i"], &[Calls], "invert", "From each function up to its callers, and back"),
    row(Action::Hottest, &["L"], &[Calls], "hottest", "Go to the child with the largest total, and so on"),
    row(Action::SortPrevious, &["<"], &[Calls], "", "Sort by the previous column"),
    row(Action::SortReverse, &["S"], &[Calls], "", "Reverse the sort"),
    row(Action::Columns, &["f"], &[Calls], "columns", "Choose the columns"),
    row(Action::Flat, &["g f"], &[Calls], "", "One row for each function, and back"),
    row(Action::FoldOrParent, &["h", "Left"], &[Calls], "", "Fold this row, or go to the row it is under"),
    row(Action::UnfoldOrChild, &["l", "Right"], &[Calls], "", "Unfold this row, or go to its first child"),
    row(Action::Parent, &["u"], &[Calls], "", "Go to the row that this one is under"),
    row(Action::NextSibling, &["J", "}"], &[Calls], "", "Go to the next row of the same depth"),
    row(Action::PreviousSibling, &["K", "{"], &[Calls], "", "Go to the previous row of the same depth"),
    row(Action::FoldAll, &["z M", "C"], &[Calls], "", "Fold all"),
    row(Action::UnfoldAll, &["z R", "E"], &[Calls], "", "Unfold all"),
    row(Action::FoldLess, &["z r"], &[Calls], "", "Show one level more"),
    row(Action::FoldMore, &["z m"], &[Calls], "", "Show one level less"),
    row(Action::FoldTo(1), &["z 1"], &[Calls], "", "Show the roots and one level under them"),
    row(Action::FoldTo(2), &["z 2"], &[Calls], "", "Show two levels under the roots"),
    row(Action::FoldTo(3), &["z 3"], &[Calls], "", "Show three levels under the roots"),
    row(Action::FoldTo(4), &["z 4"], &[Calls], "", "Show four levels under the roots"),
    row(Action::Unscope, &["Backspace"], &[Events], "", "Show all events again"),
    row(Action::Follow, &["F"], &[Events, Output], "follow", "Follow the newest, or stop following"),
    row(Action::ScrollLeft, &["h", "Left"], &[Events, Output], "", "Scroll to the left"),
    row(Action::ScrollRight, &["l", "Right"], &[Events, Output], "", "Scroll to the right"),
    row(Action::Check, &["Space"], &[Columns], "show or hide", "Show or hide this column"),
    row(Action::Check, &["Space"], &[Kinds], "show or hide", "Show this kind, or leave it out"),
    row(Action::Automatic, &["a"], &[Kinds], "all", "Show all kinds"),
    row(Action::Automatic, &["a"], &[Columns], "automatic", "Show the columns that fit"),
    row(Action::Detach, &["d"], &[QuitDialog], "detach", "Quit; the program runs on and is still recorded"),
    row(Action::Terminate, &["t"], &[QuitDialog], "terminate", "Ask the program to end, then quit"),
    row(Action::Stay, &["s", "q"], &[QuitDialog], "stay", "Do not quit"),
    row(Action::Down, &["j", "Down"], SCROLL, "", "Down"),
    row(Action::Up, &["k", "Up"], SCROLL, "", "Up"),
    row(Action::HalfDown, &["Ctrl-d"], SCROLL, "", "Half a page down"),
    row(Action::HalfUp, &["Ctrl-u"], SCROLL, "", "Half a page up"),
    row(Action::PageDown, &["PgDn", "Ctrl-f"], SCROLL, "", "A page down"),
    row(Action::PageUp, &["PgUp"], SCROLL, "", "A page up"),
    row(Action::Top, &["g g", "Home"], SCROLL, "", "To the top"),
    row(Action::Bottom, &["G", "End", "g e"], SCROLL, "", "To the bottom"),
    row(Action::Centre, &["z z"], CURSOR, "", "Bring the cursor's row to the middle"),
    row(Action::Go(ScreenId::Overview), &["1"], SCREENS, "overview", "Overview"),
    row(Action::Go(ScreenId::Calls), &["2"], SCREENS, "calls", "Calls: who called what, and how long it took"),
    row(Action::Go(ScreenId::Events), &["6"], SCREENS, "events", "Events: everything in order"),
    row(Action::Go(ScreenId::Output), &["9"], SCREENS, "output", "Output: what the program printed"),
    row(Action::Pause, &["Space"], SCREENS, "", "While live: hold the display, or let it go on"),
    row(Action::Back, &["Esc"], ALL, "", "Back by one: prefix, popup, screen"),
    row(Action::Quit, &["q"], SCREENS, "", "Quit; asks first while the program runs"),
    row(Action::Quit, &["q"], POPUPS, "close", "Close this"),
    row(Action::Interrupt, &["Ctrl-c"], ALL, "", "Interrupt the program; again, or without one: quit"),
    row(Action::Suspend, &["Ctrl-z"], ALL, "", "Suspend umtui; the program runs on"),
    row(Action::Redraw, &["Ctrl-l"], ALL, "", "Draw the screen anew"),
    row(Action::Help, &["?", "F1"], ALL, "help", "Help; the same key closes it"),
];
