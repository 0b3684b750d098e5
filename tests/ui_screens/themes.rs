//! Each theme, in colours as they come out.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use umtui::ui::ScreenId;
use umtui::ui::setup::Setup;
use umtui::ui::theme::palette::built_in;
use umtui::ui::theme::{Charset, Depth, Glyphs, Palette, Theme};

use crate::fixture::{Stage, live, stage_with};
use crate::styles;

const SCREENS: [(ScreenId, &str); 5] = [
    (ScreenId::Overview, "1"),
    (ScreenId::Calls, "t z z"),
    (ScreenId::Memory, "p h"),
    (ScreenId::Events, "j"),
    (ScreenId::Output, "j"),
];

fn on(name: &str, depth: Depth, first: ScreenId, keys: &str) -> Stage<TestBackend> {
    let palette = Palette::named(name).expect(name);
    let theme = Theme::new(&palette, depth, Glyphs::of(Charset::Unicode));
    let terminal = Terminal::new(TestBackend::new(80, 24)).expect("terminal");
    let setup = Setup { continuations: std::time::Duration::ZERO, ..Setup::new(theme, first) };
    let mut stage = stage_with(terminal, setup, live());
    assert_eq!(stage.press(keys), None);
    stage
}

#[test]
fn each_theme_as_it_looks() {
    for name in built_in() {
        let depth = if matches!(name, "terminal" | "mono") { Depth::Ansi16 } else { Depth::TrueColor };
        let mut told = String::new();
        for (first, keys) in SCREENS {
            let stage = on(name, depth, first, keys);
            let buffer = stage.event_loop.terminal().backend().buffer();
            told.push_str(&format!("---- {}\n{}", first.name(), styles::runs(buffer)));
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("theme_{name}"), told);
        });
    }
}

#[test]
fn the_default_suits_dark_and_light_terminals() {
    for (first, keys) in SCREENS.into_iter().chain([(ScreenId::Calls, "?"), (ScreenId::Calls, "z")]) {
        let stage = on("terminal", Depth::TrueColor, first, keys);
        for cell in &stage.event_loop.terminal().backend().buffer().content {
            assert_eq!(cell.bg, Color::Reset, "{first:?}");
            let hues = [Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan];
            // Black, white and greys vanish on one of the two.
            assert!(cell.fg == Color::Reset || hues.contains(&cell.fg), "{first:?} {:?}", cell.fg);
        }
    }
}

#[test]
fn a_theme_with_a_background_leaves_no_cell_without() {
    for (first, keys) in SCREENS.into_iter().chain([(ScreenId::Calls, "?"), (ScreenId::Calls, "z")]) {
        for name in ["dark", "light", "high-contrast"] {
            let stage = on(name, Depth::TrueColor, first, keys);
            for cell in &stage.event_loop.terminal().backend().buffer().content {
                assert!(cell.bg != Color::Reset && cell.fg != Color::Reset, "{name} {first:?} {cell:?}");
            }
        }
    }
}

#[test]
fn without_colours_the_same_text_and_attributes_stay() {
    for (first, keys) in SCREENS {
        let (colours, mono) = (on("terminal", Depth::Ansi16, first, keys), on("mono", Depth::Ansi16, first, keys));
        assert_eq!(colours.text(), mono.text());
        let attributes = |stage: &Stage<TestBackend>| -> Vec<Modifier> {
            stage.event_loop.terminal().backend().buffer().content.iter().map(|cell| cell.modifier).collect()
        };
        assert_eq!(attributes(&colours), attributes(&mono));
        assert!(mono.event_loop.terminal().backend().buffer().content.iter().all(|cell| cell.fg == Color::Reset));
    }
}
