//! Blocks inside an allocation: what a caching allocator hands out of a segment, as far as it can be told.

use std::time::Instant;

use super::ask::{AllocationId, HeldThen};
use crate::correlate::{Allocation, AllocationKind, Use};
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::trace::{Call, ProcessId, SiteId};

/// A window of the blocks inside an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlocksRequest {
    /// The allocation.
    pub of: AllocationId,
    /// First row wanted.
    pub first: u64,
    /// Rows wanted.
    pub rows: usize,
}

/// How a block is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// The allocator told of it: from when until when it was handed out, and its size.
    Allocator,
    /// A copy or set used it.
    Copies,
    /// Kernels or graphs were given it, and may have used it.
    Kernels,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Bytes from the beginning of the allocation.
    pub offset: u64,
    /// Its address.
    pub address: u64,
    /// Bytes; unless the allocator told them, it has at least as many. `None`: nothing tells them.
    pub bytes: Option<u64>,
    /// Bytes to the next one that begins behind it, or to the end of the allocation; `None`: that is not known.
    pub room: Option<u64>,
    /// When it was used first, or handed out, ns since the trace began.
    pub from_ns: u64,
    /// When the last use was over, or it came back, ns since the trace began; `None`: it did not.
    pub until_ns: Option<u64>,
    /// How often it was given; `None`: the allocator alone told of it.
    pub uses: Option<u32>,
    /// How it is known.
    pub known_by: KnownBy,
    /// Code that used it first, or asked for it.
    pub site: String,
    /// Whether it was in use at the moment of the plot: between its first and its last use.
    pub then: bool,
}

/// Blocks of an allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlocksRows {
    /// Rows in all.
    pub total: u64,
    /// Number of the first row here.
    pub first: u64,
    /// The rows, by address.
    pub rows: Vec<BlockRow>,
    /// What was in use at the moment of the plot, each block up to the next one where its size is not told.
    pub then: HeldThen,
    /// Bytes of the allocation that were not, and the largest piece of them; `None`: its size is not known.
    pub free: Option<(u64, u64)>,
    /// There were more addresses than are told apart.
    pub cut: bool,
}

impl BlocksRows {
    /// Share of what is not in use that does not lie in its largest piece, thousandths: how broken up that is.
    #[must_use]
    pub fn broken_up(&self) -> Option<u16> {
        let (free, largest) = self.free.filter(|free| free.0 > 0)?;
        let share = u128::from(free - largest.min(free)) * 1000 / u128::from(free);
        u16::try_from(share).ok()
    }
}

/// A block before it is a row. Times are ns on the trace's axis.
#[derive(Clone, Copy, Debug)]
struct Found {
    address: u64,
    bytes: Option<u64>,
    span: (u64, u64),
    uses: Option<u32>,
    known_by: KnownBy,
    by: By,
}

/// Who used it first, or asked for it.
#[derive(Clone, Copy, Debug)]
enum By {
    Use(Use),
    Site(SiteId),
}

impl Model {
    /// The blocks of an allocation by address, and whether they are of the trace as it is now; at a moment, ns on the trace's
    /// axis, some are in use.
    pub(super) fn blocks(&mut self, request: &BlocksRequest, moment: u64, until: Instant) -> (BlocksRows, bool) {
        let complete = self.learn_used(request.of.process, until);
        let Some(table) = self.books.table.get().cloned() else { return (BlocksRows::default(), false) };
        let number = table.find(request.of);
        let Some((block, index)) = number.and_then(|number| Some((table.get(number)?, table.index(number)?))) else {
            return (BlocksRows::default(), complete);
        };
        let one = block.allocation;
        let (found, cut) = self.found_blocks(block.process, index, &one);
        let end = one.size().map(|bytes| one.address.saturating_add(bytes));
        let mut rows = BlocksRows { total: found.len() as u64, cut, ..BlocksRows::default() };
        (rows.then, rows.free) = in_use_and_free(&found, (one.address, end), moment);
        rows.first = request.first.min(rows.total);
        let first = usize::try_from(rows.first).unwrap_or(usize::MAX);
        let start = self.trace.start_ns();
        let since = |ns: u64| ns.saturating_sub(start);
        for (at, found_one) in found.iter().enumerate().skip(first).take(request.rows) {
            rows.rows.push(BlockRow {
                offset: found_one.address.saturating_sub(one.address),
                address: found_one.address,
                bytes: found_one.bytes,
                room: room(&found, at, end),
                from_ns: since(found_one.span.0),
                until_ns: (found_one.span.1 != u64::MAX).then(|| since(found_one.span.1)),
                uses: found_one.uses,
                known_by: found_one.known_by,
                site: self.name_by(found_one.by),
                then: found_one.is_in_use(moment),
            });
        }
        (rows, complete)
    }

