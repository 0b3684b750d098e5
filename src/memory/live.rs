//! Bytes in use over time.

/// Changes between two that a maximum is kept of.
const STRIDE: usize = 256;

/// How many bytes were in use when: steps in order of time.
#[derive(Clone, Debug, Default)]
pub struct Live {
    times: Vec<u64>,
    bytes: Vec<u64>,
    /// Of each [`STRIDE`] steps the largest.
    largest: Vec<u64>,
}

impl Live {
    /// From a moment on, ns, so many bytes are in use. Moments must not go back; of several steps at one moment all count
    /// for the maximum, and the last one for what is in use then.
    pub fn push(&mut self, at_ns: u64, bytes: u64) {
        if self.bytes.len().is_multiple_of(STRIDE) {
            self.largest.push(bytes);
        } else if let Some(largest) = self.largest.last_mut() {
            *largest = bytes.max(*largest);
        }
        self.times.push(at_ns);
        self.bytes.push(bytes);
    }

    /// Steps.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether nothing was ever in use.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Bytes in use at a moment, ns, what comes and goes at that moment included.
    #[must_use]
    pub fn at(&self, at_ns: u64) -> u64 {
        self.before(self.times.partition_point(|&time| time <= at_ns))
    }

    /// Bytes in use in the end.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.before(self.bytes.len())
    }

    /// The most bytes that were in use at any moment from `from_ns` up to and including `to_ns`.
    #[must_use]
    pub fn most(&self, from_ns: u64, to_ns: u64) -> u64 {
        let from = self.times.partition_point(|&time| time < from_ns);
        let to = self.times.partition_point(|&time| time <= to_ns).max(from);
        let mut most = self.before(from);
        let mut at = from;
        while at < to {
            let whole = at.is_multiple_of(STRIDE) && at + STRIDE <= to;
            let (found, step) = if whole { (self.largest.get(at / STRIDE), STRIDE) } else { (self.bytes.get(at), 1) };
            most = most.max(found.copied().unwrap_or(0));
            at += step;
        }
        most
    }

    fn before(&self, step: usize) -> u64 {
        step.checked_sub(1).and_then(|step| self.bytes.get(step)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_most_in_a_span_is_that_of_looking_at_each_step(
            steps in prop::collection::vec((0u64..3, 0u64..1000), 0..1500),
            spans in prop::collection::vec((0u64..1600, 0u64..1600), 1..40),
        ) {
            let mut live = Live::default();
            let mut now = 5;
            let mut twin = Vec::new();
            for (pause, bytes) in steps {
                now += pause;
                live.push(now, bytes);
                twin.push((now, bytes));
            }
            for (from, length) in spans {
                let to = from + length;
                let at = |ns: u64| twin.iter().rev().find(|(time, _)| *time <= ns).map_or(0, |step| step.1);
                let before = if from == 0 { 0 } else { at(from - 1) };
                let inside = twin.iter().filter(|(time, _)| (from..=to).contains(time)).map(|step| step.1).max();
                prop_assert_eq!(live.most(from, to), inside.unwrap_or(0).max(before));
                prop_assert_eq!(live.at(from), at(from));
            }
            prop_assert_eq!(live.last(), twin.last().map_or(0, |step| step.1));
        }
    }
}
