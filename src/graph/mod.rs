//! The merged call tree: every call of every thread, folded by path while the trace is still growing.
//!
//! [`Tree`] takes the calls of each thread in the order in which they end and keeps one [`Cell`] for each thread,
//! stream, device, call site and path of calls. [`Rows`] folds the cells by a [`Grouping`], and [`Windows`] cuts
//! out what is to be seen. A live tree equals the one read from the finished trace, however the calls came.

mod cells;
mod directory;
mod forest;
mod functions;
mod gpu;
mod histogram;
mod identity;
mod locate;
mod on_gpu;
mod range_work;
mod ranges;
mod row;
mod rows;
mod rows_ranges;
mod sifted;
mod sought;
mod stats;
mod timeline;
mod tree;
mod under;
mod walk;
mod window;
mod work;

#[cfg(test)]
pub(crate) mod tests;

pub use cells::{Cell, CellId, Cells, Place};
pub use functions::{Function, functions};
pub use gpu::{Amounts, Gpu, UnifiedKey};
pub use histogram::{Histogram, QUANTILE_ERROR_PCT};
pub use identity::{Directory, NodeKey, NodeKind, What, digest};
pub use on_gpu::OnGpu;
pub use range_work::RangeWork;
pub use ranges::{OUTSIDE, RangeIndex, RangeNode, RangePath};
pub use row::Row;
pub use rows::{Grouping, RowId, Rows, TOP};
pub use sifted::Sifted;
pub use sought::{Sorting, Sought};
pub use stats::{Stats, Sums};
pub use timeline::Timeline;
pub use tree::Tree;
pub use under::{Under, under};
pub use window::{Column, Folds, Labels, Window, WindowRequest, Windows};
pub use work::{Work, WorkCell, WorkOf, WorkPlace, WorkStream};