    /// Blocks that calls were given, or that an allocator told of, by address; and whether there were more.
    fn found_blocks(&self, process: ProcessId, index: usize, one: &Allocation) -> (Vec<Found>, bool) {
        let all = self.lives.all().get(process.index()).map_or(&[][..], |of| of.all());
        // Those of one address follow one another in order of time.
        let from = all.partition_point(|other| other.address < one.address);
        let inside = all.get(from..).unwrap_or_default().iter().take_while(|other| other.address < one.end());
        let told = inside.filter(|other| {
            other.kind == AllocationKind::Block && other.made_ns < one.until_ns && one.made_ns < other.until_ns
        });
        let told: Vec<Found> = told
            .map(|other| Found {
                address: other.address,
                bytes: other.size(),
                span: (other.made_ns, other.freed_ns),
                uses: None,
                known_by: KnownBy::Allocator,
                by: By::Site(other.site),
            })
            .collect();
        let Some((_, usage)) = self.books.used.of(process.0, self.lives.version()).filter(|_| told.is_empty()) else {
            return (told, false);
        };
        let given = usage.blocks(index).map(|block| Found {
            address: block.address,
            bytes: Some(block.bytes).filter(|&bytes| bytes > 1),
            span: (block.span.first.at_ns, block.span.last.at_ns),
            uses: Some(block.uses),
            known_by: if block.is_certain { KnownBy::Copies } else { KnownBy::Kernels },
            by: By::Use(block.span.first),
        });
        (given.collect(), usage.evidence().blocks_cut)
    }

    /// The call of the program in which something was used.
    pub(super) fn user(&self, one: &Use) -> Option<Call> {
        let (track, row) = one.call()?;
        let track = self.trace.track(track)?;
        // What the program called, and not what that called in turn: calls inside others come before them.
        let calls = (row..row.saturating_add(super::used::NESTED)).map_while(|row| track.call(row));
        calls.into_iter().find(|call| call.depth == 0).or_else(|| track.call(row))
    }

    /// The code that used a block first, or asked for it.
    pub(super) fn site_of_block(&self, request: &BlocksRequest, row: usize) -> Option<SiteId> {
        let table = self.books.table.get()?;
        let number = table.find(request.of)?;
        let block = table.get(number)?;
        let (found, _) = self.found_blocks(block.process, table.index(number)?, &block.allocation);
        self.site_by(found.get(row)?.by)
    }

    fn site_by(&self, by: By) -> Option<SiteId> {
        match by {
            By::Site(site) => Some(site),
            By::Use(one) => self.user(&one).map(|call| call.site),
        }
    }

    fn name_by(&mut self, by: By) -> String {
        let site = self.site_by(by);
        site.map_or_else(String::new, |site| Namer::new(&self.trace, &mut self.symbols).site(site))
    }
}

impl Found {
    const fn is_in_use(&self, at_ns: u64) -> bool {
        self.span.0 <= at_ns && at_ns < self.span.1
    }
}

/// Bytes from a block to the next one that begins behind it, or to the end of all.
fn room(found: &[Found], at: usize, end: Option<u64>) -> Option<u64> {
    let address = found.get(at)?.address;
    let rest = found.get(at..).unwrap_or_default();
    let next = rest.get(rest.partition_point(|one| one.address == address));
    next.map(|next| next.address).or(end).map(|next| next.saturating_sub(address))
}

