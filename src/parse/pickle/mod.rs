//! Python's pickle, protocols 0 to 5, as data: a restricted unpickler that executes nothing.
//!
//! A pickle is a program for a small machine with a stack, which may call any function of Python that it names. Here
//! the machine has no functions: only a handful of names stand for containers that are known (`collections.OrderedDict`
//! and such), every other is an error that says which. Containers are objects of a heap that values refer to by number,
//! so what contains itself is no trouble; whoever goes through them bounds the depth.
//!
//! Memory is bounded by how much of the file has been read; what claims to be long is allocated as it comes.

mod containers;
mod error;
mod heap;
mod input;
mod machine;
mod names;
mod scalars;

pub use error::{PickleError, Why};
pub use heap::{Heap, Value};
pub use machine::{looks_like, read};

#[cfg(test)]
mod tests;
