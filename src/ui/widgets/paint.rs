//! The one way for text to reach the screen: cut to its cells, and in ASCII where that is all there is.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthChar as _;

use crate::session::search::Pattern;
use crate::ui::keys::{Context, Keymap};
use crate::ui::marks::Marks;
use crate::ui::text::truncate;
use crate::ui::theme::{Charset, Role, Theme};

/// Combining characters that a cell may have; no language has more on one letter.
const MARKS: usize = 8;

/// A buffer and the theme to draw with.
pub struct Paint<'a> {
    buffer: &'a mut Buffer,
    /// Styles and glyphs.
    pub theme: &'a Theme,
    /// What is searched for.
    pub sought: Option<&'a Pattern>,
    /// Keys, for texts that name some; the usual ones if there are none here.
    pub keymap: Option<&'a Keymap>,
    /// What is marked.
    pub marks: Marks<'a>,
}

impl<'a> Paint<'a> {
    /// Draws into this buffer.
    pub fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self { buffer, theme, sought: None, keymap: None, marks: Marks::default() }
    }

    /// A text in which actions stand for their keys, see [`Keymap::fill`].
    pub fn fill(&self, context: Context, template: &str) -> String {
        match self.keymap {
            Some(keymap) => keymap.fill(context, template),
            None => Keymap::default().fill(context, template),
        }
    }

    fn safe<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.theme.glyphs.charset == Charset::Unicode || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect())
    }

    /// One character after the other, each in the cells that it takes by itself: where several make one glyph, terminals
    /// do not agree on how wide it is, and what one of them draws too wide would stay on its screen.
    fn put(&mut self, x: u16, y: u16, cells: u16, text: &str, style: Style) -> u16 {
        if !self.buffer.area.contains((x, y).into()) {
            return x;
        }
        let end = x.saturating_add(cells).min(self.buffer.area.right());
        let (mut at, mut last, mut marks) = (x, None, 0);
        for character in text.chars().filter(|character| !character.is_control()) {
            let width = character.width().and_then(|width| u16::try_from(width).ok()).unwrap_or(0);
            if width == 0 {
                marks += 1;
                if let Some(cell) = last.and_then(|last| self.buffer.cell_mut(last)).filter(|_| marks <= MARKS) {
                    let symbol = format!("{}{character}", cell.symbol());
                    cell.set_symbol(&symbol);
                }
                continue;
            }
            if at + width > end {
                break;
            }
            self.buffer[(at, y)].set_char(character).set_style(style);
            for hidden in at + 1..at + width {
                self.buffer[(hidden, y)].reset();
                self.buffer[(hidden, y)].set_style(self.theme.base());
            }
            (last, marks, at) = (Some((at, y)), 0, at + width);
        }
        at
    }

    /// Text from the left, its end cut off if need be. Returns the column after it.
    pub fn text(&mut self, x: u16, y: u16, cells: u16, text: &str, role: Role) -> u16 {
        let text = self.safe(text);
        let cut = truncate::end(&text, usize::from(cells), self.theme.glyphs.ellipsis);
        self.put(x, y, cells, &cut, self.theme.style(role))
    }

    /// A name from the left, its middle cut out if need be. Returns the column after it.
    pub fn name(&mut self, x: u16, y: u16, cells: u16, text: &str, role: Role) -> u16 {
        let text = self.safe(text);
        let cut = truncate::middle(&text, usize::from(cells), self.theme.glyphs.ellipsis);
        self.put(x, y, cells, &cut, self.theme.style(role))
    }

    /// Text that ends at the right end of its cells.
    pub fn right(&mut self, x: u16, y: u16, cells: u16, text: &str, role: Role) {
        let text = self.safe(text);
        let cut = truncate::end(&text, usize::from(cells), self.theme.glyphs.ellipsis);
        let used = u16::try_from(truncate::width(&cut)).unwrap_or(cells).min(cells);
        self.put(x + (cells - used), y, used, &cut, self.theme.style(role));
    }

    /// Pieces of text one after the other. Returns the column after them.
    pub fn pieces(&mut self, x: u16, y: u16, cells: u16, pieces: &[(&str, Role)]) -> u16 {
        let end = x.saturating_add(cells);
        let mut at = x;
        for (text, role) in pieces {
            if at >= end {
                break;
            }
            at = self.text(at, y, end - at, text, *role);
        }
        at
    }

    /// A glyph over and over.
    pub fn row_of(&mut self, x: u16, y: u16, cells: u16, glyph: &str, role: Role) {
        let style = self.theme.style(role);
        for column in x..x.saturating_add(cells) {
            self.put(column, y, 1, glyph, style);
        }
    }

    /// Marks what is searched for in the cells from a place on to before `end`, where `text` was drawn. If it stands in
    /// what was cut out, the sign for that is marked.
    pub fn mark(&mut self, at: (u16, u16), end: u16, text: &str) {
        if let Some(pattern) = self.sought {
            self.mark_with(pattern, at, end, text);
        }
    }

    /// Likewise what another pattern finds.
    pub fn mark_with(&mut self, pattern: &Pattern, (x, y): (u16, u16), end: u16, text: &str) {
        if !pattern.finds(text) {
            return;
        }
        let mut cells: Vec<(u16, u16)> = Vec::new();
        let mut shown = String::new();
        let mut at = x;
        while at < end && self.buffer.area.contains((at, y).into()) {
            let symbol = self.buffer[(at, y)].symbol();
            let width = u16::try_from(truncate::width(symbol)).unwrap_or(1).max(1);
            shown.extend(symbol.chars().next());
            cells.push((at, width));
            at = at.saturating_add(width);
        }
        let spans = pattern.spans(&shown).or_else(|| {
            let ellipsis = self.theme.glyphs.ellipsis;
            let at = shown.find(ellipsis).and_then(|at| shown.get(..at)).map(|before| before.chars().count())?;
            Some(std::iter::once(at..at + ellipsis.chars().count()).collect())
        });
        for cell in spans.into_iter().flatten().flatten() {
            if let Some(&(x, width)) = cells.get(cell) {
                self.lay_over(Rect::new(x, y, width, 1), Role::Found);
            }
        }
    }

    /// Lays a role's style over what is there.
    pub fn lay_over(&mut self, area: Rect, role: Role) {
        self.buffer.set_style(area.intersection(self.buffer.area), self.theme.style(role));
    }

    /// Makes an area empty, for a popup.
    pub fn clear(&mut self, area: Rect) {
        for position in area.intersection(self.buffer.area).positions() {
            self.buffer[position].reset();
            self.buffer[position].set_style(self.theme.base());
        }
    }
}
