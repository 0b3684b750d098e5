//! What the record of a range or a mark holds beside the columns.

use super::activity::raw;
use super::call::Location;
use super::ids::{ProcessId, TrackId};
use super::range::Range;
use super::sampled::{self, Sampled};
use super::{Bytes, Trace};
use umtui_wire::activity as wire;
use umtui_wire::record::Head;

/// A range's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeRecord {
    record: wire::SaidRange,
    process: ProcessId,
}

impl RangeRecord {
    /// Reads it; `None` if it is no longer there. `file` gives the bytes of a file of the trace.
    pub fn read<'a>(
        trace: &Trace,
        track: TrackId,
        range: &Range,
        file: impl FnOnce(usize) -> Option<&'a dyn Bytes>,
    ) -> Option<Self> {
        let track = trace.track(track)?;
        let offset = trace.activities.of(track.process)?.places.offset(range.place)?;
        let location = Location { file: track.file, offset, slots: 2 };
        let record: wire::SaidRange = raw::read(file(track.file as usize)?, location).ok()?;
        let kinds = [wire::KIND_RANGE_PUSH, wire::KIND_RANGE_START, wire::KIND_MARK];
        kinds.contains(&Head::from_word(record.head).kind).then_some(Self { record, process: track.process })
    }

    /// Category within the domain, zero for none.
    #[must_use]
    pub const fn category(&self) -> u32 {
        Head::from_word(self.record.head).b
    }

    /// Type and bits of the payload, as the record has them; `None` if it has none.
    #[must_use]
    pub const fn payload(&self) -> Option<(u32, u64)> {
        if self.record.payload_type == 0 { None } else { Some((self.record.payload_type, self.record.payload)) }
    }

    /// Of a sample of a counter its value.
    #[must_use]
    pub const fn sampled(&self) -> Option<Sampled> {
        Sampled::of(self.record.payload_type, self.record.payload)
    }

    /// Of a sample of a counter: how many bytes of the name are the counter's, zero for all.
    #[must_use]
    pub const fn counter_bytes(&self) -> u64 {
        self.record.id
    }

    /// Names of a counter and its series, of the mark's name.
    #[must_use]
    pub fn names<'a>(&self, name: &'a str) -> (&'a str, Option<&'a str>) {
        sampled::names(name, self.record.id)
    }

    /// What else was said: an object in JSON, or text; empty if nothing was.
    #[must_use]
    pub fn said<'a>(&self, trace: &'a Trace) -> &'a str {
        if self.record.said == 0 {
            return "";
        }
        let name = trace.process(self.process).and_then(|process| process.strings.get(&self.record.said));
        name.map_or("", |&name| trace.names.get(name))
    }
}
