//! Headless reports: the numbers of the screens as text or JSON, for scripts and CI.
//!
//! [`Report::of`] collects them once; [`text`] and [`json`] only write them down, so both always agree.

mod allocations;
mod blocks;
mod collect;
mod counters;
pub mod difference;
mod first_failures;
mod gpu;
mod gpu_json;
mod gpu_text;
mod graphs;
mod heatmap;
mod json;
mod memory;
mod migrated;
mod moment;
mod ranges;
mod rises;
mod snapshot;
mod table;
mod text;
mod told;
mod transfers;

#[cfg(test)]
mod tests;

pub use crate::memory::transfers::{DeviceMap, LinkOptions};
pub use allocations::{Allocations, AtPeak, ByDevice, ByKind, BySite, Live, Refused, Sums};
pub use blocks::{Api, Failure, LensBlock, Process, Stream, Thread, TraceBlock};
pub use collect::Report;
pub use counters::CounterRow;
pub use first_failures::{FirstFailure, Suspect};
pub use gpu::{Copied, Device, Faults, GpuBlock, Kernel, Migrations, Missing, Overhead, UnifiedDevice};
pub use graphs::{Graph, Kernel as GraphKernel};
pub use heatmap::{HeatLook, HeatOf, heatmap, heatmap_json};
pub use json::{json, printable};
pub use memory::Memory;
pub use migrated::{ByKernel, LastPages, Migrated, Moves, Order};
pub use moment::{MomentBlock, Unfound};
pub use ranges::RangeRow;
pub use rises::{RiseRow, Rises};
pub use snapshot::{SnapshotBlock, snapshots};
pub use text::text;
pub use transfers::Transfers;
