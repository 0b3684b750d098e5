//! What is searched for on the screens: the text, where the search began, and which match the cursor is on.
//!
//! While the text is typed the cursor goes to the first match from where it was, and back there if there is none.

use super::screens::{Place, ScreenId};
use super::text::format;
use super::theme::Role;
use crate::session::search::Pattern;
use crate::session::view::{About, Entry, EntryKind, Found, SearchAnswer, SearchFrom, SearchRequest, Step};

/// State of the search.
#[derive(Debug, Default)]
pub struct Search {
    text: String,
    pattern: Option<Pattern>,
    /// The same text as it stands, for what is no names.
    plain: Option<Pattern>,
    /// What is asked for, until all of it has been answered.
    asked: Option<SearchRequest>,
    /// Names or a source line that are asked for.
    other: Option<SearchRequest>,
    last_id: u64,
    answer: Option<SearchAnswer>,
    /// The cursor has gone to the match.
    gone: bool,
    /// Where the cursor was when typing began.
    origin: Option<(ScreenId, Place, SearchFrom)>,
}

/// What is to be done after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Nothing.
    Stay,
    /// Go to a match; from where typing began, if it goes on.
    To(Box<Found>, Option<Place>),
    /// Go back to where typing began.
    Back(Place),
    /// Names to list, and how many there are in all once that is known.
    Names(Vec<Entry>, Option<u64>),
    /// The source line of a row.
    Source(Result<(String, u32), String>),
    /// What a row is about.
    About(About),
}

impl Search {
    /// What matches are marked by.
    pub fn pattern(&self, screen: ScreenId) -> Option<&Pattern> {
        if screen == ScreenId::Output { self.plain.as_ref() } else { self.pattern.as_ref() }
    }

    /// What is to be asked now.
    pub fn request(&self) -> Option<&SearchRequest> {
        self.other.as_ref().or(self.asked.as_ref())
    }

    /// Whether there is anything that going back would end.
    pub fn is_on(&self) -> bool {
        self.pattern.is_some()
    }

    /// The text is being typed, from this place on.
    pub fn begin(&mut self, screen: ScreenId, place: Place, from: SearchFrom) {
        self.origin = Some((screen, place, from));
    }

    /// The text has changed. Gives the place to go back to if nothing is left of it.
    pub fn typed(&mut self, text: &str) -> Option<Place> {
        self.set(text);
        let (_, place, from) = self.origin.as_ref()?;
        if self.pattern.is_none() {
            return Some(place.clone());
        }
        let from = *from;
        self.ask(from, Step::Here);
        None
    }

    /// The text is what was meant. An empty one means the one before.
    pub fn entered(&mut self, text: &str, before: Option<&str>) {
        let origin = self.origin.take();
        if text.trim().is_empty() {
            self.set(before.unwrap_or(""));
            if let Some((_, _, from)) = origin {
                self.ask(from, Step::Next);
            }
        } else if self.text != text {
            self.set(text);
        }
    }

    /// It was not meant. Gives the place to go back to.
    pub fn cancelled(&mut self) -> Option<Place> {
        let origin = self.origin.take();
        *self = Self { last_id: self.last_id, ..Self::default() };
        origin.map(|(_, place, _)| place)
    }

    /// Another match is wanted. False if nothing is searched for.
    pub fn step(&mut self, from: SearchFrom, step: Step) -> bool {
        if self.is_on() {
            self.ask(from, step);
        }
        self.is_on()
    }

    fn set(&mut self, text: &str) {
        self.text = text.to_owned();
        self.pattern = Pattern::new(text);
        self.plain = Pattern::plain(text);
        self.asked = None;
        self.answer = None;
    }

    fn ask(&mut self, from: SearchFrom, step: Step) {
        if self.pattern.is_some() {
            self.last_id += 1;
            self.gone = false;
            self.answer = None;
            self.asked = Some(SearchRequest { id: self.last_id, text: self.text.clone(), from, step });
        }
    }

    /// Names that fit are wanted, so many.
    pub fn ask_names(&mut self, text: &str, limit: usize) {
        self.ask_other(text.to_owned(), SearchFrom::Row(0), Step::Names(limit));
    }

    /// Names of a kind that fit are wanted, so many.
    pub fn ask_names_of(&mut self, kind: EntryKind, text: &str, limit: usize) {
        self.ask_other(text.to_owned(), SearchFrom::Row(0), Step::NamesOf(kind, limit));
    }

    /// Something is wanted that is no match.
    pub fn ask_other(&mut self, text: String, from: SearchFrom, step: Step) {
        self.last_id += 1;
        self.other = Some(SearchRequest { id: self.last_id, text, from, step });
    }

    /// It is wanted no more.
    pub fn ask_no_more(&mut self) {
        self.other = None;
    }

