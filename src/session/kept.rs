//! What was selected through the lenses before, so that to go back to one is instant.

use std::time::{Duration, Instant};

use super::lensed::Lensed;
use crate::lens::Lens;

/// How many lenses are kept besides the one in force.
const KEPT: usize = 3;
/// One that was in force for less than that was passed through, as while a filter is typed.
const PASSING: Duration = Duration::from_secs(1);

/// The lenses before, the last one at the end.
#[derive(Default)]
pub(super) struct Kept {
    lenses: Vec<Old>,
    /// Since when the one in force is.
    since: Option<Instant>,
}

struct Old {
    lensed: Lensed,
    passed: bool,
}

impl Kept {
    /// Puts by what was selected until now, and gives what was selected through this lens, if that is kept.
    pub(super) fn exchange(&mut self, until_now: Lensed, lens: &Lens) -> Option<Lensed> {
        let now = Instant::now();
        let passed = self.since.replace(now).is_none_or(|since| now.duration_since(since) < PASSING);
        let known = self.lenses.iter().position(|old| old.lensed.lens() == lens);
        let known = known.map(|at| self.lenses.remove(at).lensed);
        if until_now.is_on() {
            self.lenses.push(Old { lensed: until_now, passed });
        }
        if self.lenses.len() > KEPT {
            // The one that was left just now may be gone back to, however short it was looked through.
            let others = self.lenses.len() - 1;
            let goes = self.lenses.iter().take(others).position(|old| old.passed).unwrap_or(0);
            self.lenses.remove(goes);
        }
        known
    }
}