/// What is in use at a moment, and what is not: bytes, and its largest piece. `of`: beginning and end of the allocation.
fn in_use_and_free(found: &[Found], of: (u64, Option<u64>), at_ns: u64) -> (HeldThen, Option<(u64, u64)>) {
    let (mut count, mut bytes) = (0u64, 0u64);
    let (mut free, mut largest, mut reached) = (0u64, 0u64, of.0);
    for (at, one) in found.iter().enumerate().filter(|(_, one)| one.is_in_use(at_ns)) {
        count += 1;
        let told = one.bytes.filter(|_| one.known_by == KnownBy::Allocator);
        let Some(length) = told.or_else(|| room(found, at, of.1)).or(one.bytes) else { continue };
        bytes = bytes.saturating_add(length);
        let gap = one.address.saturating_sub(reached);
        (free, largest) = (free.saturating_add(gap), largest.max(gap));
        reached = reached.max(one.address.saturating_add(length));
    }
    let free = of.1.map(|end| {
        let gap = end.saturating_sub(reached);
        (free.saturating_add(gap), largest.max(gap))
    });
    (HeldThen { count, bytes: Some(bytes) }, free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(address: u64, bytes: u64, span: (u64, u64)) -> Found {
        let by = By::Site(SiteId(0));
        Found { address, bytes: Some(bytes), span, uses: None, known_by: KnownBy::Allocator, by }
    }

    #[test]
    fn a_block_whose_size_is_not_told_reaches_to_the_next_one() {
        let given = |address, span| Found { bytes: None, known_by: KnownBy::Kernels, ..told(address, 1, span) };
        let all = [given(100, (0, 10)), given(300, (5, 20)), given(1000, (0, 30))];
        let at = |ns| in_use_and_free(&all, (100, Some(2100)), ns);
        let held = |count, bytes| HeldThen { count, bytes: Some(bytes) };
        assert_eq!(at(0), (held(2, 1300), Some((700, 700))));
        assert_eq!(at(7), (held(3, 2000), Some((0, 0))));
        assert_eq!(at(10), (held(2, 1800), Some((200, 200))));
        assert_eq!(at(25), (held(1, 1100), Some((900, 900))));
        assert_eq!(at(30), (held(0, 0), Some((2000, 2000))));
        assert_eq!(
            (room(&all, 0, None), room(&all, 2, None), room(&all, 2, Some(2100))),
            (Some(200), None, Some(1100))
        );
        // Without an end nothing is said of what is free.
        assert_eq!(in_use_and_free(&all, (100, None), 25).1, None);
    }

    #[test]
    fn what_kernels_were_given_is_listed_inside_the_allocation() {
        use crate::session::Loaded;
        use crate::session::view::*;
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-bounce.log");
        // As if the second launch had been given another block.
        let text = std::fs::read_to_string(path).unwrap().replace("4/0x0 (0x7f7d9e000000)", "4/0x0 (0x7f7d9e000200)");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks.log");
        std::fs::write(&path, text).unwrap();
        let mut loaded = Loaded::load_all(&[path]).unwrap();
        let mut ask = |moment, part| {
            let request = MemoryRequest { plot: 10, moment, goal: None, part };
            match loaded.view(View::Memory(request)).body {
                Body::Memory(rows) => rows.part,
                other => panic!("{other:?}"),
            }
        };
        let sort = (AllocationColumn::Size, true);
        let all =
            AllocationsRequest { sort, in_use: false, only: None, cursor: None, details: None, first: 0, rows: 1 };
        let MemoryPartRows::Allocations(all) = ask(None, MemoryPart::Allocations(all)) else { panic!() };
        let of = all.rows[0].id;
        let mut blocks = |moment, first| match ask(moment, MemoryPart::Blocks(BlocksRequest { of, first, rows: 9 })) {
            MemoryPartRows::Blocks(rows) => rows,
            other => panic!("{other:?}"),
        };
        let rows = blocks(None, 0);
        let told: Vec<_> = rows.rows.iter().map(|row| (row.offset, row.room, row.uses.is_some(), row.then)).collect();
        assert_eq!(told, [(0, Some(0x200), true, false), (0x200, Some((1 << 20) - 0x200), true, false)]);
        assert!(rows.rows.iter().all(|row| !row.site.is_empty() && row.until_ns > Some(row.from_ns)), "{rows:?}");
        assert_eq!((rows.total, rows.free, rows.then.count), (2, Some((1 << 20, 1 << 20)), 0));
        let then = blocks(Some(rows.rows[1].from_ns), 1);
        assert_eq!((then.first, then.rows.len(), then.rows[0].then), (1, 1, true));
        assert!(then.then.bytes >= Some((1 << 20) - 0x200), "{then:?}");
    }

    #[test]
    fn what_is_free_is_broken_up_as_far_as_it_does_not_lie_together() {
        let rows = |free| BlocksRows { free, ..BlocksRows::default() };
        assert_eq!(rows(Some((1000, 250))).broken_up(), Some(750));
        assert_eq!(rows(Some((1000, 1000))).broken_up(), Some(0));
        assert_eq!((rows(Some((0, 0))).broken_up(), rows(None).broken_up()), (None, None));
    }

    proptest! {
        /// Against a look at each byte.
        #[test]
        fn what_is_free_is_what_no_block_has(
            list in prop::collection::vec((0u64..30, 1u64..12, 0u64..20, 0u64..20), 0..20),
            at_ns in 0u64..40,
        ) {
            let mut list: Vec<Found> =
                list.into_iter().map(|(from, bytes, begin, took)| told(from, bytes, (begin, begin + took))).collect();
            list.sort_by_key(|one| (one.address, one.span.0));
            let (held, free) = in_use_and_free(&list, (0, Some(50)), at_ns);
            let there = || list.iter().filter(|one| one.span.0 <= at_ns && at_ns < one.span.1);
            prop_assert_eq!(held.count, there().count() as u64);
            let is_free = |byte: u64| !there().any(|one| (one.address..one.address + one.bytes.unwrap()).contains(&byte));
            let all: Vec<bool> = (0..50).map(is_free).collect();
            let total = all.iter().filter(|free| **free).count() as u64;
            let largest = all.split(|free| !free).map(<[bool]>::len).max().unwrap_or(0) as u64;
            prop_assert_eq!(free, Some((total, largest)));
        }
    }
}
