//! Things that several screens draw with.

pub mod area;
pub mod columns;
pub mod fields;
pub mod input;
pub mod list;
pub mod paint;
pub mod popup;
pub mod spark;
pub mod split;
