//! Memory: what was allocated, how much of it was in use when, and who held it.
//!
//! Everything here is of the whole trace: leave out a release, and live bytes would be wrong. Who asks chooses which
//! allocations are counted.

mod account;
mod blocks;
mod changes;
mod difference;
mod happenings;
pub mod heat;
mod history;
mod homes;
pub mod life;
mod live;
mod lived;
mod movement;
pub mod pattern;
mod records;
pub mod residency;
mod rise;
mod running;
mod snapshot;
mod state;
pub mod transfers;

pub use account::{Account, Block, Group, Holder, Totals};
pub use difference::{Delta, Extent, Turnover, Verdict, difference, extents, growth};
pub use happenings::{Telling, Told, told};
pub use history::{History, Sample, Stretch};
pub use live::Live;
pub use lived::{Lived, Steps};
pub use movement::{Movement, Movements, Overlap, Walk, movements};
pub use pattern::Pattern;
pub use records::Records;
pub use residency::Residency;
pub use rise::{LEAST_STEPS, Rise, rises};
pub use snapshot::{Cell, Held, SizeClass, Snapshot};
pub use state::State;
