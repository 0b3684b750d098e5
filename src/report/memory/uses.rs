//! Use of allocations, and what calls said of them, in the report.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Found, KEPT, LISTED, Memory, known, more, since, until};
use crate::correlate::allocator::KnownBy;
use crate::correlate::usage::{Place, What};
use crate::correlate::{Allocation, AllocationKind, Allocator, Uses as Of};
use crate::lens::all_turns;
use crate::memory::Steps;
use crate::report::table::Table;
use crate::report::text::{duration, grouped};
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::trace::activity::What as Evidence;
use crate::trace::value::size;

/// How allocations were used. Registered, mapped and opened memory is among them, physical memory and variables of which no
/// address is known are not: nobody can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uses {
    /// Those that a copy, set or fault used.
    pub certain: Group,
    /// Those that only kernels and graphs were given, which may have used them or not.
    pub possible: Group,
    /// Those that nothing used that was seen; `None`: it is not known which memory kernels were given.
    pub unused: Option<Group>,
    /// Those of which nothing is known for that reason.
    pub unknown: Group,
    /// Launches of kernels; of graphs those are not among them.
    pub launches: u64,
    /// Launches of which pointers among the parameters are known; `None`: they were not recorded.
    pub launches_with_pointers: Option<u64>,
    /// Calls that name memory and of which the arguments are not recorded.
    pub unread_calls: u64,
    /// Calls of batches, of which only the first piece of memory is recorded.
    pub batches: u64,
    /// The largest allocations, with their use.
    pub list: Vec<Used>,
}

/// Allocations together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Group {
    /// How many.
    pub count: u64,
    /// Their bytes, as far as they are known.
    pub bytes: u64,
}

/// An allocation and its use. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Process id.
    pub process: u32,
    /// First address; `None`: it has a handle.
    pub address: Option<u64>,
    /// Largest power of two that divides the address.
    pub alignment: Option<u64>,
    /// Its size; `None`: not recorded.
    pub bytes: Option<u64>,
    /// `managed` and so on.
    pub kind: &'static str,
    /// Device.
    pub device: Option<u8>,
    /// Code that allocated it.
    pub call_site: String,
    /// The caching allocator that did, if one did.
    pub allocator: Option<&'static str>,
    /// When it was there.
    pub made_ns: u64,
    /// When its release began; `None`: it was not released.
    pub freed_ns: Option<u64>,
    /// The step in which it came into use, from 1; `None`: outside of steps, or no range repeats.
    pub made_in_step: Option<u64>,
    /// The step in which it went out of use; `None`: likewise, or it was not released.
    pub freed_in_step: Option<u64>,
    /// At the ends of how many steps it was in use; `None`: no range repeats.
    pub step_ends: Option<u64>,
    /// When it was used first.
    pub first_use_ns: Option<u64>,
    /// How: `read`, `written`, `fault`; `kernel`, `graph`, `bound`: it may have been.
    pub first_use: Option<&'static str>,
    /// When the last use was over.
    pub last_use_ns: Option<u64>,
    /// How.
    pub last_use: Option<&'static str>,
    /// Whether that time is by a record of the GPU, or by the call that handed the work over.
    pub last_use_is_by_gpu: Option<bool>,
    /// Whether launches of graphs, which were given an address in it, may have used it later.
    pub last_use_may_be_later: bool,
    /// Whether any use is certain.
    pub is_certain: bool,
    /// The thread that used it; `None`: several, or none.
    pub thread: Option<u32>,
    /// To whom managed memory is attached, as said last: `global`, `host`, `single stream`; `None`: it is not managed, or that
    /// is not recorded.
    pub attached: Option<&'static str>,
    /// Other devices that calls let use it while it was there.
    pub peers: Vec<u8>,
    /// Copies from it.
    pub reads: u32,
    /// Copies to it, and sets.
    pub writes: u32,
    /// Launches of kernels that were given an address in it; `None`: not recorded.
    pub kernels: Option<u32>,
    /// Launches of graphs of which a node was given an address in it.
    pub graph_launches: u32,
    /// Different addresses in it that copies, sets and kernels were given.
    pub addresses: u32,
}

