//! What work of the GPU is asked of the calls that submitted it: a bit for each call and question, found once for all
//! the work of a call.
//!
//! Bits are found in windows of rows, each when it is asked for first or when its calls are looked at anyway: so the
//! walk over a lane costs a look-up a record, and never reads a call.

use std::sync::Arc;

use super::block::{Block, bit};
use super::plan::{Plan, Surroundings, Test};
use crate::correlate::submitting_row;
use crate::trace::activity::Near;
use crate::trace::{Activity, Lane, TrackId};

/// Rows of a window.
const WINDOW: usize = 4096;
/// Words that hold their bits.
const WORDS: usize = WINDOW / 64;

/// The call that submitted a piece of work: thread and row.
pub(super) type Tie = (TrackId, usize);

/// The questions, and what is known of each call.
#[derive(Debug, Default)]
pub(super) struct Ties {
    /// What is asked: whether it holds for a call or one around it.
    asked: Vec<Arc<Test>>,
    /// By thread and window.
    tracks: Vec<Vec<Window>>,
    /// How many rows of each thread can be asked for: whole groups.
    limits: Vec<usize>,
    near: Near,
    block: Block,
}

/// Some rows of a thread.
#[derive(Debug, Default)]
struct Window {
    /// How many of them are known, from the first one on.
    upto: usize,
    /// Of each question the bits of all rows.
    words: Vec<[u64; WORDS]>,
}

impl Ties {
    /// Adds a question, and gives its number.
    pub(super) fn ask(&mut self, test: Arc<Test>) -> usize {
        self.asked.push(test);
        self.asked.len() - 1
    }

    /// Forgets what is known of the calls.
    pub(super) fn forget(&mut self) {
        self.tracks.clear();
    }

    /// The call that submitted a piece of work; `None` where it is not known, or the one around it has not ended.
    pub(super) fn find(&mut self, around: &Surroundings<'_>, lane: &Lane, activity: &Activity) -> Option<Tie> {
        let found = submitting_row(around.trace, lane.process, activity.correlation, &mut self.near)?;
        (found.1 < self.limits.get(found.0.index()).copied().unwrap_or(0)).then_some(found)
    }

    fn window(&self, (id, row): Tie) -> Option<&Window> {
        let window = self.tracks.get(id.index())?.get(row / WINDOW)?;
        (row % WINDOW < window.upto).then_some(window)
    }

    /// Takes the answers to all questions for the calls of a block, a bit each. Of a window it takes only what follows
    /// on what it knows.
    fn put(&mut self, block: &Block, answers: &[Vec<u64>]) {
        let (first, end) = (block.first_row, block.first_row + block.ended);
        let track = block.track.index();
        if self.tracks.len() <= track {
            self.tracks.resize_with(track + 1, Vec::new);
        }
        let Some(windows) = self.tracks.get_mut(track) else { return };
        let count = end.div_ceil(WINDOW);
        if windows.len() < count {
            windows.resize_with(count, Window::default);
        }
        for (at, window) in windows.iter_mut().enumerate().take(count).skip(first / WINDOW) {
            let start = at * WINDOW;
            let (from, to) = (start + window.upto, end.min(start + WINDOW));
            if from < first || from >= to {
                continue;
            }
            window.words.resize(answers.len(), [0; WORDS]);
            for (known, words) in window.words.iter_mut().zip(answers) {
                for row in (from..to).filter(|row| bit(words, row - first)) {
                    if let Some(word) = known.get_mut((row - start) / 64) {
                        *word |= 1 << (row % 64);
                    }
                }
            }
            window.upto = to - start;
        }
    }
}

impl Plan {
    /// Says how many rows of each thread can be decided, which must be whole groups.
    pub fn set_limits(&mut self, limits: &[usize]) {
        self.ties.limits.clear();
        self.ties.limits.extend_from_slice(limits);
    }

    /// Notes what work is asked of the calls of a block, which are whole groups, if it is asked anything.
    pub fn note_ties(&mut self, around: &Surroundings<'_>, block: &Block) {
        if self.ties.asked.is_empty() {
            return;
        }
        let asked = std::mem::take(&mut self.ties.asked);
        let answers: Vec<Vec<u64>> = asked
            .iter()
            .map(|test| {
                let mut words = self.call_words(test, around, block);
                spread(block, &mut words);
                words
            })
            .collect();
        self.ties.asked = asked;
        self.ties.put(block, &answers);
    }

    /// Whether the answer to a question holds for a call or one around it.
    pub(super) fn tied(&mut self, question: usize, around: &Surroundings<'_>, (id, row): Tie) -> bool {
        if self.ties.window((id, row)).is_none()
            && let Some(track) = around.trace.track(id)
        {
            let first = row / WINDOW * WINDOW;
            let last = (first + WINDOW).min(self.ties.limits.get(id.index()).copied().unwrap_or(0)).saturating_sub(1);
            let mut block = std::mem::take(&mut self.ties.block);
            block.read(id, track, track.group(first).start..track.group(last.max(row)).end);
            self.note_ties(around, &block);
            self.ties.block = block;
        }
        let words = self.ties.window((id, row)).and_then(|window| window.words.get(question));
        words.is_some_and(|words| bit(words, row % WINDOW))
    }

    /// Forgets what was answered for calls; it is found again when it is asked.
    pub fn forget_ties(&mut self) {
        self.ties.forget();
    }

    /// Whether something that follows from what a call has submitted has been answered: for one of its group.
    #[must_use]
    pub fn has_followed(&self, around: &Surroundings<'_>, id: TrackId, row: usize) -> bool {
        if !self.follows || self.ties.tracks.get(id.index()).is_none_or(Vec::is_empty) {
            return false;
        }
        let Some(track) = around.trace.track(id) else { return false };
        let group = track.group(row);
        let windows = group.start / WINDOW..=(group.end - 1) / WINDOW;
        windows.into_iter().any(|window| self.ties.window((id, group.start.max(window * WINDOW))).is_some())
    }
}

/// Calls in one for which it holds have it hold too.
fn spread(block: &Block, words: &mut [u64]) {
    if words.iter().all(|word| *word == 0) {
        return;
    }
    for at in (0..block.len()).rev() {
        let holds = block.callers.get(at).is_some_and(|&caller| bit(words, caller as usize));
        if let (true, Some(word)) = (holds, words.get_mut(at / 64)) {
            *word |= 1 << (at % 64);
        }
    }
}
