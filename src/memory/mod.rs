//! Memory: what was allocated, how much of it was in use when, and who held it.
//!
//! Everything here is of the whole trace: leave out a release, and live bytes would be wrong. Who asks chooses which
//! allocations are counted.

mod account;
mod changes;
mod difference;
pub mod heat;
mod live;
mod movement;
pub mod residency;
mod runs;
mod snapshot;
pub mod transfers;

pub use account::{Account, Block, Group, Holder, Totals};
pub use difference::{Delta, Extent, Turnover, Verdict, difference, extents, growth};
pub use live::Live;
pub use movement::{Movement, movements};
pub use residency::Residency;
pub use snapshot::{Cell, Held, SizeClass, Snapshot};
