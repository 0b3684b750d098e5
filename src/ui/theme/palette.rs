//! Themes: how each role looks, before it is known what the terminal can show.

use ratatui::style::{Modifier, Style};

use super::Role;
use super::colour::{Colour, contrast};
use super::depth::Depth;
use crate::config::nearest;
use crate::config::{Problem, ThemeTable};

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its colour; `None`: as what is around it.
    pub text: Option<Colour>,
    /// The colour behind it; `None`: as what is around it.
    pub behind: Option<Colour>,
    /// Bold and so on.
    pub modifiers: Modifier,
}

const PLAIN: Look = Look { text: None, behind: None, modifiers: Modifier::empty() };

/// Words for attributes.
const ATTRIBUTES: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

impl Look {
    /// Reads attributes and colours, such as `bold red`, `underlined #ff8000 on black`, `plain`.
    ///
    /// # Errors
    /// If a word is none of these: what was expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut look = PLAIN;
        let mut words = text.split_whitespace();
        if text.trim().is_empty() {
            return Err("attributes or colours are expected, as in 'bold red on black'".to_owned());
        }
        while let Some(word) = words.next() {
            if let Some((_, modifier)) = ATTRIBUTES.iter().find(|(name, _)| *name == word) {
                look.modifiers |= *modifier;
            } else if word == "on" {
                let colour = words.next().ok_or("after 'on' a colour is expected")?;
                look.behind = Some(Colour::read(colour)?);
            } else if word != "plain" {
                let colour = Colour::read(word).map_err(|error| match nearest::nearest(word, attribute_names()) {
                    Some(name) => format!("'{word}' is no colour or attribute; did you mean '{name}'?"),
                    None => error,
                })?;
                if look.text.replace(colour).is_some() {
                    return Err(format!("'{word}' is a second colour; write 'on {word}' for the one behind the text"));
                }
            }
        }
        Ok(look)
    }

    fn style(self, depth: Depth) -> Style {
        let mut style = Style::new().add_modifier(self.modifiers);
        style.fg = self.text.and_then(|colour| colour.at(depth));
        style.bg = self.behind.and_then(|colour| colour.at(depth));
        style
    }
}

fn attribute_names() -> impl Iterator<Item = &'static str> {
    ATTRIBUTES.iter().map(|(name, _)| *name).chain(["plain", "on"])
}

/// The colours that a theme has for all that it shows.
struct Hues {
    background: Colour,
    text: Colour,
    /// For what matters less; `None`: the terminal's dim.
    dim: Option<Colour>,
    red: Colour,
    green: Colour,
    yellow: Colour,
    blue: Colour,
    magenta: Colour,
    cyan: Colour,
}

const fn rgb(number: u32) -> Colour {
    let [_, r, g, b] = number.to_be_bytes();
    Colour::Rgb(r, g, b)
}

/// Nothing but the terminal's own: its palette suits its background.
const TERMINAL: Hues = Hues {
    background: Colour::Default,
    text: Colour::Default,
    dim: None,
    red: Colour::Ansi(1),
    green: Colour::Ansi(2),
    yellow: Colour::Ansi(3),
    blue: Colour::Ansi(4),
    magenta: Colour::Ansi(5),
    cyan: Colour::Ansi(6),
};

const DARK: Hues = Hues {
    background: rgb(0x16_18_1d),
    text: rgb(0xd7_da_e0),
    dim: Some(rgb(0x9a_a2_b1)),
    red: rgb(0xff_7b_72),
    green: rgb(0x7e_e7_87),
    yellow: rgb(0xe3_b3_41),
    blue: rgb(0x79_c0_ff),
    magenta: rgb(0xd2_a8_ff),
    cyan: rgb(0x56_d4_dd),
};

const LIGHT: Hues = Hues {
    background: rgb(0xff_ff_ff),
    text: rgb(0x1f_23_28),
    dim: Some(rgb(0x59_63_6e)),
    red: rgb(0xb3_1d_28),
    green: rgb(0x11_63_29),
    yellow: rgb(0x7d_4e_00),
    blue: rgb(0x05_50_ae),
    magenta: rgb(0x66_39_ba),
    cyan: rgb(0x0b_6a_75),
};

