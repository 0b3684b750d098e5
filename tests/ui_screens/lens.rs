//! Looking through a filter and a range of time: what is asked of the session, and what is seen.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use umtui::filter::{Filter, FilterError};
use umtui::session::view::{Lens, TimeRange};
use umtui::ui::ScreenId;
use umtui::ui::event_loop::Message;
use umtui::ui::lens::{Chosen, Look};
use umtui::ui::setup::Setup;
use umtui::ui::theme::{Charset, Depth};

use crate::fixture::{Stage, ended, stage, stage_with, theme};

fn asked(stage: &Stage<TestBackend>) -> Lens {
    stage.said.lock().unwrap().asked.last().map(|request| request.lens.clone()).unwrap_or_default()
}

fn condition(text: &str) -> umtui::filter::Condition {
    umtui::filter::expression::read("", text).unwrap()
}

fn with(change: impl FnOnce(&mut Setup)) -> Stage<TestBackend> {
    let mut setup = Setup::new(theme(Depth::Ansi256, Charset::Unicode), ScreenId::Calls);
    setup.continuations = Duration::ZERO;
    change(&mut setup);
    stage_with(Terminal::new(TestBackend::new(80, 24)).unwrap(), setup, ended())
}

#[test]
fn what_is_typed_is_seen_at_once_and_esc_gives_back_what_was() {
    let mut stage = stage(ScreenId::Calls, 80, 24, ended());
    stage.press("&");
    stage.type_text("api:cudaMalloc");
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:cudaMalloc")));
    assert!(stage.line(23).contains("2.0 M shown, 2.0 M hidden"), "{}", stage.text());
    // What cannot be read changes nothing but the note.
    stage.type_text(" kernal:x");
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:cudaMalloc kernal")));
    assert!(stage.text().contains("column 16: no field `kernal`; did you mean kernel?"), "{}", stage.text());
    stage.press("Enter");
    assert!(stage.line(23).starts_with("&api"), "it is typed still");
    stage.press("Esc");
    assert!(asked(&stage).is_clear() && stage.line(0).ends_with("all time"), "{}", stage.text());
    // Nothing was kept that could be undone.
    stage.press("Backspace");
    assert!(stage.line(23).contains("no change"), "{}", stage.text());
}

#[test]
fn tab_completes_what_is_typed() {
    let mut stage = stage(ScreenId::Calls, 80, 24, ended());
    stage.press("&");
    stage.type_text("ca");
    stage.press("Tab");
    assert!(stage.line(23).starts_with("&cause:"), "{}", stage.text());
    stage.type_text("co");
    stage.press("Tab Enter");
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("cause:coherence")));
    assert!(stage.line(0).contains("& cause:coherence"), "{}", stage.text());
}

#[test]
fn a_range_is_chosen_among_the_events_and_esc_leaves_that() {
    let mut stage = stage(ScreenId::Events, 80, 24, ended());
    stage.press("j v j");
    assert!(stage.line(2).contains("Enter looks at it"));
    stage.press("Esc");
    assert!(stage.line(2).contains("every event in order") && asked(&stage).is_clear());
    stage.press("v j Enter");
    let range = asked(&stage).range.expect("a range");
    assert!(matches!(range, TimeRange::Time(from, to) if from < to) && !stage.text().contains("┌"), "{}", stage.text());
    stage.press(":");
    stage.type_text("1.5s..2s");
    stage.press("Enter");
    assert_eq!(asked(&stage).range, Some((1_500_000_000, 2_000_000_000).into()));
    assert!(stage.line(0).contains("1.5s..2s   3.9 M hidden"), "{}", stage.text());
    // On another screen it is the same.
    stage.press("2");
    assert_eq!(asked(&stage).range, Some((1_500_000_000, 2_000_000_000).into()));
    stage.press("Backspace");
    assert_eq!(asked(&stage).range, Some(range));
    stage.press("Backspace");
    assert!(asked(&stage).is_clear());
}

#[test]
fn the_filter_in_force_is_saved_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = with(|setup| setup.filters = Some(folder.path().join("filters")));
    for (name, told) in [("mine", "no filter to save"), ("../x", "is no name")] {
        stage.press(":");
        stage.type_text(&format!("save {name}"));
        stage.press("Enter");
        assert!(stage.line(23).contains(told), "{}", stage.text());
        stage.press("j j j @");
    }
    let text = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(text, 0);
    stage.press("0 \\ \\ :");
    stage.type_text("filter failed");
    stage.press("Enter :");
    stage.type_text("save mine");
    stage.press("Enter P");
    assert!(stage.text().contains("in force   failed") && stage.text().contains("yours      mine"), "{}", stage.text());
    let saved = Filter::read(&folder.path().join("filters/mine.toml")).unwrap();
    assert_eq!((saved.name.as_str(), saved.condition), ("mine", condition("failed")));
    stage.press("s y n c Enter");
    assert!(stage.line(0).contains("& sync-storms"), "{}", stage.text());
}

#[test]
fn a_filters_file_that_is_read_again_takes_the_place_of_what_it_was() {
    let chosen = |text: &str| Chosen::read(&Filter::from(condition(text)));
    let mut stage = with(|setup| {
        setup.look = Look { filter: Some(chosen("api:a")), ..Look::default() };
        setup.filter_file = Some("f.expr".into());
    });
    assert!(stage.line(0).contains("& api:a"));
    stage.press("j j j @");
    stage.send(Message::Filter(Box::new(Ok(Filter::from(condition("api:b"))))));
    stage.press("Backspace");
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:b")));
    stage.send(Message::Filter(Box::new(Err(FilterError::whole("f.expr", "is bad")))));
    assert!(stage.line(23).contains("f.expr: is bad; the filter stays"), "{}", stage.text());
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:b")));
}
