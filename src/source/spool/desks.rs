//! Open calls of a spooled file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use umtui_wire::chunk::{ChunkHeader, DESK_BYTES, DESK_CALLS, DESKS_AT, Desk, KIND_DESKS, OpenCall};
use umtui_wire::frame::{DeskPart, DesksPart};
use umtui_wire::header::CHUNK_UNIT;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::place::Place;

/// Desks in a chunk.
const DESKS: usize = (CHUNK_UNIT as usize - DESKS_AT) / DESK_BYTES;
/// Frames of one moment, at most.
const PARTS: u16 = 4096;

/// The open calls of all threads.
#[derive(Debug, Default)]
pub struct Desks {
    /// Those of the newest moment of which every frame came.
    calls: BTreeMap<u32, Vec<OpenCall>>,
    changed: bool,
    moment: Option<u32>,
    parts: u16,
    coming: BTreeMap<u32, Vec<OpenCall>>,
    places: Vec<Place>,
    /// Desks in use when they were published last.
    used: usize,
}

impl Desks {
    /// Takes a frame.
    pub fn take(&mut self, body: &[u8]) {
        let Ok((part, mut rest)) = DesksPart::read_from_prefix(body) else { return };
        if self.moment != Some(part.moment) || part.part == 0 {
            self.moment = Some(part.moment);
            self.parts = 0;
            self.coming.clear();
        }
        if part.part != self.parts || part.parts > PARTS {
            // One before it is missing, or it came twice.
            return;
        }
        self.parts += 1;
        while let Ok((desk, calls)) = DeskPart::read_from_prefix(rest) {
            let bytes = (desk.calls as usize).saturating_mul(size_of::<OpenCall>());
            let Some((calls, others)) = calls.split_at_checked(bytes) else { return };
            let calls = calls.chunks_exact(size_of::<OpenCall>());
            let calls = calls.filter_map(|call| OpenCall::read_from_bytes(call).ok()).take(DESK_CALLS);
            self.coming.insert(desk.thread, calls.collect());
            rest = others;
        }
        if self.parts >= part.parts {
            let fresh = std::mem::take(&mut self.coming);
            self.changed |= fresh != self.calls;
            self.calls = fresh;
            self.moment = None;
        }
    }

    /// Writes the desks, if they have changed; `claim` gives the place of one more chunk in the file and its number.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&mut self, out: &File, mut claim: impl FnMut(u64) -> (u64, u64)) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        while self.places.len() * DESKS < self.calls.len() {
            let mut header = ChunkHeader::new_zeroed();
            header.kind = KIND_DESKS;
            header.bytes = CHUNK_UNIT as u32;
            let (offset, sequence) = claim(CHUNK_UNIT);
            let mut place = Place::new(&header, offset, sequence);
            // The unused end of the chunk is to be there too.
            out.write_all_at(&[0], offset + CHUNK_UNIT - 1)?;
            place.publish(out)?;
            self.places.push(place);
        }
        let calls: Vec<_> = self.calls.iter().collect();
        let in_use = calls.len().max(self.used);
        for (place, first) in self.places.iter().zip((0..in_use).step_by(DESKS)) {
            let mut bytes = Vec::new();
            for index in first..in_use.min(first + DESKS) {
                let mut desk = Desk::new_zeroed();
                if let Some((thread, open)) = calls.get(index) {
                    desk.thread = **thread;
                    desk.no_frame = u64::MAX;
                    for (place, call) in desk.calls.iter_mut().zip(*open) {
                        *place = *call;
                    }
                }
                bytes.extend_from_slice(desk.as_bytes());
            }
            out.write_all_at(&bytes, place.header.offset + DESKS_AT as u64)?;
        }
        self.used = calls.len();
        self.changed = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(moment: u32, part: u16, parts: u16, threads: &[u32]) -> Vec<u8> {
        let mut body = DesksPart { moment, part, parts }.as_bytes().to_vec();
        for &thread in threads {
            body.extend_from_slice(DeskPart { thread, calls: 1 }.as_bytes());
            body.extend_from_slice(OpenCall { head: 1, ..OpenCall::default() }.as_bytes());
        }
        body
    }

    #[test]
    fn only_a_whole_moment_counts() {
        let mut desks = Desks::default();
        let threads = |desks: &Desks| desks.calls.keys().copied().collect::<Vec<_>>();
        desks.take(&frame(1, 0, 2, &[1, 2]));
        assert!(threads(&desks).is_empty());
        desks.take(&frame(1, 1, 2, &[3]));
        assert_eq!(threads(&desks), [1, 2, 3]);
        desks.take(&frame(2, 1, 2, &[4]));
        desks.take(&frame(3, 0, 1, &[3]));
        assert_eq!(threads(&desks), [3]);
        desks.take(&frame(4, 0, 1, &[])[..7]);
        desks.take(&frame(5, 0, 1, &[]));
        assert!(threads(&desks).is_empty());
    }

    #[test]
    fn as_many_threads_as_there_are() {
        let mut desks = Desks::default();
        let out = crate::source::temporary::file().unwrap();
        let all: Vec<u32> = (1..=100).collect();
        desks.take(&frame(1, 0, 1, &all));
        let mut end = 0;
        let mut claim = |bytes| {
            end += bytes;
            (end - bytes, 0)
        };
        desks.publish(&out, &mut claim).unwrap();
        desks.take(&frame(2, 0, 1, &[7]));
        desks.publish(&out, &mut claim).unwrap();
        assert_eq!(end, 2 * CHUNK_UNIT);
        let mut bytes = vec![0; end as usize];
        out.read_exact_at(&mut bytes, 0).unwrap();
        let threads: Vec<u32> = [0, CHUNK_UNIT as usize]
            .iter()
            .flat_map(|at| bytes[at + DESKS_AT..at + CHUNK_UNIT as usize].chunks(DESK_BYTES))
            .map(|desk| Desk::read_from_bytes(desk).unwrap().thread)
            .filter(|&thread| thread != 0)
            .collect();
        assert_eq!(threads, [7]);
    }
}
