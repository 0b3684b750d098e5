//! Which events of a file are here, which are lost, and which were sent before anybody here listened.

use umtui_wire::frame::FrameHeader;

/// Every frame says how many events were in those before it; so each one that is missing is counted once, as soon as
/// the next frame comes.
#[derive(Debug, Default)]
pub struct Account {
    joined: bool,
    /// Events in frames up to now, whether they came or not.
    accounted: u64,
    /// Events sent before the first frame that came.
    missed: u64,
    /// Of these, as many as may yet show as the missing beginning of a chunk.
    allowance: u64,
    dropped_before: u64,
    dropped: u64,
    /// Missing events that have not been found missing in a chunk: since this pass, and from before it.
    fresh: u64,
    aged: u64,
    /// Missing events that are counted for the whole process.
    settled: u64,
    /// Number of the newest frame, and frames missing before it.
    sequence: u64,
    frames: u64,
}

impl Account {
    /// Looks at a frame with so many events before it is taken.
    pub fn frame(&mut self, header: &FrameHeader, events: u64) {
        if !self.joined {
            self.joined = true;
            // Before the first frame of all nothing was sent to anybody: what was overwritten by then is lost.
            let before = if header.sequence == 0 { 0 } else { header.dropped };
            self.accounted = header.sent;
            self.missed = header.sent.saturating_add(before);
            self.allowance = header.sent;
            self.dropped_before = before;
        } else {
            let frames = header.sequence.saturating_sub(self.sequence).saturating_sub(1);
            self.frames = self.frames.saturating_add(frames);
            self.fresh = self.fresh.saturating_add(header.sent.saturating_sub(self.accounted));
        }
        self.sequence = self.sequence.max(header.sequence);
        self.dropped = self.dropped.max(header.dropped);
        self.accounted = self.accounted.max(header.sent.saturating_add(events));
    }

    /// Of a chunk `missing` events did not come; how many of them are lost here and not counted elsewhere. At the
    /// first sight of a chunk they may be from before we joined.
    pub fn gap(&mut self, missing: u64, first: bool) -> u64 {
        let mut missing = missing;
        if first {
            let before = missing.min(self.allowance);
            self.allowance -= before;
            missing -= before;
        }
        let aged = missing.min(self.aged);
        self.aged -= aged;
        let fresh = (missing - aged).min(self.fresh);
        self.fresh -= fresh;
        aged.saturating_add(fresh)
    }

    /// A pass has ended: what was missing before it and was found in no chunk meanwhile counts for the process.
    pub const fn pass(&mut self) {
        self.settled = self.settled.saturating_add(self.aged);
        self.aged = self.fresh;
        self.fresh = 0;
    }

    /// Nothing more comes.
    pub const fn end(&mut self) {
        self.pass();
        self.pass();
    }

    /// Events that could not be kept here.
    pub const fn failed(&mut self, events: u64) {
        self.settled = self.settled.saturating_add(events);
    }

    /// Lost events that no chunk counts.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.settled.saturating_add(self.dropped.saturating_sub(self.dropped_before))
    }

    /// Events from before we joined.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// Frames that did not come.
    #[must_use]
    pub const fn frames_missing(&self) -> u64 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u64, sent: u64, dropped: u64) -> FrameHeader {
        FrameHeader { sequence, sent, dropped, ..FrameHeader::default() }
    }

    #[test]
    fn each_missing_event_is_counted_once() {
        let mut account = Account::default();
        account.frame(&header(0, 0, 0), 10);
        account.frame(&header(3, 25, 0), 5);
        assert_eq!((account.frames_missing(), account.lost()), (2, 0));
        // Six of the fifteen were of this chunk.
        assert_eq!(account.gap(6, false), 6);
        account.pass();
        account.pass();
        assert_eq!(account.lost(), 9);
        // That chunk shows late that it lacks some of them: they are counted already.
        assert_eq!(account.gap(9, false), 0);
        // The same frame again.
        account.frame(&header(3, 25, 0), 5);
        account.end();
        assert_eq!(account.lost(), 9);
    }

    #[test]
    fn before_the_first_frame_nobody_could_listen() {
        let mut account = Account::default();
        account.frame(&header(0, 0, 9), 0);
        assert_eq!((account.missed(), account.lost()), (0, 9));
    }

    #[test]
    fn what_was_sent_before_is_not_lost() {
        let mut account = Account::default();
        account.frame(&header(7, 100, 20), 1);
        assert_eq!((account.missed(), account.gap(40, true), account.gap(5, false)), (120, 0, 0));
        account.frame(&header(8, 101, 23), 0);
        account.end();
        assert_eq!(account.lost(), 3, "overwritten since");
    }
}
