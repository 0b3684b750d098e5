//! Where keys go.

/// Where keys go: a screen or a popup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Context {
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
    Prompt,
    Finder,
    Palette,
}

impl Context {
    /// Every context.
    pub const ALL: [Self; 16] = [
        Self::Overview,
        Self::Calls,
        Self::Heatmap,
        Self::Memory,
        Self::Events,
        Self::Output,
        Self::Help,
        Self::Columns,
        Self::EventColumns,
        Self::Kinds,
        Self::Filters,
        Self::Details,
        Self::QuitDialog,
        Self::Prompt,
        Self::Finder,
        Self::Palette,
    ];

    /// Its name in docs and headings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Calls => "calls",
            Self::Heatmap => "heatmap",
            Self::Memory => "memory",
            Self::Events => "events",
            Self::Output => "output",
            Self::Help => "help",
            Self::Columns => "columns",
            Self::EventColumns => "columns of events",
            Self::Kinds => "kinds of events",
            Self::Filters => "filters",
            Self::Details => "details",
            Self::QuitDialog => "quit dialog",
            Self::Prompt => "prompts",
            Self::Finder => "finder",
            Self::Palette => "commands",
        }
    }

    /// Whether keys that mean nothing else are text.
    pub fn takes_text(self) -> bool {
        matches!(self, Self::Prompt | Self::Finder | Self::Palette)
    }

    /// Its name in config files.
    pub fn config_name(self) -> &'static str {
        match self {
            Self::Kinds => "kinds",
            Self::EventColumns => "event-columns",
            Self::QuitDialog => "quit",
            Self::Prompt => "prompt",
            other => other.name(),
        }
    }
}
