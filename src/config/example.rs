//! The commented example: every setting with its default, and how keys and themes are written.

use std::fmt::Write as _;

use super::schema::{self, SETTINGS};

const HEAD: &str = "\
# Settings of umtui. Copy this to ~/.config/umtui/config.toml (or $XDG_CONFIG_HOME/umtui/config.toml, or a file that
# UMTUI_CONFIG or --config names) and take away the # before what you change. Each line shows the default.
# `umtui config check` says what is wrong with a file, `umtui config show` what is in force and why.
";

const KEYS: &str = "
# Keys: of one context (overview, calls, events, output, help, ...) or, under [keys], wherever the action means
# something. Two keys with a space between them are pressed one after the other; \"none\" takes a key away.
# docs/keys.md lists contexts, actions and their keys. For example:
#
#     [keys]
#     \"ctrl-r\" = \"redraw\"
#
#     [keys.calls]
#     \"ctrl-x\" = \"fold-all\"
#     \"x f\" = \"flat\"
#     \"S\" = \"none\"
";

const THEMES: &str = "
# Themes of your own, by roles: plain, dim, strong, heading, cursor, found, good, warning, bad, accent, runtime, driver, site,
# gpu, badge, badge-held, gpu-0, gpu-1, gpu-2, gpu-3, gpu-4, gpu-5 (devices).
# Each is attributes (bold, dim, italic, underlined, reversed) and a colour, or two with \"on\"
# between them: a name (red, bright-blue), a number from 0 to 255, #rrggbb, or default. What is not said is as in the
# theme that it builds on. For example:
#
#     [theme.mine]
#     base = \"dark\"
#     background = \"#000000\"
#     bad = \"bold underlined #ff5555\"
#     site = \"italic 141\"
";

/// The example. It says nothing but the defaults, and would if all of it were taken in.
#[must_use]
pub fn document() -> String {
    let mut out = String::from(HEAD);
    for table in schema::tables() {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n[{table}]\n");
        for setting in SETTINGS.iter().filter(|setting| schema::parts(setting).0 == table) {
            for line in setting.doc {
                let _ = writeln!(out, "# {line}");
            }
            let _ = writeln!(out, "#{} = {}", schema::parts(setting).1, setting.default);
        }
    }
    out + KEYS + THEMES
}
