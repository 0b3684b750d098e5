//! Names as bad as a trace can make them, at every width: nothing but text reaches the terminal, and columns stay
//! where they are.

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use umtui::session::safe::{prints, safe};
use umtui::ui::ScreenId;
use umtui::ui::event_loop::Message;
use umtui::ui::term::backend::FrameBackend;
use umtui::ui::theme::{Charset, Depth};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::fixture::{Stage, fixed, live, stage_on, stage_saying, theme};

/// What a program, a file or another machine may call something; as the session hands it on.
pub fn names(longest: usize) -> Vec<String> {
    let names = [
        "\x1b[2J\x1b[1;1H\x1b]0;title\x07\x1bP1$r\x1b\\".to_owned(),
        "\u{9b}31m\u{90}\u{85}bell\x07back\x08\x7f\0".to_owned(),
        "two\nlines\r\tand tabs".to_owned(),
        "\u{202e}txt.exe\u{2066}\u{200f}\u{feff}".to_owned(),
        "שלום עולם مرحبا بالعالم".to_owned(),
        "日本語のカーネル、全角ＡＢＣ".to_owned(),
        format!("z{}algo", "\u{301}\u{302}\u{489}".repeat(50)),
        "\u{301}begins with an accent".to_owned(),
        "👩\u{200d}🔬 👍🏽 🇩🇪 ❤\u{fe0f}".to_owned(),
        "क्षि नमस्ते ภาษาไทย 각".to_owned(),
        "void f<g<h<i<j<k>>>>>(int, int)".repeat(9),
        "日".repeat(longest / 3),
        String::new(),
        " ".to_owned(),
    ];
    names.iter().map(|name| safe(name).into_owned()).collect()
}

const SCREENS: [(ScreenId, &str); 11] = [
    (ScreenId::Overview, "1"),
    (ScreenId::Calls, "j j"),
    (ScreenId::Calls, "t j j j d"),
    (ScreenId::Calls, "z"),
    (ScreenId::Events, "j j"),
    (ScreenId::Events, "j j Enter"),
    (ScreenId::Memory, "j p"),
    (ScreenId::Memory, "Tab j Enter"),
    (ScreenId::Memory, "h b j"),
    (ScreenId::Output, "k"),
    (ScreenId::Calls, "?"),
];

/// What goes to the terminal.
#[derive(Clone, Default)]
pub struct Kept(pub Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is left of the bytes without the sequences that a frame is made of.
pub fn without_frames(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let mut out = String::new();
    let mut parts = text.split("\x1b[");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(part.len());
        let (parameters, rest) = part.split_at(end);
        let harmless = match rest.chars().next() {
            Some('m' | 'H') => parameters.chars().all(|c| c.is_ascii_digit() || c == ';'),
            Some('h' | 'l') => matches!(parameters, "?2026" | "?25"),
            _ => false,
        };
        assert!(harmless, "a sequence that is none of ours: {:?}", &part[..end + 1]);
        out.push_str(&rest[1..]);
    }
    out
}

#[test]
fn nothing_but_text_reaches_the_terminal_at_any_width() {
    for (number, (first, keys)) in SCREENS.into_iter().enumerate() {
        // The screens at all widths, what is over them at some.
        let step = if keys.len() > 3 || matches!(keys, "z" | "?") { 11 } else { 1 };
        for width in (1 + number as u16..=200).step_by(step).chain(1..=number as u16) {
            // And each height with some.
            let height = [8, 24, 13, 50][usize::from(width % 4)];
            let kept = Kept::default();
            let terminal = fixed(FrameBackend::new(kept.clone()), width, height);
            let theme = theme(Depth::Ansi16, Charset::Unicode);
            let mut stage = stage_saying(terminal, theme, first, live(), names(1024));
            assert_eq!(stage.press(keys), None);
            let text = without_frames(&kept.0.lock().unwrap());
            if let Some(bad) = text.chars().find(|c| !prints(*c)) {
                panic!("{first:?} {keys} at {width}: {bad:?}");
            }
        }
    }
}

fn tame_and_hostile(first: ScreenId, width: u16, keys: &str) -> (Stage<TestBackend>, Stage<TestBackend>) {
    let on = |names| {
        let terminal = Terminal::new(TestBackend::new(width, 24)).expect("terminal");
        let mut stage = stage_saying(terminal, theme(Depth::None, Charset::Unicode), first, live(), names);
        assert_eq!(stage.press(keys), None);
        stage
    };
    (on(vec!["name".to_owned()]), on(names(1024)))
}

