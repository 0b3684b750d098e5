//! The heatmap: unified memory by address and time, as screens and reports ask for it.

mod cells;
mod generations;
pub(super) mod glyphs;
mod heats;
mod homes;
mod kernels;
mod page;
mod picture;
mod places;
mod point;
pub(super) mod view;

pub(super) use heats::Heats;
pub(super) use picture::State;

#[cfg(test)]
mod tests;
