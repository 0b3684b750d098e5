//! Columns of up to 65,536 calls of one thread.

use super::call::{Call, CallFlags};
use super::ids::{ApiId, SiteId, StreamId};

/// Most rows of a chunk.
pub const ROWS: usize = 64 * 1024;
/// Rows between two places of the raw records that are kept.
const MARK_EVERY: u32 = BATCH as u32;
/// Most rows of a [`Batch`].
pub const BATCH: usize = 128;
/// Starts are kept in 48 bits, relative to the first row's, with this added.
const BIAS: u64 = 1 << 47;
/// Duration column entry that stands for "look into the overflow table".
const LONG: u32 = u32::MAX;

/// What is known of a chunk without looking at its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Rows.
    pub count: usize,
    /// Rows whose call returned an error.
    pub failed: usize,
    /// Smallest start, ns.
    pub min_start_ns: u64,
    /// Largest end, ns.
    pub max_end_ns: u64,
    apis: Vec<u64>,
}

impl Default for Summary {
    fn default() -> Self {
        Self { count: 0, failed: 0, min_start_ns: u64::MAX, max_end_ns: 0, apis: Vec::new() }
    }
}

impl Summary {
    /// Whether the chunk has calls of this function.
    #[must_use]
    pub fn has_api(&self, api: ApiId) -> bool {
        self.apis.get(api.index() / 64).is_some_and(|word| word >> (api.index() % 64) & 1 == 1)
    }

    /// The functions that the chunk has calls of.
    pub fn apis(&self) -> impl Iterator<Item = ApiId> + '_ {
        (0..=u16::MAX).take(self.apis.len() * 64).map(ApiId).filter(|&api| self.has_api(api))
    }

    fn add(&mut self, call: &Call) {
        self.count += 1;
        self.failed += usize::from(call.flags.failed());
        self.min_start_ns = self.min_start_ns.min(call.start_ns);
        self.max_end_ns = self.max_end_ns.max(call.end_ns());
        self.add_api(call.api);
    }

    fn add_api(&mut self, api: ApiId) {
        let word = api.index() / 64;
        if word >= self.apis.len() {
            self.apis.resize(word + 1, 0);
        }
        if let Some(bits) = self.apis.get_mut(word) {
            *bits |= 1 << (api.index() % 64);
        }
    }
}

/// A few calls whose raw records lie one after another, on their way into a track: appending them together is much
/// cheaper than one by one.
#[derive(Debug)]
pub struct Batch {
    pub(super) len: usize,
    pub(super) offset: u64,
    /// Where the record after the last one would lie.
    end_offset: u64,
    pub(super) start: [u64; BATCH],
    pub(super) duration: [u64; BATCH],
    api: [u16; BATCH],
    site: [u32; BATCH],
    stream: [u16; BATCH],
    device: [u8; BATCH],
    pub(super) depth: [u8; BATCH],
    flags: [u8; BATCH],
    extra: [u8; BATCH],
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            len: 0,
            offset: 0,
            end_offset: 0,
            start: [0; BATCH],
            duration: [0; BATCH],
            api: [0; BATCH],
            site: [0; BATCH],
            stream: [0; BATCH],
            device: [0; BATCH],
            depth: [0; BATCH],
            flags: [0; BATCH],
            extra: [0; BATCH],
        }
    }
}

