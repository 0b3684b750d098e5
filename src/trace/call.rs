//! One CUDA call.

use super::ids::{ApiId, SiteId, StreamId};
use umtui_wire::record;

/// Device of a call that no device is known for.
pub const NO_DEVICE: u8 = u8::MAX;

/// A call, as the columns of a track hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Start, ns on the trace's axis.
    pub start_ns: u64,
    /// Duration, ns; zero if only the entry was seen.
    pub duration_ns: u64,
    /// Function.
    pub api: ApiId,
    /// Code that called.
    pub site: SiteId,
    /// Stream, or [`StreamId::NONE`].
    pub stream: StreamId,
    /// Device, or [`NO_DEVICE`].
    pub device: u8,
    /// Nesting: 0 for calls made by the program.
    pub depth: u8,
    /// How it went.
    pub flags: CallFlags,
    /// Slots of the raw record after the first.
    pub extra: u8,
}

impl Call {
    /// End, ns on the trace's axis; saturates.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

/// How a call went: a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallFlags(pub u8);

impl CallFlags {
    /// It returned an error. "Not ready", the answer of a query, is none.
    pub const FAILED: Self = Self(1);
    /// Only its entry was seen: no duration, no status.
    pub const ENTRY_ONLY: Self = Self(record::FLAG_ENTRY);
    /// Its arguments could not be read.
    pub const NO_ARGUMENTS: Self = Self(record::FLAG_NO_ARGUMENTS);
    /// It returns something other than a status.
    pub const NOT_STATUS: Self = Self(record::FLAG_NOT_STATUS);
    /// Made while its stream was being captured into a graph.
    pub const CAPTURED: Self = Self(record::FLAG_CAPTURED);

    /// Status of a query whose answer is "not yet".
    pub const NOT_READY: u32 = 600;

    /// From the flags of a record and its status.
    #[must_use]
    #[inline]
    pub const fn of_record(flags: u8, status: u32) -> Self {
        let known = flags & !record::FLAG_LONG;
        if status == 0 {
            return Self(known);
        }
        let is_status = flags & (record::FLAG_NOT_STATUS | record::FLAG_ENTRY) == 0;
        Self(known | (is_status && status != Self::NOT_READY) as u8)
    }

    /// Whether all of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the call returned an error.
    #[must_use]
    pub const fn failed(self) -> bool {
        self.has(Self::FAILED)
    }

    /// Whether only the entry was seen.
    #[must_use]
    pub const fn entry_only(self) -> bool {
        self.has(Self::ENTRY_ONLY)
    }
}

/// Where the raw record of a call lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// File: index into [`super::Trace::files`].
    pub file: u32,
    /// Byte offset of its first slot.
    pub offset: u64,
    /// Slots of 48 bytes, the first included.
    pub slots: u16,
}

/// A call that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Function.
    pub api: ApiId,
    /// Start, ns on the trace's axis.
    pub start_ns: u64,
    /// Code that called.
    pub site: SiteId,
    /// Nesting.
    pub depth: u8,
    /// The first three integer argument registers as they were.
    pub registers: [u64; 3],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_ready_is_no_failure() {
        assert!(CallFlags::of_record(0, 2).failed());
        assert!(!CallFlags::of_record(0, 0).failed());
        assert!(!CallFlags::of_record(0, CallFlags::NOT_READY).failed());
        assert!(!CallFlags::of_record(record::FLAG_NOT_STATUS, 7).failed());
        assert!(!CallFlags::of_record(record::FLAG_ENTRY, 7).failed());
        assert_eq!(CallFlags::of_record(record::FLAG_LONG, 0), CallFlags(0));
        assert!(CallFlags::of_record(record::FLAG_CAPTURED, 1).has(CallFlags::CAPTURED));
    }
}
