//! When to ask the session, and which of its answers to show.

use std::time::{Duration, Instant};

use super::root::{Display, Root};
use super::screens::ScreenId;
use crate::session::view::{Answer, Lens, Phase, SearchRequest, View, ViewRequest};

/// Time between an answer and the next question while the trace grows: what has happened is shown within 200 ms.
const LIVE: Duration = Duration::from_millis(150);
/// The same while the trace is being opened.
const OPENING: Duration = Duration::from_millis(100);
/// The same while the display is held: only the count of what goes on behind it changes.
const HELD: Duration = Duration::from_secs(1);
/// A question that is not answered for so long is asked again.
const LOST: Duration = Duration::from_secs(5);

/// What was asked and what was answered.
#[derive(Default)]
pub struct Asks {
    newest: u64,
    /// The newest question that a change of view caused, not the passing of time.
    by_view: u64,
    /// Answers to older questions are for another screen.
    since_screen: u64,
    answered: u64,
    view: Option<(ScreenId, View, Lens)>,
    /// The newest search that was asked for.
    search: Option<SearchRequest>,
    due: Option<Instant>,
    held: bool,
}

impl Asks {
    /// The question to ask now, if any.
    pub fn question(&mut self, root: &Root, now: Instant) -> Option<ViewRequest> {
        let view = root.screen().view(root.body().as_size());
        let through = root.lenses.lens();
        let before = self.view.as_ref();
        let other_screen = before.is_none_or(|(screen, ..)| *screen != root.current);
        let search = root.search.request().cloned();
        let new_search = search.is_some() && search != self.search;
        let changed =
            new_search || other_screen || before.is_none_or(|(_, before, lens)| *before != view || *lens != through);
        let held = matches!(root.display, Display::Held { .. });
        let let_go = std::mem::replace(&mut self.held, held) && !held;
        if !changed && !let_go && self.due.is_none_or(|due| now < due) {
            return None;
        }
        self.newest += 1;
        if other_screen {
            self.since_screen = self.newest;
        }
        if changed {
            self.by_view = self.newest;
        }
        self.due = Some(now + LOST);
        self.search.clone_from(&search);
        self.view = Some((root.current, view.clone(), through.clone()));
        Some(ViewRequest { id: self.newest, view, search, lens: through })
    }

    /// When the next question is due with nothing else happening.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Takes an answer. Says whether anything on the screen changed.
    pub fn answer(&mut self, root: &mut Root, answer: Answer, now: Instant) -> bool {
        // The newest wins; an answer that was overtaken, or is for another screen, has nothing to add.
        if answer.id < self.since_screen.max(self.answered) {
            return false;
        }
        self.answered = answer.id;
        let newest = answer.id >= self.newest;
        if newest {
            self.due = pause_before_next(root.display, answer.status.phase).map(|pause| now + pause);
        }
        // A held display changes only where the user moved it.
        let held = matches!(root.display, Display::Held { .. }) && answer.id != self.by_view;
        let body = root.body().as_size();
        let rows_changed = !held && root.screens.get_mut(root.current).apply(answer.body, newest, body);
        let rows_changed = root.pass_details() || rows_changed;
        let rows_changed = answer.search.is_some_and(|search| root.take_search(search)) || rows_changed;
        let status_changed = root.status.as_ref() != Some(&answer.status);
        if status_changed {
            root.recall(&answer.status);
            root.status = Some(answer.status);
        }
        let status_changed = (newest && root.tell_lens()) || status_changed;
        rows_changed || status_changed
    }
}

fn pause_before_next(display: Display, phase: Phase) -> Option<Duration> {
    match (phase, display) {
        (Phase::Ended | Phase::Waiting, _) => None,
        (_, Display::Held { .. }) => Some(HELD),
        (Phase::Live, _) => Some(LIVE),
        (Phase::Opening(_), _) => Some(OPENING),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Size;

    use super::*;
    use crate::session::view::{Body, Overview, Status};
    use crate::ui::setup::Setup;
    use crate::ui::theme::{Charset, Depth, Glyphs, Palette, Theme};

    fn root() -> Root {
        let theme = Theme::new(&Palette::default(), Depth::None, Glyphs::of(Charset::Ascii));
        Root::new(Setup::new(theme, ScreenId::Overview), Size::new(80, 24))
    }

    fn answer(id: u64, phase: Phase, calls: u64) -> Answer {
        let status = Status { phase, calls, ..Status::default() };
        Answer {
            id,
            epoch: 1,
            status,
            body: Body::Overview(Overview { failed: calls, ..Overview::default() }),
            search: None,
        }
    }

    #[test]
    fn a_live_trace_is_asked_for_again_after_each_answer_and_a_complete_one_is_not() {
        let (mut asks, mut root, start) = (Asks::default(), root(), Instant::now());
        assert_eq!(asks.question(&root, start).map(|q| q.id), Some(1));
        // Nothing is asked twice while the answer is awaited, however long the reader takes over it.
        assert_eq!(asks.question(&root, start + Duration::from_secs(4)), None);
        assert!(asks.answer(&mut root, answer(1, Phase::Live, 1), start));
        assert_eq!(asks.question(&root, start + Duration::from_millis(100)), None);
        assert_eq!(asks.question(&root, start + LIVE).map(|q| q.id), Some(2));
        // The same again changes nothing, so nothing is drawn.
        assert!(!asks.answer(&mut root, answer(2, Phase::Live, 1), start));
        assert_eq!(asks.question(&root, start + LIVE).map(|q| q.id), Some(3));
        assert!(asks.answer(&mut root, answer(3, Phase::Ended, 2), start));
        assert_eq!((asks.due(), asks.question(&root, start + Duration::from_secs(99))), (None, None));
    }

    #[test]
    fn a_held_display_keeps_its_rows_and_counts_on() {
        let (mut asks, mut root, start) = (Asks::default(), root(), Instant::now());
        asks.question(&root, start);
        asks.answer(&mut root, answer(1, Phase::Live, 1), start);
        root.display = Display::Held { calls: 1 };
        asks.question(&root, start + LIVE);
        // Only the title changes, and so it says; the rows wait.
        assert!(asks.answer(&mut root, answer(2, Phase::Live, 9), start));
        assert!(!asks.answer(&mut root, answer(2, Phase::Live, 9), start));
        assert_eq!(root.status.as_ref().map(|status| status.calls), Some(9));
        assert_eq!(asks.question(&root, start + LIVE), None);
        // Once let go it catches up at once.
        root.display = Display::Running;
        let question = asks.question(&root, start + LIVE);
        assert_eq!(question.map(|q| q.id), Some(3));
        assert!(asks.answer(&mut root, answer(3, Phase::Live, 9), start));
    }

    #[test]
    fn an_overtaken_answer_is_dropped() {
        let (mut asks, mut root, start) = (Asks::default(), root(), Instant::now());
        asks.question(&root, start);
        root.current = ScreenId::Calls;
        asks.question(&root, start);
        root.current = ScreenId::Overview;
        asks.question(&root, start);
        assert!(!asks.answer(&mut root, answer(2, Phase::Live, 5), start));
        assert!(asks.answer(&mut root, answer(3, Phase::Live, 6), start));
        assert!(!asks.answer(&mut root, answer(1, Phase::Live, 5), start));
    }
}
