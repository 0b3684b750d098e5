//! How things look: roles, and the styles and glyphs that a terminal allows for them.
//!
//! By default foreground and background stay the terminal's own, so light and dark both work. In every theme nothing
//! is said by colour alone: a word, a sign or an attribute stands beside it.

pub mod colour;
pub mod depth;
pub mod devices;
pub mod glyphs;
pub mod palette;

use ratatui::style::Style;

pub use depth::{ColorChoice, Depth};
pub use glyphs::{Charset, Glyphs};
pub use palette::Palette;

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Role {
    Plain,
    Dim,
    Strong,
    Heading,
    Cursor,
    Found,
    Good,
    Warning,
    Bad,
    Accent,
    Runtime,
    Driver,
    Site,
    Gpu,
    Badge,
    BadgeHeld,
    Gpu0,
    Gpu1,
    Gpu2,
    Gpu3,
    Gpu4,
    Gpu5,
}

impl Role {
    /// Every role, in the order of the variants.
    pub const ALL: [Self; 22] = [
        Self::Plain,
        Self::Dim,
        Self::Strong,
        Self::Heading,
        Self::Cursor,
        Self::Found,
        Self::Good,
        Self::Warning,
        Self::Bad,
        Self::Accent,
        Self::Runtime,
        Self::Driver,
        Self::Site,
        Self::Gpu,
        Self::Badge,
        Self::BadgeHeld,
        Self::Gpu0,
        Self::Gpu1,
        Self::Gpu2,
        Self::Gpu3,
        Self::Gpu4,
        Self::Gpu5,
    ];

    /// Its name in config files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Dim => "dim",
            Self::Strong => "strong",
            Self::Heading => "heading",
            Self::Cursor => "cursor",
            Self::Found => "found",
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
            Self::Accent => "accent",
            Self::Runtime => "runtime",
            Self::Driver => "driver",
            Self::Site => "site",
            Self::Gpu => "gpu",
            Self::Badge => "badge",
            Self::BadgeHeld => "badge-held",
            Self::Gpu0 => "gpu-0",
            Self::Gpu1 => "gpu-1",
            Self::Gpu2 => "gpu-2",
            Self::Gpu3 => "gpu-3",
            Self::Gpu4 => "gpu-4",
            Self::Gpu5 => "gpu-5",
        }
    }

    /// The role of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Styles and glyphs for one terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Colours that the terminal can show.
    pub depth: Depth,
    /// Glyphs that it can show.
    pub glyphs: Glyphs,
    base: Style,
    styles: [Style; Role::ALL.len()],
}

impl Theme {
    /// A palette on such a terminal.
    #[must_use]
    pub fn new(palette: &Palette, depth: Depth, glyphs: Glyphs) -> Self {
        let styles = Role::ALL.map(|role| palette.style(role, depth));
        Self { depth, glyphs, base: palette.base(depth), styles }
    }

    /// The style of a role.
    #[must_use]
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// The style of what nothing is drawn on.
    #[must_use]
    pub fn base(&self) -> Style {
        self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_listed_in_their_order_under_names_of_their_own() {
        for (number, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(role as usize, number);
            assert_eq!(Role::named(role.name()), Some(role));
        }
    }
}
