//! What happens over several keys.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use umtui::session::handle::Child;
use umtui::session::view::{Body, Column, EventsAt, Grouping, View};
use umtui::ui::event_loop::Message;
use umtui::ui::{Outcome, ScreenId};

use crate::fixture::{EVENTS, ended, live, stage};

#[test]
fn from_the_overview_to_one_event_and_back() {
    let mut stage = stage(ScreenId::Overview, 80, 24, live());
    stage.press("Enter j j j");
    assert!(stage.cursor_line().contains("cudaDeviceSynchronize"), "{}", stage.text());
    stage.press("Enter");
    assert!(stage.line(2).contains("only cudaDeviceSynchronize"), "{}", stage.text());
    assert!(stage.line(2).contains("1 of 10,000"));
    stage.press("Enter");
    assert!(stage.text().contains("0x7f3a40000000"));
    stage.press("Esc");
    assert!(!stage.text().contains("┌"));
    stage.press("Esc");
    assert!(stage.cursor_line().contains("cudaDeviceSynchronize"));
    stage.press("Esc");
    assert!(stage.text().contains("time goes to"));
    // There is nothing behind the first screen.
    assert_eq!(stage.press("Esc"), None);
    // The condition ended with the way back.
    stage.press("6");
    assert!(stage.line(2).contains("every event in order"));
}

#[test]
fn the_cursor_stays_on_its_node_through_sort_refresh_and_grouping() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("j j j");
    let name = "cudaDeviceSynchronize";
    assert!(stage.cursor_line().contains(name));
    for keys in ["s", "s", "S", "<", "%", "f Esc"] {
        stage.press(keys);
        assert!(stage.cursor_line().contains(name), "after {keys}\n{}", stage.text());
    }
    stage.said.lock().unwrap().turned = true;
    stage.press("S");
    assert!(stage.cursor_line().contains(name), "{}", stage.text());
    // Another grouping has other nodes; the cursor looks for the same label.
    for keys in ["t", "i", "i", "g f"] {
        stage.press(keys);
        assert!(stage.cursor_line().contains(name), "after {keys}\n{}", stage.text());
    }
    let said = stage.said.lock().unwrap();
    let groupings: Vec<Grouping> = said
        .asked
        .iter()
        .filter_map(|request| match &request.view {
            View::Calls(calls) => Some(calls.grouping),
            _ => None,
        })
        .collect();
    for grouping in [Grouping::Thread, Grouping::Stream, Grouping::Inverted, Grouping::Flat] {
        assert!(groupings.contains(&grouping), "{grouping:?}");
    }
}

#[test]
fn folding_one_all_and_to_a_depth() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    let rows = |stage: &crate::fixture::Stage<_>| stage_rows(stage);
    let first = rows(&stage);
    stage.press("j j j j o");
    assert_eq!(rows(&stage), first + 1, "{}", stage.text());
    stage.press("h");
    assert_eq!(rows(&stage), first);
    // Folding all away leaves the cursor on the root above.
    stage.press("z M");
    assert_eq!(rows(&stage), 2);
    assert!(stage.cursor_line().contains("4121 python"), "{}", stage.text());
    stage.press("z 1");
    assert_eq!(rows(&stage), 4);
    stage.press("z r");
    assert_eq!(rows(&stage), 6);
    stage.press("z m");
    assert_eq!(rows(&stage), 4);
    stage.press("E");
    assert_eq!(rows(&stage), first + 1);
    stage.press("C L");
    assert!(stage.cursor_line().contains("main"), "{}", stage.text());
    stage.press("L L");
    assert!(stage.cursor_line().contains("cudaDeviceSynchronize"), "{}", stage.text());
    stage.press("u");
    assert!(stage.cursor_line().contains("solver.cu:131"));
    stage.press("J");
    assert!(stage.cursor_line().contains("solver.cu:118"));
    stage.press("K l");
    assert!(stage.cursor_line().contains("cudaDeviceSynchronize"));
}

fn stage_rows(stage: &crate::fixture::Stage<ratatui::backend::TestBackend>) -> usize {
    (3..20).take_while(|y| !stage.line(*y).is_empty()).count()
}

