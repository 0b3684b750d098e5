//! Memory as screens ask for it.

pub(super) mod ask;
mod books;
mod details;
mod later;
pub(super) mod lives;
mod rows;
mod table;

pub(super) use books::Books;
pub(super) use rows::Around;
