//! A line that is typed: text, cursor, history. Drawn with a cursor of its own, since the terminal's is hidden.

use std::sync::Arc;

use unicode_width::UnicodeWidthChar;

use super::paint::Paint;
use crate::session::safe::prints;
use crate::ui::text::truncate;
use crate::ui::theme::Role;

/// Longest line, bytes; more is not taken.
const LONGEST: usize = 4096;
/// Cells that stay to be seen on the other side of the cursor.
const AROUND: usize = 4;

/// A change to the line, or a move of its cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the key table documents each")]
pub enum Edit {
    Left,
    Right,
    WordLeft,
    WordRight,
    Start,
    End,
    EraseLeft,
    EraseRight,
    EraseWord,
    EraseToStart,
    EraseToEnd,
    Older,
    Newer,
}

/// A line being typed.
#[derive(Clone, Debug, Default)]
pub struct Input {
    text: String,
    /// Byte before which is typed.
    cursor: usize,
    /// Lines that were entered before, the newest last.
    history: Arc<Vec<String>>,
    /// How far back the line shown is; 0: it is none of them.
    back: usize,
    /// What stood there before the history was looked at.
    draft: String,
}

impl Input {
    /// A line that begins with this text, and lines that were entered before, the newest last.
    pub fn new(text: &str, history: Arc<Vec<String>>) -> Self {
        let mut input = Self { history, ..Self::default() };
        input.insert(text);
        input
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor.
    pub fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or(&self.text)
    }

    /// Puts another text in place of all.
    pub fn replace(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Puts a text in place of what stands from this byte to the cursor.
    pub fn complete(&mut self, from: usize, text: &str) {
        let from = from.min(self.cursor);
        if self.text.is_char_boundary(from) {
            self.text.drain(from..self.cursor);
            self.cursor = from;
            self.insert(text);
        }
    }

    /// Takes typed or pasted text: ends of lines and tabs become spaces, what does not print is left out.
    pub fn insert(&mut self, text: &str) {
        for character in text.trim_end_matches(['\n', '\r']).chars() {
            let character = if matches!(character, '\n' | '\t') { ' ' } else { character };
            if prints(character) && self.text.len() + character.len_utf8() <= LONGEST {
                self.text.insert(self.cursor, character);
                self.cursor += character.len_utf8();
            }
        }
    }

    /// Changes the line. Says whether its text is another one now.
    pub fn edit(&mut self, edit: Edit) -> bool {
        let before = self.text.len();
        match edit {
            Edit::Left => self.cursor = self.left(),
            Edit::Right => self.cursor = self.right(),
            Edit::WordLeft => self.cursor = self.word_left(),
            Edit::WordRight => self.cursor = self.word_right(),
            Edit::Start => self.cursor = 0,
            Edit::End => self.cursor = self.text.len(),
            Edit::EraseLeft => self.erase(self.left(), self.cursor),
            Edit::EraseRight => self.erase(self.cursor, self.right()),
            Edit::EraseWord => self.erase(self.word_left(), self.cursor),
            Edit::EraseToStart => self.erase(0, self.cursor),
            Edit::EraseToEnd => self.erase(self.cursor, self.text.len()),
            Edit::Older => return self.recall(self.back + 1),
            Edit::Newer => return self.back > 0 && self.recall(self.back - 1),
        }
        self.text.len() != before
    }

    fn erase(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        self.cursor = from;
    }

    fn recall(&mut self, back: usize) -> bool {
        if back > self.history.len() {
            return false;
        }
        if self.back == 0 {
            self.draft = self.text.clone();
        }
        self.back = back;
        let entered = self.history.len().checked_sub(back).and_then(|at| self.history.get(at)).cloned();
        let text = entered.unwrap_or_else(|| std::mem::take(&mut self.draft));
        let changed = text != self.text;
        self.replace(&text);
        changed
    }

    /// Where the character before the cursor begins, with the marks that are drawn over it.
    fn left(&self) -> usize {
        let mut before = self.before().char_indices().rev();
        before.find(|(_, character)| character.width() != Some(0)).map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        let mut after = self.text.get(self.cursor..).unwrap_or("").char_indices().skip(1);
        after.find(|(_, character)| character.width() != Some(0)).map_or(self.text.len(), |(at, _)| self.cursor + at)
    }

    fn word_left(&self) -> usize {
        let before = self.before().trim_end_matches(|c: char| !c.is_alphanumeric());
        // What is no word is erased too, as in a shell.
        let spaces = self.before().trim_end();
        let end = if before.is_empty() { spaces } else { before };
        end.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + end.get(at..).and_then(first_len).unwrap_or(0))
    }

    fn word_right(&self) -> usize {
        let after = self.text.get(self.cursor..).unwrap_or("");
        let begun = after.find(char::is_alphanumeric).unwrap_or(after.len());
        let word = after.get(begun..).unwrap_or("");
        self.cursor + begun + word.find(|c: char| !c.is_alphanumeric()).unwrap_or(word.len())
    }

    /// Draws what is around the cursor, in so many cells. Returns the column after it.
    pub fn draw(&self, paint: &mut Paint<'_>, (x, y): (u16, u16), cells: u16) -> u16 {
        let (left, at) = (self.before(), self.cursor);
        let (under, after) = self.text.split_at(at).1.split_at(self.right() - at);
        // A mark over no letter takes no cell of its own.
        let under = if truncate::width(under) == 0 { " " } else { under };
        let wide = usize::from(cells);
        let room = wide.saturating_sub(truncate::width(under) + truncate::width(after).min(AROUND));
        let shown = truncate::tail(left, room);
        let mut column = paint.text(x, y, cells, shown, Role::Plain);
        let rest = |column: u16| cells.saturating_sub(column.saturating_sub(x));
        let cursor = column;
        column = paint.text(column, y, rest(column), under, Role::Plain);
        paint.lay_over(ratatui::layout::Rect::new(cursor, y, column - cursor, 1), Role::Cursor);
        paint.text(column, y, rest(column), after, Role::Plain)
    }
}

