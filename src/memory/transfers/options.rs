//! What a reader asks of transfers: which devices in which order, what a link can carry, what is marked.

use super::{LinkEnd, Side};

/// Devices that can be chosen at most.
const MOST: usize = 32;

/// Devices in an order, by their numbers in [`super::Devices::all`]; none stands for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMap {
    list: [u16; MOST],
    count: usize,
}

impl DeviceMap {
    /// Of these; `None` if there are too many.
    #[must_use]
    pub fn of(devices: &[u16]) -> Option<Self> {
        let mut map = Self { count: devices.len(), ..Self::default() };
        map.list.get_mut(..devices.len())?.copy_from_slice(devices);
        Some(map)
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[u16] {
        self.list.get(..self.count).unwrap_or_default()
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// The devices that are shown and their order.
    pub map: DeviceMap,
    /// What a link between the host and a device can carry in one direction, bytes a second; `None`: not told.
    pub limit: Option<u64>,
    /// Whether each copy between devices and each mapping is marked where events are listed.
    pub markers: bool,
}

impl LinkOptions {
    /// Where a device stands; `None`: it is not shown.
    #[must_use]
    pub fn place(&self, device: u16) -> Option<usize> {
        match self.map.all() {
            [] => Some(usize::from(device)),
            map => map.iter().position(|&one| one == device),
        }
    }

    /// Whether transfers with this end are shown, and where: the host first, what is not known last.
    #[must_use]
    pub fn side(&self, side: Side) -> Option<(Side, usize)> {
        match side {
            Side::Device(device) => Some((Side::Device(0), self.place(device)?)),
            Side::Unknown if !self.map.all().is_empty() => None,
            other => Some((other, 0)),
        }
    }

    /// Likewise an end of a link.
    #[must_use]
    pub fn end(&self, end: LinkEnd) -> Option<(Side, usize)> {
        self.side(match end {
            LinkEnd::Host => Side::Pageable,
            LinkEnd::Device(device) => Side::Device(device),
            LinkEnd::Unknown => Side::Unknown,
        })
    }

    /// Share of the limit that a rate is, per cent; `None` between devices, whose link is another, or if no limit was told.
    #[must_use]
    pub fn share(&self, (from, to): (LinkEnd, LinkEnd), bytes_per_second: u64) -> Option<u64> {
        let limit = self.limit.filter(|&limit| limit > 0 && (from == LinkEnd::Host) != (to == LinkEnd::Host))?;
        u64::try_from(u128::from(bytes_per_second) * 100 / u128::from(limit)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_chosen_and_ordered() {
        let all = LinkOptions::default();
        assert_eq!((all.place(3), all.side(Side::Unknown)), (Some(3), Some((Side::Unknown, 0))));
        let some = LinkOptions { map: DeviceMap::of(&[2, 0]).unwrap(), ..all };
        assert_eq!([0, 1, 2].map(|device| some.place(device)), [Some(1), None, Some(0)]);
        assert_eq!((DeviceMap::of(&[0; 33]), DeviceMap::default().all()), (None, [].as_slice()));
        assert_eq!((some.side(Side::Unknown), some.side(Side::Pinned)), (None, Some((Side::Pinned, 0))));
        let mut sides = [Side::Device(0), Side::Managed, Side::Device(2)];
        sides.sort_by_key(|&side| some.side(side));
        assert_eq!(sides, [Side::Managed, Side::Device(2), Side::Device(0)]);
    }

    #[test]
    fn the_limit_is_that_of_links_to_the_host() {
        let options = LinkOptions { limit: Some(20_000), ..LinkOptions::default() };
        assert_eq!(options.share((LinkEnd::Host, LinkEnd::Device(0)), 5_000), Some(25));
        assert_eq!(options.share((LinkEnd::Device(0), LinkEnd::Device(1)), 5_000), None);
        assert_eq!(LinkOptions::default().share((LinkEnd::Host, LinkEnd::Device(0)), 1), None);
    }
}