const HIGH_CONTRAST: Hues = Hues {
    background: rgb(0x00_00_00),
    text: rgb(0xff_ff_ff),
    dim: Some(rgb(0xd0_d0_d0)),
    red: rgb(0xff_87_87),
    green: rgb(0x5f_ff_5f),
    yellow: rgb(0xff_ff_00),
    blue: rgb(0x87_d7_ff),
    magenta: rgb(0xff_af_ff),
    cyan: rgb(0x5f_ff_ff),
};

const MONO: Hues = Hues {
    background: Colour::Default,
    text: Colour::Default,
    dim: None,
    red: Colour::Default,
    green: Colour::Default,
    yellow: Colour::Default,
    blue: Colour::Default,
    magenta: Colour::Default,
    cyan: Colour::Default,
};

impl Hues {
    fn look(&self, role: Role) -> Look {
        let look = |colour, modifiers| Look { text: Some(colour), modifiers, ..PLAIN };
        let (plain, bold) = (Modifier::empty(), Modifier::BOLD);
        match role {
            Role::Plain | Role::Runtime => look(self.text, plain),
            Role::Dim => self.dim.map_or(look(self.text, Modifier::DIM), |dim| look(dim, plain)),
            Role::Strong | Role::Badge => look(self.text, bold),
            Role::Heading => look(self.text, Modifier::UNDERLINED),
            // Laid over what is there, whose colours stay.
            Role::Cursor => Look { modifiers: Modifier::REVERSED, ..PLAIN },
            // Laid over names that are searched for.
            Role::Found => look(self.yellow, bold.union(Modifier::UNDERLINED)),
            Role::BadgeHeld => look(self.text, Modifier::REVERSED),
            Role::Good | Role::Gpu | Role::Gpu0 => look(self.green, plain),
            Role::Warning => look(self.yellow, bold),
            Role::Bad => look(self.red, bold),
            Role::Accent | Role::Gpu1 => look(self.blue, plain),
            Role::Driver | Role::Gpu4 => look(self.cyan, plain),
            Role::Site | Role::Gpu2 => look(self.magenta, plain),
            Role::Gpu3 => look(self.yellow, plain),
            Role::Gpu5 => look(self.green, bold),
        }
    }
}

/// The themes that are always there.
const BUILT_IN: [(&str, &Hues); 5] =
    [("terminal", &TERMINAL), ("dark", &DARK), ("light", &LIGHT), ("high-contrast", &HIGH_CONTRAST), ("mono", &MONO)];

/// Names of the themes that are always there; the first is the default.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Every theme by its name: the built-in ones, then the user's.
pub fn all(own: &[ThemeTable]) -> Vec<(String, Palette)> {
    let built_in = BUILT_IN.iter().map(|(name, hues)| ((*name).to_owned(), Palette::of(hues)));
    built_in.chain(own.iter().map(|table| (table.name.text.clone(), Palette::read(table).0))).collect()
}

/// How each role looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Behind everything.
    pub background: Colour,
    looks: [Look; Role::ALL.len()],
}

impl Default for Palette {
    fn default() -> Self {
        Self::of(&TERMINAL)
    }
}

impl Palette {
    fn of(hues: &Hues) -> Self {
        Self { background: hues.background, looks: Role::ALL.map(|role| hues.look(role)) }
    }

