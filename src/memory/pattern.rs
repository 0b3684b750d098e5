//! In which order memory is met: one after another, in strides, or at random; from the order of page faults.
//!
//! What faults show is coarse. The driver serves a device's fault for 64 KiB at least, and brings more of the block of 2 MiB
//! the more of it is there already: so memory that is gone through byte by byte faults after 64, 64, 128, 256 KiB and so on,
//! and strides below 64 KiB look like no strides. Accesses to pages that are there do not show at all. Faults that a device
//! raises while others of it are served are handed over in no order, so they count as a set.

/// Pages of the smallest piece that the driver serves a device's fault for.
const GRANULE: u64 = 16;
/// Pages of the most that it brings at once.
const BLOCK: u64 = 512;
/// Steps from one fault to the next below which nothing is said.
pub const FEWEST_STEPS: u64 = 16;
/// Of a hundred steps so many must agree.
const AGREE: u64 = 70;
/// Faults that are served together at most.
const TOGETHER: usize = 256;
/// Strides that are counted at a time.
const STRIDES: usize = 8;

/// In which order memory is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// There are too few faults to tell.
    Undecided,
    /// One page after another, upwards or downwards.
    Sequential,
    /// In steps of so many bytes; negative: downwards.
    Strided(i64),
    /// In no such order.
    Random,
}

