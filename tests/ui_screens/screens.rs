//! Each screen and popup at three sizes: text, then styles.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use umtui::session::handle::Child;
use umtui::session::view::Phase;
use umtui::ui::ScreenId;
use umtui::ui::theme::{Charset, Depth};

use crate::fixture::{Stage, ended, live, stage, stage_on, theme};
use crate::styles;

const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (200, 50)];

pub fn snapshot(name: &str, stage: &Stage<TestBackend>) {
    let buffer = stage.event_loop.terminal().backend().buffer();
    let (width, height) = (buffer.area.width, buffer.area.height);
    let text = format!("{}---- styles\n{}", stage.text(), styles::runs(buffer));
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), text);
    });
}

fn at_each_size(name: &str, first: ScreenId, keys: &str) {
    for (width, height) in SIZES {
        let mut stage = stage(first, width, height, live());
        stage.said.lock().unwrap().child = Some(Child::Running { pid: 4121 });
        if !keys.is_empty() {
            assert_eq!(stage.press(keys), None);
        }
        snapshot(name, &stage);
    }
}

#[test]
fn overview() {
    at_each_size("overview", ScreenId::Overview, "");
}

#[test]
fn overview_of_devices_that_are_asked() {
    let device = |number: u32, text: &str| (format!("GPU {number}"), format!("NVIDIA H200   {text}"));
    for (width, height) in SIZES {
        let mut stage = stage(ScreenId::Overview, width, height, live());
        stage.said.lock().unwrap().devices = vec![
            device(
                0,
                "used 12.4 of 139.8 GiB   87 % busy, 1980 MHz   slowed by power cap   program was told: free 126.3 of 139.8 GiB",
            ),
            device(1, "used 0.5 of 139.8 GiB   0 % busy, 345 MHz"),
        ];
        assert_eq!(stage.press("2 1"), None);
        snapshot("overview_devices", &stage);
    }
}

#[test]
fn calls() {
    at_each_size("calls", ScreenId::Calls, "j j j");
}

#[test]
fn calls_by_stream_with_what_the_gpu_did() {
    at_each_size("calls_stream", ScreenId::Calls, "t z z j j j j j j j");
}

#[test]
fn calls_by_device_with_what_moved() {
    at_each_size("calls_device", ScreenId::Calls, "t t G k k");
}

#[test]
fn calls_by_range() {
    at_each_size("calls_range", ScreenId::Calls, "t t t g g");
}

#[test]
fn details_of_a_kernels_launches() {
    at_each_size("calls_kernel", ScreenId::Calls, "t z z j j j j j j");
    at_each_size("calls_kernel_details", ScreenId::Calls, "t z z j j j j j j d");
}

#[test]
fn calls_as_shares_sorted_by_self() {
    at_each_size("calls_shares", ScreenId::Calls, "j % s");
}

#[test]
fn events() {
    at_each_size("events", ScreenId::Events, "j j j");
}

#[test]
fn events_of_one_kind() {
    at_each_size("events_kinds", ScreenId::Events, "f j Enter Esc");
}

#[test]
fn the_chooser_of_kinds() {
    at_each_size("kinds", ScreenId::Events, "f j Space j");
}

#[test]
fn details_of_a_kernel() {
    at_each_size("details_kernel", ScreenId::Events, "j j j j j j Enter");
}

#[test]
fn events_behind_a_node() {
    at_each_size("events_behind", ScreenId::Calls, "j j j Enter F");
}

#[test]
fn memory() {
    at_each_size("memory", ScreenId::Memory, "j j j");
}

#[test]
fn memory_in_use_at_a_moment() {
    at_each_size("memory_in_use", ScreenId::Memory, "p h h u j");
}

#[test]
fn memory_by_call_site() {
    at_each_size("memory_groups", ScreenId::Memory, "Tab j");
}

#[test]
fn allocations_of_one_call_site() {
    at_each_size("memory_only", ScreenId::Memory, "Tab j Enter j");
}

#[test]
fn memory_that_has_grown() {
    at_each_size("memory_growth", ScreenId::Memory, "p h h b j");
}

#[test]
fn blocks_inside_an_allocation() {
    at_each_size("memory_blocks", ScreenId::Memory, "o j j");
    at_each_size("memory_blocks_details", ScreenId::Memory, "o j j j Enter");
}

#[test]
fn an_allocation_of_which_no_blocks_are_known() {
    at_each_size("memory_no_blocks", ScreenId::Memory, "j o");
}

#[test]
fn memory_pools() {
    at_each_size("memory_pools", ScreenId::Memory, "Shift-Tab Shift-Tab j");
}

#[test]
fn transfers() {
    at_each_size("memory_transfers", ScreenId::Memory, "Shift-Tab j j j j");
}

#[test]
fn details_of_a_transfer() {
    at_each_size("memory_transfer_details", ScreenId::Memory, "Shift-Tab G Enter");
}

#[test]
fn details_of_an_allocation() {
    at_each_size("memory_details", ScreenId::Memory, "j Enter");
}

#[test]
fn output() {
    at_each_size("output", ScreenId::Output, "");
}

