//! The real terminal: its modes, its input, the signals about it, and what to do when it goes away.

pub mod backend;
pub mod clipboard;
pub mod editor;
pub mod guard;
pub mod input;
pub mod pause;
pub mod signals;
pub mod tty;
pub mod watchdog;
pub mod writer;
