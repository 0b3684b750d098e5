//! The bytes that the hook writes and the explorer reads, and the table of CUDA functions both know.
//!
//! A trace is one file per process: a [`header::FileHeader`] page, then chunks. A chunk begins with a
//! [`chunk::ChunkHeader`] and holds 48-byte slots; a record is one slot and the extra slots it announces
//! ([`record`]). Definitions (strings, functions, modules, kernels) stand in chunks of their own, committed
//! before the first record that refers to them. All numbers are little-endian.

#![no_std]

pub mod activity;
pub mod checksum;
pub mod chunk;
pub mod clock;
pub mod definition;
pub mod filter;
pub mod frame;
pub mod group;
pub mod header;
pub mod record;
pub mod table;
