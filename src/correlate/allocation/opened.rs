//! Sizes of memory that one process opens and another has made: both name it by the same handle.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{AllocationKind, Allocations};

/// A handle for others that a process asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handed {
    /// A digest of its bytes, not zero.
    pub handle: u64,
    /// Of what.
    pub address: u64,
    /// When the call returned, ns on the trace's axis.
    pub at_ns: u64,
}

/// Gives what is opened in these processes the size of what was handed out. A handle that more than one allocation of
/// different sizes was handed out by says nothing.
pub(super) fn size_opened(all: &mut [Arc<Allocations>]) {
    if !all.iter().any(|of| of.opens) {
        return;
    }
    let mut sizes: FxHashMap<u64, Option<u64>> = FxHashMap::default();
    for of in all.iter() {
        for handed in &of.handed {
            let found = of.find(handed.address, handed.at_ns).and_then(|index| of.list.get(index));
            let bytes = found.and_then(super::Allocation::size);
            let known = sizes.entry(handed.handle).or_insert(bytes);
            *known = known.filter(|_| *known == bytes);
        }
    }
    let size = |one: &super::Allocation| sizes.get(&one.owner).copied().flatten().unwrap_or(0);
    let is_wrong = |one: &super::Allocation| one.kind == AllocationKind::Shared && one.bytes != size(one);
    for of in all.iter_mut().filter(|of| of.opens && of.list.iter().any(is_wrong)) {
        let of = Arc::make_mut(of);
        of.list.iter_mut().filter(|one| is_wrong(one)).for_each(|one| one.bytes = size(one));
        of.look_up_anew();
    }
}