impl Pattern {
    /// In one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::Sequential => "sequential",
            Self::Strided(_) => "strided",
            Self::Random => "random",
        }
    }

    /// Bytes of a stride.
    #[must_use]
    pub const fn stride(self) -> Option<i64> {
        match self {
            Self::Strided(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// How often a step was made; of the rarest of them only about.
#[derive(Clone, Copy, Debug, Default)]
struct Stride {
    pages: i64,
    count: u32,
    /// At most so many of them were others.
    others: u32,
}

/// Stands for no page.
const NO_PAGE: u64 = u64::MAX;

/// Faults of one processor in one allocation, in order of time. There may be one for each allocation, so it is small.
#[derive(Clone, Debug)]
pub struct Faults {
    /// They are a device's.
    of_device: bool,
    steps: u32,
    upwards: u32,
    downwards: u32,
    until_ns: u64,
    /// The last one of those before, and the first one of those that are served together if all between the two was there
    /// by then.
    before: u64,
    reaches: u64,
    /// Those that are served together: the first, and others.
    first: u64,
    others: Vec<u64>,
    strides: Vec<Stride>,
}

const _: () = assert!(size_of::<Faults>() <= 96);

impl Faults {
    /// None yet. `of_device`: they are a device's.
    #[must_use]
    pub const fn new(of_device: bool) -> Self {
        Self {
            of_device,
            steps: 0,
            upwards: 0,
            downwards: 0,
            until_ns: 0,
            before: NO_PAGE,
            reaches: NO_PAGE,
            first: NO_PAGE,
            others: Vec::new(),
            strides: Vec::new(),
        }
    }

    /// Pages by which addresses are told apart.
    const fn granule(&self) -> u64 {
        if self.of_device { GRANULE } else { 1 }
    }

    /// A fault of a page, served from one moment to another, ns; moments must not go back. `all_here` is asked whether all
    /// of some pages, first and first after, is where the processor is.
    pub fn push(&mut self, page: u64, (from_ns, to_ns): (u64, u64), all_here: impl Fn(u64, u64) -> bool) {
        let is_apart = from_ns >= self.until_ns || self.others.len() + 1 >= TOGETHER;
        if is_apart || self.first == NO_PAGE {
            self.close();
            // What lies between, but for the pieces that the two faults themselves are of.
            let before = if self.before == NO_PAGE { page } else { self.before };
            let granule = self.granule();
            let (from, to) = ((before.min(page) / granule + 1) * granule, before.max(page) / granule * granule);
            let is_near = from < to && to - from <= 2 * BLOCK;
            self.reaches = if is_near && all_here(from, to) { page } else { NO_PAGE };
            self.first = page;
        } else {
            self.others.push(page);
        }
        self.until_ns = self.until_ns.max(to_ns);
    }

    /// Takes the steps of what was served together.
    fn close(&mut self) {
        let first = std::mem::replace(&mut self.first, NO_PAGE);
        if first == NO_PAGE {
            return;
        }
        if self.others.is_empty() {
            self.follow(first, true);
            return;
        }
        let mut together = std::mem::take(&mut self.others);
        together.push(first);
        together.sort_unstable();
        for (at, &page) in together.iter().enumerate() {
            self.follow(page, at == 0);
        }
        together.clear();
        self.others = together;
    }

    fn follow(&mut self, page: u64, is_first: bool) {
        if self.before != NO_PAGE {
            self.step(self.before, page, is_first && self.reaches == page);
        }
        self.before = page;
    }

    fn step(&mut self, before: u64, page: u64, reaches: bool) {
        let granule = self.granule();
        let (from, to) = (before / granule, page / granule);
        // Once more for the same piece: it was taken away, or written after it was read.
        if from == to {
            return;
        }
        self.steps = self.steps.saturating_add(1);
        let pages = from.abs_diff(to) * granule;
        let is_next = reaches || pages == 1 || pages == GRANULE || is_served(before, page);
        match to > from {
            true if is_next => self.upwards = self.upwards.saturating_add(1),
            false if is_next => self.downwards = self.downwards.saturating_add(1),
            _ => {}
        }
        if !reaches {
            let pages = pages.min(i64::MAX as u64) as i64;
            self.stride(if to > from { pages } else { -pages });
        }
    }

    /// Counts a step: the rarest of those that are counted makes room for a new one, which takes its count over.
    fn stride(&mut self, pages: i64) {
        let known = self.strides.iter_mut().find(|stride| stride.pages == pages);
        if let Some(known) = known {
            known.count = known.count.saturating_add(1);
        } else if self.strides.len() < STRIDES {
            self.strides.push(Stride { pages, count: 1, others: 0 });
        } else if let Some(rarest) = self.strides.iter_mut().min_by_key(|stride| stride.count) {
            *rarest = Stride { pages, count: rarest.count.saturating_add(1), others: rarest.count };
        }
    }

    /// What it is.
    #[must_use]
    pub fn pattern(mut self) -> Pattern {
        self.close();
        if u64::from(self.steps) < FEWEST_STEPS {
            return Pattern::Undecided;
        }
        let agree = |count: u32| u64::from(count) * 100 >= AGREE * u64::from(self.steps);
        let stride = self.strides.iter().find(|stride| agree(stride.count - stride.others));
        match stride.filter(|stride| !matches!(stride.pages.unsigned_abs(), 0 | 1 | GRANULE)) {
            Some(stride) => Pattern::Strided(stride.pages.saturating_mul(super::homes::PAGE_BYTES as i64)),
            None if agree(self.upwards) || agree(self.downwards) => Pattern::Sequential,
            None => Pattern::Random,
        }
    }
}

/// Whether the next fault comes there if the memory between is gone through: the driver has brought as much as it may, twice
/// as much as before in the same block at most, and no more than up to where such a piece ends.
const fn is_served(before: u64, page: u64) -> bool {
    let pages = page.saturating_sub(before / GRANULE * GRANULE);
    page > before && page.is_multiple_of(GRANULE) && pages <= BLOCK / 2 && page.trailing_zeros() >= pages.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One after another, none of which is there by moves.
    fn of(of_device: bool, pages: impl IntoIterator<Item = u64>) -> Pattern {
        let mut faults = Faults::new(of_device);
        for (at_ns, page) in (0..).zip(pages) {
            faults.push(page, (at_ns, at_ns), |_, _| false);
        }
        faults.pattern()
    }

    fn random(count: u64, of: u64) -> impl Iterator<Item = u64> {
        (0..count).scan(88_172_645_463_325_252u64, move |state, _| {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            Some(*state % of)
        })
    }

    /// Where memory that is gone through faults first, block by block.
    fn first_touches(blocks: u64) -> impl Iterator<Item = u64> {
        (0..blocks).flat_map(|block| [0, 16, 32, 64, 128, 256].map(|page| 1 << 20 | block << 9 | page))
    }

    #[test]
    fn made_up_orders_are_told_apart() {
        assert_eq!(of(false, 0..200), Pattern::Sequential);
        assert_eq!(of(false, (0..200).rev()), Pattern::Sequential);
        assert_eq!(of(true, (0..200).map(|at| at * 16)), Pattern::Sequential);
        assert_eq!(of(false, first_touches(8)), Pattern::Sequential);
        assert_eq!(of(true, first_touches(8)), Pattern::Sequential);
        for stride in [3, 15, 32, 64, 100, 512, 5000] {
            assert_eq!(
                of(false, (0..60).map(|at| 7 + at * stride)),
                Pattern::Strided(stride as i64 * 4096),
                "{stride}"
            );
        }
        assert_eq!(of(true, (0..60).map(|at| 9 + at * 512)), Pattern::Strided(2 << 20));
        assert_eq!(of(true, (0..60).rev().map(|at| at * 512 + at % 3)), Pattern::Strided(-(2 << 20)));
        assert_eq!(of(false, random(400, 1 << 18)), Pattern::Random);
        assert_eq!(of(true, random(400, 1 << 18)), Pattern::Random);
    }

    #[test]
    fn too_few_are_undecided() {
        assert_eq!(of(false, 0..FEWEST_STEPS), Pattern::Undecided);
        assert_eq!(of(false, 0..=FEWEST_STEPS), Pattern::Sequential);
        assert_eq!(of(true, std::iter::repeat_n(5, 100)), Pattern::Undecided);
    }

    #[test]
    fn passes_over_the_same_memory_count_together() {
        let passes = (0..5).flat_map(|_| 0..40);
        assert_eq!(of(false, passes), Pattern::Sequential);
        assert_eq!(
            of(false, (0..5).flat_map(|pass| (0..40).map(move |at| at * 100 + pass * 7))),
            Pattern::Strided(409_600)
        );
    }

    #[test]
    fn what_was_brought_meanwhile_is_not_jumped_over() {
        // Steps of any length, over memory that moves have brought.
        let pages = random(100, 400).scan(0, |page, step| {
            *page += step + 17;
            Some(*page)
        });
        let mut faults = Faults::new(true);
        for (at_ns, page) in (0..).zip(pages) {
            faults.push(page, (at_ns, at_ns + 1), |_, _| true);
        }
        assert_eq!(faults.pattern(), Pattern::Sequential);
    }

    #[test]
    fn what_is_served_together_has_no_order() {
        let mut faults = Faults::new(true);
        // Eight at a time, shuffled.
        for at in 0..30u64 {
            for one in [3, 1, 7, 0, 2, 6, 5, 4] {
                faults.push((at * 8 + one) * 512, (at * 10 + one % 3, at * 10 + 9), |_, _| false);
            }
        }
        assert_eq!(faults.pattern(), Pattern::Strided(2 << 20));
    }

    proptest! {
        #[test]
        fn noise_does_not_hide_the_order(
            noise in prop::collection::vec((0u64..10, 0u64..1 << 20), 200),
            stride in prop::sample::select(vec![1u64, 33, 700]),
        ) {
            // One in ten lies anywhere: two steps of ten.
            let pages = (0..).zip(&noise).map(|(at, &(one, page))| if one == 0 { page } else { (1 << 24) + at * stride });
            let strays = noise.iter().filter(|one| one.0 == 0).count();
            let found = of(false, pages);
            if strays <= 25 {
                let expected = if stride == 1 { Pattern::Sequential } else { Pattern::Strided(stride as i64 * 4096) };
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn no_faults_are_too_many_or_too_far(pages in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), 0..400)) {
            for of_device in [false, true] {
                let mut faults = Faults::new(of_device);
                for &(page, at_ns, here) in &pages {
                    faults.push(page >> 12, (at_ns, at_ns), |_, _| here);
                }
                let _ = faults.pattern();
            }
        }
    }
}
