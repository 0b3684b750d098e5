//! What calls tell of pools.

use std::sync::Arc;

use crate::correlate::calls::{Found, Record, Records, Search, bare};
use crate::trace::{Api, ApiId, Argument, Bytes, NO_DEVICE, SiteId, Trace};

/// `cudaMemPoolAttrReleaseThreshold` and the driver's like, and so on.
pub const RELEASE_THRESHOLD: u32 = 4;
/// Bytes held now.
pub const RESERVED: u32 = 5;
/// The most bytes held.
pub const RESERVED_HIGH: u32 = 6;
/// Bytes in use now.
pub const USED: u32 = 7;
/// The most bytes in use.
pub const USED_HIGH: u32 = 8;

/// `cudaMemLocationTypeDevice`.
const DEVICE: u32 = 1;
/// `cudaMemAllocationTypeManaged`.
const MANAGED: u64 = 2;

/// Something that a call told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// When, ns on the trace's axis: when the call returned; of what destroys, when it began.
    pub at_ns: u64,
    /// Code that called.
    pub site: SiteId,
    /// What.
    pub what: What,
}

/// What it told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A pool was made.
    Made { handle: u64, device: u8, managed: bool, imported: bool },
    /// It is gone.
    Destroyed { handle: u64 },
    /// It is a device's own.
    Default { device: u8, managed: bool, handle: u64 },
    /// It is what allocations of a device come from.
    Current { device: u8, handle: u64 },
    /// It is from now on.
    Set { device: u8, handle: u64 },
    /// One of its attributes was set or asked for.
    Attribute { handle: u64, attribute: u32, bytes: u64 },
    /// It was told to give back what it does not use, down to so many bytes.
    Trim { handle: u64, keep: u64 },
    /// A device may use its memory.
    Access { handle: u64, device: u8, flags: u32, cut: bool },
}

/// What functions are about.
#[derive(Clone, Copy, Debug)]
pub enum About {
    Make,
    Import,
    Destroy,
    Default,
    Current,
    Set,
    Attribute,
    Trim,
    Access,
}

impl About {
    fn of(base: &str) -> Option<Self> {
        Some(match bare(base) {
            "MemPoolCreate" => Self::Make,
            "MemPoolImportFromShareableHandle" => Self::Import,
            "MemPoolDestroy" => Self::Destroy,
            "DeviceGetDefaultMemPool" | "MemGetDefaultMemPool" => Self::Default,
            "DeviceGetMemPool" | "MemGetMemPool" => Self::Current,
            "DeviceSetMemPool" | "MemSetMemPool" => Self::Set,
            "MemPoolSetAttribute" | "MemPoolGetAttribute" => Self::Attribute,
            "MemPoolTrimTo" => Self::Trim,
            "MemPoolSetAccess" => Self::Access,
            _ => return None,
        })
    }
}

/// What calls of a process tell of pools, looked for in slices; in no order.
pub type Telling = Search<About, Told>;

/// Goes on looking for it, as long as `more` says so; true when all calls have been looked at.
pub fn go_on(telling: &mut Telling, trace: &Trace, files: &[Arc<dyn Bytes>], more: &mut dyn FnMut() -> bool) -> bool {
    let make = |found: &Found<'_, About>, records: &mut Records<'_>| {
        // Calls inside others say the same again.
        if found.call.depth != 0 || found.call.flags.failed() {
            return None;
        }
        let what = what(trace, found.call.api, *found.what, &records.read(found)?)?;
        let is_over = matches!(what, What::Destroyed { .. });
        let at_ns = if is_over { found.call.start_ns } else { found.call.end_ns() };
        Some(Told { at_ns, site: found.call.site, what })
    };
    telling.advance(trace, files, |_: &Api, base| About::of(base), make, more)
}

fn what(trace: &Trace, api: ApiId, about: About, record: &Record<'_>) -> Option<What> {
    let signature = &trace.api(api)?.signature;
    let argument = |role: &str| -> Option<&Argument> { signature.role(role) };
    let number = |role| record.number(argument(role)?);
    let handle = number("pool").filter(|&handle| handle != 0)?;
    // A device, or the place that newer functions take.
    let ordinal = || number("device").map(|device| u8::try_from(device).unwrap_or(NO_DEVICE));
    let place = || number("location").map(device_of);
    let device = || ordinal().or_else(place);
    let managed = number("type") == Some(MANAGED);
    Some(match about {
        About::Make => What::Made { handle, device: device().unwrap_or(NO_DEVICE), managed, imported: false },
        About::Import => What::Made { handle, device: NO_DEVICE, managed: false, imported: true },
        About::Destroy => What::Destroyed { handle },
        About::Default => What::Default { device: device()?, managed, handle },
        // What managed memory comes from is not what allocations in order of a stream come from.
        About::Current | About::Set if managed => return None,
        About::Current => What::Current { device: device()?, handle },
        About::Set => What::Set { device: device()?, handle },
        About::Attribute => {
            let attribute = u32::try_from(number("attribute")?).ok()?;
            // Older recordings do not have the value.
            What::Attribute { handle, attribute, bytes: number("value")? }
        }
        About::Trim => What::Trim { handle, keep: number("keep")? },
        About::Access => {
            let (count, flags) = (number("count")?, u32::try_from(number("access")?).ok()?);
            if count == 0 {
                return None;
            }
            What::Access { handle, device: device()?, flags, cut: count > 1 }
        }
    })
}

/// The device of a place; [`NO_DEVICE`]: it is none.
fn device_of(location: u64) -> u8 {
    let (kind, id) = (location as u32, (location >> 32) as u32);
    u8::try_from(id).ok().filter(|_| kind == DEVICE).unwrap_or(NO_DEVICE)
}
