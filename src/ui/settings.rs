//! What the screens start with: the config file, what the command line overrules of it, and the terminal.

use std::time::Duration;

use super::keys::{Keymap, user};
use super::screens::ScreenId;
use super::screens::calls::columns::{self, Chosen};
use super::screens::events::columns as event_columns;
use super::setup::{CONTINUATIONS, Setup};
use super::source_map::SourceMap;
use super::theme::{Charset, ColorChoice, Depth, Glyphs, Palette, Theme, palette};
use super::thresholds::Thresholds;
use crate::config::{Config, Level, Problem, Value, nearest};

/// What the command line says about the screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags {
    /// Colours to use.
    pub color: ColorChoice,
    /// The screen to start on.
    pub first: Option<ScreenId>,
    /// The wheel is to scroll, whatever the file says.
    pub mouse: bool,
}

/// What holds, and where it comes from.
#[derive(Clone, Debug)]
pub struct Settled {
    /// What the screens start with.
    pub setup: Setup,
    /// What decided the number of colours.
    pub color_by: &'static str,
    /// What decided the glyphs.
    pub glyphs_by: &'static str,
    /// What is wrong with the config file, in the order of its lines.
    pub problems: Vec<Problem>,
}

/// Settles what holds. What is wrong is left at its default.
#[must_use]
pub fn settle(config: &Config, flags: Flags, variable: impl Fn(&str) -> Option<String>) -> Settled {
    let mut problems = config.problems.clone();
    let (keymap, wrong_keys) = Keymap::with(&config.keys);
    problems.extend(wrong_keys);
    for context in &config.contexts {
        problems.extend(user::context_problem(&context.text).map(|text| Problem::error(context.place, text)));
    }
    let palette = theme(config, &mut problems);
    // The schema lets through only what can be read here.
    let color = config.word("look.color").parse().unwrap_or_default();
    let (depth, color_by) = Depth::detect(flags.color, color, &variable);
    let (charset, glyphs_by) = match config.word("look.glyphs").as_str() {
        "unicode" => (Charset::Unicode, "the config file"),
        "ascii" => (Charset::Ascii, "the config file"),
        _ => (Charset::detect(&variable), "the locale"),
    };
    let first = flags.first.or_else(|| config.word("start.screen").parse().ok()).unwrap_or_default();
    problems.sort_by_key(|problem| problem.place);
    let setup = Setup {
        theme: Theme::new(&palette, depth, Glyphs::of(charset)),
        palettes: palette::all(&config.themes),
        keymap,
        first,
        continuations: delay(config),
        mouse: flags.mouse || config.value("input.mouse") == Some(Value::Flag(true)),
        columns: chosen(config),
        event_columns: event_columns(config),
        thresholds: thresholds(config),
        sources: sources(config, variable("HOME")),
        links: Default::default(),
        look: Default::default(),
        filters: crate::filter::user_folder(),
        filter_file: None,
        state_folder: super::memory::folder(&variable),
        first_is_wanted: flags.first.is_some(),
        notice: notice(config, &problems),
    };
    Settled { setup, color_by, glyphs_by, problems }
}

/// The theme that is asked for. The others of the user's are read too, for what is wrong with them.
fn theme(config: &Config, problems: &mut Vec<Problem>) -> Palette {
    let name = config.word("look.theme");
    let mut found = Palette::named(&name);
    for table in &config.themes {
        let (own, wrong) = Palette::read(table);
        problems.extend(wrong);
        if table.name.text == name {
            found = found.or(Some(own));
        }
    }
    found.unwrap_or_else(|| {
        let mut names: Vec<&str> = palette::built_in().collect();
        names.extend(config.themes.iter().map(|table| table.name.text.as_str()));
        let hint = nearest::hint(&name, names.iter().copied());
        let text = format!("there is no theme '{name}'{hint}; there are {}", names.join(", "));
        problems.push(Problem::error(config.place("look.theme"), text));
        Palette::default()
    })
}

fn delay(config: &Config) -> Duration {
    match config.value("input.prefix-delay") {
        Some(Value::Time(ns)) => Duration::from_nanos(ns),
        _ => CONTINUATIONS,
    }
}

