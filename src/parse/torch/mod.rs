//! Snapshots of PyTorch's caching allocator: the pickle that `torch.cuda.memory._dump_snapshot` writes.
//!
//! Segments are the driver's memory, blocks what the allocator hands out of them. The history (`device_traces`) has an
//! entry for each thing that the allocator did, up to a number that the program set; what is older is known only by what
//! was left of it: blocks and segments that are there at the end, and such as were released later.

mod import;
mod snapshot;

pub use import::import;
pub use snapshot::{Action, Annotation, Block, Entry, Frame, Segment, Snapshot};
