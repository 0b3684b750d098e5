//! Who may touch an allocation, by what calls said.

use std::sync::Arc;

use super::{Attached, Place, Usage, What};
use crate::correlate::allocation::{Allocation, AllocationKind};
use crate::correlate::pools::{PoolAccess, Pools};
use crate::trace::raw::RawCall;
use crate::trace::{Bytes, NO_DEVICE, Trace, Value};

/// Who may touch an allocation beside its own device. Of managed memory every device may, as far as it is attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touchers {
    /// To whom managed memory is attached: since when, ns on the trace's axis, in order of time. The first is what it was made
    /// with, if that is recorded.
    pub attached: Vec<(u64, Attached)>,
    /// Devices that calls let use the memory of its device while it was there; [`NO_DEVICE`]: one that is not known.
    pub peers: Vec<u8>,
    /// Of memory of a pool: what calls said of the pool until it was released, in order of time.
    pub pool: Vec<PoolAccess>,
    /// Of mapped memory: when which place got which access (`cudaMemAccessFlags`), in order of time.
    pub mapped: Vec<(u64, Place, u32)>,
}

impl Usage {
    /// Who may touch an allocation, by its index. `files` are those of the trace, `pools` those of its process.
    #[must_use]
    pub fn touchers(
        &self,
        trace: &Trace,
        files: &[Arc<dyn Bytes>],
        pools: &Pools,
        (index, one): (usize, &Allocation),
    ) -> Touchers {
        let mut found = Touchers::default();
        match one.kind {
            AllocationKind::Managed | AllocationKind::Static => {
                found.attached.extend(made_for(trace, files, one).map(|attached| (one.made_ns, attached)));
            }
            AllocationKind::Pool => {
                let pool = pools.pool_of(index).and_then(|pool| pools.all().get(pool));
                let access = pool.map_or(&[][..], |pool| &pool.access);
                found.pool = access.iter().take_while(|access| access.at_ns <= one.freed_ns).copied().collect();
            }
            _ => {}
        }
        for said in self.said_of((one.address, one.bytes), (one.from_ns, one.until_ns)) {
            match said.what {
                What::Attach(attached) => found.attached.push((said.at_ns, attached)),
                What::Access(place, flags) => found.mapped.push((said.at_ns, place, flags)),
                _ => {}
            }
        }
        // Memory of pools has rules of its own.
        let has_peers = matches!(one.kind, AllocationKind::Device | AllocationKind::Array);
        if has_peers && one.device != NO_DEVICE {
            let there = |from_ns: u64, until_ns: u64| from_ns <= one.until_ns && until_ns >= one.from_ns;
            let peers = self.peers().iter().filter(|peer| peer.of == one.device && there(peer.from_ns, peer.until_ns));
            found.peers = peers.map(|peer| peer.device).collect();
            found.peers.sort_unstable();
            found.peers.dedup();
        }
        found
    }
}

/// What the call that made managed memory attached it to.
fn made_for(trace: &Trace, files: &[Arc<dyn Bytes>], one: &Allocation) -> Option<Attached> {
    let track = trace.track(one.track)?;
    let call = track.call(one.row as usize)?;
    let location = track.location(one.row as usize)?;
    let raw = RawCall::read(&**files.get(location.file as usize)?, location).ok()?;
    match raw.argument(trace.api(call.api)?, "flags")? {
        Value::Number(flags) => Attached::of(flags),
        Value::Dim3(_) => None,
    }
}
