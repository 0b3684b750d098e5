//! Files with a cap: chunks are overwritten while they are followed.

use super::*;
use crate::parse::native::tests::capped::Process;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_overwritten_in_time_is_counted_to_the_event(
        seed: u64, places in 1u64..12, chunks in 1u64..60, often in 1u64..20,
    ) {
        let mut random = Random(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.umt");
        let mut process = Process::new(&path, places);
        let mut follower = Follower::new(&[path], true).unwrap();
        let mut kept = Kept::default();
        follower.look(true);
        follower.set_running(true);
        for _ in 0..chunks {
            process.chunk(random.below(600));
            if random.one_in(often) {
                follower.pass(&mut kept).unwrap();
            }
        }
        follower.set_running(false);
        pass_all(&mut follower, &mut kept);
        prop_assert_eq!(follower.counts().0 + follower.counts().1, process.made);
        let (files, said) = spool(&kept.frames.concat(), 4096);
        prop_assert_eq!(said, Vec::<String>::new());
        let trace = read(&[files[0].bytes()]);
        prop_assert_eq!(&trace.damage, &[]);
        prop_assert_eq!(trace.events() + trace.lost(), process.made);
        prop_assert_eq!((trace.events(), files[0].hold().missed), (follower.counts().0, 0));
        // The newest are there.
        let newest: u64 = process.events.iter().sum();
        prop_assert!(trace.events() >= newest);
    }
}

/// A chunk without events makes room, which nobody counts: the one in its place is noticed all the same, wherever it is
/// in the round.
#[test]
fn what_takes_the_place_of_a_chunk_without_events_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.umt");
    let mut process = Process::new(&path, 3);
    let mut follower = Follower::new(&[path], true).unwrap();
    let mut kept = Kept::default();
    follower.look(true);
    follower.set_running(true);
    for events in [0, 0, 0, 7, 0, 5, 3, 2] {
        process.chunk(events);
        follower.pass(&mut kept).unwrap();
        assert_eq!(follower.counts(), (process.made, 0));
    }
}

/// A thread that finds no other place goes on in that of its own chunk, which nobody sealed.
#[test]
fn a_chunk_that_takes_its_own_place_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.umt");
    let mut process = Process::new(&path, 1);
    let mut follower = Follower::new(&[path], true).unwrap();
    let mut kept = Kept::default();
    follower.look(true);
    follower.set_running(true);
    for events in [0, 4, 0, 0, 6] {
        process.open_chunk(events);
        follower.pass(&mut kept).unwrap();
        assert_eq!(follower.counts(), (process.made, 0));
    }
}
