//! Logs of RAPIDS' memory manager: `Thread,Time,Action,Pointer,Size,Stream`, one allocation or release a line.
//!
//! Versions differ in how the time is written (of the day, or seconds since 1970), in whether pointers begin with `0x`,
//! and in further columns, which are passed over; columns are found by the header. What one thread writes in the midst
//! of another's line, and what a program that was killed leaves at the end, is counted with its line.

mod import;
mod line;

pub use import::import;
pub use line::{Action, Columns, Entry, Moment, entry};