#[test]
fn columns_are_chosen_and_sorted_by() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    assert!(!stage.line(2).contains("max"));
    stage.press("f G Space Enter");
    assert!(stage.text().contains("[x] max"));
    stage.press("f");
    let asked = stage.said.lock().unwrap().asked.last().cloned();
    match asked.map(|request| request.view) {
        Some(View::Calls(calls)) => assert_eq!(calls.sort, (Column::Max, true)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn following_asks_for_the_end() {
    let mut stage = stage(ScreenId::Events, 80, 24, live());
    stage.press("F");
    assert!(stage.line(2).contains("FOLLOWING"));
    match stage.said.lock().unwrap().asked.last().map(|request| request.view.clone()) {
        Some(View::Events(events)) => assert_eq!(events.at, EventsAt::End),
        other => panic!("{other:?}"),
    }
    stage.press("k");
    assert!(stage.line(2).ends_with("3,899,999 of 3,900,000"), "{}", stage.line(2));
    stage.press("g g");
    assert!(stage.line(2).ends_with("1 of 3,900,000"));
    stage.press("G");
    assert!(stage.line(2).ends_with("3,900,000 of 3,900,000"));
    assert_eq!(EVENTS, 3_900_000);
}

#[test]
fn quitting_asks_only_while_the_program_runs() {
    let mut alone = stage(ScreenId::Calls, 80, 24, ended());
    assert_eq!(alone.press("q"), Some(Outcome::Quit));

    let with_child = || {
        let stage = stage(ScreenId::Calls, 80, 24, live());
        stage.said.lock().unwrap().child = Some(Child::Running { pid: 4121 });
        stage
    };
    let mut stage = with_child();
    assert_eq!(stage.press("q"), None);
    assert!(stage.text().contains("detach"));
    assert_eq!(stage.press("s"), None);
    assert!(!stage.text().contains("detach"));
    assert_eq!(stage.press("q Esc q q q d"), Some(Outcome::Detached));
    assert_eq!(stage.said.lock().unwrap().detached, 1);

    let mut stage = with_child();
    assert_eq!(stage.press("q t"), Some(Outcome::Terminated));
    assert_eq!(stage.said.lock().unwrap().terminated, 1);

    let mut stage = with_child();
    assert_eq!(stage.press("Ctrl-c"), None);
    assert_eq!(stage.said.lock().unwrap().terminated, 1);
    assert!(stage.line(23).contains("interrupted process 4121"));
    // Any other key in between, and the next Ctrl-c is a first one again.
    assert_eq!(stage.press("j Ctrl-c"), None);
    assert_eq!(stage.press("Ctrl-c"), Some(Outcome::Terminated));
    assert_eq!(stage.said.lock().unwrap().terminated, 3);

    let mut ended_child = with_child();
    ended_child.said.lock().unwrap().child = Some(Child::Ended { status: 0 });
    assert_eq!(ended_child.press("Ctrl-c"), Some(Outcome::Quit));
}

#[test]
fn a_lost_terminal_and_a_signal_let_the_program_run_on() {
    for (message, outcome) in [(Message::Gone, Outcome::TerminalLost), (Message::Quit(15), Outcome::Signalled(15))] {
        let mut stage = stage(ScreenId::Calls, 80, 24, live());
        stage.said.lock().unwrap().child = Some(Child::Running { pid: 4121 });
        assert_eq!(stage.send(message), Some(outcome));
        let said = stage.said.lock().unwrap();
        assert_eq!((said.detached, said.terminated), (1, 0));
    }
}

#[test]
fn suspend_and_continue() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("Ctrl-z");
    stage.send(Message::Repaint);
    assert_eq!(*stage.host.0.lock().unwrap(), (1, 1));
    assert!(stage.line(0).starts_with("umtui"));
}

#[test]
fn a_held_display_changes_only_where_the_user_moves_it() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("Space");
    assert!(stage.line(0).contains("PAUSED 00:01:42"));
    stage.said.lock().unwrap().status.calls += 12_100;
    stage.press("S");
    assert!(stage.line(0).contains("+12.1 k calls since"), "{}", stage.line(0));
    assert!(stage.cursor_line().contains("4121 python"));
    stage.press("Space");
    assert!(stage.line(0).contains("LIVE"));
    // On a complete trace the key does nothing.
    stage.said.lock().unwrap().status = ended();
    stage.press("S Space");
    assert!(stage.line(0).contains("ENDED"), "{}", stage.line(0));
}

