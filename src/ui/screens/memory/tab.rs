//! The tabs of the memory screen.

/// What stands below the plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tab {
    /// Every allocation.
    #[default]
    Allocations,
    /// What they sum up to by call site, kind or device.
    Groups,
    /// What has grown since an earlier moment.
    Growth,
    /// Memory pools.
    Pools,
    /// What moved between the host and devices.
    Transfers,
}

impl Tab {
    /// All of them, in their order.
    pub const ALL: [Self; 5] = [Self::Allocations, Self::Groups, Self::Growth, Self::Pools, Self::Transfers];

    /// Its name on the screen.
    pub fn title(self) -> &'static str {
        match self {
            Self::Allocations => "allocations",
            Self::Groups => "by call site",
            Self::Growth => "growth",
            Self::Pools => "pools",
            Self::Transfers => "transfers",
        }
    }

    /// Its name where it is kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocations => "allocations",
            Self::Groups => "groups",
            Self::Growth => "growth",
            Self::Pools => "pools",
            Self::Transfers => "transfers",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.name() == name)
    }

    /// The one so many places further, round and round.
    pub fn step(self, by: isize) -> Self {
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        let next = (at as isize + by).rem_euclid(Self::ALL.len() as isize);
        Self::ALL.get(next.unsigned_abs()).copied().unwrap_or_default()
    }
}
