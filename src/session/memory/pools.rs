//! Memory pools, as the program made them and as calls told of them.

use std::sync::Arc;
use std::time::Instant;

use super::ask::{PoolRow, PoolRows, PoolsRequest};
use super::later::{Growing, Later};
use crate::correlate::{Pool, Pools, PoolsFinder};
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::trace::value::size;
use crate::trace::{NO_DEVICE, ProcessId};

/// While a trace grows, pools are found anew so many times less often than that takes.
const PAUSE: u32 = 10;

/// Of which allocations, and of how many calls.
type Of = (u64, u64);

/// The pools of each process, and which allocations they are of.
#[derive(Default)]
pub(super) struct KnownPools {
    /// What calls tell, process by process.
    finders: Vec<PoolsFinder>,
    /// The calls of which all has been told.
    told: Option<u64>,
    pools: Later<Of, Arc<Vec<Pools>>>,
    begun: Option<Instant>,
    due: Option<Instant>,
    growing: Growing<Of>,
}

impl KnownPools {
    /// Those of each process, as they were found last.
    pub(super) fn all(&self) -> Option<&Arc<Vec<Pools>>> {
        self.pools.get()
    }
}

impl Model {
    /// Rows of the table of pools, those in use most first; and whether they are of the trace as it is now.
    pub(super) fn pools(&mut self, request: &PoolsRequest, until: Instant) -> (PoolRows, bool) {
        let complete = self.learn_pools(until);
        let Some(all) = self.books.pools.all().cloned() else { return (PoolRows::default(), complete) };
        let numbered = (0..u16::MAX).map(ProcessId).zip(all.iter());
        let mut list: Vec<(ProcessId, &Pool)> =
            numbered.flat_map(|(process, pools)| pools.all().iter().map(move |pool| (process, pool))).collect();
        list.sort_by_key(|(process, pool)| (std::cmp::Reverse((pool.peak_bytes, pool.count)), *process, pool.handle));
        let total = list.len() as u64;
        let first = request.first.min(total);
        let window = list.iter().skip(usize::try_from(first).unwrap_or(usize::MAX)).take(request.rows);
        let rows = window.map(|(process, pool)| self.pool(*process, pool)).collect();
        (PoolRows { total, first, rows }, complete)
    }

    /// Goes on finding them until `until`; false if they are not yet those of the trace as it is. What calls tell is looked
    /// for in slices, the rest is done in a thread of its own.
    pub(super) fn learn_pools(&mut self, until: Instant) -> bool {
        let of: Of = (self.lives.version(), self.trace.calls());
        let files = self.all_files();
        let known = &mut self.books.pools;
        if known.pools.key() == Some(&of) {
            return true;
        }
        let begun = Instant::now();
        let grows = known.growing.is(of, begun);
        if known.begun.is_none() && grows && known.due.is_some_and(|due| begun < due) {
            return false;
        }
        let since = *known.begun.get_or_insert(begun);
        for process in (0..u16::MAX).map(ProcessId).take(self.trace.processes.len()).skip(known.finders.len()) {
            known.finders.push(PoolsFinder::new(process));
        }
        if known.told != Some(of.1) {
            let mut more = || Instant::now() < until;
            if !known.finders.iter_mut().all(|finder| finder.advance(&self.trace, &files, &mut more)) {
                return false;
            }
            known.told = Some(of.1);
        }
        // While a trace grows those of an older state are shown meanwhile.
        if known.pools.is_making() {
            known.pools.wait(until);
        } else {
            let all = self.lives.all().to_vec();
            let ready: Vec<_> = known.finders.iter().map(|finder| finder.ready(&self.trace)).collect();
            let make = move || Arc::new(ready.into_iter().zip(&all).map(|(ready, all)| ready.pools(all)).collect());
            known.pools.update(of, until, make);
        }
        if !known.pools.is_making() {
            known.begun = None;
            known.due = since.elapsed().checked_mul(PAUSE).and_then(|pause| Instant::now().checked_add(pause));
        }
        known.pools.key() == Some(&of)
    }

    fn pool(&mut self, process: ProcessId, pool: &Pool) -> PoolRow {
        let start = self.trace.start_ns();
        let since = |ns: u64| format!("{} s", super::details::seconds(ns.saturating_sub(start)));
        let device = (pool.device != NO_DEVICE).then_some(pool.device);
        let handle = pool.handle.map(|handle| format!("{handle:#x}"));
        let on = device.map_or(String::new(), |device| format!(" of GPU {device}"));
        let pid = self.trace.process(process).map(|process| process.pid);
        let pid = pid.filter(|_| self.trace.processes.len() > 1).map_or(String::new(), |pid| format!(", {pid}"));
        let managed = if pool.managed { "managed " } else { "" };
        let name = format!("{managed}{}{on}{pid}", pool.origin.word());
        let mut details: Vec<(String, String)> = Vec::new();
        let mut field = |name: &str, value: Option<String>| {
            details.extend(value.map(|value| (name.to_owned(), value)));
        };
        field("pool", Some(name.clone()));
        field("handle", handle.clone());
        let site = pool.site.map(|site| Namer::new(&self.trace, &mut self.symbols).site(site));
        field("from", site);
        field("made", pool.made_ns.map(since));
        field("destroyed", pool.destroyed_ns.map(since));
        field("allocations", Some(format!("{}, {} in use", pool.count, pool.live_count)));
        field("peak", (pool.count > 0).then(|| format!("{} at {}", size(pool.peak_bytes), since(pool.peak_ns))));
        let figure = |figure: Option<crate::correlate::pools::Figure>| {
            figure.map(|figure| format!("{}, told at {}", size(figure.bytes), since(figure.at_ns)))
        };
        let not_told = || Some("no call told it; the driver begins with zero".to_owned());
        field("keeps", figure(pool.release_threshold).or_else(not_told));
        let held = pool.last_held().map(|held| {
            let by = if held.used_is_told { "" } else { " by what calls asked for" };
            format!(
                "{} of the device, {} of it in use{by}, at {}",
                size(held.reserved),
                size(held.used),
                since(held.at_ns)
            )
        });
        field("held", held.or_else(|| Some("no call asked".to_owned())));
        field("most held", figure(pool.reserved_high));
        field("most used", figure(pool.used_high));
        field("trims", (pool.trims > 0).then(|| pool.trims.to_string()));
        PoolRow {
            name,
            handle,
            count: pool.count,
            used: pool.used_bytes,
            peak: pool.peak_bytes,
            reserved: pool.last_held().map(|held| held.reserved),
            unused: pool
                .last_held()
                .and_then(|held| held.unused_ppm())
                .map(|ppm| u16::try_from(ppm / 1000).unwrap_or(1000)),
            keeps: pool.release_threshold.map(|figure| figure.bytes),
            details,
        }
    }
}
