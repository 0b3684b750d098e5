//! The same as `<filter>` in TOML: tables `include`, `exclude` and `threshold`.

mod read;
mod write;

pub use read::read;
pub use write::write;
