//! The packed form, `*.umtp`: native files of one or several processes, small, in one file.
//!
//! A packed file holds images of native files, cut into blocks that are decoded on their own: a block of events has the
//! slots of a part of a chunk, column by column as differences ([`columns`]), others have bytes; all are compressed by
//! Zstandard. Whoever reads at an offset of an image gets the bytes of the native file there, so [`super::NativeReader`]
//! reads a packed recording as it reads any other, and only what is read is unpacked. What no reader ever looks at (what
//! lies behind the committed slots of a chunk, old contents of windows) is zero in the image.
//!
//! Layout, little-endian:
//!
//! * 16 bytes: [`layout::MAGIC`], version, zero.
//! * Blocks: a [`layout::BlockHead`] of 48 bytes with the checksums, then the payload. The first bytes of a chunk stand
//!   before the compressed part as they are, so that finding chunks decodes nothing.
//! * Blocks of the index: an [`layout::Entry`] for each block.
//! * 32 bytes: a [`layout::Footer`] that says where the index begins.
//!
//! Where the index is damaged or the end is missing, blocks are found one after the other, and behind damage by their
//! magic. Each input has a description ([`about::About`]) and each image its first page twice, at its begin and near the
//! end of the file. A block that cannot be read is zeros, and is told as a loss.

pub mod about;
mod cache;
pub mod columns;
pub mod image;
mod index;
pub mod layout;
mod take;
pub mod writer;

#[cfg(test)]
mod tests;

pub use about::{About, Member, Standing};
pub use image::{Image, Loss, Packed};
pub use take::{take, take_first_page};
pub use writer::Writer;
