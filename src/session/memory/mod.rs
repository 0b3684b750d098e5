//! Memory as screens ask for it.

pub(super) mod ask;
mod asked;
mod blocks;
mod books;
mod details;
mod growth;
pub(super) mod later;
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
