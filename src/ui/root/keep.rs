//! What the whole screen does about marks, copying, source lines, and what is remembered of a trace.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Order, Root};
use crate::session::safe::safe;
use crate::session::view::{Phase, Status, Step};
use crate::ui::marks::{Mark, Marks};
use crate::ui::memory::{MARKS, Memory};
use crate::ui::screens::ScreenId;
use crate::ui::widgets::paint::Paint;

/// What to do about source that is not found.
const WHERE: &str = "the config's [source] map says where";

impl Root {
    /// Where is kept what is remembered.
    pub fn state_folder(&self) -> Option<&std::path::Path> {
        self.state_folder.as_deref()
    }

    /// What is marked.
    pub fn marks(&self) -> Marks<'_> {
        Marks(&self.memory.marks)
    }

    /// Marks where one is.
    pub(super) fn mark(&mut self) -> Order {
        let label = self.screen().title_of_place();
        let mark = Mark { label: label.clone(), place: self.screen().place() };
        self.memory.marks.retain(|known| !known.is_at(&mark.place));
        if self.memory.marks.len() >= MARKS {
            self.memory.marks.remove(0);
        }
        self.memory.marks.push(mark);
        let list = self.fill("{marks} lists the marks");
        self.notice = Some(format!("marked: {label}   {list}"));
        self.keep();
        Order::None
    }

    /// Goes to a mark.
    pub(super) fn jump(&mut self, number: usize) {
        self.layers.pop();
        let Some(place) = self.memory.marks.get(number).map(|mark| mark.place.clone()) else { return };
        let screen = place.screen();
        self.screens.get_mut(screen).return_to(place);
        if screen != self.current {
            self.go(screen);
        }
    }

    pub(super) fn clear_marks(&mut self) -> Order {
        let count = std::mem::take(&mut self.memory.marks).len();
        self.notice = Some(format!("{count} marks cleared"));
        self.keep();
        Order::None
    }

    /// Once it is known which trace this is: what is remembered of it, and back to where one was.
    pub fn recall(&mut self, status: &Status) {
        let Some(trace) = status.trace.filter(|_| !matches!(status.phase, Phase::Opening(_))) else { return };
        if self.trace.replace(trace) == Some(trace) {
            return;
        }
        let Some(folder) = &self.state_folder else { return };
        let Memory { marks, screen, places } = Memory::read(folder, trace);
        // Marks that were set before it was known stay.
        let set = std::mem::replace(&mut self.memory.marks, marks);
        self.memory.marks.extend(set);
        if self.touched {
            return;
        }
        for place in places {
            self.screens.get_mut(place.screen()).return_to(place);
        }
        if let Some(screen) = screen.filter(|_| !self.first_is_wanted) {
            self.current = screen;
        }
    }

    /// Remembers marks and places for the next time. Says why not, if it cannot.
    pub fn keep(&mut self) {
        let (Some(folder), Some(trace)) = (&self.state_folder, self.trace) else { return };
        self.memory.screen = Some(self.current);
        self.memory.places = ScreenId::ALL.map(|screen| self.screens.get(screen).place()).to_vec();
        if let Err(error) = self.memory.write(folder, trace) {
            self.notice = Some(format!("marks cannot be kept in {}: {error}", folder.display()));
        }
    }

    /// Copies the cursor's row.
    pub(super) fn copy_row(&mut self) -> Order {
        match self.screen().row_text() {
            Some(text) => Order::Copy(text),
            None => {
                self.notice = Some(self.fill("there is no row to copy here: {copy-view} copies the screen"));
                Order::None
            }
        }
    }

    /// Copies what the screen shows, as text.
    pub(super) fn copy_view(&mut self) -> Order {
        let area = Rect::new(0, 0, self.size.width, self.body().height);
        let mut buffer = Buffer::empty(area);
        let status = self.status.clone().unwrap_or_default();
        let mut paint = Paint::new(&mut buffer, &self.theme);
        paint.keymap = Some(&self.keymap);
        paint.marks = self.marks();
        self.screen().draw(&mut paint, area, &status);
        let line = |y| {
            let cells = (0..area.width).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        let lines: Vec<String> = (0..area.height).map(line).collect();
        Order::Copy(lines.join("\n").trim_end().to_owned() + "\n")
    }

    /// Asks for the source line of the cursor's row.
    pub(super) fn ask_source(&mut self) -> Order {
        let from = self.screen().search_from(self.body().as_size());
        self.search.ask_other(String::new(), from, Step::Source);
        Order::None
    }

    pub(super) fn take_source(&mut self, source: Result<(String, u32), String>) {
        match source {
            Ok((file, line)) => {
                let here = self.sources.here(&file);
                if here.is_file() {
                    self.pending = Some(Order::Edit(here, line));
                    return;
                }
                let shown = safe(&here.to_string_lossy()).into_owned();
                self.notice = Some(format!("{shown}:{line} is not on this machine; {WHERE}"));
            }
            Err(why) => self.notice = Some(why),
        }
    }
}
