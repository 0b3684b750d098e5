//! Streams of frames: torn, lost, repeated, of several senders; whatever pieces they come in, the same becomes of them.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use umtui_fuzz::random::{Random, mutate};
use umtui_fuzz::{frames, reported};

fuzz_target!(|data: &[u8]| {
    frames::read(data);
    // Through the session's own thread it takes ten times as long.
    if data.len() % 8 == 0 {
        reported(data);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed);
    let mut bytes = data[..size].to_vec();
    if random.one_in(4) {
        mutate(&mut bytes, max_size);
    } else {
        bytes = frames::mutated(&bytes, &mut random);
    }
    let size = bytes.len().min(max_size);
    data[..size].copy_from_slice(&bytes[..size]);
    size
});
