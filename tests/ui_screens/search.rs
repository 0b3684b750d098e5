//! Search: what is typed, where the cursor goes, and what is marked.

use crossterm::event::Event;
use ratatui::style::Modifier;
use umtui::session::view::View;
use umtui::ui::ScreenId;
use umtui::ui::event_loop::Message;

use crate::fixture::{Stage, ended, live, stage};
use crate::screens::snapshot;

type Shown = Stage<ratatui::backend::TestBackend>;

/// Cells that are marked, line by line.
fn marked(stage: &Shown) -> Vec<String> {
    let buffer = stage.event_loop.terminal().backend().buffer();
    let is_marked = |x, y| buffer[(x, y)].modifier.contains(Modifier::UNDERLINED);
    let line = |y| (0..buffer.area.width).filter(|&x| is_marked(x, y)).map(|x| buffer[(x, y)].symbol()).collect();
    (0..buffer.area.height).map(line).filter(|line: &String| !line.is_empty()).collect()
}

fn last_line(stage: &Shown) -> String {
    stage.line(stage.event_loop.terminal().backend().buffer().area.height - 1)
}

#[test]
fn typing_goes_to_a_match_and_unfolds_it_and_esc_goes_back() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("z M");
    let before = stage.text();
    stage.press("/");
    assert!(last_line(&stage).starts_with("/") && last_line(&stage).contains("Esc goes back"), "{}", stage.text());
    stage.type_text("'culaunch");
    assert!(stage.cursor_line().contains("cuLaunchKernel"), "{}", stage.text());
    assert!(last_line(&stage).starts_with("/'culaunch"), "{}", stage.text());
    assert!(last_line(&stage).contains("match 1 of"), "{}", stage.text());
    assert!(marked(&stage).contains(&"cuLaunch".to_owned()), "{:?}", marked(&stage));
    // Nothing is hidden: what does not match stands there too.
    assert!(stage.text().contains("cudaDeviceSynchronize"));
    stage.press("Esc");
    assert_eq!(stage.text(), before);
    assert!(marked(&stage).is_empty());
}

#[test]
fn enter_stays_and_n_goes_on_in_the_order_of_the_screen() {
    let mut stage = stage(ScreenId::Calls, 80, 24, live());
    stage.press("/");
    stage.type_text("cuda");
    stage.press("Enter");
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(stage.cursor_line().trim().to_owned());
        stage.press("n");
        assert!(last_line(&stage).starts_with("match "), "{}", stage.text());
    }
    assert!(seen.iter().all(|line| line.contains("cuda")), "{seen:?}");
    stage.press("N N N");
    assert_eq!(stage.cursor_line().trim(), seen[0]);
    stage.press("N");
    assert!(last_line(&stage).contains("beyond the end"), "{}", last_line(&stage));
    // The first Esc ends the search, and no more is asked.
    stage.press("Esc");
    assert!(marked(&stage).is_empty());
    stage.press("n");
    assert_eq!(last_line(&stage), "nothing is searched for yet: / searches");
}

#[test]
fn what_is_not_there_leaves_the_cursor_where_it_was() {
    let mut stage = stage(ScreenId::Events, 80, 24, ended());
    stage.press("j j j");
    let before = stage.cursor_line();
    stage.press("/");
    stage.type_text("cudaL");
    assert_ne!(stage.cursor_line(), before);
    stage.type_text("zz");
    assert_eq!(stage.cursor_line(), before);
    assert!(last_line(&stage).contains("no match"), "{}", stage.text());
    stage.press("Ctrl-u");
    assert_eq!(stage.cursor_line(), before);
    // Of what is not shown nothing is found, which is said.
    stage.press("Esc f j Enter Esc /");
    stage.type_text("zz");
    assert!(last_line(&stage).contains("no match among these kinds of events"), "{}", stage.text());
}

