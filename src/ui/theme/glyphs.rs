//! The glyphs, each with a form in plain ASCII.

/// Characters that the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Unicode,
    /// Nothing beyond ASCII.
    Ascii,
}

impl Charset {
    /// What the locale and the terminal type allow.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        if variable("TERM").as_deref() == Some("dumb") {
            return Self::Ascii;
        }
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| variable(name).filter(|v| !v.is_empty()));
        let locale = locale.unwrap_or_default().to_ascii_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") { Self::Unicode } else { Self::Ascii }
    }
}

/// The glyphs of one character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// The set.
    pub charset: Charset,
    /// Stands for text that was cut off.
    pub ellipsis: &'static str,
    /// The rule under the title.
    pub rule: &'static str,
    /// Between a list and the pane beside it.
    pub divider: &'static str,
    /// Heights of a spark, lowest first.
    pub spark: &'static [&'static str; 8],
    /// Corners of a popup: top left, top right, bottom left, bottom right.
    pub corners: [&'static str; 4],
}

impl Glyphs {
    /// The glyphs of a set.
    pub fn of(charset: Charset) -> Self {
        match charset {
            Charset::Unicode => Self {
                charset,
                ellipsis: "…",
                rule: "─",
                divider: "│",
                spark: &["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
                corners: ["┌", "┐", "└", "┘"],
            },
            Charset::Ascii => Self {
                charset,
                ellipsis: "...",
                rule: "-",
                divider: "|",
                spark: &[".", ":", "-", "=", "+", "*", "#", "@"],
                corners: ["+"; 4],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_set_locale_variable_decides() {
        let cases: [(&[(&str, &str)], Charset); 6] = [
            (&[("LANG", "de_DE.UTF-8")], Charset::Unicode),
            (&[("LANG", "C")], Charset::Ascii),
            (&[("LANG", "en_US.utf8"), ("LC_ALL", "C")], Charset::Ascii),
            (&[("LANG", "C"), ("LC_CTYPE", "C.UTF-8"), ("LC_ALL", "")], Charset::Unicode),
            (&[("LANG", "en_US.UTF-8"), ("TERM", "dumb")], Charset::Ascii),
            (&[], Charset::Ascii),
        ];
        for (variables, charset) in cases {
            let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(Charset::detect(variable), charset, "{variables:?}");
        }
    }
}