    /// Takes an answer; says what to do.
    pub fn take(&mut self, answer: SearchAnswer) -> Move {
        if self.other.as_ref().is_some_and(|other| other.id == answer.id) {
            let complete = answer.share.is_none();
            if complete {
                self.other = None;
            }
            return match (answer.source, answer.about) {
                (Some(source), _) => Move::Source(source),
                (None, Some(about)) => Move::About(about),
                (None, None) => Move::Names(answer.entries, complete.then_some(answer.count)),
            };
        }
        if self.asked.as_ref().is_none_or(|asked| asked.id != answer.id) {
            return Move::Stay;
        }
        let complete = answer.share.is_none();
        if complete {
            self.asked = None;
        }
        let found = answer.found.clone();
        self.answer = Some(answer);
        let origin = self.origin.as_ref().map(|(_, place, _)| place.clone());
        match (found, origin) {
            (Some(found), origin) if !self.gone => {
                self.gone = true;
                Move::To(Box::new(found), origin)
            }
            (None, Some(place)) if complete => Move::Back(place),
            _ => Move::Stay,
        }
    }

    /// Matches that a lens hides, as far as that is known.
    pub fn hidden(&self) -> u64 {
        self.answer.as_ref().and_then(|answer| answer.hidden).unwrap_or(0)
    }

    /// Whether all has been looked at and nothing was found.
    pub fn has_failed(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.share.is_none() && answer.found.is_none())
    }

    /// How it stands, in a few words, with the keys that stop it and that show what a lens hides; nothing if nobody asked.
    pub fn note(&self, stops: &str, shows: &str) -> Option<(String, Role)> {
        self.pattern.as_ref()?;
        let Some(answer) = &self.answer else {
            return self.asked.as_ref().map(|_| ("searching".to_owned(), Role::Dim));
        };
        let so_far = answer.share.map_or(String::new(), |share| format!(" so far, {} % searched", share / 10));
        let count = format!("{}{so_far}", format::grouped(answer.count));
        let Some(found) = &answer.found else {
            return Some(match answer.share {
                None if self.hidden() > 0 => (
                    format!(
                        "no match here; {} hidden by the lens: {shows} goes there without it",
                        format::grouped(self.hidden())
                    ),
                    Role::Warning,
                ),
                None => ("no match".to_owned(), Role::Warning),
                Some(share) => (format!("searching, {} % done; {stops} stops", share / 10), Role::Dim),
            });
        };
        let mut text = match found.number {
            Some(number) => format!("match {} of {count}", format::grouped(number)),
            None => format!("a match of {count}"),
        };
        if !found.place.is_empty() {
            text.push_str(&format!(", {}", found.place));
        }
        if self.hidden() > 0 {
            text.push_str(&format!(", {} more hidden by the lens", format::grouped(self.hidden())));
        }
        if found.wrapped {
            text.push_str(", beyond the end");
        }
        Some((text, Role::Strong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::view::Target;

    fn found(row: u64, number: Option<u64>) -> Found {
        Found { target: Target::Row(row), number, place: "in thread main".to_owned(), wrapped: false }
    }

    fn answer(search: &Search, found: Option<Found>, share: Option<u16>) -> SearchAnswer {
        SearchAnswer { id: search.last_id, count: 41, share, found, ..SearchAnswer::default() }
    }

    fn note(search: &Search) -> String {
        search.note("Esc", "n").map(|(text, _)| text).unwrap_or_default()
    }

    #[test]
    fn typing_goes_to_the_first_match_and_esc_back() {
        let mut search = Search::default();
        search.begin(ScreenId::Overview, Place::Overview, SearchFrom::Row(7));
        assert_eq!(search.typed("mal"), None);
        let request = search.request().cloned().unwrap();
        assert_eq!((request.from, request.step), (SearchFrom::Row(7), Step::Here));
        let told = search.take(answer(&search, Some(found(9, None)), Some(380)));
        assert!(matches!(told, Move::To(_, Some(Place::Overview))));
        assert_eq!(note(&search), "a match of 41 so far, 38 % searched, in thread main");
        // The cursor goes there once, though more is counted.
        assert_eq!(search.take(answer(&search, Some(found(9, Some(3))), None)), Move::Stay);
        assert_eq!((note(&search).as_str(), search.request()), ("match 3 of 41, in thread main", None));
        assert_eq!(search.typed("malx"), None);
        // An answer to what was typed before comes too late.
        let late = SearchAnswer { id: 1, ..answer(&search, Some(found(9, None)), None) };
        assert_eq!(search.take(late), Move::Stay);
        assert_eq!(search.take(answer(&search, None, None)), Move::Back(Place::Overview));
        assert_eq!(note(&search), "no match");
        assert_eq!(search.cancelled(), Some(Place::Overview));
        assert!(!search.is_on() && search.note("Esc", "n").is_none());
    }

    #[test]
    fn an_empty_text_means_the_one_before() {
        let mut search = Search::default();
        assert!(!search.step(SearchFrom::Row(0), Step::Next));
        search.begin(ScreenId::Overview, Place::Overview, SearchFrom::Row(7));
        search.entered("", Some("malloc"));
        assert_eq!(search.request().map(|asked| (asked.text.as_str(), asked.step)), Some(("malloc", Step::Next)));
        search.begin(ScreenId::Overview, Place::Overview, SearchFrom::Row(7));
        assert_eq!(search.typed("  "), Some(Place::Overview));
    }
}