#[test]
fn text_is_pasted_and_edited_and_comes_back_from_the_history() {
    let mut stage = stage(ScreenId::Events, 80, 24, ended());
    // Where nothing is typed, pasted text is not taken for keys.
    assert_eq!(stage.send(Message::Input(Event::Paste("q".to_owned()))), None);
    stage.press("/");
    stage.send(Message::Input(Event::Paste("memory\n_monitor\x1b[2J".to_owned())));
    assert!(last_line(&stage).starts_with("/memory _monitor[2J"), "{}", last_line(&stage));
    stage.press("Ctrl-w Ctrl-w Backspace");
    stage.type_text("_m q?");
    assert!(last_line(&stage).starts_with("/memory _m q?"), "{}", last_line(&stage));
    stage.press("Enter /");
    assert!(last_line(&stage).starts_with("/ "), "{}", last_line(&stage));
    stage.press("Up");
    assert!(last_line(&stage).starts_with("/memory _m q?"), "{}", last_line(&stage));
    stage.press("Ctrl-a Ctrl-k Ctrl-c");
    assert!(last_line(&stage).contains("? help"), "{}", last_line(&stage));
}

#[test]
fn an_answered_search_is_asked_no_more() {
    let mut stage = stage(ScreenId::Events, 80, 24, ended());
    stage.press("/");
    stage.type_text("sync");
    stage.press("Enter");
    let asked = || stage.said.lock().unwrap().asked.len();
    let before = asked();
    stage.send(Message::Repaint);
    let said = stage.said.lock().unwrap();
    assert_eq!(said.asked.len(), before);
    let with_search = said.asked.iter().filter(|request| request.search.is_some()).count();
    assert_eq!(with_search, "sync".len());
    assert!(said.asked.iter().all(|request| matches!(request.view, View::Events(_))));
}

#[test]
fn lines_of_the_output_are_found_as_they_are() {
    let mut stage = stage(ScreenId::Output, 80, 24, ended());
    stage.press("g g /");
    stage.type_text("step 400 ");
    stage.press("Enter");
    assert!(stage.text().contains("step 400 loss"), "{}", stage.text());
    assert_eq!(marked(&stage), ["step 400 "]);
    stage.press("n");
    assert!(last_line(&stage).starts_with("match 1 of 1"), "{}", last_line(&stage));
}

#[test]
fn the_overview_marks_what_is_on_it() {
    let mut stage = stage(ScreenId::Overview, 80, 24, live());
    stage.press("/");
    stage.type_text("launch");
    assert!(last_line(&stage).contains("match here"), "{}", last_line(&stage));
    assert!(!marked(&stage).is_empty());
}

#[test]
fn searching_looks_so() {
    for (width, height) in [(80, 24), (200, 50)] {
        for (name, screen, text) in [
            ("search_calls", ScreenId::Calls, "sync"),
            ("search_events", ScreenId::Events, "memory_mon"),
            ("search_memory", ScreenId::Memory, "pinned"),
            ("search_output", ScreenId::Output, "userwarning"),
            ("search_overview", ScreenId::Overview, "cudal"),
        ] {
            let mut stage = stage(screen, width, height, live());
            stage.press("/");
            stage.type_text(text);
            snapshot(name, &stage);
        }
    }
}

#[test]
fn on_the_heatmap_n_goes_from_allocation_to_allocation() {
    let mut stage = stage(ScreenId::Heatmap, 80, 24, live());
    stage.press("/");
    stage.type_text("params");
    assert!(stage.text().contains("managed 4 MiB  params.cu:7"), "{}", stage.text());
    assert!(last_line(&stage).contains("match 1 of 1"), "{}", stage.text());
    stage.press("Enter");
    stage.press("/");
    stage.type_text("managed");
    stage.press("Enter");
    assert!(last_line(&stage).contains("match 2 of 2"), "{}", stage.text());
    stage.press("n");
    assert!(stage.text().contains("managed 64 MiB  solver.cu:118"), "{}", stage.text());
    assert!(last_line(&stage).contains("match 1 of 2"), "{}", stage.text());
    stage.press("N");
    assert!(stage.text().contains("managed 4 MiB  params.cu:7"), "{}", stage.text());
}
