//! The domain: events, ids, interned names and the columnar store that holds a trace.
//!
//! Rows of a [`Track`] are the calls of one thread in order of completion. Times are nanoseconds on the
//! trace's axis: `CLOCK_MONOTONIC` of the host that the first file came from. This room knows nothing of
//! file formats, threads or terminals.

pub mod activity;
pub mod api;
pub mod bytes;
pub mod call;
pub mod capture;
pub mod chunk;
pub mod enumeration;
pub mod ids;
pub mod names;
pub mod process;
pub mod range;
pub mod range_record;
pub mod raw;
pub mod results;
pub mod sampled;
pub mod semantics;
pub mod site;
pub mod store;
pub mod stream;
pub mod track;
pub mod value;

pub use activity::{Activities, Activity, ActivityKind, Lane, LaneOf};
pub use api::{Api, Argument, Only, Signature};
pub use bytes::Bytes;
pub use call::{Call, CallFlags, Location, NO_DEVICE, OpenCall};
pub use capture::{Captor, Capture, Captures};
pub use chunk::{Batch, Chunk, Summary};
pub use ids::{ApiId, ModuleId, NameId, ProcessId, SiteId, StreamId, TrackId};
pub use names::Names;
pub use process::{Process, State};
pub use range::{Range, RangeKind, Ranges};
pub use sampled::Sampled;
pub use semantics::Semantics;
pub use site::{Module, Site, Sites};
pub use store::{Damage, Evidence, Trace};
pub use stream::{Stream, StreamKind, Streams};
pub use track::{MADE_UP, Track};
pub use umtui_wire::table::Layer;
pub use value::{ArgKind, Style, Value};
