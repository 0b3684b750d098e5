//! Colours as people name them, and what a terminal with fewer of them shows instead.

use ratatui::style::Color;

use super::depth::Depth;
use crate::config::nearest;

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The terminal's own foreground or background.
    Default,
    /// One of the terminal's sixteen, which follow its own palette.
    Ansi(u8),
    /// One of the 256 indexed ones, from 16 on.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// Names of the sixteen, and what they are in ratatui.
const ANSI: [(&str, Color); 16] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("white", Color::Gray),
    ("bright-black", Color::DarkGray),
    ("bright-red", Color::LightRed),
    ("bright-green", Color::LightGreen),
    ("bright-yellow", Color::LightYellow),
    ("bright-blue", Color::LightBlue),
    ("bright-magenta", Color::LightMagenta),
    ("bright-cyan", Color::LightCyan),
    ("bright-white", Color::White),
];

/// What xterm shows for the sixteen if nobody has changed them.
const NOMINAL: [(u8, u8, u8); 16] = [
    (0x00, 0x00, 0x00),
    (0xcd, 0x00, 0x00),
    (0x00, 0xcd, 0x00),
    (0xcd, 0xcd, 0x00),
    (0x00, 0x00, 0xee),
    (0xcd, 0x00, 0xcd),
    (0x00, 0xcd, 0xcd),
    (0xe5, 0xe5, 0xe5),
    (0x7f, 0x7f, 0x7f),
    (0xff, 0x00, 0x00),
    (0x00, 0xff, 0x00),
    (0xff, 0xff, 0x00),
    (0x5c, 0x5c, 0xff),
    (0xff, 0x00, 0xff),
    (0x00, 0xff, 0xff),
    (0xff, 0xff, 0xff),
];

impl Colour {
    /// Reads `default`, a name, a number from 0 to 255, or `#rrggbb`.
    ///
    /// # Errors
    /// If it is none of these: what was expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        if lower == "default" {
            return Ok(Self::Default);
        }
        if let Some(digits) = lower.strip_prefix('#') {
            let number = Some(digits).filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()));
            let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let number =
                number.ok_or_else(|| format!("'{text}' is no colour: # is followed by six digits, as in #ff8000"))?;
            let [_, r, g, b] = number.to_be_bytes();
            return Ok(Self::Rgb(r, g, b));
        }
        if lower.bytes().all(|byte| byte.is_ascii_digit()) && !lower.is_empty() {
            let number: u8 = lower.parse().map_err(|_| format!("'{text}' is no colour: numbers go from 0 to 255"))?;
            return Ok(if number < 16 { Self::Ansi(number) } else { Self::Indexed(number) });
        }
        let named = ANSI.iter().zip(0_u8..).find(|((name, _), _)| *name == lower);
        named.map(|(_, number)| Self::Ansi(number)).ok_or_else(|| {
            let known = ANSI.iter().map(|(name, _)| *name).chain(["default"]);
            format!("there is no colour '{text}'{}", nearest::hint(&lower, known))
        })
    }

    /// The colour that a terminal of this depth is told to show; none if it shows none, or its own.
    #[must_use]
    pub fn at(self, depth: Depth) -> Option<Color> {
        match (depth, self) {
            (Depth::None, _) | (_, Self::Default) => None,
            (_, Self::Ansi(number)) => ANSI.get(usize::from(number)).map(|(_, color)| *color),
            (Depth::Ansi16, _) => nearest_of(self.rgb()?, 0..=15).and_then(|number| Self::Ansi(number).at(depth)),
            (_, Self::Indexed(number)) => Some(Color::Indexed(number)),
            (Depth::Ansi256, Self::Rgb(..)) => nearest_of(self.rgb()?, 16..=255).map(Color::Indexed),
            (Depth::TrueColor, Self::Rgb(r, g, b)) => Some(Color::Rgb(r, g, b)),
        }
    }

    /// What it looks like; nothing for the terminal's own, which nobody knows.
    #[must_use]
    pub fn rgb(self) -> Option<(u8, u8, u8)> {
        match self {
            Self::Default => None,
            Self::Ansi(number) | Self::Indexed(number) => Some(rgb_of(number)),
            Self::Rgb(r, g, b) => Some((r, g, b)),
        }
    }
}

/// What an indexed colour looks like: the sixteen, a cube of 6 x 6 x 6, and 24 greys.
fn rgb_of(number: u8) -> (u8, u8, u8) {
    if let Some(nominal) = NOMINAL.get(usize::from(number)) {
        return *nominal;
    }
    if number >= 232 {
        let grey = 8 + (number - 232) * 10;
        return (grey, grey, grey);
    }
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    let cube = number - 16;
    (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
}

fn nearest_of((r, g, b): (u8, u8, u8), numbers: std::ops::RangeInclusive<u8>) -> Option<u8> {
    let distance = |number: &u8| {
        let (x, y, z) = rgb_of(*number);
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(r, x) + square(g, y) + square(b, z)
    };
    numbers.min_by_key(distance)
}

/// Contrast of two colours as WCAG 2 defines it, from 1 (none) to 21 (black on white).
#[must_use]
pub fn contrast(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_and_mistakes_told() {
        for (text, colour) in [
            ("default", Colour::Default),
            ("Red", Colour::Ansi(1)),
            ("bright-white", Colour::Ansi(15)),
            ("7", Colour::Ansi(7)),
            ("208", Colour::Indexed(208)),
            ("#FF8000", Colour::Rgb(255, 128, 0)),
        ] {
            assert_eq!(Colour::read(text), Ok(colour));
        }
        for (text, told) in [
            ("grene", "did you mean 'green'?"),
            ("#ff80", "six digits"),
            ("#ééé", "six digits"),
            ("256", "from 0 to 255"),
            ("", "no colour ''"),
        ] {
            let error = Colour::read(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn fewer_colours_give_the_nearest() {
        let orange = Colour::Rgb(255, 135, 0);
        assert_eq!(orange.at(Depth::TrueColor), Some(Color::Rgb(255, 135, 0)));
        assert_eq!(orange.at(Depth::Ansi256), Some(Color::Indexed(208)));
        assert_eq!(orange.at(Depth::Ansi16), Some(Color::Yellow));
        assert_eq!(orange.at(Depth::None), None);
        assert_eq!(Colour::Rgb(0x12, 0x12, 0x12).at(Depth::Ansi256), Some(Color::Indexed(233)));
        assert_eq!(Colour::Indexed(16).at(Depth::Ansi16), Some(Color::Black));
        assert_eq!(Colour::Ansi(1).at(Depth::TrueColor), Some(Color::Red));
        assert_eq!(Colour::Default.at(Depth::TrueColor), None);
        // Each of the cube and the greys is nearest to itself.
        for number in 16..=255 {
            let (r, g, b) = rgb_of(number);
            let found = nearest_of((r, g, b), 16..=255).map(rgb_of);
            assert_eq!(found, Some((r, g, b)));
        }
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        let (black, white, grey) = ((0, 0, 0), (255, 255, 255), (0x77, 0x77, 0x77));
        assert!((contrast(black, white) - 21.0).abs() < 0.001);
        assert!((contrast(white, white) - 1.0).abs() < 0.001);
        assert!((contrast(grey, white) - 4.48).abs() < 0.01);
    }
}
