//! What a file says is missing: chunks at its end, and records that were lost.

use super::{NativeReader, State, header};
use crate::trace::Trace;

impl NativeReader {
    /// A file that is no longer written should have chunks as far as its header says. (Where only the unused end of the
    /// last one is missing, nothing is.)
    pub(super) fn check_end(&mut self, trace: &mut Trace) {
        let over = header::state(&self.header, self.gone) != State::Recording;
        if over && self.header.end > self.next && self.header.end > self.length && !self.end_told {
            self.end_told = true;
            let why = format!("the file ends here; its header says that it had {} bytes", self.header.end);
            trace.add_damage(self.file.file, self.length, why);
        }
    }

    /// Losses that records tell of belong to their threads. A chunk's header counts those as well; what it counts
    /// beyond them belongs to the thread that opened it. `complete`: no record is left that could be decoded now.
    pub(super) fn count_losses(&mut self, trace: &mut Trace, complete: bool) {
        let mut all = self.header.lost.saturating_sub(self.lost_told);
        self.lost_told = self.lost_told.max(self.header.lost);
        for piece in &mut self.pieces {
            let mut fresh = Vec::new();
            for (thread, lost) in std::mem::take(&mut piece.lost_records) {
                // The header may have told of it before.
                let known = lost.min(piece.lost_beyond);
                piece.lost_beyond -= known;
                piece.lost_told = piece.lost_told.saturating_add(lost);
                fresh.push((thread, lost - known));
            }
            if complete || piece.decoded >= piece.committed {
                let told = piece.lost_told.saturating_add(piece.lost_beyond);
                let beyond = piece.lost_header.saturating_sub(told);
                piece.lost_beyond = piece.lost_beyond.saturating_add(beyond);
                fresh.push((piece.opener, beyond));
            }
            for (thread, lost) in fresh.into_iter().filter(|&(_, lost)| lost > 0) {
                all = all.saturating_add(lost);
                let track = trace.track_of(self.file.process, thread);
                if let Some(track) = trace.tracks.get_mut(track.index()) {
                    track.lost = track.lost.saturating_add(lost);
                }
            }
        }
        if all > 0 {
            if let Some(process) = trace.processes.get_mut(self.file.process.index()) {
                process.lost = process.lost.saturating_add(all);
            }
            trace.touch();
        }
    }
}
