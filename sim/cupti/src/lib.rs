//! A stand-in for `libcupti.so.13`: callbacks on driver calls, and activity records in the client's buffers, of what the
//! stand-in driver (`sim/driver`) says that happened. What it imitates and what it does not is written in `sim/README.md`.
#![allow(non_snake_case, reason = "exported names are CUPTI's")]

mod activity;
mod buffers;
mod callbacks;
mod clock;
mod config;
mod driver;
mod export;
mod names;
mod records;
mod result;
mod ring;
mod worker;

#[path = "../../driver/src/sync.rs"]
#[allow(dead_code, reason = "the driver's file; not all of it is needed here")]
mod sync;
#[path = "../../driver/src/told.rs"]
#[allow(dead_code, reason = "the driver's file; not all of it is needed here")]
mod told;
