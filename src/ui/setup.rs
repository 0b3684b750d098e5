//! What the screens start with.

use std::path::PathBuf;
use std::time::Duration;

use super::keys::Keymap;
use super::lens::Look;
use super::screens::ScreenId;
use super::screens::calls::columns::Chosen;
use super::screens::events;
use super::source_map::SourceMap;
use super::theme::{Palette, Theme, palette};
use super::thresholds::Thresholds;
use crate::session::view::LinkOptions;

/// Time that a prefix waits before the box says what may follow it.
pub const CONTINUATIONS: Duration = Duration::from_millis(300);

/// What the screens start with, as the user wants it and the terminal allows it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Styles and glyphs.
    pub theme: Theme,
    /// Themes that can be chosen, by their names.
    pub palettes: Vec<(String, Palette)>,
    /// Which keys do what.
    pub keymap: Keymap,
    /// The first screen.
    pub first: ScreenId,
    /// Time that a prefix waits before the box says what may follow it.
    pub continuations: Duration,
    /// Whether the wheel scrolls.
    pub mouse: bool,
    /// Columns of the calls.
    pub columns: Chosen,
    /// Columns of the events.
    pub event_columns: events::columns::Chosen,
    /// What is slow, and what a storm.
    pub thresholds: Thresholds,
    /// Where source lies here.
    pub sources: SourceMap,
    /// Which devices are shown, and what links can carry.
    pub links: LinkOptions,
    /// What every screen is seen through.
    pub look: Look,
    /// The folder of the user's filters.
    pub filters: Option<PathBuf>,
    /// The file that the filter comes from: it is read again when it changes.
    pub filter_file: Option<PathBuf>,
    /// Where is kept what is remembered of traces; nothing is if there is no such place.
    pub state_folder: Option<PathBuf>,
    /// The first screen was asked for: one does not come back to another.
    pub first_is_wanted: bool,
    /// Something to say at the start.
    pub notice: Option<String>,
}

impl Setup {
    /// The defaults, in this theme and on this screen.
    #[must_use]
    pub fn new(theme: Theme, first: ScreenId) -> Self {
        Self {
            theme,
            palettes: palette::all(&[]),
            keymap: Keymap::default(),
            first,
            continuations: CONTINUATIONS,
            mouse: false,
            columns: Chosen::default(),
            event_columns: Default::default(),
            thresholds: Thresholds::default(),
            sources: SourceMap::default(),
            links: LinkOptions::default(),
            look: Look::default(),
            filters: None,
            filter_file: None,
            state_folder: None,
            first_is_wanted: false,
            notice: None,
        }
    }
}