#[test]
fn help_opens_and_closes_by_the_same_key_everywhere() {
    let mut stage = stage(ScreenId::Events, 80, 24, live());
    stage.press("?");
    assert!(stage.text().contains("help: events"));
    stage.press("?");
    assert!(!stage.text().contains("help: events"));
    stage.press("Enter ?");
    assert!(stage.text().contains("help: details"));
    stage.press("? q");
    assert!(!stage.text().contains("┌"));
}

#[test]
fn pastes_releases_and_unknown_keys_are_harmless() {
    let mut stage = stage(ScreenId::Calls, 80, 24, ended());
    let before = stage.text();
    assert_eq!(stage.send(Message::Input(Event::Paste("q\x03jjj".to_owned()))), None);
    let mut release = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
    release.kind = KeyEventKind::Release;
    assert_eq!(stage.send(Message::Input(Event::Key(release))), None);
    assert_eq!(stage.press("g x"), None);
    assert_eq!(stage.text(), before);
}

#[test]
fn a_new_size_is_drawn_and_asked_for() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    let asked = stage.said.lock().unwrap().asked.len();
    stage.send(Message::Input(Event::Resize(60, 40)));
    assert!(stage.said.lock().unwrap().asked.len() > asked);
}

#[test]
fn answers_for_a_screen_that_was_left_are_not_shown() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    let stale = {
        let said = stage.said.lock().unwrap();
        let mut status = said.status.clone();
        status.name = "stale".to_owned();
        umtui::session::view::Answer { id: 1, epoch: 9, status, body: Body::Output(Default::default()), search: None }
    };
    stage.press("6");
    stage.send(Message::Answer(Box::new(stale)));
    assert!(!stage.line(0).contains("stale"));
}

#[test]
fn a_moment_is_typed_and_looked_at() {
    let mut stage = stage(ScreenId::Overview, 80, 24, ended());
    let go = |stage: &mut crate::fixture::Stage<_>, text: &str| {
        stage.press(":");
        stage.type_text(text);
        stage.press("Enter");
    };
    go(&mut stage, "moment 51s");
    assert!(stage.line(3).starts_with("at 51.0 s"), "{}", stage.text());
    go(&mut stage, "moment end");
    assert!(stage.line(3).starts_with("at the end"), "{}", stage.text());
    // Why there is no such moment is said, and what was looked at stays.
    go(&mut stage, "moment step:3");
    assert!(stage.line(23).contains("no range repeats"), "{}", stage.line(23));
    assert!(stage.line(3).starts_with("at the end"));
    go(&mut stage, "moment 1.5");
    assert!(stage.line(23).contains("is no time"), "{}", stage.line(23));
}

#[test]
fn one_goes_into_an_allocation_and_comes_back_to_it() {
    let mut stage = stage(ScreenId::Memory, 80, 24, ended());
    stage.press("o");
    assert!(stage.line(2).contains("blocks of 0x7f3a40000000"), "{}", stage.text());
    assert!(stage.line(2).ends_with("1 of 40"), "{}", stage.line(2));
    stage.press("G");
    assert!(stage.cursor_line().starts_with("+1.1 GiB"), "{}", stage.cursor_line());
    assert!(stage.text().contains("% broken up"));
    // Other tabs have nothing to do with it.
    stage.press("Tab");
    assert!(stage.text().contains("[by call site]") && !stage.text().contains("blocks of"));
    stage.press("Shift-Tab");
    assert!(stage.line(2).ends_with("40 of 40"), "{}", stage.line(2));
    // Its pages are those of the block.
    stage.press("a");
    let asked = stage.said.lock().unwrap().asked.last().map(|request| request.view.clone());
    let Some(View::Heatmap(heat)) = asked else { panic!("{asked:?}") };
    assert_eq!(heat.subject, umtui::session::view::HeatSubject::One(0, 0x7f3a_4000_0000 + 39 * 30 * (1 << 20)));
    stage.press("Esc Esc");
    assert!(stage.cursor_line().starts_with("0x7f3a40000000"), "{}", stage.text());
}
