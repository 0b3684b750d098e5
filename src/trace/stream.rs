//! Streams: which handle stood for which stream when.

use super::capture::Captures;
use super::ids::{ProcessId, StreamId, TrackId};
use rustc_hash::FxHashMap;

/// What kind of stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// The legacy default stream of a device.
    Default,
    /// A thread's own default stream.
    PerThread,
    /// Made by the program.
    Created,
}

/// A stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Process.
    pub process: ProcessId,
    /// Device, or [`super::NO_DEVICE`].
    pub device: u8,
    /// Handle; 0 and 2 for the default ones.
    pub handle: u64,
    /// How many streams had this handle before.
    pub generation: u32,
    /// Kind.
    pub kind: StreamKind,
    /// The thread of a per-thread default stream.
    pub track: Option<TrackId>,
}

/// The stream behind a handle, and for which moments that answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The stream.
    pub stream: StreamId,
    /// Its device, or [`super::NO_DEVICE`].
    pub device: u8,
    /// First moment, clock ticks of the process.
    pub from: u64,
    /// Last moment.
    pub until: u64,
}

/// One stream that a handle stood for.
#[derive(Clone, Copy, Debug)]
struct Life {
    from: u64,
    device: u8,
    stream: StreamId,
}

/// What a handle stood for: streams by the moment from which they were there, and when streams were destroyed.
#[derive(Debug, Default)]
struct Handle {
    lives: Vec<Life>,
    ends: Vec<u64>,
}

/// All streams of a trace.
///
/// Moments are clock ticks of the process. A creation counts from its end, a destruction from its start, and a
/// use is looked up by its end. In which order creations and destructions are told does not matter, as long as those
/// before a use are told before it is looked up.
#[derive(Debug, Default)]
pub struct Streams {
    /// When which of them were captured into graphs.
    pub captures: Captures,
    list: Vec<Stream>,
    defaults: FxHashMap<(ProcessId, u8, Option<TrackId>), StreamId>,
    handles: FxHashMap<(ProcessId, u64), Handle>,
    version: u32,
}

impl Streams {
    /// Streams in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A stream; `None` for [`StreamId::NONE`] and [`StreamId::OTHER`].
    #[must_use]
    pub fn get(&self, id: StreamId) -> Option<&Stream> {
        self.list.get(id.index())
    }

    /// All streams, by id.
    #[must_use]
    pub fn all(&self) -> &[Stream] {
        &self.list
    }

    /// Grows when answers of [`Streams::find`] that were kept may no longer hold.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// The default stream of a device, or that of a thread.
    pub fn default_stream(&mut self, process: ProcessId, device: u8, track: Option<TrackId>) -> StreamId {
        if let Some(&known) = self.defaults.get(&(process, device, track)) {
            return known;
        }
        let (kind, handle) = if track.is_some() { (StreamKind::PerThread, 2) } else { (StreamKind::Default, 0) };
        let id = push(&mut self.list, Stream { process, device, handle, generation: 0, kind, track });
        self.defaults.insert((process, device, track), id);
        id
    }

    /// A call from `start` to `end` made the stream `handle`. A runtime call and the driver call inside it tell of the
    /// same stream.
    pub fn created(&mut self, process: ProcessId, handle: u64, start: u64, end: u64, device: u8) {
        let lives = &mut self.handles.entry((process, handle)).or_default().lives;
        let at = lives.partition_point(|life| life.from <= end);
        let inner =
            at.checked_sub(1).and_then(|at| lives.get_mut(at)).filter(|life| life.from >= start && life.from > 0);
        if let Some(life) = inner {
            if life.device == super::NO_DEVICE {
                life.device = device;
                if let Some(stream) = self.list.get_mut(life.stream.index()) {
                    stream.device = device;
                }
            }
            return;
        }
        let created = Stream { process, device, handle, generation: 0, kind: StreamKind::Created, track: None };
        let stream = push(&mut self.list, created);
        lives.insert(at, Life { from: end, device, stream });
        renumber(&mut self.list, lives, at);
        self.version = self.version.wrapping_add(1);
    }

