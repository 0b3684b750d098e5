//! What a row stands for, and the key by which a cursor finds it again.

use crate::trace::activity::TextId;
use crate::trace::{ApiId, NameId, ProcessId, SiteId, StreamId, TrackId};

/// Identity of a tree node: the same for the same path of names, whatever the sort, the time or the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeKey(pub u64);

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum NodeKind {
    Process,
    Thread,
    Stream,
    Device,
    Site,
    Range,
    Runtime,
    Driver,
    Kernel,
    Copy,
    Set,
    Graph,
    Migration,
    Fault,
}

impl NodeKind {
    /// Whether it is something that the GPU or the driver did, not a call.
    #[must_use]
    pub fn is_gpu(self) -> bool {
        self >= Self::Kernel
    }
}

/// One step of a path through the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A process.
    Process(ProcessId),
    /// A thread.
    Thread(TrackId),
    /// A stream, or none.
    Stream(StreamId),
    /// A device of a host by its ordinal; `trace::NO_DEVICE` if it is not known.
    Device(NameId, u8),
    /// The code that called.
    Site(SiteId),
    /// A CUDA function.
    Call(ApiId),
    /// A stream of which only the driver's ids are known: process, context, stream.
    Ids(ProcessId, u32, u32),
    /// A range: domain and name.
    Range(NameId, NameId),
    /// Outside of all ranges.
    Outside,
    /// A kernel.
    Kernel(NameId),
    /// Copies of a kind, and whether one side is pageable.
    Copy(u8, bool),
    /// Memory set.
    Set,
    /// Whole graphs.
    Graph,
    /// Unified memory: `UNIFIED_*`, and a migration's cause or a fault's access.
    Unified(u16, u8),
}

impl What {
    /// Whether it is something that the GPU or the driver did, not a call.
    #[must_use]
    pub const fn is_gpu(self) -> bool {
        matches!(self, Self::Kernel(_) | Self::Copy(..) | Self::Set | Self::Graph | Self::Unified(..))
    }
}

/// What the ids in the cells stand for. The trace knows.
pub trait Directory {
    /// The process of a thread, and the name of its host.
    fn process(&self, track: TrackId) -> (ProcessId, NameId);
    /// The same number for the same thing, whenever and wherever it was read; see [`digest`].
    fn identity(&self, what: What) -> u64;
    /// What a string of a file stands for.
    fn text(&self, text: TextId) -> NameId;
}

/// Start of every path.
pub(super) const ROOT: NodeKey = NodeKey(0);

impl NodeKey {
    /// The key of the step `what` below the node with this key.
    pub(super) fn below(self, what: What, directory: &dyn Directory) -> Self {
        let tag = match what {
            What::Process(_) => 1,
            What::Thread(_) => 2,
            What::Stream(_) => 3,
            What::Device(..) => 4,
            What::Site(_) => 5,
            What::Call(_) => 6,
            What::Ids(..) => 7,
            What::Kernel(_) => 8,
            What::Copy(..) => 9,
            What::Set => 10,
            What::Graph => 11,
            What::Unified(..) => 12,
            What::Range(..) => 13,
            What::Outside => 14,
        };
        Self(mix(mix(self.0, tag), directory.identity(what)))
    }
}

/// A number for a thing that is known by some texts and numbers. It does not change between versions of
/// Rust or of a hashing crate, since keys may be kept in files.
#[must_use]
pub fn digest(texts: &[&[u8]], numbers: &[u64]) -> u64 {
    let mut sum = 0;
    for text in texts {
        sum = mix(sum, text.len() as u64);
        for piece in text.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(piece) {
                *to = *from;
            }
            sum = mix(sum, u64::from_le_bytes(word));
        }
    }
    numbers.iter().fold(sum, |sum, &number| mix(sum, number))
}

/// splitmix64's finish over both.
fn mix(sum: u64, word: u64) -> u64 {
    let mut z = (sum.rotate_left(23) ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_tell_texts_apart_and_stay_as_they_are() {
        assert_ne!(digest(&[b"ab", b"c"], &[]), digest(&[b"a", b"bc"], &[]));
        assert_ne!(digest(&[b""], &[1]), digest(&[b""], &[2]));
        assert_eq!(digest(&[b"cudaMalloc"], &[0]), 16_519_116_901_905_565_070);
    }
}
