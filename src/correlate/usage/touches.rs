//! Which arguments of which functions name memory, and what becomes of it.

use super::UseKind;
use crate::correlate::calls::{Record, bare};
use crate::correlate::graph_contents;
use crate::trace::{Api, Argument};

/// `CU_MEMORYTYPE_HOST`, and those of which the other address counts.
const HOST: u64 = 1;
const DEVICE: u64 = 2;
const UNIFIED: u64 = 4;

/// What a function does with memory.
pub struct Does {
    /// Memory that it uses.
    pub touches: Vec<Touch>,
    /// What it says of memory.
    pub says: Option<Says>,
    /// It launches a kernel: the pointers among its parameters are in a record of their own.
    pub launches: bool,
    /// It gives a kernel to a graph: likewise.
    pub gives_kernel: bool,
    /// It hands what it names to a graph.
    pub for_graph: bool,
    /// What it does to graphs as a whole.
    pub graphs: Option<graph_contents::Does>,
    /// The graph that it adds a node to.
    pub graph: Option<Argument>,
    /// The graph that is ready of which it changes a node.
    pub exec: Option<Argument>,
    /// Of how much memory it is, beside the first piece.
    pub batch: Option<Argument>,
    /// It gives the context of a device: the context, the device.
    pub context: Option<(Argument, Argument)>,
    /// It says whether the current device, or context, may use another one's memory.
    pub peer: Option<(Argument, bool)>,
}

/// Memory that a function uses.
pub struct Touch {
    /// Where it begins.
    pub address: Argument,
    /// Only if this argument is one of these.
    pub only: Option<(Argument, [u64; 2])>,
    /// How much of it.
    pub extent: Extent,
    /// How.
    pub kind: UseKind,
}

/// How many bytes are used.
pub enum Extent {
    /// So many.
    Bytes(Argument),
    /// So many numbers of so many bytes.
    Numbers(Argument, u64),
    /// It is not recorded, or not simple: what lies at the address.
    Unknown,
    /// The address is the handle of an array.
    Array,
}

/// What a function says of memory.
pub struct Says {
    /// Where it begins.
    pub address: Argument,
    /// How much of it.
    pub bytes: Option<Argument>,
    /// A place: a location, or a device.
    pub place: Option<Argument>,
    /// What.
    pub what: SaysWhat,
}

/// What it says.
pub enum SaysWhat {
    /// Advice: which.
    Advice(Argument),
    /// It is to be moved.
    Prefetch,
    /// What is in it does not matter any more; and whether it is to be moved, too.
    Discard { prefetch: bool },
    /// To whom it is attached: flags.
    Attach(Argument),
    /// A device may use it: flags.
    Access(Argument),
    /// Another process may open it.
    Export,
}

impl Does {
    /// Of a function by its name without endings; `None`: nothing with memory.
    pub fn of(api: &Api, base: &str) -> Option<Self> {
        let name = bare(base);
        let argument = |role: &str| api.signature.role(role).cloned();
        let mut does = Self {
            touches: Vec::new(),
            says: says(api, name),
            launches: matches!(name, "LaunchKernel" | "LaunchCooperativeKernel" | "LaunchKernelEx") && base != name,
            gives_kernel: matches!(name, "GraphAddKernelNode" | "GraphExecKernelNodeSetParams"),
            for_graph: name.starts_with("Graph"),
            graphs: graph_contents::Does::of(name),
            graph: argument("graph").filter(|_| name.starts_with("GraphAdd")),
            exec: argument("exec").filter(|_| name.starts_with("GraphExec")),
            batch: if name.contains("Batch") { argument("count") } else { None },
            context: None,
            peer: None,
        };
        // The driver's launching functions have the pointers; the runtime's go through them.
        does.gives_kernel &= base.starts_with("cu") && !base.starts_with("cuda");
        does.launches &= base.starts_with("cu") && !base.starts_with("cuda");
        match name {
            "CtxCreate" | "DevicePrimaryCtxRetain" => does.context = argument("context").zip(argument("device")),
            "DeviceEnablePeerAccess" | "CtxEnablePeerAccess" => does.peer = argument("peer").map(|peer| (peer, true)),
            "DeviceDisablePeerAccess" | "CtxDisablePeerAccess" => {
                does.peer = argument("peer").map(|peer| (peer, false));
            }
            _ => does.touches = touches(api, name),
        }
        let nothing = does.touches.is_empty()
            && does.says.is_none()
            && !does.launches
            && !does.gives_kernel
            && does.context.is_none()
            && does.graphs.is_none()
            && does.peer.is_none();
        (!nothing).then_some(does)
    }
}

