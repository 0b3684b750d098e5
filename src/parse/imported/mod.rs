//! What every foreign format is read into: native files, one for each process, made while the input is read.
//!
//! A reader of a format makes one [`Target`] for its input, tells it processes, threads, calls, work of the GPU, ranges,
//! evidence and repairs in whatever order the input has them, and ends with [`Target::finish`]. From there on
//! [`super::NativeReader`] reads the files as any other, so that nothing behind it knows of foreign formats.
//!
//! * Times are nanoseconds of the input's own clock, not negative. [`Target::wall_clock`] says what moment zero was, if
//!   the input knows.
//! * Handles ([`Process`], [`Thread`], [`Function`], [`Text`]) are small numbers: look them up once and keep them.
//!   [`Text::NONE`] is "no name".
//! * Work of the GPU may come in any order, and is written at once ([`Target::work`]).
//! * Calls and ranges may come in any order, too, but have to be written in order of their thread: they are held, sorted
//!   outside of memory ([`sorter`]), until the input has ended. Nesting is found by time (of equal starts the longer is
//!   the parent; input order after that). What crosses goes to a further lane of its thread, called `NAME (2)`.
//! * Samples of counters ([`Target::sample`]) are marks of a thread of their own in each process.
//! * Whatever an input can have many of is bounded: processes, threads, functions, names, nesting. What is beyond a bound
//!   is counted as a repair.
//! * What was mended, skipped or is unfinished is told by [`Target::repair`], what the format never has by
//!   [`Target::never`], and what the model has no place for by [`Target::unplaced`].

mod actors;
mod binding;
mod call;
mod correlations;
mod edges;
mod events;
mod finish;
mod functions;
pub mod identity;
mod lanes;
mod outcome;
pub mod progress;
mod range;
mod repairs;
mod said;
mod sites;
mod slices;
pub mod sorter;
mod target;
mod texts;
mod work;

pub use actors::{Process, Thread};
pub use call::{Call, api_name};
pub use functions::Function;
pub use identity::Key;
pub use outcome::{Imported, ImportedFile};
pub use progress::{Input, Progress};
pub use range::{Edge, Range};
pub use repairs::{Place, Repair};
pub use said::Said;
pub use sites::SiteName;
pub use target::{Spool, Target};
pub use texts::Text;
pub use work::Work;

#[cfg(test)]
pub(super) mod tests;
