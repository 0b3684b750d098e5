//! Memory as screens ask for it.

pub(super) mod ask;
mod books;
mod details;
mod growth;
mod later;
pub(super) mod lives;
mod moved;
mod pools;
mod rows;
mod sought;
mod table;
mod transfers;

pub(super) use books::Books;
pub(super) use rows::Around;
pub(super) use sought::Fits;
