//! What a snapshot says, by its fields.

use crate::parse::pickle::{Heap, Value};

/// A snapshot.
pub struct Snapshot<'a> {
    heap: &'a Heap,
    root: Value,
}

/// What the allocator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A block was handed out.
    Alloc,
    /// It was given back.
    FreeRequested,
    /// Nothing uses it any more.
    FreeCompleted,
    /// The driver was asked for a segment.
    SegmentAlloc,
    /// It was given back to the driver.
    SegmentFree,
    /// Pages were mapped into a segment that can grow.
    SegmentMap,
    /// They were unmapped.
    SegmentUnmap,
    /// There was no memory.
    OutOfMemory,
    /// A snapshot was taken.
    Snapshot,
    /// Something else.
    Other,
}

/// An entry of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was done.
    pub action: Action,
    /// Address; zero if there is none.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// When, us since 1970.
    pub time_us: Option<u64>,
    /// The stream's handle, zero for the default one.
    pub stream: Option<u64>,
    /// Bytes that the device had left, of [`Action::OutOfMemory`].
    pub free_bytes: Option<u64>,
    /// The stack.
    pub stack: Option<Value>,
}

impl Entry {
    /// Of which nothing is known.
    pub const NOTHING: Self = Self {
        action: Action::Other,
        address: 0,
        bytes: 0,
        time_us: None,
        stream: None,
        free_bytes: None,
        stack: None,
    };
}

/// Memory of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Device.
    pub device: Option<u32>,
    /// The handle of the stream that its blocks are for.
    pub stream: Option<u64>,
    /// The stack of the call that asked for it.
    pub stack: Option<Value>,
    blocks: Option<Value>,
}

/// A part of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// It is handed out.
    pub is_active: bool,
    /// It was given back, and something may still use it.
    pub is_pending: bool,
    /// The stack of the call that asked for it.
    pub stack: Option<Value>,
}

/// What the program said it was doing: one end of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Name.
    pub name: String,
    /// Whether it begins, or ends; `None` if it is a moment.
    pub begins: Option<bool>,
    /// Device.
    pub device: u32,
    /// When, us since 1970.
    pub time_us: u64,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Source file.
    pub file: String,
    /// Function.
    pub function: String,
    /// Line, zero if it is not known.
    pub line: u32,
}

impl<'a> Snapshot<'a> {
    /// What `root` is; `None` if it has neither segments nor a history.
    #[must_use]
    pub fn of(heap: &'a Heap, root: Value) -> Option<Self> {
        let snapshot = Self { heap, root };
        let has = |name| heap.field(root, name).is_some_and(|value| heap.is_list(value));
        // Older ones are the list of segments alone.
        (has("segments") || has("device_traces") || snapshot.is_old()).then_some(snapshot)
    }

    fn is_old(&self) -> bool {
        let first = self.heap.items(self.root).first();
        first.is_some_and(|&first| self.heap.field(first, "blocks").is_some())
    }

