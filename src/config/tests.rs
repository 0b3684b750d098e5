//! Files as people write them.

use proptest::prelude::*;

use super::*;

fn told(text: &str) -> Vec<String> {
    read(text).problems.iter().map(|problem| problem.told("f")).collect()
}

#[test]
fn settings_keys_and_themes_are_read() {
    let config = read(
        "[look]\ntheme = \"mine\"\ncolor = 256\n\n[calls]\ncolumns = [\"total\", \"p99\"]\n\n[input]\n\
         prefix-delay = \"1s\"\n\n[keys]\n\"x\" = \"redraw\"\n\n[keys.calls]\n\"ctrl-x\" = \"fold-all\"\n\n\
         [theme.mine]\nbad = \"red\"\n",
    );
    assert_eq!(config.problems, []);
    assert_eq!((config.word("look.theme"), config.word("look.color")), ("mine".to_owned(), "256".to_owned()));
    assert_eq!(config.place("look.theme"), Some(Place { line: 2, column: 9 }));
    assert_eq!(config.word("start.screen"), "overview");
    assert_eq!(config.place("start.screen"), None);
    assert_eq!(config.value("input.prefix-delay"), Some(Value::Time(1_000_000_000)));
    let words = match config.value("calls.columns") {
        Some(Value::Words(words)) => words.into_iter().map(|word| word.text).collect(),
        other => vec![format!("{other:?}")],
    };
    assert_eq!(words, ["total", "p99"]);
    let keys: Vec<(Option<&str>, &str, &str)> = config
        .keys
        .iter()
        .map(|line| {
            (line.context.as_ref().map(|c| c.text.as_str()), line.keys.text.as_str(), line.action.text.as_str())
        })
        .collect();
    assert_eq!(keys, [(None, "x", "redraw"), (Some("calls"), "ctrl-x", "fold-all")]);
    assert_eq!(config.keys[1].keys.place, Place { line: 15, column: 1 });
    assert_eq!((config.themes[0].name.text.as_str(), config.themes[0].lines[0].1.text.as_str()), ("mine", "red"));
}

#[test]
fn several_mistakes_are_told_at_once_and_the_rest_is_used() {
    let text = "theme = \"dark\"\n[look]\ncolour = \"256\"\ntheme = 7\nglyphs = \"asci\"\n[start]\nscreen = \"calls\"\n\
                [calls]\ncolumns = [\"total\", \"p98\"]\n[loko]\n[input]\nprefix-delay = \"soon\"\n[keys]\nx = 1\n[theme]\nmine = \"dark\"\n";
    let begins = [
        "f:1:1: there is no setting 'theme' outside of tables; it belongs under [look]",
        "f:3:1: there is no setting 'colour' under [look]; did you mean 'color'?",
        "f:4:9: a word in quotes is expected, not integer",
        "f:5:10: 'asci' is not one of auto, unicode, ascii; did you mean 'ascii'?",
        "f:9:21: 'p98' is not one of total, self",
        "f:10:2: there is no table [loko]; did you mean 'look'?",
        "f:12:16: 'soon' is no time",
        "f:14:5: an action's name in quotes is expected",
        "f:16:1: a theme is a table: write [theme.mine]",
    ];
    // `theme = "dark"` at the top and a [theme] table are two of one name for TOML too.
    let told: Vec<String> = told(text).into_iter().filter(|line| !line.contains("no TOML")).collect();
    let told: Vec<&String> = told.iter().collect();
    for begin in &begins[1..8] {
        assert!(told.iter().any(|line| line.starts_with(begin)), "{begin}\nnot in {told:#?}");
    }
    assert!(
        self::told("theme = \"dark\"\n")[0].starts_with("f:1:1: 'theme' is a table"),
        "{:?}",
        self::told("theme = \"dark\"\n")
    );
    assert!(
        self::told("color = \"256\"\n")[0]
            .starts_with("f:1:1: there is no setting 'color' outside of tables; it belongs under [look]")
    );
    assert!(self::told("[theme]\nmine = \"dark\"\n")[0].starts_with("f:2:1: a theme is a table: write [theme.mine]"));
    let config = read(text);
    assert_eq!(config.word("start.screen"), "calls");
    assert_eq!(config.word("look.glyphs"), "auto");
}

#[test]
fn what_is_no_toml_is_told_once_a_line_and_the_other_lines_are_used() {
    let text = "[look]\ntheme = \"dark\ncolor = 16\n[start]\nscreen = \"events\"\nother = = 3\n";
    let told = told(text);
    assert!(told[0].starts_with("f:2:") && told[0].contains("this is no TOML"), "{told:#?}");
    assert!(told.iter().filter(|line| line.starts_with("f:2:")).count() == 1, "{told:#?}");
    assert!(told.iter().any(|line| line.starts_with("f:6:")), "{told:#?}");
    let config = read(text);
    assert_eq!(config.word("look.theme"), "terminal");
    assert_eq!(config.word("start.screen"), "events");
}

#[test]
fn every_setting_has_a_default_of_its_kind_and_a_text() {
    for setting in schema::SETTINGS {
        assert!(default(setting).is_some(), "{}", setting.name);
        assert!(!setting.doc.is_empty() && setting.doc.iter().all(|line| line.len() <= 110), "{}", setting.name);
    }
    let mut tables: Vec<&str> = schema::tables().collect();
    let count = tables.len();
    tables.sort_unstable();
    tables.dedup();
    assert_eq!(tables.len(), count, "settings of one table stand together");
}

#[test]
fn the_example_says_the_defaults() {
    let example = example::document();
    assert_eq!(read(&example), Config::default());
    // With the # taken away from every setting.
    let uncommented: String = example
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if setting.starts_with(|c: char| c.is_ascii_lowercase()) => format!("{setting}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let config = read(&uncommented);
    assert_eq!(config.problems, []);
    assert_eq!(config.values.len(), schema::SETTINGS.len());
    for setting in schema::SETTINGS {
        assert_eq!(config.value(setting.name), default(setting), "{}", setting.name);
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC{0,60}|[a-z\\[\\]=\"#., \n'{}0-9-]{0,80}") {
        let config = read(&text);
        let lines = text.matches('\n').count() + 1;
        for problem in &config.problems {
            prop_assert!(problem.place.is_none_or(|place| place.line <= lines));
            prop_assert!(!problem.text.contains(char::is_control));
        }
    }
}
