//! What calls say of memory.

use super::advice::Advice;
use super::touches::{Says, SaysWhat};
use crate::correlate::calls::Record;
use crate::trace::{ArgKind, NO_DEVICE, StreamId, TrackId};

/// Something that a call said of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// When the call returned, ns on the trace's axis.
    pub at_ns: u64,
    /// First address.
    pub address: u64,
    /// Bytes; zero: not recorded, all of what begins at the address.
    pub bytes: u64,
    /// What.
    pub what: What,
    /// Stream in whose order it holds, or [`StreamId::NONE`].
    pub stream: StreamId,
    /// Thread of the call.
    pub track: TrackId,
    /// Row of the call.
    pub row: u32,
    /// The call was about more memory, which is not recorded.
    pub cut: bool,
}

impl Said {
    /// First address after it; saturates. Where the bytes are not recorded it is taken for a byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(if self.bytes == 0 { 1 } else { self.bytes })
    }
}

/// What was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Advice, and the processor that it is about.
    Advice(Advice, Place),
    /// It is to be moved to where it is wanted next.
    Prefetch(Place),
    /// What is in it does not matter any more.
    Discard,
    /// Likewise, and it is to be moved.
    DiscardAndPrefetch(Place),
    /// Who may touch it from then on.
    Attach(Attached),
    /// A device may use it: `cudaMemAccessFlags`.
    Access(Place, u32),
    /// Another process was given it.
    Export,
}

/// A place that calls name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// None, or none that is known.
    None,
    /// The host.
    Host,
    /// A node of the host's memory.
    Node(u32),
    /// A device.
    Device(u8),
}

impl Place {
    /// Of an argument: a device's number, -1 for the host, or a location.
    #[must_use]
    pub fn of(kind: ArgKind, value: u64) -> Self {
        let device = |id: u32| u8::try_from(id).ok().filter(|&id| id != NO_DEVICE).map_or(Self::None, Self::Device);
        if kind != ArgKind::Location {
            let number = value as u32;
            return if number.cast_signed() == -1 { Self::Host } else { device(number) };
        }
        let id = (value >> 32) as u32;
        match value as u32 {
            1 => device(id),
            2 => Self::Host,
            3 => Self::Node(id),
            // The node nearest to the thread.
            4 => Self::Host,
            _ => Self::None,
        }
    }
}

/// Who may touch managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// Any stream and the host.
    Global,
    /// The host alone, on devices that cannot share it.
    Host,
    /// One stream.
    Single,
}

impl Attached {
    /// By its number.
    #[must_use]
    pub const fn of(flags: u64) -> Option<Self> {
        match flags {
            1 => Some(Self::Global),
            2 => Some(Self::Host),
            4 => Some(Self::Single),
            _ => None,
        }
    }

    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Host => "host",
            Self::Single => "single stream",
        }
    }
}

impl Says {
    /// What a call said: address, bytes, what.
    pub fn said(&self, record: &Record<'_>) -> Option<(u64, u64, What)> {
        let address = record.number(&self.address).filter(|&address| address != 0)?;
        let bytes = self.bytes.as_ref().and_then(|bytes| record.number(bytes)).unwrap_or(0);
        let place = self.place.as_ref().and_then(|place| Some(Place::of(place.kind, record.number(place)?)));
        let place = place.unwrap_or(Place::None);
        let what = match &self.what {
            SaysWhat::Advice(advice) => What::Advice(Advice::of(record.number(advice)?)?, place),
            SaysWhat::Prefetch => What::Prefetch(place),
            SaysWhat::Discard { prefetch: false } => What::Discard,
            SaysWhat::Discard { prefetch: true } => What::DiscardAndPrefetch(place),
            SaysWhat::Attach(flags) => What::Attach(Attached::of(record.number(flags)?)?),
            SaysWhat::Access(flags) => What::Access(place, u32::try_from(record.number(flags)?).ok()?),
            SaysWhat::Export => What::Export,
        };
        Some((address, bytes, what))
    }
}
