//! The table. To add an action: a variant of [`Action`], a row here, and a handler where it is to be obeyed.
//!
//! Names of actions, contexts and keys stand in people's config files: they may be added to, not changed.

use super::{Action, Context};
use crate::ui::screens::ScreenId;
use crate::ui::widgets::input::Edit;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What is asked for.
    pub action: Action,
    /// The action's name in config files; the same in each of its rows.
    pub name: &'static str,
    /// One line for help and docs.
    pub doc: &'static str,
    /// Spellings of its keys; the first is shown where there is room for one.
    pub keys: &'static [&'static str],
    /// Where it is valid.
    pub contexts: &'static [Context],
    /// Word or two for the hint line; empty: not shown there.
    pub hint: &'static str,
}

use Context::{
    Calls, Columns, Details, EventColumns, Events, Filters, Finder, Heatmap, Help, Kinds, Memory, Output, Overview,
    Palette, Prompt, QuitDialog,
};

const ALL: &[Context] = &Context::ALL;
const KEYED: &[Context] = &[
    Overview,
    Calls,
    Heatmap,
    Memory,
    Events,
    Output,
    Help,
    Columns,
    EventColumns,
    Kinds,
    Filters,
    Details,
    QuitDialog,
];
const TEXT: &[Context] = &[Prompt, Finder, Palette];
const PICKERS: &[Context] = &[Finder, Palette];
const SCREENS: &[Context] = &[Overview, Calls, Heatmap, Memory, Events, Output];
/// Where `0` is nothing but a range of time.
const UNZOOMED: &[Context] = &[Overview, Calls, Memory, Events, Output];
const POPUPS: &[Context] = &[Help, Columns, EventColumns, Kinds, Filters, Details];
/// Where columns are chosen.
const CHOOSERS: &[Context] = &[Columns, EventColumns];
/// Where Backspace has nothing else to show again.
const UNSCOPED: &[Context] = &[Overview, Calls, Heatmap, Memory, Output];
const CURSOR: &[Context] = &[Calls, Memory, Events];
/// Where a row can be gone to that a filter can be like.
const ROWS: &[Context] = &[Overview, Calls, Heatmap, Memory, Events];
/// Where rows have an order that can be chosen.
const SORTED: &[Context] = &[Calls, Memory];
const SCROLL: &[Context] =
    &[Overview, Calls, Heatmap, Memory, Events, Output, Help, Columns, EventColumns, Kinds, Filters, Details];

const fn row(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    contexts: &'static [Context],
    hint: &'static str,
    doc: &'static str,
) -> Entry {
    Entry { action, name, doc, keys, contexts, hint }
}

