//! How many colours to use.

use std::str::FromStr;

/// What the user asked for, by `--color` or in the config file.
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
            _ => Err(format!("'{text}' is not one of auto, never, 16, 256, truecolor")),
        }
    }
}

impl Depth {
    /// Its name on the command line and in config files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "never",
            Self::Ansi16 => "16",
            Self::Ansi256 => "256",
            Self::TrueColor => "truecolor",
        }
    }

    /// The depth, and what decided it: `--color`, `NO_COLOR`, the config file, `FORCE_COLOR`, `CLICOLOR_FORCE`,
    /// `CLICOLOR`, a `TERM` without colours, `COLORTERM`, `TERM`; the first of these that says anything.
    ///
    /// `NO_COLOR` overrules the config file, which may have come from another machine. `COLORTERM` is not forwarded by
    /// ssh, so `TERM` often has the last word.
    pub fn detect(
        flag: ColorChoice,
        config: ColorChoice,
        variable: impl Fn(&str) -> Option<String>,
    ) -> (Self, &'static str) {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let ColorChoice::Fixed(depth) = flag {
            return (depth, "--color");
        }
        if set("NO_COLOR").is_some() {
            return (Self::None, "NO_COLOR");
        }
        if let ColorChoice::Fixed(depth) = config {
            return (depth, "the config file");
        }
        let term = set("TERM").unwrap_or_default();
        let colorterm = match set("COLORTERM").as_deref() {
            Some("truecolor" | "24bit") => Some((Self::TrueColor, "COLORTERM")),
            _ => None,
        };
        // What there is, for terminals that have colours.
        let most = || colorterm.unwrap_or((by_term(&term), "TERM")).0;
        match set("FORCE_COLOR").as_deref() {
            None => {}
            Some("0" | "false") => return (Self::None, "FORCE_COLOR"),
            Some("2") => return (Self::Ansi256, "FORCE_COLOR"),
            Some("3") => return (Self::TrueColor, "FORCE_COLOR"),
            Some(_) => return (most(), "FORCE_COLOR"),
        }
        if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            return (most(), "CLICOLOR_FORCE");
        }
        if set("CLICOLOR").as_deref() == Some("0") {
            return (Self::None, "CLICOLOR");
        }
        if has_no_colour(&term) {
            return (Self::None, "TERM");
        }
        colorterm.unwrap_or((by_term(&term), "TERM"))
    }
}

fn by_term(term: &str) -> Depth {
    match term {
        _ if term.contains("direct") => Depth::TrueColor,
        _ if term.contains("256color") => Depth::Ansi256,
        _ => Depth::Ansi16,
    }
}

fn has_no_colour(term: &str) -> bool {
    term.is_empty() || term == "dumb" || term.starts_with("vt1") || term.starts_with("vt2") || term.ends_with("-m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_says_anything_decides() {
        let auto = ColorChoice::Auto;
        let fixed = ColorChoice::Fixed;
        let (none, few, many, all) = (Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::TrueColor);
        type Case = (ColorChoice, ColorChoice, &'static str, Depth, &'static str);
        let cases: [Case; 28] = [
            (auto, auto, "TERM=xterm-256color", many, "TERM"),
            (auto, auto, "TERM=xterm", few, "TERM"),
            (auto, auto, "TERM=linux", few, "TERM"),
            (auto, auto, "TERM=xterm-direct", all, "TERM"),
            (auto, auto, "TERM=dumb", none, "TERM"),
            (auto, auto, "", none, "TERM"),
            (auto, auto, "TERM=vt220", none, "TERM"),
            (auto, auto, "TERM=xterm-m", none, "TERM"),
            (auto, auto, "TERM=xterm COLORTERM=truecolor", all, "COLORTERM"),
            (auto, auto, "TERM=xterm COLORTERM=yes", few, "TERM"),
            (auto, auto, "TERM=dumb COLORTERM=truecolor", none, "TERM"),
            (auto, auto, "TERM=xterm COLORTERM=truecolor NO_COLOR=1", none, "NO_COLOR"),
            (auto, auto, "TERM=xterm NO_COLOR=", few, "TERM"),
            (auto, auto, "TERM=xterm NO_COLOR=1 FORCE_COLOR=3", none, "NO_COLOR"),
            (auto, auto, "TERM=xterm NO_COLOR=1 CLICOLOR_FORCE=1", none, "NO_COLOR"),
            (auto, auto, "TERM=xterm FORCE_COLOR=0", none, "FORCE_COLOR"),
            (auto, auto, "TERM=dumb FORCE_COLOR=1", few, "FORCE_COLOR"),
            (auto, auto, "TERM=xterm FORCE_COLOR=2", many, "FORCE_COLOR"),
            (auto, auto, "TERM=dumb FORCE_COLOR=3 CLICOLOR=0", all, "FORCE_COLOR"),
            (auto, auto, "TERM=xterm-256color FORCE_COLOR=true", many, "FORCE_COLOR"),
            (auto, auto, "TERM=dumb CLICOLOR_FORCE=1 CLICOLOR=0", few, "CLICOLOR_FORCE"),
            (auto, auto, "TERM=dumb CLICOLOR_FORCE=0", none, "TERM"),
            (auto, auto, "TERM=xterm CLICOLOR=0 COLORTERM=truecolor", none, "CLICOLOR"),
            (auto, auto, "TERM=xterm CLICOLOR=1", few, "TERM"),
            (auto, fixed(few), "TERM=dumb NO_COLOR=1", none, "NO_COLOR"),
            (auto, fixed(few), "TERM=dumb FORCE_COLOR=3", few, "the config file"),
            (fixed(many), fixed(few), "TERM=dumb NO_COLOR=1", many, "--color"),
            (fixed(none), auto, "TERM=xterm FORCE_COLOR=3", none, "--color"),
        ];
        for (flag, config, variables, depth, by) in cases {
            let variable = |name: &str| {
                let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
                pairs.find(|(n, _)| *n == name).map(|(_, value)| value.to_owned())
            };
            assert_eq!(Depth::detect(flag, config, variable), (depth, by), "{flag:?} {config:?} {variables}");
        }
    }

    #[test]
    fn choices_parse() {
        for depth in [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::TrueColor] {
            assert_eq!(depth.name().parse(), Ok(ColorChoice::Fixed(depth)));
        }
        assert_eq!("auto".parse(), Ok(ColorChoice::Auto));
        assert!("red".parse::<ColorChoice>().is_err());
    }
}
