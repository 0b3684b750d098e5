//! Chrome's trace events as JSON: what PyTorch's profiler (Kineto), TensorFlow's, JAX's and many other tools write.
//!
//! An array of events, or an object with `traceEvents` anywhere among its keys. Events are read one at a time and none
//! is kept. What is CUDA's by Kineto's categories becomes calls and work of the GPU; every other slice becomes a range
//! of its thread. docs/opening.md says what is known from such a file and what is not.
//!
//! Where the text is damaged, reading goes on at the next thing that is an event; what was left out is counted.

mod category;
mod counters;
mod document;
mod event;
mod flows;
mod gpu;
mod host;
mod mapping;
mod meta;
mod said;
mod streams;

pub use document::import;

#[cfg(test)]
mod tests;