/// Every key there is. The order is that of help and hints.
pub static TABLE: &[Entry] = &[
    row(Action::Open, "open", &["Enter"], &[Overview], "calls", "Go to the calls, or to this row among them"),
    row(Action::Open, "open", &["Enter"], &[Calls], "events", "Show the raw events behind this row"),
    row(Action::Open, "open", &["Enter"], &[Events], "details", "Show this event in full"),
    row(Action::Open, "open", &["Enter"], &[Heatmap], "events", "Show what happened in this cell, event by event"),
    row(
        Action::Open,
        "open",
        &["Enter"],
        &[Memory],
        "open",
        "Show what is known of this row; of a sum its allocations",
    ),
    row(Action::Open, "open", &["Enter"], &[Columns], "sort", "Sort by this column"),
    row(Action::Open, "open", &["Enter"], &[Kinds], "only", "Show this kind alone"),
    row(Action::Open, "open", &["Enter"], &[Filters], "use", "Look through this filter"),
    row(Action::SaveFilter, "save-filter", &["s"], &[Filters], "save", "Keep the filter in force under a name"),
    row(Action::RenameFilter, "rename-filter", &["r"], &[Filters], "rename", "Give this filter another name"),
    row(Action::DeleteFilter, "delete-filter", &["x", "Del"], &[Filters], "delete", "Delete this filter; asks first"),
    row(
        Action::ToggleLens,
        "lens-off",
        &["\\", "Z"],
        &[Filters],
        "off or on",
        "Switch the filter in force off, or on again",
    ),
    row(Action::Kinds, "kinds", &["f"], &[Events], "kinds", "Choose which kinds of events are shown"),
    row(Action::Launcher, "its-call", &["c"], &[Events], "its call", "Go to the call that submitted this work"),
    row(Action::NextTab, "next-tab", &["Tab"], &[Memory], "next tab", "Go to the next tab"),
    row(Action::PreviousTab, "previous-tab", &["Shift-Tab"], &[Memory], "", "Go to the tab before"),
    row(
        Action::InUse,
        "in-use",
        &["u"],
        &[Memory],
        "in use then",
        "List only what was in use at the moment, or all again",
    ),
    row(Action::Earlier, "earlier", &["h", "Left"], &[Memory], "", "Look at an earlier moment"),
    row(Action::Later, "later", &["l", "Right"], &[Memory], "later", "Look at a later moment"),
    row(Action::Peak, "peak", &["p"], &[Memory], "peak", "Look at the moment at which most was in use"),
    row(
        Action::CompareFrom,
        "compare-from",
        &["b"],
        &[Memory],
        "since then",
        "Show what has grown since the moment that is looked at",
    ),
    row(Action::Pages, "its-pages", &["a"], &[Memory], "pages", "Show this allocation's pages on the heatmap"),
    row(Action::Blocks, "its-blocks", &["o"], &[Memory], "blocks", "Show the blocks inside this allocation"),
    row(Action::Launcher, "its-call", &["c"], &[Memory], "its call", "Go to the call that made this allocation"),
    row(Action::GroupNext, "group-next", &["t"], &[Memory], "group by", "Sum up by call site, kind, device"),
    row(Action::Details, "details", &["d"], &[Calls, Memory], "details", "Show what is known of this row"),
    row(Action::Details, "details", &["d"], &[Heatmap], "details", "Show what is known of this cell"),
    row(Action::Colour, "colour", &["c"], &[Heatmap], "colour", "Colour by bytes, faults, alternations, residency"),
    row(Action::ZoomTimeIn, "zoom-time-in", &["w", "+"], &[Heatmap], "closer", "Half the time in a column"),
    row(Action::ZoomTimeOut, "zoom-time-out", &["s", "-"], &[Heatmap], "wider", "Twice the time in a column"),
    row(Action::ZoomRowsIn, "zoom-rows-in", &["W"], &[Heatmap], "rows", "Half the bytes in a row"),
    row(Action::ZoomRowsOut, "zoom-rows-out", &["S"], &[Heatmap], "", "Twice the bytes in a row"),
    row(Action::Fit, "fit", &["f"], &[Heatmap], "fit", "Zoom to where something happened"),
    row(
        Action::ShowAll,
        "show-all",
        &["0", "_"],
        &[Heatmap],
        "all",
        "Show all rows and all time; again: of all ranges",
    ),
    row(Action::NextPlace, "next-place", &[".", ">"], &[Heatmap], "next", "The next busy allocation"),
    row(Action::PreviousPlace, "previous-place", &[",", "<"], &[Heatmap], "", "The one before"),
    row(Action::AllPlaces, "all-places", &["A"], &[Heatmap], "", "All allocations together, or that of the cursor"),
    row(Action::Earlier, "earlier", &["h", "Left"], &[Heatmap], "", "A column earlier"),
    row(Action::Later, "later", &["l", "Right"], &[Heatmap], "", "A column later"),
    row(Action::EarlierPage, "earlier-page", &["H", "a"], &[Heatmap], "", "Half a screen earlier"),
    row(Action::LaterPage, "later-page", &["L"], &[Heatmap], "", "Half a screen later"),
    row(Action::Toggle, "toggle", &["o"], &[Calls], "fold", "Fold or unfold this row"),
    row(
        Action::GroupNext,
        "group-next",
        &["t"],
        &[Calls],
        "group by",
        "Group by thread, stream, device, range, call site, function",
    ),
    row(Action::SortNext, "sort-next", &["s", ">"], SORTED, "sort", "Sort by the next column"),
    row(Action::Percent, "percent", &["%"], &[Calls], "of", "Times, or shares of the whole"),
    row(Action::Invert, "invert", &["i"], &[Calls], "invert", "From each function up to its callers, and back"),
    row(Action::Hottest, "hottest", &["L"], &[Calls], "hottest", "Go to the child with the largest total, and so on"),
    row(Action::SortPrevious, "sort-previous", &["<"], SORTED, "", "Sort by the previous column"),
    row(Action::SortReverse, "sort-reverse", &["S"], SORTED, "", "Reverse the sort"),
    row(Action::Columns, "columns", &["f"], &[Calls], "columns", "Choose the columns"),
    row(Action::Flat, "flat", &["g f"], &[Calls], "", "One row for each function, and back"),
    row(
        Action::FoldOrParent,
        "fold-or-parent",
        &["h", "Left"],
        &[Calls],
        "",
        "Fold this row, or go to the row it is under",
    ),
    row(
        Action::UnfoldOrChild,
        "unfold-or-child",
        &["l", "Right"],
        &[Calls],
        "",
        "Unfold this row, or go to its first child",
    ),
    row(Action::Parent, "parent", &["u"], &[Calls], "", "Go to the row that this one is under"),
    row(Action::NextSibling, "next-sibling", &["J", "}"], &[Calls], "", "Go to the next row of the same depth"),
    row(
        Action::PreviousSibling,
        "previous-sibling",
        &["K", "{"],
        &[Calls],
        "",
        "Go to the previous row of the same depth",
    ),
    row(Action::FoldAll, "fold-all", &["z M", "C"], &[Calls], "", "Fold all"),
    row(Action::UnfoldAll, "unfold-all", &["z R", "E"], &[Calls], "", "Unfold all"),
    row(Action::FoldLess, "fold-less", &["z r"], &[Calls], "", "Show one level more"),
    row(Action::FoldMore, "fold-more", &["z m"], &[Calls], "", "Show one level less"),
    row(Action::FoldTo(1), "fold-to-1", &["z 1"], &[Calls], "", "Show the roots and one level under them"),
    row(Action::FoldTo(2), "fold-to-2", &["z 2"], &[Calls], "", "Show two levels under the roots"),
    row(Action::FoldTo(3), "fold-to-3", &["z 3"], &[Calls], "", "Show three levels under the roots"),
    row(Action::FoldTo(4), "fold-to-4", &["z 4"], &[Calls], "", "Show four levels under the roots"),
    row(
        Action::Unscope,
        "all-events",
        &["Backspace"],
        &[Events],
        "",
        "Show all events again; then undo a change of the lens",
    ),
    row(Action::Follow, "follow", &["F"], &[Events, Output], "follow", "Follow the newest, or stop following"),
    row(Action::ScrollLeft, "scroll-left", &["h", "Left"], &[Events, Output], "", "Scroll to the left"),
    row(Action::ScrollRight, "scroll-right", &["l", "Right"], &[Events, Output], "", "Scroll to the right"),
    row(Action::Columns, "columns", &["C"], &[Events], "", "Choose the columns"),
    row(Action::Check, "check", &["Space"], CHOOSERS, "show or hide", "Show or hide this column"),
    row(Action::MoveUp, "move-up", &["K"], CHOOSERS, "", "Move this column to the left"),
    row(Action::MoveDown, "move-down", &["J"], CHOOSERS, "", "Move this column to the right"),
    row(Action::Check, "check", &["Space"], &[Kinds], "show or hide", "Show this kind, or leave it out"),
    row(Action::Automatic, "automatic", &["a"], &[Kinds], "all", "Show all kinds"),
    row(Action::Automatic, "automatic", &["a"], CHOOSERS, "automatic", "Show the columns that fit"),
    row(Action::Detach, "detach", &["d"], &[QuitDialog], "detach", "Quit; the program runs on and is still recorded"),
    row(Action::Terminate, "terminate", &["t"], &[QuitDialog], "terminate", "Ask the program to end, then quit"),
    row(Action::Stay, "stay", &["s", "q"], &[QuitDialog], "stay", "Do not quit"),
    row(Action::Search, "search", &["/"], SCREENS, "search", "Search names; matches are marked, nothing is hidden"),
    row(Action::Filter, "filter", &["&"], SCREENS, "filter", "Filter: only what fits is shown and counted"),
    row(Action::Like, "filter-like", &["@", "="], ROWS, "", "Filter like this row; again: no longer"),
    row(Action::InvertFilter, "filter-invert", &["!"], SCREENS, "", "Turn the filter round, or what @ added last"),
    row(Action::ToggleLens, "lens-off", &["\\", "Z"], SCREENS, "", "Switch filter and range of time off, or on again"),
    row(Action::UndoLens, "lens-undo", &["Backspace"], UNSCOPED, "", "Undo the last change of filter or range of time"),
    row(
        Action::SelectRange,
        "select-range",
        &["v"],
        &[Heatmap, Events],
        "",
        "Choose a range of time: move, then Enter",
    ),
    row(Action::Span, "range-of-row", &["R"], ROWS, "", "Look at the time of this row alone"),
    row(Action::AllTime, "all-time", &["0", "_"], UNZOOMED, "", "Look at all time again"),
    row(Action::Filters, "filters", &["P"], SCREENS, "", "Filters that have a name: choose, save, rename, delete"),
    row(Action::NextMatch, "next-match", &["n"], SCREENS, "", "Go to the next match"),
    row(Action::PreviousMatch, "previous-match", &["N"], SCREENS, "", "Go to the match before"),
    row(Action::Finder, "finder", &["g p", "Ctrl-p"], SCREENS, "", "Go to a function, kernel, thread, range, screen"),
    row(Action::Palette, "palette", &[":"], SCREENS, "", "Any action, or go to a time, an address, a row"),
    row(Action::Copy, "copy", &["y"], SCREENS, "", "Copy this row to the terminal's clipboard"),
    row(Action::CopyView, "copy-view", &["Y"], SCREENS, "", "Copy what the screen shows"),
    row(Action::Source, "source", &["O"], &[Calls, Heatmap, Memory, Events], "", "Open the source line in your editor"),
    row(Action::Mark, "mark", &["m"], SCREENS, "", "Mark this place"),
    row(Action::Marks, "marks", &["'"], SCREENS, "", "Go to a mark"),
    row(Action::ClearMarks, "clear-marks", &["M"], SCREENS, "", "Clear all marks"),
    row(Action::Open, "open", &["Enter"], &[Finder], "go there", "Go there"),
    row(Action::EventsBehind, "events-behind", &["Ctrl-o"], &[Finder], "its events", "Go to the events behind it"),
    row(Action::Open, "open", &["Enter"], &[Palette], "do it", "Do it"),
    row(Action::Down, "down", &["Down", "Ctrl-n"], PICKERS, "", "Down"),
    row(Action::Up, "up", &["Up"], PICKERS, "", "Up"),
    row(Action::PageDown, "page-down", &["PgDn"], PICKERS, "", "A page down"),
    row(Action::PageUp, "page-up", &["PgUp"], PICKERS, "", "A page up"),
    row(Action::Open, "open", &["Enter"], &[Prompt], "take", "Take what was typed"),
    row(Action::Complete, "complete", &["Tab"], &[Prompt], "complete", "Take the next completion"),
    row(Action::Edit(Edit::Older), "older", &["Up"], &[Prompt], "older", "What was entered before"),
    row(Action::Edit(Edit::Newer), "newer", &["Down"], &[Prompt], "", "What was entered after that"),
    row(Action::Edit(Edit::Left), "edit-left", &["Left"], TEXT, "", "A character to the left"),
    row(Action::Edit(Edit::Right), "edit-right", &["Right"], TEXT, "", "A character to the right"),
    row(Action::Edit(Edit::WordLeft), "edit-word-left", &["Ctrl-Left"], TEXT, "", "A word to the left"),
    row(Action::Edit(Edit::WordRight), "edit-word-right", &["Ctrl-Right"], TEXT, "", "A word to the right"),
    row(Action::Edit(Edit::Start), "edit-start", &["Ctrl-a", "Home"], TEXT, "", "To the beginning"),
    row(Action::Edit(Edit::End), "edit-end", &["Ctrl-e", "End"], TEXT, "", "To the end"),
    row(Action::Edit(Edit::EraseLeft), "erase-left", &["Backspace"], TEXT, "", "Erase the character before"),
    row(
        Action::Edit(Edit::EraseRight),
        "erase-right",
        &["Del", "Ctrl-d"],
        TEXT,
        "",
        "Erase the character under the cursor",
    ),
    row(Action::Edit(Edit::EraseWord), "erase-word", &["Ctrl-w"], TEXT, "", "Erase the word before"),
    row(Action::Edit(Edit::EraseToStart), "erase-to-start", &["Ctrl-u"], TEXT, "", "Erase all before"),
    row(Action::Edit(Edit::EraseToEnd), "erase-to-end", &["Ctrl-k"], TEXT, "", "Erase all after"),
    row(Action::Down, "down", &["j", "Down"], SCROLL, "", "Down"),
    row(Action::Up, "up", &["k", "Up"], SCROLL, "", "Up"),
    row(Action::HalfDown, "half-down", &["Ctrl-d"], SCROLL, "", "Half a page down"),
    row(Action::HalfUp, "half-up", &["Ctrl-u"], SCROLL, "", "Half a page up"),
    row(Action::PageDown, "page-down", &["PgDn", "Ctrl-f"], SCROLL, "", "A page down"),
    row(Action::PageUp, "page-up", &["PgUp"], SCROLL, "", "A page up"),
    row(Action::Top, "top", &["g g", "Home"], SCROLL, "", "To the top"),
    row(Action::Bottom, "bottom", &["G", "End", "g e"], SCROLL, "", "To the bottom"),
    row(Action::Centre, "centre", &["z z"], CURSOR, "", "Bring the cursor's row to the middle"),
    row(Action::Go(ScreenId::Overview), "go-overview", &["1"], SCREENS, "overview", "Overview"),
    row(
        Action::Go(ScreenId::Calls),
        "go-calls",
        &["2"],
        SCREENS,
        "calls",
        "Calls: who called what, and how long it took",
    ),
    row(
        Action::Go(ScreenId::Heatmap),
        "go-heatmap",
        &["4"],
        SCREENS,
        "heatmap",
        "Heatmap: unified memory by address and time",
    ),
    row(
        Action::Go(ScreenId::Memory),
        "go-memory",
        &["5"],
        SCREENS,
        "memory",
        "Memory: what is in use, every allocation, who holds most",
    ),
    row(Action::Go(ScreenId::Events), "go-events", &["6"], SCREENS, "events", "Events: everything in order"),
    row(Action::Go(ScreenId::Output), "go-output", &["9"], SCREENS, "output", "Output: what the program printed"),
    row(Action::Pause, "pause", &["Space"], SCREENS, "", "While live: hold the display, or let it go on"),
    row(Action::Back, "back", &["Esc"], KEYED, "", "Back by one: prefix, popup, screen"),
    row(Action::Back, "back", &["Esc", "Ctrl-c"], TEXT, "cancel", "Never mind"),
    row(Action::Quit, "quit", &["q"], SCREENS, "", "Quit; asks first while the program runs"),
    row(Action::Quit, "quit", &["q"], POPUPS, "close", "Close this"),
    row(Action::Interrupt, "interrupt", &["Ctrl-c"], KEYED, "", "Interrupt the program; again, or without one: quit"),
    row(Action::Suspend, "suspend", &["Ctrl-z"], ALL, "", "Suspend umtui; the program runs on"),
    row(Action::Redraw, "redraw", &["Ctrl-l"], ALL, "", "Draw the screen anew"),
    row(Action::Help, "help", &["?", "F1"], KEYED, "help", "Help; the same key closes it"),
    row(Action::Help, "help", &["F1"], TEXT, "help", "Help; the same key closes it"),
];
