//! umtui: a terminal explorer for what CUDA programs do with unified memory.
//!
//! The library behind the `umtui` program. `docs/architecture.md` says how its rooms fit together.

pub mod session;
