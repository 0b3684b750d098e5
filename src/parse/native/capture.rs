//! Stream capture: what calls do to it, and which calls it takes.

use super::file::{File, Hot, Thread};
use super::scan::Record;
use crate::trace::capture::Step;
use crate::trace::semantics::CaptureUse;
use crate::trace::{ArgKind, CallFlags, Captor, Semantics, Streams, Value};

/// Status of a capture's end in another thread than its beginning, which ends nothing.
const WRONG_THREAD: u32 = 908;

/// Tells what a call does to captures. One that became invalid ends whatever the result.
pub(super) fn tell(
    thread: u32,
    semantics: &Semantics,
    record: Record<'_>,
    failed: bool,
    file: &File,
    streams: &mut Streams,
) {
    let handle = |at: u16| match ArgKind::Handle.read(record.bytes, usize::from(at)) {
        Some(Value::Number(bits)) => Some(bits),
        _ => None,
    };
    let Some(stream) = semantics.stream_at.and_then(handle) else { return };
    let Some(stream) = Captor::of(stream, semantics.per_thread_stream, thread) else { return };
    let step = match semantics.capture {
        CaptureUse::Ends(graph) if !failed => Some(Step::End(graph.and_then(handle))),
        CaptureUse::Ends(_) if record.head.b != WRONG_THREAD => Some(Step::End(None)),
        CaptureUse::Begins if !failed => Some(Step::Begin),
        CaptureUse::Records(event) if !failed => handle(event).map(Step::Record),
        CaptureUse::Awaits(event) if !failed => handle(event).map(Step::Await),
        _ => None,
    };
    if let Some(step) = step {
        streams.captures.tell(file.process, stream, step, (record.start, record.end));
    }
}

impl File {
    /// The flags of a call from `start` to `end`, with it that its stream was being captured. A call of the program is
    /// counted there.
    #[inline]
    pub(super) fn captured(
        &self,
        thread: &Thread,
        streams: &mut Streams,
        hot: Hot,
        record: &[u8],
        (start, end, depth): (u64, u64, u8),
        flags: CallFlags,
    ) -> CallFlags {
        if streams.captures.is_empty() || flags.failed() {
            return flags;
        }
        let stream = hot.captor(record, thread);
        let Some(capture) = stream.and_then(|stream| streams.captures.find(self.process, stream, (start, end))) else {
            return flags;
        };
        if depth == 0 {
            streams.captures.count(self.process, capture);
        }
        CallFlags(flags.0 | CallFlags::CAPTURED.0)
    }
}
