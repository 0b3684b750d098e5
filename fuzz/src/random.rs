//! Numbers for mutators: they have to be the same for the same seed.

/// A small generator (xorshift).
pub struct Random(u64);

impl Random {
    /// From libFuzzer's seed.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self(u64::from(seed) << 1 | 0x9e37_79b9_0000_0001)
    }

    /// Below `limit`, or zero.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }

    /// Once in `of` times.
    pub fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// libFuzzer's own mutations, with room for some more bytes.
pub fn mutate(bytes: &mut Vec<u8>, most: usize) {
    let used = bytes.len();
    let room = (used + 64).min(most.max(used));
    bytes.resize(room.max(1), 0);
    let room = bytes.len();
    let used = libfuzzer_sys::fuzzer_mutate(bytes, used, room);
    bytes.truncate(used);
}

/// Something done to a list: one is left out, comes twice, or changes places with another.
pub fn shuffle<T: Clone>(list: &mut Vec<T>, random: &mut Random) {
    if list.is_empty() {
        return;
    }
    let (one, other) = (random.below(list.len()), random.below(list.len()));
    match random.below(4) {
        0 => drop(list.remove(one)),
        1 => list.insert(other, list[one].clone()),
        2 => list.swap(one, other),
        _ => list.truncate(one.max(1)),
    }
}