    /// A theme that is always there.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, hues)| Self::of(hues))
    }

    /// A theme of the user's, and what is wrong with it; what is wrong is left as the theme that it builds on has it.
    #[must_use]
    pub fn read(table: &ThemeTable) -> (Self, Vec<Problem>) {
        let (mut palette, mut problems) = (Self::default(), Vec::new());
        if built_in().any(|name| name == table.name.text) {
            let text = format!("the theme '{}' is always there; give yours another name", table.name);
            problems.push(Problem::error(table.name.place, text));
        }
        if let Some((_, base)) = table.lines.iter().find(|(name, _)| name.text == "base") {
            match Self::named(&base.text) {
                Some(named) => palette = named,
                None => {
                    let (names, hint) =
                        (built_in().collect::<Vec<_>>().join(", "), nearest::hint(&base.text, built_in()));
                    let text = format!("'{base}' is not one of the themes to build on ({names}){hint}");
                    problems.push(Problem::error(base.place, text));
                }
            }
        }
        for (name, value) in &table.lines {
            match name.text.as_str() {
                "base" => {}
                "background" => match Colour::read(&value.text) {
                    Ok(colour) => palette.background = colour,
                    Err(text) => problems.push(Problem::error(value.place, text)),
                },
                other => match (Role::named(other), Look::read(&value.text)) {
                    (None, _) => {
                        let known = Role::ALL.into_iter().map(Role::name).chain(["base", "background"]);
                        let text = format!("a theme says nothing of '{other}'{}", nearest::hint(other, known));
                        problems.push(Problem::error(name.place, text));
                    }
                    (Some(_), Err(text)) => problems.push(Problem::error(value.place, text)),
                    (Some(role), Ok(look)) => {
                        palette.looks[role as usize] = look;
                        problems.extend(palette.faint(role).map(|text| Problem::note(value.place, text)));
                    }
                },
            }
        }
        (palette, problems)
    }

    /// What is wrong with a role that can hardly be read.
    fn faint(&self, role: Role) -> Option<String> {
        let look = self.look(role);
        let text = look.text.and_then(Colour::rgb)?;
        let contrast = contrast(text, look.behind.unwrap_or(self.background).rgb()?);
        (contrast < 3.0).then(|| format!("hard to read: contrast {contrast:.1} with what is behind it; 4.5 is good"))
    }

    /// How a role looks.
    #[must_use]
    pub fn look(&self, role: Role) -> Look {
        self.looks.get(role as usize).copied().unwrap_or(PLAIN)
    }

    /// Its style on a terminal of this depth.
    #[must_use]
    pub fn style(&self, role: Role, depth: Depth) -> Style {
        self.look(role).style(depth)
    }

    /// The style of what nothing is drawn on.
    #[must_use]
    pub fn base(&self, depth: Depth) -> Style {
        let plain = self.look(Role::Plain);
        Look { text: plain.text, behind: Some(self.background), modifiers: Modifier::empty() }.style(depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Level, Place, Spelled};

    #[test]
    fn looks_are_read_and_mistakes_told() {
        let look = Look::read("bold #ff8000 on black").expect("a look");
        assert_eq!((look.text, look.behind), (Some(Colour::Rgb(255, 128, 0)), Some(Colour::Ansi(0))));
        assert_eq!(look.modifiers, Modifier::BOLD);
        assert_eq!(Look::read("plain"), Ok(PLAIN));
        for (text, told) in [
            ("blod red", "did you mean 'bold'?"),
            ("red blue", "write 'on blue'"),
            ("red on", "after 'on' a colour"),
            ("bold grren", "did you mean 'green'?"),
            (" ", "are expected"),
        ] {
            let error = Look::read(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    fn table(name: &str, lines: &[(&str, &str)]) -> ThemeTable {
        let spelled = |text: &str, line, column| Spelled { text: text.to_owned(), place: Place { line, column } };
        let line = |(n, (name, value)): (usize, &(&str, &str))| (spelled(name, n + 2, 1), spelled(value, n + 2, 9));
        ThemeTable { name: spelled(name, 1, 8), lines: lines.iter().enumerate().map(line).collect() }
    }

    #[test]
    fn a_theme_builds_on_another_and_its_mistakes_are_left_out() {
        let (mine, problems) = Palette::read(&table("mine", &[("bad", "underlined red"), ("base", "dark")]));
        assert_eq!(problems, []);
        let dark = Palette::named("dark").expect("dark");
        assert_eq!(mine.look(Role::Bad), Look::read("underlined red").expect("a look"));
        assert!(Role::ALL.into_iter().all(|role| role == Role::Bad || mine.look(role) == dark.look(role)));

        let wrong =
            [("base", "drak"), ("bda", "red"), ("good", "gren"), ("background", "#fff"), ("dim", "#222222 on black")];
        let (palette, problems) = Palette::read(&table("mono", &wrong));
        let told: Vec<String> = problems.iter().map(|problem| problem.told("f")).collect();
        assert!(told[0].starts_with("f:1:8: the theme 'mono' is always there"), "{told:#?}");
        assert!(told[1].contains("f:2:9: 'drak' is not one") && told[1].contains("did you mean 'dark'?"), "{told:#?}");
        assert!(told[2].starts_with("f:3:1: a theme says nothing of 'bda'; did you mean 'bad'?"), "{told:#?}");
        assert!(
            told[3].starts_with("f:4:9: 'gren' is no colour") || told[3].contains("did you mean 'green'?"),
            "{told:#?}"
        );
        assert!(told[4].contains("six digits"), "{told:#?}");
        assert!(told[5].contains("note: hard to read"), "{told:#?}");
        assert_eq!((told.len(), problems[5].level), (6, Level::Note));
        assert_eq!(palette.look(Role::Good), Palette::default().look(Role::Good));
    }

    #[test]
    fn by_default_all_colours_are_the_terminals_own() {
        for depth in [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::TrueColor] {
            for name in ["terminal", "mono"] {
                let palette = Palette::named(name).expect(name);
                for role in Role::ALL {
                    let style = palette.style(role, depth);
                    assert_eq!(style.bg, None, "{role:?}");
                    let own =
                        matches!(style.fg, None | Some(ratatui::style::Color::Red | ratatui::style::Color::Green))
                            || matches!(style.fg, Some(ratatui::style::Color::Yellow | ratatui::style::Color::Blue))
                            || matches!(style.fg, Some(ratatui::style::Color::Magenta | ratatui::style::Color::Cyan));
                    assert!(own && (name == "terminal" || style.fg.is_none()), "{role:?}");
                }
                assert_eq!(palette.base(depth), Style::new());
            }
        }
        for name in built_in() {
            let palette = Palette::named(name).expect(name);
            for role in Role::ALL {
                let style = palette.style(role, Depth::None);
                assert_eq!((style.fg, style.bg), (None, None), "{name} {role:?}");
            }
        }
    }

    /// Contrast of each role with what is behind it, as a terminal of this depth shows it.
    fn contrasts(palette: &Palette, depth: Depth) -> Vec<(Role, f64)> {
        let shown = |colour: Colour| {
            use ratatui::style::Color;
            let rgb = |colour: Color| match colour {
                Color::Rgb(r, g, b) => Some((r, g, b)),
                Color::Indexed(number) => Colour::Indexed(number).rgb(),
                basic => (0..16).map(Colour::Ansi).find(|ansi| ansi.at(depth) == Some(basic)).and_then(Colour::rgb),
            };
            colour.at(depth).and_then(rgb)
        };
        let behind = shown(palette.background).expect("a background");
        let of = |role: Role| Some((role, contrast(shown(palette.look(role).text?)?, behind)));
        Role::ALL.into_iter().filter_map(of).collect()
    }

    #[test]
    fn themes_with_a_background_can_be_read_at_every_depth() {
        for (name, wanted) in [("dark", 4.5), ("light", 4.5), ("high-contrast", 7.0)] {
            let palette = Palette::named(name).expect(name);
            for depth in [Depth::TrueColor, Depth::Ansi256, Depth::Ansi16] {
                // Sixteen colours are few, and nobody knows what they really are.
                let wanted = if depth == Depth::Ansi16 { 3.0 } else { wanted };
                let contrasts = contrasts(&palette, depth);
                assert_eq!(contrasts.len(), Role::ALL.len() - 1, "all but the cursor have a colour");
                for (role, contrast) in contrasts {
                    assert!(contrast >= wanted, "{name} {depth:?} {role:?}: {contrast:.2}");
                }
                for role in Role::ALL {
                    assert!(!palette.look(role).modifiers.contains(Modifier::DIM), "how dim dim is, is not known");
                }
            }
        }
    }
}
