//! Bytes that reach the terminal.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use umtui::ui::ScreenId;
use umtui::ui::event_loop::Message;
use umtui::ui::term::backend::FrameBackend;
use umtui::ui::theme::{Charset, Depth};

use crate::fixture::{Stage, fixed, live, stage_on, theme};

/// Counts bytes and writes.
#[derive(Clone, Default)]
struct Counting(Arc<(AtomicUsize, AtomicUsize)>);

impl Counting {
    /// Bytes and writes since the last call.
    fn take(&self) -> (usize, usize) {
        (self.0.0.swap(0, Ordering::SeqCst), self.0.1.swap(0, Ordering::SeqCst))
    }
}

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.fetch_add(bytes.len(), Ordering::SeqCst);
        self.0.1.fetch_add(1, Ordering::SeqCst);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn counted(first: ScreenId) -> (Stage<FrameBackend<Counting>>, Counting) {
    crossterm::style::force_color_output(true);
    let counting = Counting::default();
    let terminal = fixed(FrameBackend::new(counting.clone()), 200, 50);
    (stage_on(terminal, theme(Depth::TrueColor, Charset::Unicode), first, live()), counting)
}

#[test]
fn a_cursor_move_at_200x50_writes_less_than_4_kib_in_one_piece() {
    for screen in [ScreenId::Calls, ScreenId::Heatmap, ScreenId::Events, ScreenId::Memory] {
        let (mut stage, counting) = counted(screen);
        counting.take();
        for keys in ["j", "j", "k", "j"] {
            stage.press(keys);
            let (bytes, writes) = counting.take();
            assert!(bytes > 0 && bytes < 4_096, "{screen:?}: {bytes} bytes");
            assert_eq!(writes, 1);
        }
    }
}

#[test]
fn nothing_new_writes_nothing() {
    for screen in ScreenId::ALL {
        let (mut stage, counting) = counted(screen);
        counting.take();
        assert_eq!(stage.event_loop.settle().expect("settle"), None);
        assert_eq!(stage.send(Message::Input(crossterm::event::Event::FocusGained)), None);
        // A key that means nothing here, and the release of one that does.
        stage.press("Ctrl-y");
        assert_eq!(counting.take(), (0, 0), "{screen:?}");
    }
}
