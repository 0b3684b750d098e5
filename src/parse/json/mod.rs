//! JSON as it is found: read in pieces, never as a whole document, and lenient.
//!
//! [`Window`] holds the part of the input that is looked at, [`Scanner`] reads values in it: strings are borrowed, values
//! that nobody wants are skipped without being built, nesting is counted and not recursed into. What is not as it should
//! be is read as it was meant where that is clear, and told as [`Flaw`]s with their places. [`number`] makes integers of
//! decimals with no floating point between.

mod block;
pub mod number;
mod scanner;
mod string;
pub mod tree;
mod window;

pub use scanner::{Flaw, Flaws, Scanner, Stop, Value};
pub use string::Str;
pub use window::Window;

#[cfg(test)]
mod tests;
