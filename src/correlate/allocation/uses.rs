//! What functions do to memory, by name, and where their arguments say so.

use super::super::calls::bare;
use super::extent::Extent;
use super::ledger::{Event, Release, Released};
use super::opened::Handed;
use super::{Allocation, AllocationKind, End, Refused};
use crate::correlate::calls::{Found, Record};
use crate::trace::{Api, Argument, CallFlags};

/// What a function does to memory, with its arguments.
#[derive(Debug)]
pub enum Use {
    /// It makes some.
    Make {
        /// Kind.
        kind: AllocationKind,
        /// Its address or handle.
        place: Place,
        /// Its size.
        bytes: Size,
        /// Its pool, or of a mapping the handle of its memory.
        owner: Option<Argument>,
    },
    /// It releases what begins at an address, or in so many bytes from there on.
    Release(Argument, Option<Argument>),
    /// It releases what has a handle.
    ReleaseHandle(Argument, fn(u64) -> Released),
    /// A handle of mapped physical memory is asked for: the handle, an address.
    Hold(Argument, Argument),
    /// It hands out a handle for other processes: a digest of it, the address.
    HandOut(Argument, Argument),
    /// It releases all of a device.
    Reset,
}

/// Where the address lies.
#[derive(Debug)]
pub enum Place {
    /// An argument: an address or a handle.
    At(Argument),
    /// It is not recorded.
    Unknown,
}

/// Where the size lies.
#[derive(Debug)]
pub enum Size {
    /// An argument.
    Bytes(Argument),
    /// Bytes of a row, rows, layers. Where layers are not recorded, as in older recordings, the size is that of one.
    Rows(Argument, Argument, Option<Argument>),
    /// What the descriptor of an array says.
    Array(Box<Extent>),
    /// It is not recorded.
    Unknown,
}

impl Use {
    /// Of a function, by its name without endings.
    pub fn of(api: &Api, base: &str) -> Option<Self> {
        use AllocationKind::{
            Block, Device, Graph, Managed, Mapped, Physical, Pinned, Pool, Registered, Shared, Static,
        };
        let argument = |role| api.signature.role(role).cloned();
        let kind = match bare(base) {
            "Malloc" | "MallocPitch" | "Malloc3D" | "MemAlloc" | "MemAllocPitch" => Device,
            "MallocManaged" | "MemAllocManaged" => Managed,
            "MallocHost" | "HostAlloc" | "MemAllocHost" | "MemHostAlloc" => Pinned,
            "HostRegister" | "MemHostRegister" => Registered,
            "MallocAsync" | "MallocFromPoolAsync" | "MemAllocAsync" | "MemAllocFromPoolAsync" => Pool,
            "GraphAddMemAllocNode" => Graph,
            "MemCreate" => Physical,
            "MemMap" => Mapped,
            "IpcOpenMemHandle" | "MemPoolImportPointer" => Shared,
            "LibraryGetManaged" => Static,
            "MallocArray" | "Malloc3DArray" | "ArrayCreate" | "Array3DCreate" => {
                return Some(Self::array(api, argument("array")?));
            }
            "MallocMipmappedArray" | "MipmappedArrayCreate" => return Some(Self::array(api, argument("mipmap")?)),
            "Free" | "FreeHost" | "FreeAsync" | "HostUnregister" | "MemFree" | "MemFreeHost" | "MemFreeAsync"
            | "MemHostUnregister" | "IpcCloseMemHandle" => return Some(Self::Release(argument("ptr")?, None)),
            "IpcGetMemHandle" => return Some(Self::HandOut(argument("handle")?, argument("ptr")?)),
            "MemPoolExportPointer" => return Some(Self::HandOut(argument("data")?, argument("ptr")?)),
            "MemUnmap" => return Some(Self::Release(argument("ptr")?, argument("bytes"))),
            "MemRelease" => return Some(Self::ReleaseHandle(argument("handle")?, Released::Physical)),
            "MemRetainAllocationHandle" => return Some(Self::Hold(argument("handle")?, argument("ptr")?)),
            "FreeArray" | "ArrayDestroy" => {
                return Some(Self::ReleaseHandle(argument("array")?, Released::Array));
            }
            "FreeMipmappedArray" | "MipmappedArrayDestroy" => {
                return Some(Self::ReleaseHandle(argument("mipmap")?, Released::Array));
            }
            "DeviceReset" | "DevicePrimaryCtxReset" => return Some(Self::Reset),
            // What imported logs of allocators say.
            "rmm::allocate" | "torch::segment_alloc" => Device,
            "torch::alloc" => Block,
            "rmm::deallocate" | "torch::segment_free" => return Some(Self::Release(argument("ptr")?, None)),
            "torch::segment_unmap" => return Some(Self::Release(argument("ptr")?, argument("bytes"))),
            "torch::free" => return Some(Self::ReleaseHandle(argument("ptr")?, Released::Block)),
            _ if base == "__cudaRegisterManagedVar" => {
                let bytes = Size::Bytes(argument("bytes")?);
                return Some(Self::Make { kind: Static, place: Place::Unknown, bytes, owner: None });
            }
            _ => return None,
        };
        let rows = || Some(Size::Rows(argument("pitch")?, argument("height")?, argument("depth")));
        let size = argument("bytes").map(Size::Bytes).or_else(rows);
        let bytes = if kind == Shared { Size::Unknown } else { size? };
        let place = Place::At(argument(if kind == Physical { "handle" } else { "ptr" })?);
        let owner = match kind {
            Pool => argument("pool"),
            Mapped => argument("handle"),
            Shared => argument("handle").or_else(|| argument("data")),
            _ => None,
        };
        Some(Self::Make { kind, place, bytes, owner })
    }

