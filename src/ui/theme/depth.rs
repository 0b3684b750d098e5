//! How many colours to use.

use std::str::FromStr;

/// What the user asked for, by `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// Find out from the environment.
    #[default]
    Auto,
    /// This many, whatever the environment says.
    Fixed(Depth),
}

/// Colours that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None; bold, dim and reverse video only.
    None,
    /// The terminal's sixteen, which follow its own palette.
    Ansi16,
    /// The 256 indexed ones.
    Ansi256,
    /// 24 bits.
    TrueColor,
}

impl FromStr for ColorChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" | "never" => Ok(Self::Fixed(Depth::None)),
            "16" => Ok(Self::Fixed(Depth::Ansi16)),
            "256" => Ok(Self::Fixed(Depth::Ansi256)),
            "truecolor" | "24bit" => Ok(Self::Fixed(Depth::TrueColor)),
            _ => Err(format!("'{text}' is not one of auto, none, 16, 256, truecolor")),
        }
    }
}

impl Depth {
    /// The depth for this choice and these variables: the choice, then `NO_COLOR`, `COLORTERM` (which ssh does
    /// not forward) and `TERM`.
    pub fn detect(choice: ColorChoice, variable: impl Fn(&str) -> Option<String>) -> Self {
        if let ColorChoice::Fixed(depth) = choice {
            return depth;
        }
        let term = variable("TERM").unwrap_or_default();
        if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) || has_no_colour(&term) {
            return Self::None;
        }
        match variable("COLORTERM").as_deref() {
            Some("truecolor" | "24bit") => Self::TrueColor,
            _ if term.contains("direct") => Self::TrueColor,
            _ if term.contains("256color") => Self::Ansi256,
            _ => Self::Ansi16,
        }
    }
}

fn has_no_colour(term: &str) -> bool {
    term.is_empty() || term == "dumb" || term.starts_with("vt1") || term.starts_with("vt2") || term.ends_with("-m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_before_no_color_before_colorterm_before_term() {
        let auto = ColorChoice::Auto;
        let fixed = ColorChoice::Fixed(Depth::Ansi256);
        type Case = (ColorChoice, &'static [(&'static str, &'static str)], Depth);
        let cases: [Case; 11] = [
            (auto, &[("TERM", "xterm-256color")], Depth::Ansi256),
            (auto, &[("TERM", "xterm")], Depth::Ansi16),
            (auto, &[("TERM", "linux")], Depth::Ansi16),
            (auto, &[("TERM", "dumb")], Depth::None),
            (auto, &[], Depth::None),
            (auto, &[("TERM", "vt220")], Depth::None),
            (auto, &[("TERM", "xterm"), ("COLORTERM", "truecolor")], Depth::TrueColor),
            (auto, &[("TERM", "dumb"), ("COLORTERM", "truecolor")], Depth::None),
            (auto, &[("TERM", "xterm"), ("COLORTERM", "truecolor"), ("NO_COLOR", "1")], Depth::None),
            (auto, &[("TERM", "xterm"), ("NO_COLOR", "")], Depth::Ansi16),
            (fixed, &[("TERM", "dumb"), ("NO_COLOR", "1")], Depth::Ansi256),
        ];
        for (choice, variables, depth) in cases {
            let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(Depth::detect(choice, variable), depth, "{variables:?}");
        }
    }

    #[test]
    fn choices_parse() {
        assert_eq!("truecolor".parse(), Ok(ColorChoice::Fixed(Depth::TrueColor)));
        assert_eq!("auto".parse(), Ok(ColorChoice::Auto));
        assert!("red".parse::<ColorChoice>().is_err());
    }
}