    /// A call from `start` to `end` destroyed the stream `handle`.
    pub fn destroyed(&mut self, process: ProcessId, handle: u64, start: u64, end: u64) {
        let ends = &mut self.handles.entry((process, handle)).or_default().ends;
        let at = ends.partition_point(|&known| known <= end);
        let inner = at.checked_sub(1).and_then(|at| ends.get(at)).is_some_and(|&known| known >= start);
        if !inner {
            ends.insert(at, start);
            self.version = self.version.wrapping_add(1);
        }
    }

    /// The stream that `handle` stands for at `at`; `device` is believed of a stream whose creation was not seen.
    pub fn find(&mut self, process: ProcessId, handle: u64, at: u64, device: u8) -> Found {
        let Handle { lives, ends } = self.handles.entry((process, handle)).or_default();
        let ended = ends.partition_point(|&end| end < at);
        let next = lives.partition_point(|life| life.from <= at);
        let successor = lives.get(next).map_or(u64::MAX, |life| life.from.saturating_sub(1));
        let until = ends.get(ended).copied().unwrap_or(u64::MAX).min(successor);
        let ended = ended.checked_sub(1).and_then(|index| ends.get(index)).copied();
        let life = next.checked_sub(1).and_then(|index| lives.get(index)).copied();
        if let Some(life) = life.filter(|life| ended.is_none_or(|end| end < life.from)) {
            return Found { stream: life.stream, device: life.device, from: life.from, until };
        }
        // Made where nobody looked.
        let from = ended.map_or(0, |end| end.saturating_add(1));
        let created = Stream { process, device, handle, generation: 0, kind: StreamKind::Created, track: None };
        let stream = push(&mut self.list, created);
        lives.insert(next, Life { from, device, stream });
        renumber(&mut self.list, lives, next);
        self.version = self.version.wrapping_add(1);
        Found { stream, device, from, until }
    }
}

fn push(list: &mut Vec<Stream>, stream: Stream) -> StreamId {
    match u16::try_from(list.len()) {
        Ok(number) if number < StreamId::OTHER.0 => {
            list.push(stream);
            StreamId(number)
        }
        _ => StreamId::OTHER,
    }
}

fn renumber(list: &mut [Stream], lives: &[Life], from: usize) {
    for (generation, life) in lives.iter().enumerate().skip(from) {
        if let Some(stream) = list.get_mut(life.stream.index()) {
            stream.generation = u32::try_from(generation).unwrap_or(u32::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: ProcessId = ProcessId(0);

    #[test]
    fn a_destroyed_handle_comes_back_as_another_stream() {
        let mut streams = Streams::default();
        streams.created(P, 0x55, 12, 18, 1); // the driver call, inside
        streams.created(P, 0x55, 10, 20, 1); // the runtime call
        let first = streams.find(P, 0x55, 30, 0);
        assert_eq!((first.device, first.from, first.until), (1, 18, u64::MAX));
        streams.destroyed(P, 0x55, 42, 44);
        streams.destroyed(P, 0x55, 40, 50);
        assert_eq!(streams.find(P, 0x55, 40, 0).stream, first.stream);
        assert_eq!(streams.find(P, 0x55, 42, 0).stream, first.stream);
        streams.created(P, 0x55, 60, 70, 0);
        let second = streams.find(P, 0x55, 80, 0);
        assert_ne!(second.stream, first.stream);
        assert_eq!(streams.get(second.stream).unwrap().generation, 1);
        assert_eq!(streams.find(P, 0x55, 30, 0).stream, first.stream);
        assert_eq!(streams.len(), 2);
    }

    #[test]
    fn unseen_creations_are_guessed_once() {
        let mut streams = Streams::default();
        let first = streams.find(P, 0x77, 100, 3);
        assert_eq!(streams.find(P, 0x77, 50, 0), first);
        assert_eq!(first.device, 3);
        streams.destroyed(P, 0x77, 200, 210);
        let second = streams.find(P, 0x77, 300, 0);
        assert_ne!(second.stream, first.stream);
        assert_eq!(streams.find(P, 0x77, 150, 0).stream, first.stream);
    }

    #[test]
    fn default_streams_are_per_device_and_thread() {
        let mut streams = Streams::default();
        let legacy = streams.default_stream(P, 0, None);
        assert_eq!(streams.default_stream(P, 0, None), legacy);
        assert_ne!(streams.default_stream(P, 1, None), legacy);
        assert_ne!(streams.default_stream(P, 0, Some(TrackId(1))), legacy);
    }
}
