//! The native reader against traces made at random, whole, growing and damaged.

#![allow(missing_docs, reason = "tests")]

pub mod capped;
mod damage;
pub mod gpu;
mod growing;
pub mod made;
pub mod model;
mod whole;
