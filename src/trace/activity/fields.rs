//! The fields of records by name, for forms in which people read and write them.

use super::record::ActivityKind;
use std::mem::offset_of;
use umtui_wire::activity as wire;

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Byte at which it begins.
    pub at: usize,
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    /// How it is written.
    pub form: Form,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a number; all ones mean that there is none.
    Number,
    /// As an address or a set of bits.
    Hex,
    /// The string that it is the id of.
    Text,
}

const fn number(name: &'static str, at: usize, bytes: usize) -> Field {
    Field { name, at, bytes, form: Form::Number }
}

const fn hex(name: &'static str, at: usize) -> Field {
    Field { name, at, bytes: 8, form: Form::Hex }
}

const fn text(name: &'static str, at: usize) -> Field {
    Field { name, at, bytes: 4, form: Form::Text }
}

const DEVICE: Field = number("device", 2, 2);
const ID: Field = number("id", 4, 4);

const KERNEL: &[Field] = {
    use wire::Kernel as R;
    const GRID: usize = offset_of!(R, grid);
    const BLOCK: usize = offset_of!(R, block);
    &[
        text("name", offset_of!(R, name)),
        DEVICE,
        ID,
        number("context", offset_of!(R, context), 4),
        number("stream", offset_of!(R, stream), 4),
        number("grid_x", GRID, 4),
        number("grid_y", GRID + 4, 4),
        number("grid_z", GRID + 8, 4),
        number("block_x", BLOCK, 2),
        number("block_y", BLOCK + 2, 2),
        number("block_z", BLOCK + 4, 2),
        number("registers", offset_of!(R, registers), 2),
        number("launch", offset_of!(R, launch), 1),
        number("static_shared", offset_of!(R, static_shared), 4),
        number("dynamic_shared", offset_of!(R, dynamic_shared), 4),
        number("local", offset_of!(R, local), 4),
        number("graph", offset_of!(R, graph), 4),
        hex("node", offset_of!(R, node)),
    ]
};

const COPY: &[Field] = {
    use wire::Copied as R;
    &[
        number("kind", offset_of!(R, kind), 1),
        number("bytes", offset_of!(R, bytes), 8),
        number("memory_from", offset_of!(R, from), 1),
        number("memory_to", offset_of!(R, to), 1),
        DEVICE,
        ID,
        number("context", offset_of!(R, context), 4),
        number("stream", offset_of!(R, stream), 4),
        number("flags", offset_of!(R, flags), 1),
        number("device_from", offset_of!(R, from_device), 2),
        number("device_to", offset_of!(R, to_device), 2),
        number("graph", offset_of!(R, graph), 4),
        hex("node", offset_of!(R, node)),
        number("count", offset_of!(R, count), 8),
    ]
};

const SET: &[Field] = {
    use wire::Set as R;
    &[
        number("bytes", offset_of!(R, bytes), 8),
        number("value", offset_of!(R, value), 4),
        number("memory", offset_of!(R, memory), 1),
        DEVICE,
        ID,
        number("context", offset_of!(R, context), 4),
        number("stream", offset_of!(R, stream), 4),
        number("flags", offset_of!(R, flags), 1),
        number("graph", offset_of!(R, graph), 4),
        hex("node", offset_of!(R, node)),
    ]
};

const WAIT: &[Field] = {
    use wire::Wait as R;
    &[
        number("kind", offset_of!(R, kind), 4),
        DEVICE,
        ID,
        number("context", offset_of!(R, context), 4),
        number("stream", offset_of!(R, stream), 4),
        number("event", offset_of!(R, event), 4),
        number("event_sync", offset_of!(R, event_sync), 8),
    ]
};

const EVENT: &[Field] = {
    use wire::EventRecorded as R;
    &[
        number("event", offset_of!(R, event), 4),
        DEVICE,
        ID,
        number("context", offset_of!(R, context), 4),
        number("stream", offset_of!(R, stream), 4),
        number("event_sync", offset_of!(R, event_sync), 8),
    ]
};

const OVERHEAD: &[Field] = {
    use wire::Overhead as R;
    &[
        number("kind", offset_of!(R, kind), 4),
        ID,
        number("object", offset_of!(R, object), 4),
        number("first", offset_of!(R, first), 4),
        number("second", offset_of!(R, second), 4),
    ]
};

const UNIFIED: &[Field] = {
    use wire::Unified as R;
    const PROCESSORS: usize = offset_of!(R, processors);
    &[
        number("counter", 2, 2),
        number("flags", 4, 4),
        number("value", offset_of!(R, value), 8),
        hex("address", offset_of!(R, address)),
        number("from", offset_of!(R, from), 4),
        number("to", offset_of!(R, to), 4),
        hex("processors_0", PROCESSORS),
        hex("processors_1", PROCESSORS + 8),
        hex("processors_2", PROCESSORS + 16),
        hex("processors_3", PROCESSORS + 24),
        hex("processors_4", PROCESSORS + 32),
    ]
};

