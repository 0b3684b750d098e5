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
    // What is there stays what it is; one's own is renamed, and deleted if that is wanted twice.
    stage.press("r");
    assert!(stage.text().contains("no name yet"), "{}", stage.text());
    stage.press("j r");
    stage.type_text("-2");
    stage.press("Enter");
    assert!(
        stage.text().contains("yours      mine-2") && stage.line(23).contains("mine is called mine-2 now"),
        "{}",
        stage.text()
    );
    stage.press("x");
    assert!(stage.text().contains("delete mine-2 for good?") && folder.path().join("filters/mine-2.toml").exists());
    stage.press("x");
    assert!(!stage.text().contains("yours") && !folder.path().join("filters/mine-2.toml").exists(), "{}", stage.text());
    stage.press("s");
    stage.type_text("other");
    stage.press("Enter");
    assert!(stage.text().contains("yours      other"), "{}", stage.text());
    stage.press("\\");
    assert!(stage.text().contains("switched off"), "{}", stage.text());
    stage.press("g g j j j j j Enter");
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

#[test]
fn a_filter_that_was_chosen_by_its_name_follows_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("mine.expr"), text).unwrap();
    write("api:a\n");
    let mut stage = with(|setup| setup.filters = Some(folder.path().to_owned()));
    stage.press(":");
    stage.type_text("filter mine");
    stage.press("Enter");
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:a")));
    write("api:b\n");
    stage.send(Message::Filters);
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:b")));
    assert!(stage.line(23).contains("mine has changed and was read again"), "{}", stage.text());
    assert!(stage.line(0).contains("& mine"), "{}", stage.text());
    // Undone is what the user did.
    stage.press("Backspace");
    assert!(asked(&stage).is_clear());
}

#[test]
fn names_of_the_trace_are_offered_and_a_row_gives_its_time() {
    let mut stage = stage(ScreenId::Calls, 80, 24, ended());
    stage.press("&");
    // Letters that are apart find it, too.
    stage.type_text("api:devsync");
    assert!(stage.text().contains("cudaDeviceSynchronize  "), "{}", stage.text());
    stage.press("Tab Enter");
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:cudaDeviceSynchronize")));
    stage.press("Backspace &");
    stage.type_text("failed site:'solver.cu:131 st");
    stage.press("Tab");
    assert!(stage.line(23).contains("&failed site:'solver.cu:131 step()'"), "{}", stage.text());
    stage.press("Esc j j R");
    assert_eq!(asked(&stage).range, Some((1_500_000_000, 2_000_000_000).into()));
    stage.press("1 @");
    assert!(stage.line(23).contains("j goes to one"), "{}", stage.text());
    stage.press("R");
    assert!(stage.line(23).contains("j goes to one"), "{}", stage.text());
    stage.press("j R");
    assert_eq!(asked(&stage).range, Some((1_000_000_000, 3_000_000_000).into()));
    stage.press("@");
    assert_eq!(asked(&stage).condition.as_deref(), Some(&condition("api:cudaDeviceSynchronize")));
    stage.press("Enter");
    assert!(stage.cursor_line().contains("cudaDeviceSynchronize"), "{}", stage.text());
}

#[test]
fn a_theme_is_chosen_by_its_name() {
    let mut stage = stage(ScreenId::Calls, 80, 24, ended());
    stage.press(":");
    stage.type_text("theme hi");
    assert!(stage.text().contains("theme high-contrast"), "{}", stage.text());
    let before = stage.event_loop.terminal().backend().buffer().clone();
    stage.press("Enter");
    assert_ne!(*stage.event_loop.terminal().backend().buffer(), before);
    stage.press(":");
    stage.type_text("theme none-such");
    stage.press("Enter");
    assert!(stage.line(23).contains("is not one of terminal, dark"), "{}", stage.text());
}