#[test]
fn heatmap() {
    at_each_size("heatmap", ScreenId::Heatmap, "j j j l l l l l l l l l l l l l l l l l l");
}

#[test]
fn heatmap_by_faults_and_by_alternations() {
    at_each_size("heatmap_faults", ScreenId::Heatmap, "c j l l");
    at_each_size("heatmap_alternations", ScreenId::Heatmap, "c c j l l");
    at_each_size("heatmap_residency", ScreenId::Heatmap, "c c c j l l");
}

#[test]
fn heatmap_of_all_places_zoomed() {
    at_each_size("heatmap_all", ScreenId::Heatmap, "A j j j j L w w W");
}

#[test]
fn heatmap_with_a_range_that_is_chosen() {
    at_each_size("heatmap_range", ScreenId::Heatmap, "l l v l l l l");
}

#[test]
fn heatmap_in_ascii() {
    for (width, height) in SIZES {
        let terminal = Terminal::new(TestBackend::new(width, height)).expect("terminal");
        let mut stage = stage_on(terminal, theme(Depth::None, Charset::Ascii), ScreenId::Heatmap, live());
        assert_eq!(stage.press("j j l l l"), None);
        snapshot("heatmap_ascii", &stage);
    }
}

#[test]
fn details_of_a_cell() {
    at_each_size("details_cell", ScreenId::Heatmap, "j l l d");
}

#[test]
fn help() {
    at_each_size("help", ScreenId::Calls, "?");
}

#[test]
fn quit_dialog() {
    at_each_size("quit", ScreenId::Overview, "q");
}

#[test]
fn column_chooser() {
    at_each_size("columns", ScreenId::Calls, "f j j");
}

#[test]
fn event_details() {
    at_each_size("details", ScreenId::Events, "j Enter");
}

#[test]
fn what_may_follow_a_prefix() {
    at_each_size("prefix", ScreenId::Calls, "z");
}

#[test]
fn ended_with_losses_damage_and_a_status() {
    let mut status = ended();
    status.lost = 1_200;
    status.exit = Some(139);
    status.damage = Some("1 of 3 files cut short at byte 65,536".to_owned());
    let mut stage = stage(ScreenId::Overview, 80, 24, status);
    stage.press("Ctrl-l");
    snapshot("ended", &stage);
}

#[test]
fn only_the_beginning_of_what_is_imported() {
    let mut status = ended();
    (status.phase, status.begun) = (Phase::Opening(123), Some(16 << 20));
    let mut stage = stage(ScreenId::Overview, 80, 24, status);
    stage.press("Ctrl-l");
    snapshot("beginning", &stage);
}

#[test]
fn too_small() {
    for (width, height) in [(29, 20), (80, 7), (1, 1)] {
        let stage = stage(ScreenId::Overview, width, height, live());
        snapshot("too_small", &stage);
    }
}

const ALL: [(ScreenId, &str); 14] = [
    (ScreenId::Overview, "1"),
    (ScreenId::Calls, "j"),
    (ScreenId::Calls, "?"),
    (ScreenId::Calls, "f"),
    (ScreenId::Calls, "z"),
    (ScreenId::Events, "Enter"),
    (ScreenId::Events, "F"),
    (ScreenId::Memory, "p h u j"),
    (ScreenId::Memory, "Tab t"),
    (ScreenId::Memory, "h h b t"),
    (ScreenId::Output, "k"),
    (ScreenId::Heatmap, "j l W"),
    (ScreenId::Heatmap, "A c d"),
    (ScreenId::Heatmap, "v l l"),
];

#[test]
fn without_unicode_and_colour_there_is_neither() {
    for (first, keys) in ALL {
        let terminal = Terminal::new(TestBackend::new(80, 24)).expect("terminal");
        let mut status = live();
        status.name = "trainé\u{2014}日本.py".to_owned();
        let mut stage = stage_on(terminal, theme(Depth::None, Charset::Ascii), first, status);
        stage.press(keys);
        assert!(stage.text().is_ascii(), "{}", stage.text());
        for cell in &stage.event_loop.terminal().backend().buffer().content {
            assert_eq!((cell.fg, cell.bg), (ratatui::style::Color::Reset, ratatui::style::Color::Reset));
        }
    }
}

#[test]
fn no_size_makes_a_screen_fail() {
    for (first, keys) in ALL {
        for (width, height) in [(30, 8), (31, 9), (45, 10), (60, 13), (139, 15), (140, 8), (141, 30), (300, 100)] {
            let mut stage = stage(first, width, height, live());
            assert_eq!(stage.press(keys), None);
            assert_eq!(stage.press("Esc G j k g g"), None);
            assert!(stage.line(0).starts_with("umtui"), "{}", stage.text());
        }
    }
}

#[test]
fn that_calls_were_lost_is_said_however_narrow_the_screen() {
    let lost = umtui::session::view::Status { lost: 74_200, ..live() };
    for (width, height) in SIZES {
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let stage = stage_on(terminal, theme(Depth::None, Charset::Unicode), ScreenId::Overview, lost.clone());
        let text = stage.text();
        let title = text.lines().next().unwrap();
        assert!(title.contains("train") && title.contains("LOST 74.2 k"), "{title}");
    }
}
