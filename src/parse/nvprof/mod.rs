//! What nvprof prints: `--print-gpu-trace`, `--print-api-trace` and the summary, as text or `--csv`, among whatever else
//! the program printed.
//!
//! Columns of text are found by where their headings end, those of CSV by their names and the row of units below them.
//! Numbers are as nvprof rounded them. Of a summary only sums are known, and stay sums.

mod import;
mod table;
mod units;
mod work;

pub use import::{import, is_certain, is_mark};

#[cfg(test)]
mod tests;
