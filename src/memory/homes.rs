//! Places that memory can be in, and pages.

/// Bytes of a page: the smallest piece that moves on x86-64.
pub const PAGE_BYTES: u64 = 4096;

/// The pages that some bytes lie in: first, and first after.
#[must_use]
pub const fn pages(address: u64, bytes: u64) -> (u64, u64) {
    let end = address.saturating_add(bytes);
    (address / PAGE_BYTES, end / PAGE_BYTES + (!end.is_multiple_of(PAGE_BYTES)) as u64)
}

/// A place that memory can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The host.
    Host,
    /// A device.
    Device(u8),
}

/// A set of places; empty: not known. Devices from 62 on share a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Homes(u64);

impl Homes {
    /// None.
    pub const NONE: Self = Self(0);

    /// One place.
    #[must_use]
    pub const fn one(place: Place) -> Self {
        match place {
            Place::Host => Self(1),
            Place::Device(device) => Self(2 << if device < 62 { device } else { 62 }),
        }
    }

    /// These and a place.
    #[must_use]
    pub const fn with(self, place: Place) -> Self {
        Self(self.0 | Self::one(place).0)
    }

    /// These without a place.
    #[must_use]
    pub const fn without(self, place: Place) -> Self {
        Self(self.0 & !Self::one(place).0)
    }

    /// These and others.
    #[must_use]
    pub const fn or(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether a place is among them.
    #[must_use]
    pub const fn has(self, place: Place) -> bool {
        self.0 & Self::one(place).0 != 0
    }

    /// Whether nothing is known.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// How many places.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The places: the host first, then devices by their ordinals.
    pub fn places(self) -> impl Iterator<Item = Place> {
        let device = |bit: u8| if bit == 0 { Place::Host } else { Place::Device(bit - 1) };
        (0..64u8).filter(move |bit| self.0 >> bit & 1 == 1).map(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_again() {
        let homes = Homes::one(Place::Device(3)).with(Place::Host).with(Place::Device(0));
        assert_eq!(homes.places().collect::<Vec<_>>(), [Place::Host, Place::Device(0), Place::Device(3)]);
        assert_eq!(homes.without(Place::Device(0)).count(), 2);
        assert_eq!(pages(0x1fff, 2), (1, 3));
    }
}
