//! Calls that have begun and not ended.

use super::piece::Holds;
use super::reader::NativeReader;
use crate::parse::ParseError;
use crate::trace::raw::RawCall;
use crate::trace::{Bytes, OpenCall, Trace, Track};
use umtui_wire::chunk::{DESK_BYTES, DESKS_AT, Desk};
use umtui_wire::record::{SITE_MASK, unpack_site};
use zerocopy::FromBytes;

/// Two times of one call differ by less than this, ns: they may come from different clock readings.
const NEAR_NS: u64 = 1_000_000;

/// An open call with its start in ticks, which tells it from others of its kind.
struct Entry {
    call: OpenCall,
    ticks: u64,
}

impl NativeReader {
    /// The desks in use.
    pub(super) fn read_desks(&self) -> Result<Vec<Desk>, ParseError> {
        let mut desks = Vec::new();
        for piece in self.pieces.iter().filter(|piece| piece.holds == Holds::Desks) {
            let mut bytes = vec![0; (piece.bytes as usize).saturating_sub(DESKS_AT)];
            let at = piece.offset.saturating_add(DESKS_AT as u64);
            let count = self.bytes.read_at(at, &mut bytes).map_err(|error| self.io(at, error))?;
            let whole = bytes.get(..count).unwrap_or(&[]).chunks_exact(DESK_BYTES);
            desks.extend(whole.filter_map(|desk| Desk::read_from_bytes(desk).ok()).filter(|desk| desk.thread != 0));
        }
        Ok(desks)
    }

    /// Shows the open calls of each thread, without those whose records have been read.
    pub(super) fn show_in_flight(&mut self, desks: &[Desk], trace: &mut Trace) {
        let mut changed = false;
        let mut shown = Vec::new();
        for desk in desks {
            let place = self.file.thread(desk.thread, trace);
            let mut entries = self.entries(desk, place, trace);
            let Some(track) = self.file.track(place).and_then(|id| trace.tracks.get_mut(id.index())) else { continue };
            drop_ended(&mut entries, track, &*self.bytes);
            shown.push(place);
            let calls: Vec<OpenCall> = entries.into_iter().map(|entry| entry.call).collect();
            if track.in_flight != calls {
                track.in_flight = calls;
                changed = true;
            }
        }
        for (place, id) in self.file.tracks().enumerate() {
            let Some(track) = trace.tracks.get_mut(id.index()) else { continue };
            if !track.in_flight.is_empty() && !shown.contains(&place) {
                track.in_flight.clear();
                changed = true;
            }
        }
        if changed {
            trace.touch();
        }
    }

    fn entries(&mut self, desk: &Desk, place: usize, trace: &mut Trace) -> Vec<Entry> {
        let reading = self.file.reading(place);
        let mut entries = Vec::new();
        for open in &desk.calls {
            let Some(api) = open.head.checked_sub(1).and_then(|api| u16::try_from(api).ok()) else { continue };
            if !self.file.plausible(open.start) {
                continue;
            }
            let api = self.file.api_id(api, trace);
            let site = self.file.site(&mut trace.sites, open.site & SITE_MASK, open.start);
            let start_ns = self.file.clock.ns(reading, open.start);
            let (_, depth, _) = unpack_site(open.depth);
            let call = OpenCall { api, start_ns, site, depth, registers: open.registers };
            entries.push(Entry { call, ticks: open.start });
        }
        entries
    }
}

/// Drops entries whose call is a row already.
fn drop_ended(entries: &mut Vec<Entry>, track: &Track, bytes: &dyn Bytes) {
    let Some(first) = entries.iter().map(|entry| entry.call.start_ns).min() else { return };
    for row in (0..track.len()).rev() {
        let Some(ended) = track.call(row) else { return };
        if ended.end_ns() < first.saturating_sub(NEAR_NS) || entries.is_empty() {
            return;
        }
        entries.retain(|Entry { call, ticks }| {
            let alike =
                call.api == ended.api && call.depth == ended.depth && call.start_ns.abs_diff(ended.start_ns) < NEAR_NS;
            let record = track.location(row).filter(|_| alike);
            let record = record.and_then(|location| RawCall::read(bytes, location).ok());
            record.is_none_or(|record| record.start_ticks() != *ticks)
        });
    }
}
