//! Names as bad as a trace can make them under everything that lies over a screen: prompts, boxes, finder, palette,
//! details, with a lens, a search, marks and a range that is being chosen, at every width and height.

use std::io;
use std::sync::{Arc, Mutex};

use crossterm::event::Event;
use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use umtui::session::safe::prints;
use umtui::ui::ScreenId;
use umtui::ui::event_loop::Message;
use umtui::ui::term::backend::FrameBackend;
use umtui::ui::theme::{Charset, Depth};
use unicode_width::UnicodeWidthStr as _;

use crate::fixture::{Stage, live, stage_saying, theme};
use crate::hostile::{Kept, names};

/// The terminal's own backend, of whatever size it is told.
struct Sized {
    inner: FrameBackend<Kept>,
    size: Arc<Mutex<Size>>,
}

impl Backend for Sized {
    type Error = io::Error;
    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        self.inner.draw(content)
    }
    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }
    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }
    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }
    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }
    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.inner.clear_region(region)
    }
    fn size(&self) -> io::Result<Size> {
        Ok(*self.size.lock().unwrap())
    }
    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }
    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}

/// A stage that can be made larger and smaller, and what it writes.
struct Hall {
    stage: Stage<Sized>,
    size: Arc<Mutex<Size>>,
    kept: Kept,
}

impl Hall {
    fn new(first: ScreenId) -> Self {
        let (size, kept) = (Arc::new(Mutex::new(Size::new(80, 24))), Kept::default());
        let backend = Sized { inner: FrameBackend::new(kept.clone()), size: Arc::clone(&size) };
        let terminal = Terminal::new(backend).expect("terminal");
        let theme = theme(Depth::Ansi16, Charset::Unicode);
        Self { stage: stage_saying(terminal, theme, first, live(), names(1024)), size, kept }
    }

    /// Draws it in this size, and looks at what was written.
    fn check(&mut self, width: u16, height: u16, what: &str) {
        self.kept.0.lock().unwrap().clear();
        *self.size.lock().unwrap() = Size::new(width, height);
        assert_eq!(self.stage.send(Message::Input(Event::Resize(width, height))), None);
        assert_eq!(self.stage.send(Message::Repaint), None);
        let bytes = std::mem::take(&mut *self.kept.0.lock().unwrap());
        assert!(!bytes.is_empty(), "{what}: nothing is drawn at {width}x{height}");
        inside(&bytes, Size::new(width, height), &format!("{what} at {width}x{height}"));
    }
}

/// Fails unless these bytes are text within a terminal of this size, and the sequences that frames are made of.
fn inside(bytes: &[u8], size: Size, what: &str) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{what}: not UTF-8"));
    let mut parts = text.split("\x1b[");
    assert_eq!(parts.next(), Some(""), "{what}: text before anything else");
    let mut column = 0;
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(part.len());
        let (parameters, rest) = part.split_at(end);
        let numbers = || parameters.split(';').map(|number| number.parse::<u16>().ok()).collect::<Vec<_>>();
        match rest.chars().next() {
            Some('H') => match numbers()[..] {
                [Some(y), Some(x)] => {
                    assert!((1..=size.height).contains(&y) && (1..=size.width).contains(&x), "{what}: goes to {x},{y}");
                    column = x - 1;
                }
                _ => panic!("{what}: {parameters:?} H"),
            },
            Some('m') => assert!(parameters.chars().all(|c| c.is_ascii_digit() || c == ';'), "{what}"),
            Some('h' | 'l') => assert!(matches!(parameters, "?2026" | "?25"), "{what}: {parameters:?}"),
            Some('J') => assert_eq!(parameters, "2", "{what}"),
            other => panic!("{what}: a sequence that is none of ours: {parameters:?} {other:?}"),
        }
        let shown = &rest[1..];
        let bad = shown.chars().find(|c| !prints(*c));
        assert_eq!(bad, None, "{what}");
        column += shown.width() as u16;
        assert!(column <= size.width, "{what}: a line of {column}: {shown:?}");
    }
}

