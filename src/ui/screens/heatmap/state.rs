//! What the heatmap remembers between two frames.

use ratatui::layout::Size;

use crate::session::view::{HeatColour, HeatPoint, HeatRequest, HeatRows, HeatRowsAt, HeatSubject, HeatTimeAt};
use crate::ui::screens::Place;
use crate::ui::text::format;

/// State of the heatmap.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Whose addresses are shown.
    pub subject: HeatSubject,
    /// By what cells are coloured.
    pub colour: HeatColour,
    /// Which rows.
    pub at: HeatRowsAt,
    /// Which columns.
    pub time: HeatTimeAt,
    /// The cursor: line and column.
    pub cursor: (u16, u16),
    /// The allocation that a search went to, by its row there; the cursor has not moved since.
    pub generation: Option<u64>,
    /// Where a range of time begins that is being chosen: the cursor's column then, ns since the trace began.
    pub selecting: Option<(u64, u64)>,
    /// A popup waits for more about the cursor's cell.
    pub opened: bool,
    /// What it waits for.
    pub fresh: Option<Vec<(String, String)>>,
    /// The picture that came last.
    pub rows: Option<HeatRows>,
}

impl State {
    /// The picture to ask for.
    pub fn request(&self, room: Size) -> HeatRequest {
        HeatRequest {
            subject: self.subject,
            colour: self.colour,
            at: self.at,
            time: self.time,
            lines: room.height,
            columns: room.width,
            cursor: self.cursor,
            generation: self.generation,
            details: self.opened,
        }
    }

    /// Where one is.
    pub fn place(&self) -> Place {
        let subject = match (self.subject, &self.rows) {
            (HeatSubject::Busiest | HeatSubject::Found(_), Some(rows)) => rows.subject,
            (subject, _) => subject,
        };
        Place::Heatmap { subject, colour: self.colour, at: self.at, time: self.time, cursor: self.cursor }
    }

    /// Goes back there.
    pub fn restore(&mut self, place: Place) {
        if let Place::Heatmap { subject, colour, at, time, cursor } = place {
            (self.subject, self.colour, self.at, self.time, self.cursor) = (subject, colour, at, time, cursor);
            (self.selecting, self.generation) = (None, None);
        }
    }

    /// Goes to an allocation that a search has found.
    pub fn go_to(&mut self, row: u64) {
        (self.subject, self.generation) = (HeatSubject::Found(row), Some(row));
        (self.at, self.time) = (HeatRowsAt::Fit, HeatTimeAt::Fit);
    }

    /// The allocation that the cursor is at, by its row in a search.
    pub fn search_row(&self) -> u64 {
        self.generation.or_else(|| self.point()?.generation).unwrap_or(0)
    }

    /// Takes a picture.
    pub fn take(&mut self, rows: HeatRows, newest: bool) -> bool {
        let changed = self.rows.as_ref() != Some(&rows);
        if newest {
            if let (HeatRowsAt::Around(..), Some(line)) = (self.at, rows.found) {
                self.cursor.0 = line;
                self.at = HeatRowsAt::From(rows.bits, rows.first);
            }
            if let HeatSubject::Found(_) = self.subject {
                self.subject = rows.subject;
                self.cursor = rows.found_cell.unwrap_or(self.cursor);
            }
            // What did not fit was put right.
            if let HeatRowsAt::From(..) = self.at {
                self.at = HeatRowsAt::From(rows.bits, rows.first);
            }
            if let HeatTimeAt::From(..) = self.time {
                self.time = HeatTimeAt::From(rows.from_ns, rows.column_ns);
            }
            let last = u16::try_from(rows.lines.len()).unwrap_or(u16::MAX).saturating_sub(1);
            self.cursor.0 = self.cursor.0.min(last);
            let columns = u16::try_from(rows.moves.len()).unwrap_or(u16::MAX);
            self.cursor.1 = self.cursor.1.min(columns.saturating_sub(1));
        }
        let details = rows.point.as_ref().and_then(|point| point.details.clone());
        if self.opened && newest && details.is_some() {
            self.opened = rows.point.as_ref().is_some_and(|point| point.more_details);
            self.fresh = details;
        }
        self.rows = Some(rows);
        changed
    }

    /// The cursor's cell, if it is known.
    pub fn point(&self) -> Option<&HeatPoint> {
        let rows = self.rows.as_ref()?;
        let point = rows.point.as_ref()?;
        let line = rows.lines.get(usize::from(self.cursor.0))?;
        let begin = self.cursor_ns()?.0;
        (line.at == (point.at.0, point.at.1) && point.ns.0 == begin).then_some(point)
    }

    /// Begin and end of the cursor's column, ns since the trace began.
    pub fn cursor_ns(&self) -> Option<(u64, u64)> {
        let rows = self.rows.as_ref()?;
        let begin = rows.from_ns.saturating_add(rows.column_ns.saturating_mul(u64::from(self.cursor.1)));
        Some((begin, begin.saturating_add(rows.column_ns)))
    }

    /// The range of time that is being chosen, ns since the trace began.
    pub fn chosen_range(&self) -> Option<(u64, u64)> {
        let (from, to) = self.selecting?;
        let here = self.cursor_ns()?;
        Some((from.min(here.0), to.max(here.1)))
    }

    /// The cursor's cell in words: where, when, and what happened.
    pub fn text(&self) -> Option<String> {
        let point = self.point()?;
        let line = self.rows.as_ref()?.lines.get(usize::from(self.cursor.0))?;
        let when = format::seconds(point.ns.0, 6);
        let what: Vec<String> =
            point.happened.iter().map(|(name, value)| format!("{name} {value}").trim_end().to_owned()).collect();
        let what = if what.is_empty() { "nothing".to_owned() } else { what.join(", ") };
        let offset = format::bytes(line.offset).replace(".0 ", " ");
        Some(format!("+{offset}, {when} s: {what}"))
    }
}
