//! One opened trace: its sources, its reader thread, and the rows it prepares.

pub mod handle;
pub mod view;