/// Advice that was in force. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Process id.
    pub process: u32,
    /// First address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// `ReadMostly`, `PreferredLocation` or `AccessedBy`.
    pub advice: &'static str,
    /// Where, or by whom: `host`, `device 0`, `node 1`; `None`: nothing, or it is not known.
    pub place: Option<String>,
    /// Since when.
    pub from_ns: u64,
    /// Until when; `None`: as long as the memory was there.
    pub until_ns: Option<u64>,
    /// Code that allocated the memory.
    pub call_site: String,
}

/// Prefetches to one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prefetches {
    /// Where: `host`, `device 0`, `node 1`; `None`: it is not known.
    pub place: Option<String>,
    /// Calls.
    pub count: u64,
    /// Bytes that they named.
    pub bytes: u64,
    /// Calls of batches, of which only the first piece is recorded.
    pub batches: u64,
}

/// A device that could use another one's memory. Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Process id.
    pub process: u32,
    /// The device that could.
    pub device: Option<u8>,
    /// The device whose memory it is.
    pub of: Option<u8>,
    /// Since when.
    pub from_ns: u64,
    /// Until when; `None`: nothing took it back.
    pub until_ns: Option<u64>,
}

/// What a caching allocator has asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segments {
    /// Its name.
    pub allocator: &'static str,
    /// `function` or `library`: by what it was known.
    pub known_by: &'static str,
    /// Segments.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Those that were not released: it keeps them, they are not leaked.
    pub live_count: u64,
    /// Bytes of those.
    pub live_bytes: u64,
    /// Different addresses in them that copies, sets and kernels were given: blocks as far as they can be told apart.
    pub addresses: u64,
}

fn place(place: Place) -> Option<String> {
    Some(match place {
        Place::None => return None,
        Place::Host => "host".to_owned(),
        Place::Node(node) => format!("node {node}"),
        Place::Device(device) => format!("device {device}"),
    })
}

/// Whether anything could be seen to use it: it has an address, or it is an array.
fn can_be_told(one: &Allocation) -> bool {
    one.has_address() || one.kind == AllocationKind::Array
}

/// Allocations that the lens selects, with their process and index.
pub(super) fn selected<'a>(loaded: &Loaded, found: &'a [Found]) -> Vec<(&'a Found, usize, &'a Allocation)> {
    let selected = loaded.selected();
    let wanted = |one: &Allocation| selected.is_none_or(|selected| selected.call(one.track, one.row as usize));
    let of = |found: &'a Found| found.allocations.all().iter().enumerate().map(move |(index, one)| (found, index, one));
    found.iter().flat_map(of).filter(|(.., one)| wanted(one)).collect()
}

fn has_pointers(loaded: &Loaded, found: &Found) -> bool {
    loaded.trace().activities.of(found.process).is_some_and(|of| of.evidence.ever(Evidence::Pointers))
}

pub(super) fn of(loaded: &mut Loaded, found: &[Found]) -> Uses {
    let (mut certain, mut possible, mut unused) = (Group::default(), Group::default(), Group::default());
    let mut list = selected(loaded, found);
    for &(found, index, one) in &list {
        if !can_be_told(one) {
            continue;
        }
        let uses = found.usage.get(index).copied().unwrap_or_default();
        let group = match (uses.certain, uses.possible) {
            (Some(_), _) => &mut certain,
            (None, Some(_)) => &mut possible,
            (None, None) => &mut unused,
        };
        group.count += 1;
        group.bytes = group.bytes.saturating_add(one.bytes);
    }
    let sum = |of: fn(&Found) -> u64| found.iter().map(of).sum::<u64>();
    let launches = sum(|found| found.usage.evidence().launches);
    let told = found.iter().any(|found| has_pointers(loaded, found));
    list.retain(|(.., one)| can_be_told(one));
    list.sort_by_key(|&(found, _, one)| (std::cmp::Reverse(one.bytes), found.process, one.from_ns));
    list.truncate(KEPT);
    let is_known = told || launches == 0;
    let steps = Steps::new(all_turns(None, loaded.trace()).1);
    Uses {
        certain,
        possible,
        unused: is_known.then_some(unused),
        unknown: if is_known { Group::default() } else { unused },
        launches,
        launches_with_pointers: told.then(|| sum(|found| found.usage.evidence().with_pointers)),
        unread_calls: sum(|found| found.usage.evidence().unread),
        batches: sum(|found| found.usage.evidence().batches),
        list: list.into_iter().map(|one| used(loaded, one, &steps)).collect(),
    }
}

