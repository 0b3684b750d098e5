//! Exports of Nsight Systems (`nsys export --type sqlite`), schemas 3.0 to 3.28.
//!
//! Tables are made lazily, and columns come and go with versions: what is not there is missing evidence, not an error.
//! `database` reads any table in its own order with any columns missing, `rows` says which ones are known.

mod about;
mod calls;
mod convert;
pub mod database;
mod graphs;
mod import;
mod kinds;
mod memory;
mod nvtx;
pub mod rows;
mod strings;
mod work;

pub use convert::convert;
pub use import::import;

#[cfg(test)]
mod tests;
