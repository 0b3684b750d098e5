//! How long an allocation was in use, in steps of the program: turns of a range that repeats.

/// Steps, to be asked about allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Begin and end of each turn, ns, in order of begins.
    turns: Vec<(u64, u64)>,
    /// The ends, in order.
    ends: Vec<u64>,
}

/// The life of an allocation in steps, which are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lived {
    /// The step in which it came into use; `None`: before the first, after the last or between two.
    pub made_in: Option<u64>,
    /// The step in which it went out of use; `None`: it did not, or as above.
    pub freed_in: Option<u64>,
    /// At the ends of how many steps it was in use; zero: it was temporary.
    pub ends: u64,
}

impl Steps {
    /// Of turns: begin and end of each, ns on the trace's axis; `u64::MAX` while it has not ended.
    #[must_use]
    pub fn new(mut turns: Vec<(u64, u64)>) -> Self {
        turns.sort_unstable();
        let mut ends: Vec<u64> = turns.iter().map(|turn| turn.1).filter(|&end| end != u64::MAX).collect();
        ends.sort_unstable();
        Self { turns, ends }
    }

    /// The life of what was in use from one moment until before another, ns; `u64::MAX`: it still is. `None`: there are no
    /// steps.
    #[must_use]
    pub fn lived(&self, made_ns: u64, freed_ns: u64) -> Option<Lived> {
        if self.turns.is_empty() {
            return None;
        }
        let before = |at_ns: u64| self.ends.partition_point(|&end| end < at_ns);
        let ends = before(freed_ns).saturating_sub(before(made_ns)) as u64;
        Some(Lived { made_in: self.turn(made_ns), freed_in: self.turn(freed_ns), ends })
    }

    /// The newest step that had begun at a moment, if it had not ended.
    fn turn(&self, at_ns: u64) -> Option<u64> {
        let begun = self.turns.partition_point(|turn| turn.0 <= at_ns);
        let turn = self.turns.get(begun.checked_sub(1)?)?;
        (at_ns < turn.1).then_some(begun as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a look at every step.
        #[test]
        fn a_life_in_steps_is_that_of_looking_at_each(
            gaps in prop::collection::vec((0u64..4, 1u64..5), 1..12), goes_on in any::<bool>(),
            (made, took) in (0u64..50, 0u64..40), stays in any::<bool>(),
        ) {
            let mut at = 0;
            let mut turns: Vec<(u64, u64)> = gaps.iter().map(|&(gap, took)| {
                let from = at + gap;
                at = from + took;
                (from, at)
            }).collect();
            if goes_on {
                turns.last_mut().unwrap().1 = u64::MAX;
            }
            let freed = if stays { u64::MAX } else { made + took };
            let lived = Steps::new(turns.clone()).lived(made, freed).unwrap();
            let turn_at = |at: u64| turns.iter().position(|turn| turn.0 <= at && at < turn.1).map(|turn| turn as u64 + 1);
            prop_assert_eq!(lived.made_in, turn_at(made));
            prop_assert_eq!(lived.freed_in, turn_at(freed));
            let in_use = |turn: &&(u64, u64)| turn.1 != u64::MAX && made <= turn.1 && turn.1 < freed;
            prop_assert_eq!(lived.ends, turns.iter().filter(in_use).count() as u64);
        }
    }

    #[test]
    fn without_steps_nothing_is_said() {
        assert_eq!(Steps::default().lived(0, 10), None);
    }
}