fn used(loaded: &mut Loaded, (found, index, one): (&Found, usize, &Allocation), steps: &Steps) -> Used {
    let lived = steps.lived(one.made_ns, one.freed_ns);
    let uses: Of = found.usage.get(index).copied().unwrap_or_default();
    let (first, last) = (uses.first(), uses.last());
    let address = one.has_address().then_some(one.address);
    let kernels_are_known = has_pointers(loaded, found);
    let touchers = found.usage.touchers(loaded.trace(), &loaded.bytes(), &found.pools, (index, one));
    let by_pool = touchers.pool.iter().filter(|access| access.flags != 0).map(|access| access.device);
    let by_mapping = touchers.mapped.iter().filter_map(|&(_, place, flags)| match place {
        Place::Device(device) if flags != 0 && device != one.device => Some(device),
        _ => None,
    });
    let mut peers: Vec<u8> =
        touchers.peers.iter().copied().chain(by_pool).chain(by_mapping).filter_map(known).collect();
    peers.sort_unstable();
    peers.dedup();
    Used {
        process: found.pid,
        address,
        alignment: address.map(|address| address & address.wrapping_neg()),
        bytes: one.size(),
        kind: one.kind.word(),
        device: known(one.device),
        call_site: loaded.site(one.site),
        allocator: loaded.allocator(one.site).map(|(allocator, _)| allocator.name()),
        made_ns: since(loaded, one.made_ns),
        freed_ns: until(loaded, one.freed_ns),
        made_in_step: lived.and_then(|lived| lived.made_in),
        freed_in_step: lived.and_then(|lived| lived.freed_in),
        step_ends: lived.map(|lived| lived.ends),
        first_use_ns: first.map(|one| since(loaded, one.at_ns)),
        first_use: first.map(|one| one.kind().word()),
        last_use_ns: last.map(|one| since(loaded, one.at_ns)),
        last_use: last.map(|one| one.kind().word()),
        last_use_is_by_gpu: last.map(|one| one.is_by_gpu()),
        last_use_may_be_later: uses.may_be_later(),
        is_certain: uses.certain.is_some(),
        thread: uses.thread.and_then(|track| loaded.trace().track(track)).map(|track| track.thread),
        attached: touchers.attached.last().map(|(_, attached)| attached.word()),
        peers,
        reads: uses.counts.reads,
        writes: uses.counts.writes,
        kernels: kernels_are_known.then_some(uses.counts.kernels),
        graph_launches: uses.counts.graph_launches,
        addresses: uses.counts.addresses,
    }
}

pub(super) fn advice(loaded: &mut Loaded, found: &[Found]) -> Vec<Advice> {
    let mut list = Vec::new();
    for (found, index, one) in selected(loaded, found) {
        if found.usage.get(index).is_none_or(|uses| uses.counts.advice == 0) {
            continue;
        }
        for row in found.usage.advice(one) {
            if list.len() >= KEPT {
                return list;
            }
            list.push(Advice {
                process: found.pid,
                address: row.address,
                bytes: row.bytes,
                advice: row.topic.word(),
                place: place(row.place),
                from_ns: since(loaded, row.from_ns),
                until_ns: until(loaded, row.until_ns),
                call_site: loaded.site(one.site),
            });
        }
    }
    list
}

pub(super) fn prefetches(found: &[Found]) -> Vec<Prefetches> {
    let mut sums: BTreeMap<Place, Prefetches> = BTreeMap::new();
    for said in found.iter().flat_map(|found| found.usage.said()) {
        let (What::Prefetch(to) | What::DiscardAndPrefetch(to)) = said.what else { continue };
        let none = || Prefetches { place: place(to), count: 0, bytes: 0, batches: 0 };
        let sum = sums.entry(to).or_insert_with(none);
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(said.bytes);
        sum.batches += u64::from(said.cut);
    }
    sums.into_values().collect()
}

pub(super) fn peers(loaded: &Loaded, found: &[Found]) -> Vec<Peer> {
    let peers = found.iter().flat_map(|found| found.usage.peers().iter().map(|peer| (found.pid, peer)));
    let row = |(process, peer): (u32, &crate::correlate::usage::Peer)| Peer {
        process,
        device: known(peer.device),
        of: known(peer.of),
        from_ns: since(loaded, peer.from_ns),
        until_ns: until(loaded, peer.until_ns),
    };
    peers.map(row).take(KEPT).collect()
}

