//! umtui: a terminal explorer for what CUDA programs do with unified memory.
//!
//! The library behind the `umtui` program. `docs/architecture.md` says how its rooms fit together.

pub mod cli;
pub mod config;
pub mod correlate;
pub mod export;
pub(crate) mod files;
pub mod filter;
pub mod forward;
pub mod graph;
pub mod launch;
pub mod lens;
pub mod memory;
pub mod parse;
pub mod report;
pub mod session;
pub mod source;
pub mod symbols;
pub mod trace;
pub mod ui;
