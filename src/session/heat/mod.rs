//! The heatmap: unified memory by address and time, as screens and reports ask for it.

mod canvas;
mod cells;
mod finding;
mod frame;
mod generations;
pub(super) mod glyphs;
mod heats;
mod homes;
mod kernels;
mod packed;
mod page;
mod picture;
mod places;
mod point;
mod stretch;
pub(super) mod view;
mod why;

pub(super) use heats::Heats;
pub(super) use picture::State;

#[cfg(test)]
mod tests;