    fn array(api: &Api, handle: Argument) -> Self {
        let bytes = Extent::of(&api.signature).map_or(Size::Unknown, |extent| Size::Array(Box::new(extent)));
        Self::Make { kind: AllocationKind::Array, place: Place::At(handle), bytes, owner: None }
    }

    /// What a call that did not fail did.
    pub fn events(&self, found: &Found<'_, Self>, record: &Record<'_>, events: &mut Vec<Event>) {
        let call = &found.call;
        let captured = call.flags.has(CallFlags::CAPTURED);
        let row = u32::try_from(found.row).unwrap_or(u32::MAX);
        let release = |what| {
            Event::Released(Release { what, called_ns: call.start_ns, until_ns: call.end_ns(), by: (found.track, row) })
        };
        let given = |argument: &Argument| record.number(argument).filter(|&value| value != 0);
        match self {
            Self::Make { kind, place, bytes, owner } => {
                let address = match place {
                    Place::At(argument) => given(argument),
                    Place::Unknown => Some(0),
                };
                // Nothing was asked for, or the arguments are not recorded.
                let bytes = bytes.of(record).unwrap_or(0);
                let (Some(address), true) = (address, bytes != 0 || kind.is_of_unknown_size()) else { return };
                events.push(Event::Made(Allocation {
                    address,
                    bytes,
                    from_ns: call.start_ns,
                    made_ns: call.end_ns(),
                    freed_ns: u64::MAX,
                    until_ns: u64::MAX,
                    owner: owner.as_ref().and_then(given).unwrap_or(0),
                    track: found.track,
                    row,
                    site: call.site,
                    stream: call.stream,
                    end: End::Lives,
                    device: call.device,
                    kind: if captured { AllocationKind::Graph } else { *kind },
                }));
            }
            // A graph's memory comes again with each launch.
            Self::Release(..) if captured => {}
            Self::Release(address, bytes) => events.extend(given(address).map(|address| {
                let bytes = bytes.as_ref().map(|bytes| record.number(bytes).unwrap_or(0));
                release(bytes.map_or(Released::At(address), |bytes| Released::Range(address, bytes)))
            })),
            Self::ReleaseHandle(handle, of) => events.extend(given(handle).map(|handle| release(of(handle)))),
            Self::Hold(handle, address) => events.extend(given(handle).map(|handle| Event::Held {
                handle,
                address: given(address).unwrap_or(0),
                at_ns: call.end_ns(),
                by: (found.track, row),
            })),
            Self::HandOut(..) => {}
            Self::Reset => events.push(release(Released::Device(call.device))),
        }
    }

    /// What a call that did not fail handed out.
    pub fn handed(&self, found: &Found<'_, Self>, record: &Record<'_>) -> Option<Handed> {
        let Self::HandOut(handle, address) = self else { return None };
        let given = |argument: &Argument| record.number(argument).filter(|&value| value != 0);
        Some(Handed { handle: given(handle)?, address: given(address)?, at_ns: found.call.end_ns() })
    }

    /// Whether only the runtime says it, inside calls of the program: it asks for managed variables when they are first
    /// needed.
    pub const fn is_said_inside(&self) -> bool {
        matches!(self, Self::Make { kind: AllocationKind::Static, place: Place::At(_), .. })
    }

    /// What a call that failed had asked for.
    pub fn refused(&self, found: &Found<'_, Self>, record: &Record<'_>) -> Option<Refused> {
        let Self::Make { kind, bytes, .. } = self else { return None };
        let call = &found.call;
        Some(Refused {
            at_ns: call.end_ns(),
            bytes: bytes.of(record),
            status: record.status(),
            track: found.track,
            row: u32::try_from(found.row).unwrap_or(u32::MAX),
            site: call.site,
            device: call.device,
            kind: *kind,
        })
    }
}

impl AllocationKind {
    const fn is_of_unknown_size(self) -> bool {
        matches!(self, Self::Shared | Self::Array | Self::Static)
    }
}

impl Size {
    fn of(&self, record: &Record<'_>) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => record.number(bytes),
            Self::Rows(pitch, rows, layers) => {
                let layers = layers.as_ref().and_then(|layers| record.number(layers)).unwrap_or(1);
                Some(record.number(pitch)?.saturating_mul(record.number(rows)?).saturating_mul(layers))
            }
            Self::Array(extent) => extent.bytes(record),
            Self::Unknown => None,
        }
    }
}