fn chosen(config: &Config) -> Chosen {
    match config.value("calls.columns") {
        Some(Value::Words(words)) => {
            let column = |title: &str| columns::ORDER.into_iter().find(|column| columns::title(*column) == title);
            Chosen::Only(words.iter().filter_map(|word| column(&word.text)).collect())
        }
        _ => Chosen::Automatic,
    }
}

fn event_columns(config: &Config) -> event_columns::Chosen {
    match config.value("events.columns") {
        Some(Value::Words(words)) => event_columns::Chosen::Only(
            words
                .iter()
                .filter_map(|word| event_columns::ORDER.into_iter().find(|column| column.title() == word.text))
                .collect(),
        ),
        _ => event_columns::Chosen::Automatic,
    }
}

fn sources(config: &Config, home: Option<String>) -> SourceMap {
    let Some(Value::Map(pairs)) = config.value("source.map") else { return SourceMap::default() };
    let pairs = pairs.iter().map(|(from, to)| (from.as_str(), to.as_str()));
    SourceMap::new(pairs, home.as_deref().filter(|home| !home.is_empty()).map(std::path::Path::new))
}

fn thresholds(config: &Config) -> Thresholds {
    let usual = Thresholds::default();
    let slow_ns = match config.value("thresholds.slow") {
        Some(Value::Time(ns)) => ns,
        _ => usual.slow_ns,
    };
    let storm = match config.value("thresholds.storm") {
        Some(Value::Count(count)) => count,
        _ => usual.storm,
    };
    Thresholds { slow_ns, storm }
}

