use super::*;
use proptest::prelude::*;

const GPU: Place = Place::Device(0);
const TO_GPU: Happening = Happening::Moved { from: Some(Place::Host), to: GPU, cause: Cause::Coherence };
const TO_HOST: Happening = Happening::Moved { from: Some(GPU), to: Place::Host, cause: Cause::Coherence };

impl Residency {
    fn tell(&mut self, range: Range, what: Happening) -> Outcome {
        self.happen(range, what, Use::NONE)
    }
}

#[test]
fn pages_that_bounce_return_each_time_but_the_first() {
    let mut residency = Residency::default();
    let range = pages(0x10_0000, 64 << 10);
    assert_eq!(range, (0x100, 0x110));
    assert!(residency.page(0x100).state.homes.is_unknown());
    assert_eq!(residency.tell(range, TO_GPU), Outcome { first: 16, ..Outcome::default() });
    assert_eq!(residency.tell(range, TO_HOST).returned, 16);
    let back = residency.tell(range, TO_GPU);
    assert_eq!((back.returned, back.most_returns), (16, 2));
    // Half of them come again, though nothing is recorded of their having left.
    let again = residency.tell((0x100, 0x108), TO_GPU);
    assert_eq!((again.first, again.contradicted), (0, 8));
    let last = residency.page(0x10f);
    assert_eq!((last.moved, last.returns, last.left), (true, 2, Homes::one(Place::Host)));
    assert_eq!(residency.shares(0x100, 0x200), Shares { device: 16, unknown: 240, ..Shares::default() });
    assert!(residency.all_at(0x100, 0x110, GPU) && !residency.all_at(0x100, 0x111, GPU));
    residency.tell(range, Happening::Fresh);
    assert_eq!(residency.page(0x100), Page::default());
}

#[test]
fn what_went_to_a_device_and_back_unused_was_needless() {
    let mut residency = Residency::default();
    let prefetched = Happening::Moved { from: Some(Place::Host), to: GPU, cause: Cause::User };
    let at = |coming, leaving| Use { coming, leaving };
    residency.happen((0, 4), prefetched, at(7, 0));
    assert_eq!(residency.happen((0, 1), TO_HOST, at(0, 7)).needless, 1);
    // Work has begun meanwhile.
    assert_eq!(residency.happen((1, 2), TO_HOST, at(0, 8)).needless, 0);
    // A processor met them: they were used.
    residency.happen((0, 1), TO_GPU, at(7, 0));
    assert_eq!(residency.happen((0, 1), TO_HOST, at(0, 7)).needless, 0);
    // Nobody knows what ran.
    residency.happen((5, 6), prefetched, Use::NONE);
    assert_eq!(
        residency.happen((5, 6), TO_HOST, Use::NONE),
        Outcome { returned: 1, most_returns: 1, ..Outcome::default() }
    );
}

#[test]
fn what_had_to_go_and_comes_again_was_evicted() {
    let mut residency = Residency::default();
    residency.tell((0, 9), TO_GPU);
    residency.tell((0, 5), Happening::Moved { from: Some(GPU), to: Place::Host, cause: Cause::Eviction });
    assert_eq!(residency.tell((0, 3), TO_GPU).evicted, 3);
    assert!(residency.page(4).state.evicted && !residency.page(2).state.evicted);
}

#[test]
fn what_cannot_be_is_not_followed() {
    let mut residency = Residency::default();
    assert_eq!(residency.tell((0, u64::MAX / PAGE_BYTES), TO_GPU), Outcome::default());
    residency.tell((0, u64::MAX / PAGE_BYTES), Happening::Fresh);
    assert_eq!((residency.left_out(), residency.pieces()), (1, 0));
    let wide = (0, MOST_AT_ONCE * BLOCK_PAGES);
    for _ in 0..400 {
        residency.tell(wide, TO_GPU);
    }
    assert!(residency.left_out() > 1);
    assert_eq!(residency.pages.len() as u64, MOST_AT_ONCE);
}

fn happening(what: u8, device: u8) -> Happening {
    let place = if device == 2 { Place::Host } else { Place::Device(device) };
    let cause = if device == 1 { Cause::Eviction } else { Cause::User };
    match what {
        0..=3 => {
            Happening::Moved { from: [None, Some(Place::Host), Some(GPU)][usize::from(what % 3)], to: place, cause }
        }
        4 | 5 => Happening::Touched { by: place, writes: what == 5 },
        6 => Happening::Advised(Advise::ReadMostly(device != 0)),
        _ => Happening::Fresh,
    }
}

proptest! {
    /// Against pages one by one.
    #[test]
    fn runs_of_pages_are_what_pages_one_by_one_are(
        steps in prop::collection::vec((0u64..40, 0u64..20, 0u8..8, 0u8..3, 0u32..3), 0..60),
    ) {
        let mut residency = Residency::default();
        let mut single: Vec<Residency> = (0..64).map(|_| Residency::default()).collect();
        for (from, count, what, device, work) in steps {
            // Over the edge of a block, too.
            let (from, what) = (from + BLOCK_PAGES - 32, happening(what, device));
            let work = Use { coming: work, leaving: work };
            let outcome = residency.happen((from, from + count), what, work);
            let mut sum = Outcome::default();
            for page in from..from + count {
                let one = single[page as usize % 64].happen((page, page + 1), what, work);
                sum.first += one.first;
                sum.returned += one.returned;
                sum.needless += one.needless;
                sum.evicted += one.evicted;
                sum.contradicted += one.contradicted;
                sum.most_returns = sum.most_returns.max(one.most_returns);
            }
            prop_assert_eq!(outcome, sum);
        }
        for page in BLOCK_PAGES - 32..BLOCK_PAGES + 32 {
            prop_assert_eq!(residency.page(page), single[page as usize % 64].page(page));
        }
    }
}
