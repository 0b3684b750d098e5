//! Ranges and marks.

use super::import::Importer;
use super::rows::Nvtx;
use crate::parse::imported::{Place, Range, Repair, Text};
use rustc_hash::FxHashMap;
use std::io;

/// `eventType`.
const CATEGORY: i64 = 33;
const MARK: i64 = 34;
const THREAD: i64 = 39;
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
const DOMAIN_CREATED: i64 = 75;
const DOMAIN_DESTROYED: i64 = 76;

/// Domains that are told apart.
const DOMAINS: usize = 1 << 16;

/// Names of domains, by process (upper bits of `globalTid`) and id.
pub(super) type Domains = FxHashMap<(i64, i64), Text>;

impl Importer<'_> {
    /// Domains and names of threads are needed before the ranges, wherever they stand.
    pub(super) fn read_domains(&mut self) -> io::Result<()> {
        if !self.database.has_column("NVTX_EVENTS", "eventType") {
            return Ok(());
        }
        let database = self.database;
        database.each_where("WHERE eventType IN (39, 75)", |row: Nvtx| {
            let name = self.name(&row);
            match row.kind {
                Some(DOMAIN_CREATED) if self.domains.len() < DOMAINS => {
                    let process = row.thread.map_or(0, |thread| thread >> 24);
                    self.domains.insert((process, row.domain.unwrap_or(0)), name);
                }
                Some(THREAD) if name != Text::NONE => {
                    let text = self.words(&row);
                    let thread = self.thread(row.thread);
                    self.target.thread_name(thread, &text);
                }
                _ => {}
            }
            true
        });
        Ok(())
    }

    fn name(&mut self, row: &Nvtx) -> Text {
        match &row.text {
            Some(text) => self.target.text(text),
            None => self.text(row.text_id),
        }
    }

    fn words(&self, row: &Nvtx) -> String {
        row.text.clone().or_else(|| self.strings.get(row.text_id).map(ToOwned::to_owned)).unwrap_or_default()
    }

    pub(super) fn range(&mut self, row: &Nvtx, number: u64) -> io::Result<()> {
        let kind = row.kind.unwrap_or(PUSH_POP);
        match kind {
            MARK | PUSH_POP | START_END => {}
            CATEGORY | THREAD | DOMAIN_CREATED | DOMAIN_DESTROYED => return Ok(()),
            _ => {
                self.target.unplaced("NVTX events of other kinds");
                return Ok(());
            }
        }
        let Some((start, end)) = self.times(row.start, row.end, number) else { return Ok(()) };
        if end.is_none() && kind != MARK {
            self.target.repair(Repair::Mended("ranges without an end, shown as unfinished"), Place::Row(number));
        }
        if row.binary.is_some() {
            self.target.unplaced("payloads of ranges in binary");
        }
        let json = row.json.as_deref().or_else(|| self.strings.get(row.json_id)).unwrap_or_default();
        let said = self.target.said(json);
        let process = row.thread.map_or(0, |thread| thread >> 24);
        let domain = row.domain.and_then(|id| self.domains.get(&(process, id))).copied().unwrap_or_default();
        let range = Range {
            name: self.name(row),
            domain,
            start,
            end,
            category: row.category.map_or(0, |category| category as u32),
            color: row.color.map_or(0, |color| color as u32),
            payload: payload(row),
            said,
        };
        let thread = self.thread(row.thread);
        match kind {
            MARK => self.target.mark(thread, &range),
            START_END => self.target.loose_range(thread, &range),
            _ => self.target.range(thread, &range),
        }
    }
}

/// `nvtxPayloadType_t` and the payload's bits.
fn payload(row: &Nvtx) -> Option<(u16, u64)> {
    let float = row.float.map(|value| (6, u64::from((value as f32).to_bits())));
    None.or(row.unsigned.map(|value| (1, value as u64)))
        .or(row.signed.map(|value| (2, value as u64)))
        .or(row.double.map(|value| (3, value.to_bits())))
        .or(row.unsigned32.map(|value| (4, u64::from(value as u32))))
        .or(row.signed32.map(|value| (5, u64::from(value as u32))))
        .or(float)
}