/// What is said at the start of a file that has mistakes.
fn notice(config: &Config, problems: &[Problem]) -> Option<String> {
    let mut errors = problems.iter().filter(|problem| problem.level == Level::Error);
    let first = errors.next()?;
    let file = config.file.as_deref()?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let more = match errors.count() {
        0 => String::new(),
        more => format!("{more} more; "),
    };
    Some(format!("defaults used ({more}see `umtui config check`): {}", first.told(&name)))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::{default, read, schema};
    use crate::session::view::Column;
    use crate::ui::keys::{Context, Key, Match};
    use crate::ui::theme::Role;

    fn settled(text: &str) -> Settled {
        let config = Config { file: Some(PathBuf::from("/home/me/config.toml")), ..read(text) };
        let terminal = |name: &str| match name {
            "TERM" => Some("xterm-256color".to_owned()),
            "LANG" => Some("C.UTF-8".to_owned()),
            _ => None,
        };
        settle(&config, Flags::default(), terminal)
    }

    #[test]
    fn with_no_file_all_is_as_usual() {
        let settled = settled("");
        let usual = Theme::new(&Palette::default(), Depth::Ansi256, Glyphs::of(Charset::Unicode));
        assert_eq!(settled.setup.theme, usual);
        assert_eq!(settled.setup.first, ScreenId::Overview);
        assert_eq!(settled.setup.continuations, CONTINUATIONS);
        assert_eq!(settled.setup.columns, Chosen::Automatic);
        assert_eq!(settled.setup.event_columns, event_columns::Chosen::Automatic);
        assert_eq!(settled.setup.thresholds, Thresholds::default());
        assert_eq!((settled.color_by, settled.setup.notice, settled.problems), ("TERM", None, vec![]));
    }

    #[test]
    fn a_file_changes_what_it_says() {
        let settled = settled(
            "[look]\ntheme = \"mine\"\ncolor = \"truecolor\"\nglyphs = \"ascii\"\n[start]\nscreen = \"calls\"\n\
             [calls]\ncolumns = [\"p99\", \"self\"]\n[events]\ncolumns = [\"from\", \"event\"]\n\
             [source]\nmap = { \"/build/src\" = \"/src\" }\n[thresholds]\nslow = \"5us\"\nstorm = 0x10\n[input]\nprefix-delay = \"0ms\"\n\
             [keys.calls]\n\"ctrl-x\" = \"fold-all\"\n[theme.mine]\nbad = \"underlined #ff0000\"\n",
        );
        assert_eq!(settled.problems, []);
        let setup = settled.setup;
        assert_eq!(setup.theme.glyphs, Glyphs::of(Charset::Ascii));
        assert_eq!(setup.theme.style(Role::Bad).fg, Some(ratatui::style::Color::Rgb(255, 0, 0)));
        assert_eq!(setup.first, ScreenId::Calls);
        assert_eq!(setup.columns, Chosen::Only(vec![Column::P99, Column::SelfTime]));
        let (from, event) = (event_columns::Column::From, event_columns::Column::Event);
        assert_eq!(setup.event_columns, event_columns::Chosen::Only(vec![from, event]));
        assert_eq!(setup.thresholds, Thresholds { slow_ns: 5_000, storm: 16 });
        assert_eq!(setup.sources.here("/build/src/a.cu"), std::path::Path::new("/src/a.cu"));
        assert_eq!(setup.continuations, Duration::ZERO);
        let keys = [Key::parse("Ctrl-x").expect("a key")];
        assert!(matches!(setup.keymap.find(Context::Calls, &keys), Match::Action(_)));
    }

    #[test]
    fn the_command_line_overrules_the_file() {
        let config = read("[look]\ncolor = \"16\"\n[start]\nscreen = \"calls\"\n");
        let flags = Flags { color: ColorChoice::Fixed(Depth::None), first: Some(ScreenId::Output), mouse: true };
        let settled = settle(&config, flags, |_| None);
        assert_eq!((settled.setup.theme.depth, settled.color_by), (Depth::None, "--color"));
        assert_eq!((settled.setup.first, settled.setup.mouse), (ScreenId::Output, true));
    }

    #[test]
    fn mistakes_of_every_kind_are_told_in_order_and_the_first_on_the_screen() {
        let settled = settled(
            "[look]\ntheme = \"mien\"\ncolor = \"255\"\n[keys.cals]\n\"x\" = \"top\"\n[keys]\n\"ctrl-m\" = \"top\"\n\
             [theme.mine]\nbad = \"rde\"\n",
        );
        let told: Vec<String> = settled.problems.iter().map(|problem| problem.told("f")).collect();
        let begins = [
            "f:2:9: there is no theme 'mien'; did you mean 'mine'?; there are terminal, ",
            "f:3:9: '255' is not one of auto, never, 16, 256, truecolor; did you mean '256'?",
            "f:4:7: there are no keys of 'cals'; did you mean 'calls'?",
            "f:7:1: no terminal can send 'ctrl-m'",
            "f:9:7: there is no colour 'rde'",
        ];
        assert_eq!(told.len(), begins.len(), "{told:#?}");
        for (told, begin) in told.iter().zip(begins) {
            assert!(told.starts_with(begin), "{told}\nnot {begin}");
        }
        let notice = settled.setup.notice.expect("a notice");
        let begin = "defaults used (4 more; see `umtui config check`): config.toml:2:9: there is no theme";
        assert!(notice.starts_with(begin), "{notice}");
        assert_eq!(settled.setup.theme.depth, Depth::Ansi256);
    }

    #[test]
    fn the_schema_lists_what_the_screens_know() {
        let words = |name: &str| match schema::SETTINGS.iter().find(|setting| setting.name == name).map(|s| s.kind) {
            Some(schema::Kind::OneOf(words) | schema::Kind::Words(words)) => words.to_vec(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(words("start.screen"), ScreenId::ALL.map(ScreenId::name));
        assert_eq!(words("calls.columns"), columns::ORDER.map(columns::title));
        assert_eq!(words("events.columns"), event_columns::ORDER.map(event_columns::Column::title));
        assert!(words("look.color").iter().all(|word| word.parse::<ColorChoice>().is_ok()));
        let delay = schema::SETTINGS.iter().find(|setting| setting.name == "input.prefix-delay").and_then(default);
        assert_eq!(delay, Some(Value::Time(CONTINUATIONS.as_nanos() as u64)));
        let theme = schema::SETTINGS.iter().find(|setting| setting.name == "look.theme").expect("a theme");
        assert_eq!(theme.default, format!("{:?}", palette::built_in().next().expect("a theme")));
        assert!(palette::built_in().all(|name| theme.doc.join(" ").contains(name)));
        let example = crate::config::example::document();
        assert!(Role::ALL.into_iter().all(|role| example.replace("\n# ", " ").contains(role.name())));
    }
}