/// The cells of a line from a column on.
fn cells(stage: &Stage<TestBackend>, y: u16, columns: std::ops::Range<u16>) -> Vec<String> {
    let buffer = stage.event_loop.terminal().backend().buffer();
    columns.map(|x| buffer[(x, y)].symbol().to_owned()).collect()
}

#[test]
fn columns_stay_where_they_are_at_any_width() {
    for width in 30..=200_u16 {
        // Names stand left of the numbers of the calls, and right of those of the events.
        let (tame, hostile) = tame_and_hostile(ScreenId::Calls, width, "j");
        let heading = tame.line(2);
        let list = if width >= 140 {
            heading.find('│').map_or(width, |at| heading[..at].chars().count() as u16)
        } else {
            width
        };
        let numbers = tame.line(3)[..].chars().take(usize::from(list)).collect::<String>();
        let from = numbers.rfind("1m").map_or(list, |at| numbers[..at].chars().count() as u16);
        for y in 2..21 {
            assert_eq!(cells(&tame, y, from..list), cells(&hostile, y, from..list), "calls at {width}, line {y}");
        }
        let (tame, hostile) = tame_and_hostile(ScreenId::Events, width, "j");
        for y in 3..22 {
            assert_eq!(cells(&tame, y, 0..12), cells(&hostile, y, 0..12), "events at {width}, line {y}");
        }
    }
}

/// A line as it was drawn. Behind a wide character is a cell that nobody sees.
fn visible(stage: &Stage<TestBackend>, y: u16, width: u16) -> String {
    let mut line = String::new();
    let mut hidden = 0;
    for symbol in cells(stage, y, 0..width) {
        if hidden > 0 {
            hidden -= 1;
            continue;
        }
        hidden = symbol.width().saturating_sub(1);
        line.push_str(&symbol);
    }
    line.trim_end().to_owned()
}

/// What takes cells: terminals keep more or less of what does not.
fn in_cells(line: &str) -> String {
    line.chars().filter(|c| c.width().unwrap_or(0) > 0).collect()
}

#[test]
fn a_terminal_shows_what_was_drawn() {
    let size = |cells: u16| NonZeroU16::new(cells).expect("not zero");
    for (first, keys) in SCREENS {
        for width in [30, 57, 80, 131, 200] {
            let kept = Kept::default();
            let terminal = fixed(FrameBackend::new(kept.clone()), width, 24);
            let look = theme(Depth::Ansi16, Charset::Unicode);
            let mut stage = stage_saying(terminal, look.clone(), first, live(), names(1024));
            assert_eq!(stage.press(keys), None);
            let mut parser = vt100::Parser::new(size(24), size(width), 0);
            parser.process(&kept.0.lock().unwrap());
            let terminal = Terminal::new(TestBackend::new(width, 24)).expect("terminal");
            let mut drawn = stage_saying(terminal, look, first, live(), names(1024));
            assert_eq!(drawn.press(keys), None);
            // What lay behind a wide character before is kept by a terminal in memory, and shown by none.
            assert_eq!(drawn.send(Message::Repaint), None);
            for (y, shown) in parser.screen().rows(0, width).enumerate() {
                let line = visible(&drawn, y as u16, width);
                assert_eq!(in_cells(shown.trim_end()), in_cells(&line), "{first:?} {keys} at {width}, line {y}");
            }
        }
    }
}

#[test]
fn a_name_of_a_mebibyte_is_shown_as_any_other() {
    for (first, keys) in
        [(ScreenId::Overview, "1"), (ScreenId::Calls, "j"), (ScreenId::Events, "Enter"), (ScreenId::Output, "k")]
    {
        let terminal = Terminal::new(TestBackend::new(80, 24)).expect("terminal");
        let long = vec!["x".repeat(1 << 20), "tame".to_owned()];
        let mut stage = stage_saying(terminal, theme(Depth::None, Charset::Unicode), first, live(), long);
        assert_eq!(stage.press(keys), None);
        assert!(stage.text().contains("xx"), "{first:?} {keys}");
    }
}

#[test]
fn in_ascii_nothing_else_comes() {
    for (first, keys) in SCREENS {
        let terminal = Terminal::new(TestBackend::new(80, 24)).expect("terminal");
        let mut stage = stage_on(terminal, theme(Depth::None, Charset::Ascii), first, live());
        stage.said.lock().unwrap().names = names(100);
        assert_eq!(stage.press(keys), None);
        assert!(stage.text().is_ascii(), "{}", stage.text());
    }
}