fn first_len(text: &str) -> Option<usize> {
    text.chars().next().map(char::len_utf8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Modifier;

    use super::*;
    use crate::ui::theme::{Charset, Depth, Glyphs, Palette, Theme};

    fn typed(text: &str) -> Input {
        Input::new(text, Arc::default())
    }

    fn after(text: &str, edits: &[Edit]) -> (String, String) {
        let mut input = typed(text);
        for &edit in edits {
            input.edit(edit);
        }
        (input.before().to_owned(), input.text().to_owned())
    }

    #[test]
    fn words_and_ends_are_as_in_a_shell() {
        use Edit::{End, EraseToEnd, EraseToStart, EraseWord, Left, Start, WordLeft, WordRight};
        let cases: [(&str, &[Edit], &str, &str); 9] = [
            ("cuda malloc", &[EraseWord], "cuda ", "cuda "),
            ("api:cudaMem* ", &[EraseWord], "api:", "api:"),
            ("a ::", &[EraseWord, EraseWord], "", ""),
            ("one two", &[WordLeft, WordLeft, WordRight], "one", "one two"),
            ("one two", &[Start, WordRight, WordRight, WordRight], "one two", "one two"),
            ("one two", &[Left, EraseToStart], "", "o"),
            ("one two", &[WordLeft, EraseToEnd], "one ", "one "),
            ("one", &[Start, End], "one", "one"),
            ("", &[EraseWord, EraseToStart, Left, WordLeft, WordRight], "", ""),
        ];
        for (text, edits, before, whole) in cases {
            assert_eq!(after(text, edits), (before.to_owned(), whole.to_owned()), "{text:?} {edits:?}");
        }
    }

    #[test]
    fn a_mark_over_a_letter_goes_with_it() {
        assert_eq!(after("ae\u{301}b", &[Edit::Left, Edit::EraseLeft]).1, "ab");
        assert_eq!(after("日本", &[Edit::Left, Edit::EraseRight]).1, "日");
        assert_eq!(after("e\u{301}\u{302}", &[Edit::Start, Edit::EraseRight]).1, "");
    }

    #[test]
    fn what_is_pasted_acts_on_nothing() {
        assert_eq!(typed("a\x1b[2Jb\u{202e}\nc\td\n").text(), "a[2Jb c d");
        assert_eq!(typed(&"x".repeat(10_000)).text().len(), LONGEST);
        let mut input = typed("range:");
        input.insert("fwd");
        input.complete(6, "\"forward*\"");
        assert_eq!((input.text(), input.before()), ("range:\"forward*\"", "range:\"forward*\""));
    }

    #[test]
    fn older_lines_come_back_and_the_draft_is_kept() {
        let mut input = Input::new("dra", Arc::new(vec!["first".to_owned(), "second".to_owned()]));
        assert!(!input.edit(Edit::Newer));
        assert!(input.edit(Edit::Older) && input.text() == "second");
        assert!(input.edit(Edit::Older) && input.text() == "first");
        assert!(!input.edit(Edit::Older));
        assert!(input.edit(Edit::Newer) && input.edit(Edit::Newer));
        assert_eq!((input.text(), input.before()), ("dra", "dra"));
    }

    fn drawn(input: &Input, cells: u16) -> (String, usize) {
        let theme = Theme::new(&Palette::default(), Depth::None, Glyphs::of(Charset::Unicode));
        let mut buffer = Buffer::empty(Rect::new(0, 0, cells, 1));
        let end = input.draw(&mut Paint::new(&mut buffer, &theme), (0, 0), cells);
        assert!(end <= cells);
        let reversed = (0..cells).position(|x| buffer[(x, 0)].modifier.contains(Modifier::REVERSED));
        ((0..cells).map(|x| buffer[(x, 0)].symbol()).collect(), reversed.unwrap_or(usize::MAX))
    }

    #[test]
    fn the_cursor_is_always_in_sight() {
        let mut input = typed("cudaMallocManaged");
        assert_eq!(drawn(&input, 20), ("cudaMallocManaged   ".to_owned(), 17));
        assert_eq!(drawn(&input, 8), ("Managed ".to_owned(), 7));
        input.edit(Edit::Start);
        assert_eq!(drawn(&input, 8), ("cudaMal…".to_owned(), 0));
        input.replace("日本語");
        input.edit(Edit::Left);
        assert_eq!(drawn(&input, 10).1, 4);
    }

    proptest! {
        #[test]
        fn no_edit_breaks_a_character(text in "\\PC{0,12}", edits in prop::collection::vec(0_usize..13, 0..24), cells in 1_u16..20) {
            use Edit::*;
            let all = [Left, Right, WordLeft, WordRight, Start, End, EraseLeft, EraseRight, EraseWord, EraseToStart,
                EraseToEnd, Older, Newer];
            let mut input = Input::new(&text, Arc::new(vec!["ä 日".to_owned()]));
            for edit in edits {
                input.edit(all[edit]);
                prop_assert!(input.text().is_char_boundary(input.before().len()));
                let (_, cursor) = drawn(&input, cells);
                prop_assert!(cells < 3 || cursor < usize::from(cells));
            }
        }
    }
}
