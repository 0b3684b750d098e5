//! Which devices may use which others' memory, by calls.

use rustc_hash::FxHashMap;

use crate::trace::NO_DEVICE;

/// A device could use another one's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The device that could; [`NO_DEVICE`]: it is not known which.
    pub device: u8,
    /// The device whose memory it is; [`NO_DEVICE`]: it is not known which.
    pub of: u8,
    /// From when, ns on the trace's axis: the call that said so returned.
    pub from_ns: u64,
    /// Until when; `u64::MAX`: no call took it back.
    pub until_ns: u64,
}

/// What a call said of two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// A context is of a device.
    Context { context: u64, device: u8 },
    /// The device may use the memory of another, or may not any more.
    Device { device: u8, of: u8, may: bool },
    /// Likewise, of the one that has this context.
    OfContext { device: u8, context: u64, may: bool },
}

/// All of it, of calls with the moments at which they returned, ns.
pub fn peers(mut told: Vec<(u64, Told)>) -> Vec<Peer> {
    told.sort_by_key(|&(at_ns, _)| at_ns);
    let mut contexts: FxHashMap<u64, u8> = FxHashMap::default();
    let mut open: FxHashMap<(u8, u8, u64), usize> = FxHashMap::default();
    let mut list: Vec<Peer> = Vec::new();
    for (at_ns, told) in told {
        let (device, of, may, context) = match told {
            Told::Context { context, device } => {
                contexts.insert(context, device);
                continue;
            }
            Told::Device { device, of, may } => (device, of, may, 0),
            Told::OfContext { device, context, may } => match contexts.get(&context) {
                Some(&of) => (device, of, may, 0),
                // Two contexts of which nothing is known are not the same.
                None => (device, NO_DEVICE, may, context),
            },
        };
        let key = (device, of, context);
        if may {
            open.entry(key).or_insert_with(|| {
                list.push(Peer { device, of, from_ns: at_ns, until_ns: u64::MAX });
                list.len() - 1
            });
        } else if let Some(peer) = open.remove(&key).and_then(|index| list.get_mut(index)) {
            peer.until_ns = at_ns;
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_lasts_until_it_is_taken_back() {
        let device = |at, device, of, may| (at, Told::Device { device, of, may });
        let told = vec![
            device(30, 0, 1, false),
            device(10, 0, 1, true),
            device(20, 1, 0, true),
            // Nobody had given it.
            device(25, 2, 0, false),
            device(40, 0, 1, true),
        ];
        let rows: Vec<_> = peers(told).iter().map(|one| (one.device, one.of, one.from_ns, one.until_ns)).collect();
        assert_eq!(rows, [(0, 1, 10, 30), (1, 0, 20, u64::MAX), (0, 1, 40, u64::MAX)]);
    }

    #[test]
    fn a_context_stands_for_its_device_if_that_is_known() {
        let of = |at, context, may| (at, Told::OfContext { device: 0, context, may });
        let told = vec![(1, Told::Context { context: 7, device: 3 }), of(2, 7, true), of(3, 8, true), of(4, 9, false)];
        let rows: Vec<_> = peers(told).iter().map(|one| (one.of, one.until_ns)).collect();
        assert_eq!(rows, [(3, u64::MAX), (NO_DEVICE, u64::MAX)]);
    }
}
