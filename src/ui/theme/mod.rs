//! How things look: roles, and the styles and glyphs that a terminal allows for them.
//!
//! Foreground and background stay the terminal's own, so light and dark both work, and nothing is said by
//! colour alone.

pub mod depth;
pub mod glyphs;

use ratatui::style::{Color, Modifier, Style};

pub use depth::{ColorChoice, Depth};
pub use glyphs::{Charset, Glyphs};

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Role {
    Plain,
    Dim,
    Strong,
    Heading,
    Cursor,
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
}

/// Styles and glyphs for one terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Colours that the terminal can show.
    pub depth: Depth,
    /// Glyphs that it can show.
    pub glyphs: Glyphs,
}

impl Theme {
    /// The theme for a terminal described by these variables and the user's choice.
    pub fn detect(choice: ColorChoice, variable: impl Fn(&str) -> Option<String>) -> Self {
        Self { depth: Depth::detect(choice, &variable), glyphs: Glyphs::of(Charset::detect(&variable)) }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        match role {
            Role::Plain => plain,
            Role::Dim => plain.add_modifier(Modifier::DIM),
            Role::Strong | Role::Badge => bold,
            Role::Heading => plain.add_modifier(Modifier::UNDERLINED),
            Role::Cursor | Role::BadgeHeld => plain.add_modifier(Modifier::REVERSED),
            Role::Good => self.tint(plain, Hue::Green),
            Role::Warning => self.tint(bold, Hue::Yellow),
            Role::Bad => self.tint(bold, Hue::Red),
            Role::Accent => self.tint(plain, Hue::Blue),
            Role::Runtime => plain,
            Role::Driver => self.tint(plain, Hue::Cyan),
            Role::Site => self.tint(plain, Hue::Magenta),
            Role::Gpu => self.tint(plain, Hue::Green),
        }
    }

    fn tint(&self, style: Style, hue: Hue) -> Style {
        match hue.at(self.depth) {
            Some(color) => style.fg(color),
            None => style,
        }
    }
}

/// Hues in mid tones, readable on black and on white.
#[derive(Clone, Copy)]
enum Hue {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Hue {
    fn at(self, depth: Depth) -> Option<Color> {
        let (basic, indexed, (r, g, b)) = match self {
            Self::Red => (Color::Red, 160, (0xdc, 0x32, 0x2f)),
            Self::Green => (Color::Green, 64, (0x6f, 0x90, 0x00)),
            Self::Yellow => (Color::Yellow, 136, (0xb5, 0x89, 0x00)),
            Self::Blue => (Color::Blue, 33, (0x26, 0x8b, 0xd2)),
            Self::Magenta => (Color::Magenta, 133, (0xb0, 0x50, 0xb8)),
            Self::Cyan => (Color::Cyan, 37, (0x2a, 0xa1, 0x98)),
        };
        match depth {
            Depth::None => None,
            Depth::Ansi16 => Some(basic),
            Depth::Ansi256 => Some(Color::Indexed(indexed)),
            Depth::TrueColor => Some(Color::Rgb(r, g, b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 15] = [
        Role::Plain,
        Role::Dim,
        Role::Strong,
        Role::Heading,
        Role::Cursor,
        Role::Good,
        Role::Warning,
        Role::Bad,
        Role::Accent,
        Role::Runtime,
        Role::Driver,
        Role::Site,
        Role::Gpu,
        Role::Badge,
        Role::BadgeHeld,
    ];

    #[test]
    fn without_colour_no_role_sets_any_and_with_it_none_sets_a_background() {
        for depth in [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::TrueColor] {
            let theme = Theme { depth, glyphs: Glyphs::of(Charset::Unicode) };
            for role in ROLES {
                let style = theme.style(role);
                assert_eq!(style.bg, None, "{role:?}");
                if depth == Depth::None {
                    assert_eq!(style.fg, None, "{role:?}");
                }
            }
        }
    }
}