const GRAPH: &[Field] = {
    use wire::GraphRun as R;
    &[
        number("graph", offset_of!(R, graph), 4),
        DEVICE,
        ID,
        number("context", offset_of!(R, context), 4),
        number("stream", offset_of!(R, stream), 4),
        number("device_end", offset_of!(R, end_device), 4),
    ]
};

const MEMORY: &[Field] = {
    use wire::Memory as R;
    &[
        number("operation", offset_of!(R, operation), 1),
        hex("address", offset_of!(R, address)),
        number("bytes", offset_of!(R, bytes), 8),
        number("memory", offset_of!(R, kind), 1),
        DEVICE,
        ID,
        number("context", offset_of!(R, context), 4),
        number("stream", offset_of!(R, stream), 4),
        number("flags", offset_of!(R, flags), 1),
        hex("pool", offset_of!(R, pool)),
        hex("code", offset_of!(R, code)),
        text("name", offset_of!(R, name)),
    ]
};

/// Of ranges and marks, which are no activities.
pub const RANGE: &[Field] = {
    use wire::Range as R;
    &[
        text("name", offset_of!(R, name)),
        text("domain", offset_of!(R, domain)),
        number("level", 2, 2),
        number("category", 4, 4),
        number("color", offset_of!(R, color), 4),
        number("payload_type", offset_of!(R, payload_type), 4),
        hex("payload", offset_of!(R, payload)),
        Field::COUNTER,
        text("said", offset_of!(wire::SaidRange, said)),
    ]
};

impl ActivityKind {
    /// Its name where fields are written by name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Copy => "copy",
            Self::Set => "set",
            Self::Wait => "wait",
            Self::Event => "event",
            Self::Overhead => "overhead",
            Self::Unified => "unified",
            Self::Graph => "graph",
            Self::Memory => "memory",
        }
    }

    /// Fields of its records, times left out.
    #[must_use]
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Kernel => KERNEL,
            Self::Copy => COPY,
            Self::Set => SET,
            Self::Wait => WAIT,
            Self::Event => EVENT,
            Self::Overhead => OVERHEAD,
            Self::Unified => UNIFIED,
            Self::Graph => GRAPH,
            Self::Memory => MEMORY,
        }
    }

    /// Whether its records have an end beside the start; they begin at bytes 16 and 8.
    #[must_use]
    pub const fn has_end(self) -> bool {
        !matches!(self, Self::Event | Self::Memory)
    }
}

impl Field {
    /// Of a mark that is a sample of a counter: see [`wire::PAYLOAD_SAMPLE`]. In records of ranges the number of one that
    /// any thread may end stands there.
    pub const COUNTER: Self = number("counter", offset_of!(wire::Range, id), 8);

    /// Its bits in a record.
    #[must_use]
    pub fn get(&self, record: &[u8]) -> u64 {
        let mut eight = [0; 8];
        for (place, byte) in eight.iter_mut().zip(record.get(self.at..).unwrap_or(&[]).iter().take(self.bytes)) {
            *place = *byte;
        }
        u64::from_le_bytes(eight)
    }

    /// Sets it; false if it has no room for so large a number.
    pub fn set(&self, record: &mut [u8], value: u64) -> bool {
        if self.bytes < 8 && value >> (8 * self.bytes) != 0 {
            return false;
        }
        let place = record.get_mut(self.at..).unwrap_or_default().iter_mut().take(self.bytes);
        place.zip(value.to_le_bytes()).for_each(|(place, byte)| *place = byte);
        true
    }

    /// What stands for "none": all ones.
    #[must_use]
    pub const fn none(&self) -> u64 {
        if self.bytes < 8 { (1 << (8 * self.bytes)) - 1 } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_apart_and_within_their_records() {
        for kind in ActivityKind::ALL {
            let mut taken = vec![false; usize::from(kind.slots()) * 48];
            taken[..2].fill(true);
            taken[8..if kind.has_end() { 24 } else { 16 }].fill(true);
            for field in kind.fields() {
                let place = &mut taken[field.at..field.at + field.bytes];
                assert!(place.iter().all(|taken| !taken), "{kind:?} {}", field.name);
                place.fill(true);
            }
        }
    }

    #[test]
    fn what_is_set_is_read_and_what_is_too_large_refused() {
        let mut record = [0; 96];
        for field in KERNEL {
            assert!(field.set(&mut record, field.none()) && field.get(&record) == field.none());
            assert_eq!(field.set(&mut record, u64::MAX), field.bytes == 8);
            assert!(field.set(&mut record, 0) && record.iter().all(|&byte| byte == 0));
        }
    }
}
