//! The packed form: read within bounds up to the report, and the same when it is packed again.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use umtui_fuzz::random::{Random, mutate};
use umtui_fuzz::{packed, repacked, reported};

fuzz_target!(|data: &[u8]| {
    if packed::read(data) {
        reported(data);
        repacked(data);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed);
    let input = data[..size].to_vec();
    let inside = if random.one_in(4) { None } else { packed::mutated(&input, &mut random) };
    let mutated = inside.filter(|mutated| mutated.len() <= max_size).unwrap_or_else(|| {
        let mut bytes = input;
        mutate(&mut bytes, max_size);
        bytes
    });
    let size = mutated.len().min(max_size);
    data[..size].copy_from_slice(&mutated[..size]);
    size
});
