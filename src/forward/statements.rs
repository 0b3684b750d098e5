//! What was said once among the events of a file and still holds: sent again for readers that join later.

use rustc_hash::FxHashMap;
use umtui_wire::clock::ClockTriple;
use umtui_wire::frame::{KIND_STATEMENTS, STATEMENTS, StatementPart, stated};
use umtui_wire::record::{Head, SLOT_BYTES, Slot};
use zerocopy::IntoBytes;

use super::frames::{Counts, Frame, Sink, Stop};
use crate::parse::native::piece::bytes_of;

/// Bytes of one in a frame.
const BYTES: usize = size_of::<StatementPart>() + SLOT_BYTES;

/// The newest statements that have been sent.
#[derive(Default)]
pub struct Statements {
    newest: FxHashMap<(u8, u32), (StatementPart, Slot)>,
}

impl Statements {
    /// A record has been sent. `thread` is the one that wrote it, with the id of its name; `reading` the newest before it.
    pub fn sent(&mut self, head: Head, record: &[Slot], (thread, name): (u32, u32), reading: ClockTriple) {
        let (Some(about), [slot]) = (stated(head, thread), record) else { return };
        let alike = self.newest.keys().filter(|(kind, _)| *kind == about.0).count();
        match self.newest.get(&about) {
            Some((_, known)) if known[1] > slot[1] => return,
            None if alike >= STATEMENTS => return,
            _ => {}
        }
        self.newest.insert(about, (StatementPart { reading, thread, name }, *slot));
    }

    /// Sends all of them, in order of time.
    pub fn send(&self, counts: &mut Counts, sink: &mut dyn Sink) -> Result<(), Stop> {
        let mut all: Vec<_> = self.newest.values().collect();
        all.sort_by_key(|(part, slot)| (slot[1], part.thread, slot[0]));
        let mut frame: Option<Frame> = None;
        for (part, slot) in all {
            if let Some(full) = frame.take_if(|frame| !frame.fits(BYTES)) {
                full.send(counts, sink)?;
            }
            let bytes = [part.as_bytes(), bytes_of(std::slice::from_ref(slot))].concat();
            frame.get_or_insert_with(|| Frame::empty(KIND_STATEMENTS)).push(&bytes);
        }
        frame.map_or(Ok(()), |frame| frame.send(counts, sink))
    }
}
