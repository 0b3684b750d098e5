//! Allocations as changes to what is in use, in order of time.

use super::Block;

/// A block comes into use or goes out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When, ns on the trace's axis.
    pub at_ns: u64,
    /// Index of the block.
    pub block: usize,
    /// It comes.
    pub comes: bool,
}

/// All changes. At one moment what is old goes first, then what is new comes, then what is gone at once goes.
#[must_use]
pub fn changes(blocks: &[Block]) -> Vec<Change> {
    let mut changes = Vec::with_capacity(2 * blocks.len());
    for (block, one) in blocks.iter().enumerate() {
        let one = &one.allocation;
        changes.push((one.made_ns, 1, block));
        if one.has_ended() {
            changes.push((one.freed_ns, if one.freed_ns > one.made_ns { 0 } else { 2 }, block));
        }
    }
    changes.sort_unstable();
    changes.into_iter().map(|(at_ns, order, block)| Change { at_ns, block, comes: order == 1 }).collect()
}