fn says(api: &Api, name: &str) -> Option<Says> {
    let argument = |role: &str| api.signature.role(role).cloned();
    let what = match name {
        "MemAdvise" => SaysWhat::Advice(argument("advice")?),
        "MemPrefetchAsync" | "MemPrefetchBatchAsync" => SaysWhat::Prefetch,
        "MemDiscardBatchAsync" => SaysWhat::Discard { prefetch: false },
        "MemDiscardAndPrefetchBatchAsync" => SaysWhat::Discard { prefetch: true },
        "StreamAttachMemAsync" => SaysWhat::Attach(argument("flags")?),
        "MemSetAccess" => SaysWhat::Access(argument("access")?),
        "IpcGetMemHandle" | "MemPoolExportPointer" => SaysWhat::Export,
        _ => return None,
    };
    Some(Says {
        address: argument("ptr")?,
        bytes: argument("bytes").or_else(|| argument("first")),
        place: argument("location").or_else(|| argument("device")),
        what,
    })
}

fn touches(api: &Api, name: &str) -> Vec<Touch> {
    let argument = |role: &str| api.signature.role(role).cloned();
    let bytes = || argument("bytes").or_else(|| argument("first")).map_or(Extent::Unknown, Extent::Bytes);
    let one = |role: &str, kind| argument(role).map(|address| Touch { address, only: None, extent: bytes(), kind });
    let array =
        |role: &str, kind| argument(role).map(|address| Touch { address, only: None, extent: Extent::Array, kind });
    // The driver's descriptions of copies have an address of each sort, and say which counts.
    let sorted = |role: &str, kind_of: &str, kinds, kind| {
        let only = argument(kind_of).map(|argument| (argument, kinds));
        argument(role).map(|address| Touch { address, only, extent: Extent::Unknown, kind })
    };
    let is_copy = name.contains("Memcpy") && !name.ends_with("GetParams");
    let is_set = name.contains("Memset") && !name.ends_with("GetParams");
    let list = if is_copy && api.signature.role("srchost").is_some() {
        vec![
            sorted("srchost", "srctype", [HOST; 2], UseKind::Read),
            sorted("src", "srctype", [DEVICE, UNIFIED], UseKind::Read),
            sorted("dsthost", "dsttype", [HOST; 2], UseKind::Written),
            sorted("dst", "dsttype", [DEVICE, UNIFIED], UseKind::Written),
        ]
    } else if is_copy {
        vec![
            one("src", UseKind::Read),
            one("dst", UseKind::Written),
            array("srcarray", UseKind::Read),
            array("dstarray", UseKind::Written),
        ]
    } else if is_set {
        let width = match name {
            _ if name.contains("D2D") => None,
            _ if name.contains("D8") => Some(1),
            _ if name.contains("D16") => Some(2),
            _ if name.contains("D32") => Some(4),
            _ => None,
        };
        let numbers = argument("count").zip(width).map(|(count, width)| Extent::Numbers(count, width));
        let address = argument("dst").or_else(|| argument("ptr"));
        let kind = UseKind::Written;
        vec![address.map(|address| Touch { address, only: None, extent: numbers.unwrap_or_else(bytes), kind })]
    } else {
        match name {
            "StreamWriteValue32" | "StreamWriteValue64" => vec![one("ptr", UseKind::Written)],
            "StreamWaitValue32" | "StreamWaitValue64" => vec![one("ptr", UseKind::Read)],
            "BindTexture" | "BindTexture2D" | "TexRefSetAddress" | "TexRefSetAddress2D" => {
                vec![one("ptr", UseKind::Bound)]
            }
            "BindTextureToArray" | "BindSurfaceToArray" | "TexRefSetArray" | "SurfRefSetArray" => {
                vec![array("array", UseKind::Bound)]
            }
            _ => Vec::new(),
        }
    };
    list.into_iter().flatten().collect()
}

impl Touch {
    /// The memory that a call used: address and bytes; `None`: none.
    pub fn memory(&self, record: &Record<'_>) -> Option<(u64, u64)> {
        if let Some((argument, kinds)) = &self.only
            && !kinds.contains(&record.number(argument)?)
        {
            return None;
        }
        let address = record.number(&self.address).filter(|&address| address != 0)?;
        let bytes = match &self.extent {
            Extent::Bytes(bytes) => record.number(bytes)?,
            Extent::Numbers(count, width) => record.number(count)?.saturating_mul(*width),
            Extent::Unknown | Extent::Array => 1,
        };
        (bytes != 0).then_some((address, bytes))
    }
}
