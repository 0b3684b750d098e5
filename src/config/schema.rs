//! All that can be set, beside keys and themes: one table from which reading, the example and `umtui config show` come.

/// What a setting's value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Any word; who uses it says whether it means something.
    Word,
    /// `true` or `false`.
    Flag,
    /// A time such as `"300ms"`.
    Time,
    /// A whole number from 1.
    Count,
    /// Words by words: `{ "this" = "that" }`.
    Map,
    /// `"auto"`, or a list of these words.
    Words(&'static [&'static str]),
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its table and its name in it: `look.theme`.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is if nothing is said, as it stands in the file.
    pub default: &'static str,
    /// What it does, in lines.
    pub doc: &'static [&'static str],
}

/// Every setting, by tables.
pub static SETTINGS: &[Setting] = &[
    Setting {
        name: "look.theme",
        kind: Kind::Word,
        default: "\"terminal\"",
        doc: &[
            "terminal (the terminal's own colours), dark, light, high-contrast, mono (no colours),",
            "or one of your own, see below.",
        ],
    },
    Setting {
        name: "look.color",
        kind: Kind::OneOf(&["auto", "never", "16", "256", "truecolor"]),
        default: "\"auto\"",
        doc: &[
            "How many colours the terminal has. auto: as FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR, COLORTERM and",
            "TERM say, in this order. NO_COLOR overrules it, and --color both.",
        ],
    },
    Setting {
        name: "look.glyphs",
        kind: Kind::OneOf(&["auto", "unicode", "ascii"]),
        default: "\"auto\"",
        doc: &["Lines and bars. auto: as TERM and LC_ALL, LC_CTYPE or LANG say."],
    },
    Setting {
        name: "start.screen",
        kind: Kind::OneOf(&["overview", "calls", "heatmap", "memory", "events", "output"]),
        default: "\"overview\"",
        doc: &["The first screen. --screen overrules it."],
    },
    Setting {
        name: "calls.columns",
        kind: Kind::Words(&["total", "self", "share", "count", "failed", "min", "average", "p50", "p99", "max"]),
        default: "\"auto\"",
        doc: &[
            "Columns beside the name, in this order and as far as they fit: auto, or a list such as",
            "[\"total\", \"count\", \"p99\"] of",
            "total, self, share, count, failed, min, average, p50, p99, max.",
        ],
    },
    Setting {
        name: "events.columns",
        kind: Kind::Words(&["start", "end", "took", "process", "where", "kind", "event", "from"]),
        default: "\"auto\"",
        doc: &[
            "Columns from left to right, as far as they fit: auto, or a list such as [\"start\", \"event\", \"from\"] of",
            "start, end, took, process, where, kind, event, from. The event itself is always shown, at the end if it",
            "is not in the list.",
        ],
    },
    Setting {
        name: "thresholds.slow",
        kind: Kind::Time,
        default: "\"1ms\"",
        doc: &[
            "Calls and work of the GPU that take so long have a ! before their time in the events, and functions half of",
            "whose calls do in the calls. The filter slow-calls has a threshold of its own: write one of that name.",
        ],
    },
    Setting {
        name: "thresholds.storm",
        kind: Kind::Count,
        default: "1000",
        doc: &[
            "Calls a second from which on a function that waits for the GPU, or asks whether it has finished, has a ! in",
            "the calls, over the time that is looked at.",
        ],
    },
    Setting {
        name: "source.map",
        kind: Kind::Map,
        default: "{}",
        doc: &[
            "Where source lies here that was compiled elsewhere, by the beginnings of paths, the longest first, as in",
            "{ \"/build/src\" = \"~/src\" }: what is opened at a source line is looked for there.",
        ],
    },
    Setting {
        name: "input.mouse",
        kind: Kind::Flag,
        default: "false",
        doc: &[
            "Whether the wheel scrolls. The terminal's own way to select text needs Shift then, in most terminals;",
            "in tmux it may be gone. --mouse turns it on for once.",
        ],
    },
    Setting {
        name: "input.prefix-delay",
        kind: Kind::Time,
        default: "\"300ms\"",
        doc: &["Time after the first of two keys, as in g g, until a box shows what may follow."],
    },
];

/// The table that a setting is in, and its name there.
#[must_use]
pub fn parts(setting: &Setting) -> (&'static str, &'static str) {
    setting.name.split_once('.').unwrap_or(("", setting.name))
}

/// Names of the tables that settings are in.
pub fn tables() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    SETTINGS.iter().map(|setting| parts(setting).0).filter(move |table| std::mem::replace(&mut last, table) != *table)
}
