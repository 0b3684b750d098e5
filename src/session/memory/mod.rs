//! Memory as screens ask for it.

pub(super) mod ask;
mod asked;
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
mod used;

pub(super) use books::Books;
pub(super) use rows::Around;
pub(super) use sought::Fits;
