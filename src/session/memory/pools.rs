//! Memory pools, as the program made them and as calls told of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ask::{PoolRow, PoolRows, PoolsRequest};
use crate::correlate::{Pool, Pools};
use crate::session::labels::Namer;
use crate::session::model::Model;
use crate::trace::value::size;
use crate::trace::{Bytes, NO_DEVICE, ProcessId};

/// While a trace grows, pools are found anew so many times less often than that takes.
const PAUSE: u32 = 10;

/// The pools of each process, and which allocations they are of.
#[derive(Debug, Default)]
pub(super) struct KnownPools {
    of: Option<u64>,
    due: Option<Instant>,
    pools: Vec<Pools>,
}

impl Model {
    /// Rows of the table of pools, those in use most first; and whether they are of the trace as it is now.
    pub(super) fn pools(&mut self, request: &PoolsRequest) -> (PoolRows, bool) {
        let complete = self.learn_pools();
        let all = std::mem::take(&mut self.books.pools.pools);
        let numbered = (0..u16::MAX).map(ProcessId).zip(&all);
        let mut list: Vec<(ProcessId, &Pool)> =
            numbered.flat_map(|(process, pools)| pools.all().iter().map(move |pool| (process, pool))).collect();
        list.sort_by_key(|(process, pool)| (std::cmp::Reverse((pool.peak_bytes, pool.count)), *process, pool.handle));
        let total = list.len() as u64;
        let first = request.first.min(total);
        let window = list.iter().skip(usize::try_from(first).unwrap_or(usize::MAX)).take(request.rows);
        let rows = window.map(|(process, pool)| self.pool(*process, pool)).collect();
        self.books.pools.pools = all;
        (PoolRows { total, first, rows }, complete)
    }

    /// Finds them anew if other allocations are known; false if they are of earlier ones.
    fn learn_pools(&mut self) -> bool {
        let of = Some(self.lives.version());
        if self.books.pools.of == of {
            return true;
        }
        let begun = Instant::now();
        if self.books.pools.due.is_some_and(|due| begun < due) {
            return false;
        }
        let none: Arc<dyn Bytes> = Arc::new(Vec::new());
        let files: Vec<Arc<dyn Bytes>> =
            self.files.iter().map(|file| file.clone().unwrap_or_else(|| none.clone())).collect();
        let processes = (0..u16::MAX).map(ProcessId).zip(self.lives.all());
        let pools = processes.map(|(process, all)| Pools::of(&self.trace, process, &files, all)).collect();
        let pause = begun.elapsed().checked_mul(PAUSE).unwrap_or(Duration::MAX);
        self.books.pools = KnownPools { of, due: Instant::now().checked_add(pause), pools };
        true
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