impl Batch {
    /// Whether it can take no more: append it to its track.
    #[must_use]
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.len >= BATCH
    }

    /// Calls in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no calls.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a call; the first one's raw record lies at `offset`, those of others directly behind one another. A full
    /// batch ignores it.
    #[inline]
    pub fn push(&mut self, call: &Call, offset: u64) {
        let row = self.len;
        if row >= BATCH {
            return;
        }
        if row == 0 {
            self.offset = offset;
        }
        self.len = row + 1;
        self.end_offset = offset.saturating_add(48 * (1 + u64::from(call.extra)));
        self.start[row] = call.start_ns;
        self.duration[row] = call.duration_ns;
        self.api[row] = call.api.0;
        self.site[row] = call.site.0;
        self.stream[row] = call.stream.0;
        self.device[row] = call.device;
        self.depth[row] = call.depth;
        self.flags[row] = call.flags.0;
        self.extra[row] = call.extra;
    }

    /// A call by its number.
    pub(super) fn call(&self, row: usize) -> Option<Call> {
        Some(Call {
            start_ns: *self.start.get(row)?,
            duration_ns: *self.duration.get(row)?,
            api: ApiId(*self.api.get(row)?),
            site: SiteId(*self.site.get(row)?),
            stream: StreamId(*self.stream.get(row)?),
            device: *self.device.get(row)?,
            depth: *self.depth.get(row)?,
            flags: CallFlags(*self.flags.get(row)?),
            extra: *self.extra.get(row)?,
        })
    }
}

/// Columns of the calls, in order of completion. Sealed chunks never change.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// Number of its first row in the track.
    pub(super) first_row: usize,
    summary: Summary,
    base_ns: u64,
    start_low: Vec<u32>,
    start_high: Vec<u16>,
    duration: Vec<u32>,
    api: Vec<u16>,
    site: Vec<u32>,
    stream: Vec<u16>,
    device: Vec<u8>,
    depth: Vec<u8>,
    flags: Vec<u8>,
    extra: Vec<u8>,
    /// Durations of more than 4.29 s, by row.
    long: Vec<(u32, u64)>,
    /// Places of raw records: row and byte offset; records between two marks lie one after another.
    mark_rows: Vec<u32>,
    mark_offsets: Vec<u64>,
    next_offset: u64,
}

impl Chunk {
    /// What is known of it at a glance.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Number of its first row in the track.
    #[must_use]
    pub const fn first_row(&self) -> usize {
        self.first_row
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.api.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.api.is_empty()
    }

    /// Function of each row.
    #[must_use]
    pub fn apis(&self) -> &[u16] {
        &self.api
    }

    /// Nesting of each row.
    #[must_use]
    pub fn depths(&self) -> &[u8] {
        &self.depth
    }

    /// A row's call.
    #[must_use]
    pub fn call(&self, row: usize) -> Option<Call> {
        let duration = *self.duration.get(row)?;
        Some(Call {
            start_ns: self.start_ns(row)?,
            duration_ns: if duration == LONG { self.long_duration(row) } else { u64::from(duration) },
            api: ApiId(*self.api.get(row)?),
            site: SiteId(*self.site.get(row)?),
            stream: StreamId(*self.stream.get(row)?),
            device: *self.device.get(row)?,
            depth: *self.depth.get(row)?,
            flags: CallFlags(*self.flags.get(row)?),
            extra: *self.extra.get(row)?,
        })
    }

    /// Start of a row, ns.
    #[must_use]
    pub fn start_ns(&self, row: usize) -> Option<u64> {
        Some(self.unpack_start(*self.start_low.get(row)?, *self.start_high.get(row)?))
    }

    /// Calls `each` with every call of these rows, in order.
    #[inline]
    pub fn for_each(&self, rows: std::ops::Range<usize>, mut each: impl FnMut(Call)) {
        let end = rows.end.min(self.len());
        let start = rows.start.min(end);
        let rows = start..end;
        let (Some(low), Some(high), Some(duration), Some(api), Some(site)) = (
            self.start_low.get(rows.clone()),
            self.start_high.get(rows.clone()),
            self.duration.get(rows.clone()),
            self.api.get(rows.clone()),
            self.site.get(rows.clone()),
        ) else {
            return;
        };
        let (Some(stream), Some(device), Some(depth), Some(flags), Some(extra)) = (
            self.stream.get(rows.clone()),
            self.device.get(rows.clone()),
            self.depth.get(rows.clone()),
            self.flags.get(rows.clone()),
            self.extra.get(rows),
        ) else {
            return;
        };
        let wide = low.iter().zip(high).zip(duration).zip(api).zip(site);
        let narrow = stream.iter().zip(device).zip(depth).zip(flags).zip(extra);
        for (row, (a, b)) in wide.zip(narrow).enumerate() {
            let ((((&low, &high), &duration), &api), &site) = a;
            let ((((&stream, &device), &depth), &flags), &extra) = b;
            each(Call {
                start_ns: self.unpack_start(low, high),
                duration_ns: if duration == LONG { self.long_duration(start + row) } else { u64::from(duration) },
                api: ApiId(api),
                site: SiteId(site),
                stream: StreamId(stream),
                device,
                depth,
                flags: CallFlags(flags),
                extra,
            });
        }
    }

