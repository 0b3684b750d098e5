//! The finder, the command palette, marks, copying, and source lines.

use umtui::session::view::{EventsAt, Grouping, View};
use umtui::ui::ScreenId;

use crate::fixture::{Stage, ended, live, stage};
use crate::screens::snapshot;

type Shown = Stage<ratatui::backend::TestBackend>;

fn last_line(stage: &Shown) -> String {
    stage.line(stage.event_loop.terminal().backend().buffer().area.height - 1)
}

fn last_view(stage: &Shown) -> View {
    stage.said.lock().unwrap().asked.last().unwrap().view.clone()
}

#[test]
fn the_finder_goes_to_the_row_of_the_calls_and_to_the_events_behind() {
    let mut stage = stage(ScreenId::Overview, 80, 24, live());
    stage.press("g p");
    assert!(stage.text().contains("go to") && stage.text().contains("screen"), "{}", stage.text());
    stage.type_text("memory_mon");
    assert!(stage.text().contains("1 name "), "{}", stage.text());
    stage.press("Enter");
    assert!(stage.cursor_line().contains("memory_monitor"), "{}", stage.text());
    stage.press("Esc");
    assert!(stage.text().contains("time goes to"), "{}", stage.text());
    stage.press("Ctrl-p");
    stage.type_text("'cuLaunch");
    stage.press("Ctrl-o");
    assert!(stage.line(2).contains("only cuLaunchKernel"), "{}", stage.text());
    // Back to the row that this is behind.
    stage.press("Esc");
    assert!(stage.cursor_line().contains("cuLaunchKernel"), "{}", stage.text());
}

#[test]
fn the_finder_knows_the_screens_and_can_be_left() {
    let mut stage = stage(ScreenId::Calls, 80, 24, ended());
    stage.press("g p");
    stage.type_text("output");
    stage.press("Enter");
    assert!(stage.line(2).contains("output, err"), "{}", stage.text());
    stage.press("g p Esc");
    assert!(stage.line(2).contains("output, err"), "{}", stage.text());
}

#[test]
fn the_palette_does_what_keys_do() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press(":");
    stage.type_text("unfold all");
    assert!(stage.text().contains("z R"), "{}", stage.text());
    stage.press("Enter");
    assert!(stage.text().contains("cuLaunchKernel"), "{}", stage.text());
    // What is on another screen is done there.
    stage.press(":");
    stage.type_text("follow the newest");
    stage.press("Enter");
    assert!(stage.text().contains("FOLLOWING"), "{}", stage.text());
    stage.press(":");
    stage.type_text("suspend");
    stage.press("Enter");
    assert_eq!(stage.host.0.lock().unwrap().0, 1);
}

#[test]
fn commands_take_arguments_and_say_what_is_wrong() {
    let mut stage = stage(ScreenId::Overview, 80, 24, live());
    stage.press(":");
    stage.type_text("group stream");
    stage.press("Enter");
    assert!(matches!(last_view(&stage), View::Calls(calls) if calls.grouping == Grouping::Stream));
    stage.press(":");
    stage.type_text("screen nowhere");
    stage.press("Enter");
    assert!(last_line(&stage).contains("'nowhere' is not one of overview"), "{}", last_line(&stage));
    // Chosen from the list, a command waits for what it needs; what was entered comes not back by itself.
    stage.press(":");
    stage.type_text("show a screen");
    stage.press("Enter");
    stage.type_text("output");
    stage.press("Enter");
    assert!(stage.line(2).contains("output, err"), "{}", stage.text());
}

#[test]
fn times_rows_and_addresses_are_gone_to() {
    for (typed, at) in [
        ("1.5s", EventsAt::Time(1_500_000_000)),
        ("1234", EventsAt::Number(1_233)),
        ("0x7f3a40000000", EventsAt::Address(0x7f3a_4000_0000)),
    ] {
        let mut stage = stage(ScreenId::Calls, 80, 24, ended());
        stage.press(":");
        stage.type_text(typed);
        stage.press("Enter");
        let asked = stage.said.lock().unwrap().asked.clone();
        let there = asked.iter().any(|request| matches!(request.view, View::Events(events) if events.at == at));
        assert!(there, "{typed}");
        assert!(stage.text().contains("every event in order"), "{}", stage.text());
    }
}

