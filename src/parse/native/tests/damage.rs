//! Files that are cut, flipped or nonsense.

use super::made::{Made, Random, Wishes, make};
use super::model::{finish, read};
use crate::parse::NativeReader;
use crate::trace::Trace;
use proptest::prelude::*;
use std::sync::Arc;

fn small(seed: u64) -> Made {
    make(
        seed,
        Wishes { threads: 3, groups: 1500, ticks_per_second: 1_000_000_000, sealed: true, hand_overs: true, gpu: true },
    )
}

#[test]
fn cut_at_every_page() {
    let made = small(11);
    let all = read(made.image.clone()).unwrap().events();
    assert_eq!(all, made.events());
    let mut before = 0;
    for length in (0..=made.image.len()).step_by(4096) {
        let Ok(trace) = read(made.image[..length].to_vec()) else {
            assert!(length < 4096, "{length}");
            continue;
        };
        let events = trace.events();
        assert!(events >= before, "a longer file gave fewer events");
        before = events;
        // Whatever cuts a chunk's records short is named.
        if events < all {
            assert!(!trace.damage.is_empty() || length % 65536 == 0, "{length}: {events} of {all}");
        }
    }
    assert_eq!(before, all);
}

#[test]
fn a_stale_end_hides_nothing() {
    let mut made = small(12);
    let end = std::mem::offset_of!(umtui_wire::header::FileHeader, end);
    for value in [0, 65536, u64::MAX, 1 << 60] {
        made.image[end..end + 8].copy_from_slice(&u64::to_le_bytes(value));
        assert_eq!(read(made.image.clone()).unwrap().events(), made.events());
    }
}

#[test]
fn a_bad_checksum_is_named_and_the_rest_is_read() {
    let mut made = small(13);
    // The first event chunk: a bit of an argument in its third slot.
    let mut at = 65536;
    while made.image[at + 4] != 1 {
        at += 65536;
    }
    made.image[at + 128 + 48 * 2 + 46] ^= 1;
    let trace = read(made.image.clone()).unwrap();
    assert_eq!(trace.events(), made.events());
    assert_eq!(trace.damage.len(), 1);
    assert_eq!(trace.damage[0].offset, at as u64);
    assert!(trace.damage[0].why.contains("checksum"));
}

#[test]
fn unknown_functions_show_by_number_until_they_are_defined() {
    use crate::parse::native::writer::{CallRecord, FileInfo, NativeWriter};
    use std::io::Cursor;
    let mut writer = NativeWriter::new(Cursor::new(Vec::new()), FileInfo::default(), 65536);
    writer.call(1, &CallRecord { api: 12, start: 5, duration: 6, ..CallRecord::default() }).unwrap();
    let image = writer.finish(false).unwrap().into_inner();
    let trace = read(image).unwrap();
    assert_eq!(trace.api_name(trace.tracks[0].call(0).unwrap().api), "api#12");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn flipped_bits_never_panic(seed: u64, flips in 1usize..60, everywhere: bool) {
        let mut made = small(seed % 8);
        let mut random = Random(seed);
        let bound = if everywhere { made.image.len() as u64 } else { 65536 * 4 };
        for _ in 0..flips {
            let at = random.below(bound) as usize;
            made.image[at] ^= 1 << random.below(8);
        }
        if let Ok(trace) = read(made.image) {
            let _ = (trace.start_ns(), trace.end_ns());
            for track in &trace.tracks {
                let _ = track.in_order(0..10);
                let _ = track.count_before(trace.end_ns());
            }
            for lane in trace.activities.lanes() {
                let _ = (lane.busy_ns(), lane.in_order());
                lane.for_each(0, |_, activity| assert!(activity.duration_ns < 1 << 58, "{activity:?}"));
            }
        }
    }

    #[test]
    fn cut_anywhere_never_panics(seed: u64, length in 0usize..1_000_000) {
        let made = small(seed % 8);
        let length = length.min(made.image.len());
        if let Ok(trace) = read(made.image[..length].to_vec()) {
            prop_assert!(trace.events() <= made.events());
        }
    }

    #[test]
    fn nonsense_after_a_good_header(seed: u64, chunks in 0usize..4, mark: bool) {
        let made = small(1);
        let mut random = Random(seed);
        let mut image = made.image[..65536].to_vec();
        for _ in 0..chunks {
            let at = image.len();
            image.extend((0..65536 / 8).flat_map(|_| random.draw().to_le_bytes()));
            if mark {
                // A chunk header that looks right over slots that are noise.
                image[at..at + 192].copy_from_slice(&made.image[65536..65536 + 192]);
                image[at + 4] = random.below(4) as u8;
                image[at + 6] = random.below(3) as u8;
                image[at + 8..at + 12].copy_from_slice(&65536u32.to_le_bytes());
                image[at + 16..at + 24].copy_from_slice(&(at as u64).to_le_bytes());
                image[at + 112..at + 116].copy_from_slice(&(random.draw() as u32).to_le_bytes());
            }
        }
        let mut trace = Trace::default();
        let mut reader = NativeReader::open(Arc::new(image), "noise.umt", &mut trace).unwrap();
        finish(&mut reader, &mut trace, 100).unwrap();
        if chunks > 0 && !mark {
            prop_assert!(!trace.damage.is_empty());
        }
    }

    #[test]
    fn any_bytes_give_an_error_of_one_line(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
        if let Err(error) = read(bytes) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