    /// Byte offset of a row's raw record.
    #[must_use]
    pub fn offset(&self, row: usize) -> Option<u64> {
        let at = self.mark_rows.partition_point(|&mark| mark as usize <= row).checked_sub(1)?;
        let mark = *self.mark_rows.get(at)? as usize;
        let slots: u64 = self.extra.get(mark..row)?.iter().map(|&extra| 1 + u64::from(extra)).sum();
        self.mark_offsets.get(at)?.checked_add(slots * 48)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.start_low.capacity() * 4
            + self.start_high.capacity() * 2
            + self.duration.capacity() * 4
            + self.api.capacity() * 2
            + self.site.capacity() * 4
            + self.stream.capacity() * 2
            + self.device.capacity()
            + self.depth.capacity()
            + self.flags.capacity()
            + self.extra.capacity()
            + self.long.capacity() * 16
            + self.mark_rows.capacity() * 4
            + self.mark_offsets.capacity() * 8
            + self.summary.apis.capacity() * 8
    }

    /// Whether a call that starts at `start_ns` fits.
    pub(super) fn fits(&self, start_ns: u64) -> bool {
        let rows = self.api.len();
        rows == 0 || (rows < ROWS && start_ns.wrapping_sub(self.base_ns).wrapping_add(BIAS) < BIAS * 2)
    }

    /// Appends a call that [`Chunk::fits`], whose raw record lies at `offset`.
    #[inline]
    pub(super) fn push(&mut self, call: &Call, offset: u64) {
        if self.api.is_empty() {
            self.base_ns = call.start_ns;
        }
        let packed = call.start_ns.wrapping_sub(self.base_ns).wrapping_add(BIAS);
        self.start_low.push(packed as u32);
        self.start_high.push((packed >> 32) as u16);
        let row = self.api.len() as u32;
        self.duration.push(if call.duration_ns < u64::from(LONG) {
            call.duration_ns as u32
        } else {
            self.long.push((row, call.duration_ns));
            LONG
        });
        self.api.push(call.api.0);
        self.site.push(call.site.0);
        self.stream.push(call.stream.0);
        self.device.push(call.device);
        self.depth.push(call.depth);
        self.flags.push(call.flags.0);
        self.extra.push(call.extra);
        let since_mark = self.mark_rows.last().map_or(MARK_EVERY, |&mark| row - mark);
        if offset != self.next_offset || since_mark >= MARK_EVERY {
            self.mark_rows.push(row);
            self.mark_offsets.push(offset);
        }
        self.next_offset = offset.saturating_add(48 * (1 + u64::from(call.extra)));
        self.summary.add(call);
    }