const OVER: [(ScreenId, &str); 39] = [
    (ScreenId::Overview, ""),
    (ScreenId::Calls, "j j"),
    (ScreenId::Calls, "t j j j"),
    (ScreenId::Events, "j j"),
    (ScreenId::Memory, "j h h u"),
    (ScreenId::Memory, "Tab t j"),
    (ScreenId::Memory, "h b t j"),
    (ScreenId::Memory, "/ s Enter n"),
    (ScreenId::Memory, "j Enter"),
    (ScreenId::Output, "l l l l"),
    (ScreenId::Overview, "/ c Enter"),
    (ScreenId::Calls, "/ z"),
    (ScreenId::Calls, "/ s Enter n n N"),
    (ScreenId::Events, "/ e Enter n"),
    (ScreenId::Output, "/ s Enter"),
    (ScreenId::Calls, "& a p i : x"),
    (ScreenId::Events, "& k e r n a l : x"),
    (ScreenId::Calls, "& f a i l e d Enter"),
    (ScreenId::Calls, "j j j @"),
    (ScreenId::Events, "j @ !"),
    (ScreenId::Events, "v j j"),
    (ScreenId::Events, "v j j Enter"),
    (ScreenId::Events, "j R"),
    (ScreenId::Overview, ": + 1 m s Enter"),
    (ScreenId::Calls, "P"),
    (ScreenId::Calls, "g p"),
    (ScreenId::Calls, "g p s Down Down"),
    (ScreenId::Events, ":"),
    (ScreenId::Calls, ": c l Down"),
    (ScreenId::Calls, "f"),
    (ScreenId::Events, "f"),
    (ScreenId::Calls, "j j d"),
    (ScreenId::Events, "j j Enter"),
    (ScreenId::Events, "j m j m j m '"),
    (ScreenId::Events, "j m j j m"),
    (ScreenId::Calls, "g"),
    (ScreenId::Calls, "z"),
    (ScreenId::Events, "Enter ?"),
    (ScreenId::Calls, "j y"),
];

#[test]
fn whatever_lies_over_a_screen_stays_inside_it_at_every_size() {
    for (number, (first, keys)) in OVER.into_iter().enumerate() {
        let mut hall = Hall::new(first);
        if !keys.is_empty() {
            assert_eq!(hall.stage.press(keys), None);
        }
        let what = format!("{first:?} {keys:?}");
        // Widths and heights, with ever others of each other; the next one has the widths between.
        for width in (1 + number as u16 % 3..=200).step_by(3) {
            hall.check(width, (width * 7 + number as u16) % 50 + 1, &what);
        }
        for height in 1..=50 {
            hall.check([30, 57, 80, 140, 200][usize::from(height) % 5], height, &what);
        }
    }
}

#[test]
fn what_is_pasted_into_a_line_stays_inside_it() {
    let paste = "api:\x1b[2J\x1b]0;x\x07\u{9b}31m\u{202e}\u{2066}\u{feff}\r\n\t\0\x7fz\u{301}\u{302}日本👩\u{200d}🔬🇩🇪"
        .repeat(40);
    for keys in ["/", "&", ":", "g p"] {
        let mut hall = Hall::new(ScreenId::Calls);
        assert_eq!(hall.stage.press(keys), None);
        assert_eq!(hall.stage.send(Message::Input(Event::Paste(paste.clone()))), None);
        for width in 1..=200 {
            hall.check(width, width % 30 + 1, keys);
        }
        assert_eq!(hall.stage.press("Left Left Home a End Backspace Enter"), None);
        hall.check(80, 24, keys);
        // Whatever became of it, keys are keys again.
        assert_eq!(hall.stage.press("Esc Esc Esc 6 j"), None);
        hall.check(80, 24, keys);
    }
}