#[test]
fn marks_are_set_listed_gone_to_and_cleared() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("'");
    assert!(last_line(&stage).contains("there are no marks"), "{}", last_line(&stage));
    stage.press("j j j");
    stage.press("m");
    let row = stage.cursor_line();
    assert!(last_line(&stage).starts_with("marked: cudaDeviceSynchronize"), "{}", last_line(&stage));
    stage.press("6 j j m 1 '");
    assert!(stage.text().contains("0.000064 s: range step"), "{}", stage.text());
    stage.press("Down Enter");
    assert_eq!(stage.cursor_line(), row);
    stage.press("M '");
    assert!(last_line(&stage).contains("there are no marks"), "{}", last_line(&stage));
}

#[test]
fn a_row_or_the_view_is_copied_whole() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("j j j y");
    assert!(last_line(&stage).starts_with("copied cudaDeviceSynchronize"), "{}", last_line(&stage));
    stage.press("1 y");
    assert!(last_line(&stage).contains("Y copies the screen"), "{}", last_line(&stage));
    stage.press("Y");
    assert!(last_line(&stage).starts_with("copied hook"), "{}", last_line(&stage));
}

#[test]
fn where_the_source_is_not_it_is_said() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("j j O");
    assert!(last_line(&stage).starts_with("/src/solver.cu:131 is not on this machine"), "{}", last_line(&stage));
}

#[test]
fn finder_palette_and_marks_look_so() {
    for (width, height) in [(80, 24), (200, 50)] {
        for (name, keys, text) in [
            ("finder", "g p", "cuda"),
            ("palette", ":", "fold"),
            ("marks", "m j m 6 m '", ""),
            ("finder_empty", "g p", ""),
        ] {
            let mut stage = stage(ScreenId::Calls, width, height, live());
            stage.press(keys);
            stage.type_text(text);
            snapshot(name, &stage);
        }
    }
}

#[test]
fn marks_stand_beside_their_rows_and_on_the_axis_and_are_gone_to_by_time() {
    let mut stage = stage(ScreenId::Events, 80, 24, ended());
    stage.press("j j j m k k");
    let marked: Vec<u16> = (4..23).filter(|&y| stage.line(y).contains("0.000090'")).collect();
    assert_eq!(marked, [7], "{}", stage.text());
    // Rows may be others by then: the event is asked for by its time.
    stage.press("G ' Enter");
    let said = stage.said.lock().unwrap();
    let asked = said.asked.iter().rev().find_map(|request| match &request.view {
        View::Events(events) if matches!(events.at, EventsAt::Time(_)) => Some(events.at),
        _ => None,
    });
    drop(said);
    assert!(matches!(asked, Some(EventsAt::Time(90_000..91_000))), "{asked:?} {}", stage.text());
    assert!(stage.cursor_line().contains("0.000090'"), "{}", stage.text());
    stage.press("1");
    let marks = (2..23).map(|y| stage.line(y)).find(|line| line.starts_with("marks ")).unwrap();
    assert!(marks.contains('\''), "{}", stage.text());
    // A row of the calls.
    stage.press("2 j j m k");
    let line = (3..23).map(|y| stage.line(y)).find(|line| line.contains('\'')).unwrap();
    assert!(line.contains("solver.cu:131 step()"), "{}", stage.text());
    // Under another grouping it is another row.
    stage.press("t");
    assert!((3..23).all(|y| !stage.line(y).contains('\'')), "{}", stage.text());
    stage.press("1 M");
    assert!((2..23).all(|y| !stage.line(y).starts_with("marks ")), "{}", stage.text());
}
