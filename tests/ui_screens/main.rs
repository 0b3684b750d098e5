//! The screens as a user sees them, driven without a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests are tests too")]

mod budget;
mod damaged;
mod find;
mod fixture;
mod heat;
mod hostile;
mod hostile_layers;
mod keys;
mod lens;
mod memory;
mod screens;
mod search;
mod searched;
mod stories;
mod story;
mod styles;
mod themes;