    /// Segments.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        let list = self.heap.field(self.root, "segments").unwrap_or(self.root);
        self.heap.items(list).iter().map(|&segment| Segment {
            address: self.number(segment, "address"),
            bytes: self.number(segment, "total_size"),
            device: self.maybe(segment, "device").and_then(|device| u32::try_from(device).ok()),
            stream: self.maybe(segment, "stream"),
            stack: self.heap.field(segment, "frames"),
            blocks: self.heap.field(segment, "blocks"),
        })
    }

    /// Blocks of a segment. Older snapshots do not have their addresses: they lie one after the other.
    pub fn blocks(&self, segment: &Segment) -> impl Iterator<Item = Block> + '_ {
        let mut next = segment.address;
        let list = segment.blocks.map_or(&[][..], |blocks| self.heap.items(blocks));
        list.iter().map(move |&block| {
            let address = self.maybe(block, "address").unwrap_or(next);
            let bytes = self.number(block, "size");
            next = address.saturating_add(bytes);
            let state = self.heap.field(block, "state").and_then(|state| self.heap.as_text(state)).unwrap_or(b"");
            let history = self.heap.field(block, "history").and_then(|list| self.heap.items(list).first().copied());
            Block {
                address,
                bytes,
                is_active: state.starts_with(b"active"),
                // `active_pending_free`, or `active_awaiting_free`.
                is_pending: state.starts_with(b"active_") && state.ends_with(b"_free"),
                stack: self.heap.field(block, "frames").or_else(|| self.heap.field(history?, "frames")),
            }
        })
    }

    /// Devices that have a history, each with as many entries as it has.
    pub fn histories(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let all = self.heap.field(self.root, "device_traces").map_or(&[][..], |traces| self.heap.items(traces));
        (0u32..).zip(all).map(|(device, &history)| (device, self.heap.items(history).len()))
    }

    /// The history of a device.
    pub fn history(&self, device: u32) -> impl Iterator<Item = Entry> + '_ {
        let all = self.heap.field(self.root, "device_traces").map_or(&[][..], |traces| self.heap.items(traces));
        let history = all.get(device as usize).map_or(&[][..], |&history| self.heap.items(history));
        history.iter().map(|&entry| self.entry(entry))
    }

    /// What the program said it was doing, of newer snapshots; what has no time is left out.
    pub fn annotations(&self) -> impl Iterator<Item = Annotation> + '_ {
        let all = self.heap.field(self.root, "external_annotations").map_or(&[][..], |list| self.heap.items(list));
        all.iter().filter_map(|&one| {
            let text = |name| self.heap.as_text(self.heap.field(one, name)?);
            let name = text("name").unwrap_or(b"");
            Some(Annotation {
                name: String::from_utf8_lossy(name.get(..name.len().min(4096)).unwrap_or(name)).into_owned(),
                begins: match text("stage") {
                    Some(b"START") => Some(true),
                    Some(b"END") => Some(false),
                    _ => None,
                },
                device: self.maybe(one, "device").and_then(|device| u32::try_from(device).ok()).unwrap_or(0),
                time_us: self.maybe(one, "time_us")?,
            })
        })
    }

    fn entry(&self, entry: Value) -> Entry {
        let mut read = Entry::NOTHING;
        for (key, value) in self.heap.pairs(entry) {
            let number = || self.heap.as_int(value).and_then(|number| u64::try_from(number).ok());
            match self.heap.as_text(key).unwrap_or(b"") {
                b"action" => read.action = action(self.heap.as_text(value).unwrap_or(b"")),
                b"addr" => read.address = number().unwrap_or(0),
                b"size" => read.bytes = number().unwrap_or(0),
                b"time_us" => read.time_us = number(),
                b"stream" => read.stream = number(),
                b"device_free" => read.free_bytes = number(),
                b"frames" => read.stack = Some(value),
                _ => {}
            }
        }
        read
    }

    /// The frame of a stack that is the program's: the innermost one whose file is not the library's own, else the
    /// innermost.
    #[must_use]
    pub fn caller(&self, stack: Value) -> Option<Frame> {
        const MOST: usize = 256;
        let frames = self.heap.items(stack);
        let file = |frame: Value| self.heap.field(frame, "filename").and_then(|file| self.heap.as_text(file));
        let own = |frame: Value| {
            file(frame).is_none_or(|file| {
                let text = String::from_utf8_lossy(file);
                file.is_empty()
                    || text == "??"
                    || ["/torch/", "/c10/", "torch/csrc"].iter().any(|part| text.contains(part))
            })
        };
        let chosen = frames.iter().take(MOST).find(|&&frame| !own(frame)).or(frames.first()).copied()?;
        let text = |name| {
            let bytes = self.heap.field(chosen, name).and_then(|value| self.heap.as_text(value)).unwrap_or(b"");
            String::from_utf8_lossy(bytes.get(..bytes.len().min(4096)).unwrap_or(bytes)).into_owned()
        };
        Some(Frame {
            file: text("filename"),
            function: text("name"),
            line: u32::try_from(self.number(chosen, "line")).unwrap_or(0),
        })
    }

    fn maybe(&self, dictionary: Value, name: &str) -> Option<u64> {
        self.heap.as_int(self.heap.field(dictionary, name)?).and_then(|number| u64::try_from(number).ok())
    }

    fn number(&self, dictionary: Value, name: &str) -> u64 {
        self.maybe(dictionary, name).unwrap_or(0)
    }
}

fn action(word: &[u8]) -> Action {
    match word {
        b"alloc" => Action::Alloc,
        b"free_requested" | b"free" => Action::FreeRequested,
        b"free_completed" => Action::FreeCompleted,
        b"segment_alloc" => Action::SegmentAlloc,
        b"segment_free" => Action::SegmentFree,
        b"segment_map" => Action::SegmentMap,
        b"segment_unmap" => Action::SegmentUnmap,
        b"oom" => Action::OutOfMemory,
        b"snapshot" => Action::Snapshot,
        _ => Action::Other,
    }
}
