//! One opened trace: its sources, its reader thread, and the rows it prepares.
//!
//! [`Session`] reads in a thread and answers a screen's requests between two batches of events; the screen never
//! waits. [`Loaded`] does the same work at once, for reports. Both are an engine that owns the files, the trace, the
//! call tree and the names, and that does nothing of itself.

pub mod child;
pub mod evidence;
pub mod handle;
mod headway;
mod importing;
pub mod safe;
pub mod search;
pub mod view;

mod alive;
mod calls;
pub mod clocks;
pub(crate) mod cost;
mod devices;
mod engine;
mod event_kinds;
mod events;
mod failures;
mod family;
mod feed;
mod gpu;
mod gpu_details;
mod gpu_events;
mod heat;
mod kept;
mod labels;
mod launches;
pub mod left_out;
mod lensed;
mod links;
mod loaded;
mod matches;
mod memory;
mod metrics;
mod model;
mod nvml;
mod order;
mod others;
mod output;
mod overview;
mod range_details;
mod run;
mod sampler;
mod sifting;
mod watching;

#[cfg(test)]
pub(crate) mod tests;

pub use child::{ChildControl, Output};
pub use failures::Failure;
pub use family::{Member, Standing, family};
pub use feed::packing::{PackError, Packing, pack};
pub use headway::{Headway, Stage};
pub(crate) use labels::{of_file, overhead};
pub use links::connections;
pub use loaded::{LoadError, Loaded};
pub use run::{OpenError, Session};
pub use sampler::Address;

pub use crate::source::Watch;