    /// Appends a whole batch if it fits and no duration is long; whether it was appended.
    pub(super) fn append(&mut self, batch: &Batch) -> bool {
        let rows = batch.len.min(BATCH);
        let (Some(starts), Some(durations)) = (batch.start.get(..rows), batch.duration.get(..rows)) else {
            return false;
        };
        let begun = self.api.len();
        if rows == 0 || begun + rows > ROWS {
            return false;
        }
        let base = if begun == 0 { starts.first().copied().unwrap_or(0) } else { self.base_ns };
        let packed = |start: &u64| start.wrapping_sub(base).wrapping_add(BIAS);
        // Bits that are set in any of them: cheaper than the largest, and enough to tell that all fit.
        let starts_bits = starts.iter().fold(0, |bits, start| bits | packed(start));
        let durations_bits = durations.iter().fold(0, |bits, duration| bits | duration);
        if starts_bits >= BIAS * 2 || durations_bits >= u64::from(LONG) {
            return false;
        }
        let (mut first, mut end) = (u64::MAX, 0);
        for (&start, &duration) in starts.iter().zip(durations) {
            first = first.min(start);
            end = end.max(start.saturating_add(duration));
        }
        self.base_ns = base;
        self.start_low.extend(starts.iter().map(|start| packed(start) as u32));
        self.start_high.extend(starts.iter().map(|start| (packed(start) >> 32) as u16));
        self.duration.extend(durations.iter().map(|&duration| duration as u32));
        self.api.extend_from_slice(batch.api.get(..rows).unwrap_or(&[]));
        self.site.extend_from_slice(batch.site.get(..rows).unwrap_or(&[]));
        self.stream.extend_from_slice(batch.stream.get(..rows).unwrap_or(&[]));
        self.device.extend_from_slice(batch.device.get(..rows).unwrap_or(&[]));
        self.depth.extend_from_slice(batch.depth.get(..rows).unwrap_or(&[]));
        self.flags.extend_from_slice(batch.flags.get(..rows).unwrap_or(&[]));
        self.extra.extend_from_slice(batch.extra.get(..rows).unwrap_or(&[]));
        let since_mark = self.mark_rows.last().map_or(BATCH, |&mark| begun - mark as usize);
        if batch.offset != self.next_offset || since_mark + rows > BATCH {
            self.mark_rows.push(begun as u32);
            self.mark_offsets.push(batch.offset);
        }
        self.next_offset = batch.end_offset;
        self.summary.count += rows;
        // At most 128 rows, so their number fits a byte and the sum is one of bytes.
        let failed =
            batch.flags.get(..rows).unwrap_or(&[]).iter().fold(0u8, |sum, flags| sum + (flags & CallFlags::FAILED.0));
        self.summary.failed += usize::from(failed);
        self.summary.min_start_ns = self.summary.min_start_ns.min(first);
        self.summary.max_end_ns = self.summary.max_end_ns.max(end);
        for &api in batch.api.get(..rows).unwrap_or(&[]) {
            self.summary.add_api(ApiId(api));
        }
        true
    }

    /// A chunk with room for this many rows.
    pub(super) fn with_room(first_row: usize, rows: usize) -> Self {
        Self {
            first_row,
            start_low: Vec::with_capacity(rows),
            start_high: Vec::with_capacity(rows),
            duration: Vec::with_capacity(rows),
            api: Vec::with_capacity(rows),
            site: Vec::with_capacity(rows),
            stream: Vec::with_capacity(rows),
            device: Vec::with_capacity(rows),
            depth: Vec::with_capacity(rows),
            flags: Vec::with_capacity(rows),
            extra: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    /// Gives back what its columns hold too much.
    pub(super) fn shrink(&mut self) {
        self.start_low.shrink_to_fit();
        self.start_high.shrink_to_fit();
        self.duration.shrink_to_fit();
        self.api.shrink_to_fit();
        self.site.shrink_to_fit();
        self.stream.shrink_to_fit();
        self.device.shrink_to_fit();
        self.depth.shrink_to_fit();
        self.flags.shrink_to_fit();
        self.extra.shrink_to_fit();
        self.long.shrink_to_fit();
        self.mark_rows.shrink_to_fit();
        self.mark_offsets.shrink_to_fit();
    }

    const fn unpack_start(&self, low: u32, high: u16) -> u64 {
        (low as u64 | (high as u64) << 32).wrapping_sub(BIAS).wrapping_add(self.base_ns)
    }

    fn long_duration(&self, row: usize) -> u64 {
        let at = self.long.partition_point(|&(long, _)| (long as usize) < row);
        self.long.get(at).map_or(u64::from(LONG), |&(_, duration)| duration)
    }
}
