//! How two devices are connected, as far as a program has asked the driver and was answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Devices;
use crate::correlate::calls::{Found, Records, bare, choose, each};
use crate::trace::{Argument, Bytes, ProcessId, Trace};

/// `cudaDevP2PAttrAccessSupported`.
const ACCESS_SUPPORTED: u64 = 2;
/// `cudaDevP2PAttrNativeAtomicSupported`.
const NATIVE_ATOMICS: u64 = 3;
/// `cudaDevP2PAttrPerformanceRank`.
const RANK: u64 = 1;

/// What is known of the way from one device to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Whether the first can access the second's memory; `None`: nobody asked.
    pub can_access: Option<bool>,
    /// Whether atomic operations work over it, which PCIe does not offer to devices: it is NVLink. `None`: nobody asked.
    pub native_atomics: Option<bool>,
    /// The driver's rank of its speed, the lower the faster.
    pub rank: Option<i32>,
    /// Whether any call allowed the first to access the second's memory, at any time.
    pub was_enabled: bool,
}

impl Way {
    /// What it is, in a word: NVLink where atomic operations work over it. That they do not says nothing for sure.
    #[must_use]
    pub fn link(&self) -> Option<&'static str> {
        (self.native_atomics == Some(true)).then_some("NVLink")
    }
}

enum Asks {
    Access(Argument, Argument, Argument),
    Attribute(Argument, Argument, Argument, Argument),
}

/// The ways between devices that anything was asked of, by the devices' numbers in [`Devices::all`]. `files` are those of the
/// trace.
#[must_use]
pub fn topology(trace: &Trace, files: &[Arc<dyn Bytes>], devices: &mut Devices) -> BTreeMap<(u16, u16), Way> {
    let chosen = choose(trace, |api, base| {
        let argument = |role| api.signature.role(role).cloned();
        Some(match bare(base) {
            "DeviceCanAccessPeer" => Asks::Access(argument("value")?, argument("device")?, argument("peer")?),
            "DeviceGetP2PAttribute" => Asks::Attribute(
                argument("value")?,
                argument("srcdevice")?,
                argument("dstdevice")?,
                argument("attribute")?,
            ),
            _ => return None,
        })
    });
    let mut ways: BTreeMap<(u16, u16), Way> = BTreeMap::new();
    for process in (0..u16::MAX).map(ProcessId).take(trace.processes.len()) {
        let mut records = Records::of(trace, process, files);
        each(trace, process, &chosen, |found: Found<'_, Asks>| {
            if found.call.flags.failed() {
                return;
            }
            let Some(record) = records.read(&found) else { return };
            let number = |argument| record.number(argument);
            let mut device = |argument| devices.index(trace, process, u8::try_from(number(argument)? as u32).ok()?);
            match found.what {
                Asks::Access(value, from, to) => {
                    let (Some(value), Some(from), Some(to)) = (number(value), device(from), device(to)) else { return };
                    ways.entry((from, to)).or_default().can_access = Some(value as u32 != 0);
                }
                Asks::Attribute(value, from, to, attribute) => {
                    let (Some(value), Some(from), Some(to)) = (number(value), device(from), device(to)) else { return };
                    let way = ways.entry((from, to)).or_default();
                    match number(attribute).map(|attribute| u64::from(attribute as u32)) {
                        Some(RANK) => way.rank = Some(value as u32 as i32),
                        Some(ACCESS_SUPPORTED) => way.can_access = Some(value as u32 != 0),
                        Some(NATIVE_ATOMICS) => way.native_atomics = Some(value as u32 != 0),
                        _ => {}
                    }
                }
            }
        });
    }
    ways
}