pub(super) fn segments(loaded: &mut Loaded, found: &[Found]) -> Vec<Segments> {
    let mut sums: BTreeMap<(Allocator, KnownBy), Segments> = BTreeMap::new();
    for (found, index, one) in selected(loaded, found) {
        let Some((allocator, by)) = loaded.allocator(one.site).filter(|_| one.kind.adds_memory()) else { continue };
        let none = || Segments {
            allocator: allocator.name(),
            known_by: match by {
                KnownBy::Function => "function",
                KnownBy::Library => "library",
            },
            count: 0,
            bytes: 0,
            live_count: 0,
            live_bytes: 0,
            addresses: 0,
        };
        let sum = sums.entry((allocator, by)).or_insert_with(none);
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(one.bytes);
        if !one.has_ended() {
            sum.live_count += 1;
            sum.live_bytes = sum.live_bytes.saturating_add(one.bytes);
        }
        sum.addresses += found.usage.get(index).map_or(0, |uses| u64::from(uses.counts.addresses));
    }
    sums.into_values().collect()
}

/// What there is of it.
pub(super) fn write(memory: &Memory, out: &mut String) {
    let uses = &memory.uses;
    if uses.list.is_empty() {
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["use of memory", "count", "bytes"]);
    for (what, group) in [
        ("used", uses.certain),
        ("given to kernels, which may use it", uses.possible),
        ("not seen to be used", uses.unused.unwrap_or_default()),
        ("not known: what kernels were given is not recorded", uses.unknown),
    ] {
        if group.count > 0 {
            table.row(vec![what.to_owned(), grouped(group.count), size(group.bytes)]);
        }
    }
    table.write(out);
    if uses.batches > 0 {
        let _ = writeln!(out, "{} batches: only the first piece of memory of each is recorded", grouped(uses.batches));
    }
    idle(uses, out);
    said(memory, out);
}

/// The largest that were not used, or not for the longest time.
fn idle(uses: &Uses, out: &mut String) {
    if uses.unused.is_none_or(|unused| unused.count == 0) {
        return;
    }
    let mut unused = uses.list.iter().filter(|one| one.first_use_ns.is_none()).peekable();
    if unused.peek().is_none() {
        return;
    }
    out.push('\n');
    let mut table = Table::new(&["not seen to be used", "kind", "process", "there for", "allocated by"]).last_is_text();
    for one in unused.take(LISTED) {
        let there = one.freed_ns.map(|freed| freed.saturating_sub(one.made_ns));
        table.row(vec![
            one.bytes.map_or_else(|| "-".to_owned(), size),
            one.kind.to_owned(),
            one.process.to_string(),
            there.map_or_else(|| "not released".to_owned(), duration),
            safe(&one.call_site).into_owned(),
        ]);
    }
    table.write(out);
}

fn said(memory: &Memory, out: &mut String) {
    if !memory.advice.is_empty() {
        out.push('\n');
        let headings = ["advice", "place", "bytes", "process", "from", "until", "memory of"];
        let mut table = Table::new(&headings).last_is_text();
        for one in memory.advice.iter().take(LISTED) {
            table.row(vec![
                one.advice.to_owned(),
                one.place.clone().unwrap_or_else(|| "-".to_owned()),
                size(one.bytes),
                one.process.to_string(),
                duration(one.from_ns),
                one.until_ns.map_or_else(|| "the end".to_owned(), duration),
                safe(&one.call_site).into_owned(),
            ]);
        }
        table.write(out);
        more(out, memory.advice.len());
    }
    if !memory.prefetches.is_empty() {
        out.push('\n');
        let mut table = Table::new(&["prefetched to", "count", "bytes"]);
        for one in &memory.prefetches {
            let to = one.place.clone().unwrap_or_else(|| "not known".to_owned());
            table.row(vec![to, grouped(one.count), size(one.bytes)]);
        }
        table.write(out);
    }
    if !memory.segments.is_empty() {
        out.push('\n');
        let mut table =
            Table::new(&["kept by a caching allocator", "known by", "segments", "bytes", "kept now", "addresses"]);
        for one in &memory.segments {
            table.row(vec![
                one.allocator.to_owned(),
                one.known_by.to_owned(),
                grouped(one.count),
                size(one.bytes),
                size(one.live_bytes),
                grouped(one.addresses),
            ]);
        }
        table.write(out);
    }
}
