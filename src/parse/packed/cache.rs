//! Blocks that were unpacked lately.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that are kept.
const KEPT: usize = 32 << 20;

/// What a block's bytes are, up to the zeros behind them; `None`: it cannot be read.
pub type Unpacked = Option<Arc<[u8]>>;

/// Unpacked blocks by their number.
#[derive(Debug, Default)]
pub struct Cache {
    blocks: FxHashMap<usize, (Unpacked, u64)>,
    /// By when they were used last.
    used: BTreeMap<u64, usize>,
    now: u64,
    bytes: usize,
}

/// A block counts for this much more than its bytes.
const OVERHEAD: usize = 128;

impl Cache {
    /// Whether a block is here.
    pub fn has(&self, block: usize) -> bool {
        self.blocks.contains_key(&block)
    }

    /// A block, if it is here.
    pub fn get(&mut self, block: usize) -> Option<Unpacked> {
        let (unpacked, used) = self.blocks.get_mut(&block)?;
        if *used != self.now {
            self.used.remove(used);
            self.now += 1;
            *used = self.now;
            self.used.insert(self.now, block);
        }
        Some(unpacked.clone())
    }

    /// Keeps a block, and forgets those that were not used for the longest time.
    pub fn put(&mut self, block: usize, unpacked: Unpacked) {
        self.bytes += cost(&unpacked);
        self.now += 1;
        self.used.insert(self.now, block);
        if let Some((old, used)) = self.blocks.insert(block, (unpacked, self.now)) {
            self.bytes -= cost(&old);
            self.used.remove(&used);
        }
        while self.bytes > KEPT && self.used.len() > 1 {
            let Some((_, oldest)) = self.used.pop_first() else { return };
            if let Some((old, _)) = self.blocks.remove(&oldest) {
                self.bytes -= cost(&old);
            }
        }
    }
}

fn cost(unpacked: &Unpacked) -> usize {
    OVERHEAD + unpacked.as_ref().map_or(0, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays() {
        let mut cache = Cache::default();
        let block: Unpacked = Some(vec![0; 1 << 20].into());
        for number in 0..100 {
            cache.put(number, block.clone());
            assert!(cache.get(0).is_some() && cache.bytes <= KEPT);
        }
        assert!(cache.get(50).is_none() && cache.get(99).is_some());
        assert_eq!(cache.used.len(), cache.blocks.len());
    }
}
