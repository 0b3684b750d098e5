//! What a function does to streams, devices and contexts, found by its name and its arguments' roles.

use super::api::{Argument, Signature};
use super::value::ArgKind;

/// What a function does, with the bytes of the record where it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Semantics {
    /// The stream it works on: a handle of 8 bytes.
    pub stream_at: Option<u16>,
    /// The device it works on.
    pub device_at: Option<DeviceAt>,
    /// It makes a stream, whose handle is here.
    pub creates_stream: Option<u16>,
    /// It destroys the stream at `stream_at`.
    pub destroys_stream: bool,
    /// It makes the device here the thread's current one.
    pub sets_device: Option<u16>,
    /// Its answer is the thread's current device.
    pub learns_device: Option<u16>,
    /// What it does to contexts.
    pub context: ContextUse,
    /// It launches the kernel whose handle is here.
    pub function_at: Option<u16>,
    /// Stream 0 means the thread's own default stream.
    pub per_thread_stream: bool,
    /// What it does to a capture of the stream at `stream_at`.
    pub capture: CaptureUse,
    /// While the stream at `stream_at` is captured it becomes part of a graph instead of being done.
    pub is_captured: bool,
}

/// Where the device of a call lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAt {
    /// An ordinal of 4 bytes; negative: not a GPU.
    Ordinal(u16),
    /// A memory location of 8 bytes.
    Location(u16),
}

/// What a function does to contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextUse {
    /// Nothing.
    #[default]
    None,
    /// It gives the context (first place) of a device (second place).
    Gives(u16, u16),
    /// It makes the context here the thread's current one.
    Sets(u16),
}

/// What a function does to a stream's capture into a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureUse {
    /// Nothing.
    #[default]
    None,
    /// It begins.
    Begins,
    /// It ends; the graph's handle is here.
    Ends(Option<u16>),
    /// The event here is recorded on the stream.
    Records(u16),
    /// The stream waits for the event here.
    Awaits(u16),
}

/// A name without its `_ptsz`, `_ptds` and `_v2` endings.
#[must_use]
pub fn base_name(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((base, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

impl Semantics {
    /// Of the function `name` with these arguments.
    #[must_use]
    pub fn of(name: &str, signature: &Signature) -> Self {
        let base = base_name(name);
        let given = |kind: ArgKind, role: &str| {
            let found = signature.arguments.iter().find(|a| !a.on_success && a.kind == kind && a.role.ends_with(role));
            found.map(|argument| argument.at)
        };
        let answered = |kind: ArgKind| signature.arguments.iter().find(|a| a.on_success && a.kind == kind);
        let makes_stream = base.contains("StreamCreate");
        let sets_device = base == "cudaSetDevice";
        let context = match base {
            "cuCtxCreate" | "cuDevicePrimaryCtxRetain" => {
                match (answered(ArgKind::Handle), given(ArgKind::Device, "")) {
                    (Some(context), Some(device)) => ContextUse::Gives(context.at, device),
                    _ => ContextUse::None,
                }
            }
            "cuCtxSetCurrent" | "cuCtxPushCurrent" => {
                given(ArgKind::Handle, "").map_or(ContextUse::None, ContextUse::Sets)
            }
            _ => ContextUse::None,
        };
        Self {
            stream_at: if makes_stream { None } else { given(ArgKind::Handle, "stream") },
            device_at: device(&signature.arguments),
            creates_stream: if makes_stream { answered(ArgKind::Handle).map(|argument| argument.at) } else { None },
            destroys_stream: matches!(base, "cudaStreamDestroy" | "cuStreamDestroy"),
            sets_device: if sets_device { given(ArgKind::Device, "") } else { None },
            learns_device: if matches!(base, "cudaGetDevice" | "cuCtxGetDevice") {
                answered(ArgKind::Device).map(|argument| argument.at)
            } else {
                None
            },
            context,
            function_at: if base.contains("Launch") { function(&signature.arguments) } else { None },
            per_thread_stream: name.ends_with("_ptsz") || name.ends_with("_ptds"),
            capture: capture(base, given(ArgKind::Handle, "event"), answered(ArgKind::Handle)),
            is_captured: is_captured(base),
        }
    }

    /// Whether a reader must know of its calls before it reads what other threads did after them.
    #[must_use]
    pub const fn concerns_others(&self) -> bool {
        self.creates_stream.is_some()
            || self.destroys_stream
            || self.sets_device.is_some()
            || self.learns_device.is_some()
            || !matches!(self.context, ContextUse::None)
            || !matches!(self.capture, CaptureUse::None)
    }
}

fn capture(base: &str, event: Option<u16>, answered: Option<&Argument>) -> CaptureUse {
    let rest = base.strip_prefix("cuda").or_else(|| base.strip_prefix("cu")).unwrap_or_default();
    match (rest, event) {
        ("EventRecord" | "EventRecordWithFlags", Some(event)) => CaptureUse::Records(event),
        ("StreamWaitEvent", Some(event)) => CaptureUse::Awaits(event),
        _ if rest.starts_with("StreamBeginCapture") || rest.starts_with("StreamBeginRecapture") => CaptureUse::Begins,
        _ if rest.starts_with("StreamEndCapture") => CaptureUse::Ends(answered.map(|argument| argument.at)),
        _ => CaptureUse::None,
    }
}

/// Whether a function that names a stream hands work to it. Others ask or set something, at once.
fn is_captured(base: &str) -> bool {
    let rest = base.strip_prefix("cuda").or_else(|| base.strip_prefix("cu")).unwrap_or_default();
    match rest.strip_prefix("Stream") {
        Some(of_stream) => ["Wait", "Write", "BatchMemOp", "AddCallback", "AttachMem"]
            .iter()
            .any(|beginning| of_stream.starts_with(beginning)),
        None => rest != "GraphUpload",
    }
}

fn device(arguments: &[Argument]) -> Option<DeviceAt> {
    // Whom a device is to access is not where that is called for.
    let wanted = |argument: &&Argument| !argument.on_success && argument.role != "peer";
    arguments.iter().filter(wanted).find_map(|argument| match argument.kind {
        ArgKind::Device => Some(DeviceAt::Ordinal(argument.at)),
        ArgKind::Location => Some(DeviceAt::Location(argument.at)),
        _ => None,
    })
}

fn function(arguments: &[Argument]) -> Option<u16> {
    let named = |argument: &&Argument| {
        !argument.on_success
            && argument.kind.bytes() == 8
            && matches!(argument.role.as_str(), "function" | "func" | "kernel" | "symbol")
    };
    arguments.iter().find(named).map(|argument| argument.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(role: &str, kind: ArgKind, on_success: bool, at: u16) -> Argument {
        Argument { role: role.into(), kind, on_success, at, only: None }
    }

    #[test]
    fn endings_are_dropped() {
        for (name, base) in [
            ("cuMemAlloc_v2", "cuMemAlloc"),
            ("cuStreamGetCaptureInfo_v2_ptsz", "cuStreamGetCaptureInfo"),
            ("cudaMemcpy_ptds", "cudaMemcpy"),
            ("cuStreamWaitValue32", "cuStreamWaitValue32"),
            ("odd_v", "odd_v"),
        ] {
            assert_eq!(base_name(name), base);
        }
    }

    #[test]
    fn streams_and_devices_are_found() {
        let make = Signature { arguments: vec![argument("stream", ArgKind::Handle, true, 32)], ..Signature::default() };
        let semantics = Semantics::of("cudaStreamCreate", &make);
        assert_eq!(semantics.creates_stream, Some(32));
        assert_eq!(semantics.stream_at, None);
        let prefetch = Signature {
            arguments: vec![
                argument("ptr", ArgKind::Pointer, false, 32),
                argument("location", ArgKind::Location, false, 48),
                argument("stream", ArgKind::Handle, false, 56),
            ],
            ..Signature::default()
        };
        let semantics = Semantics::of("cudaMemPrefetchAsync_ptsz", &prefetch);
        assert_eq!(semantics.stream_at, Some(56));
        assert_eq!(semantics.device_at, Some(DeviceAt::Location(48)));
        assert!(semantics.per_thread_stream && !semantics.concerns_others());
        let set = Signature { arguments: vec![argument("device", ArgKind::Device, false, 28)], ..Signature::default() };
        assert_eq!(Semantics::of("cudaSetDevice", &set).sets_device, Some(28));
        let enable =
            Signature { arguments: vec![argument("peer", ArgKind::Device, false, 28)], ..Signature::default() };
        assert_eq!(Semantics::of("cudaDeviceEnablePeerAccess", &enable).device_at, None);
        let retain = Signature {
            arguments: vec![
                argument("context", ArgKind::Handle, true, 32),
                argument("device", ArgKind::Device, false, 28),
            ],
            ..Signature::default()
        };
        assert_eq!(Semantics::of("cuDevicePrimaryCtxRetain", &retain).context, ContextUse::Gives(32, 28));
    }

    #[test]
    fn what_captures_do_is_found() {
        let both = Signature {
            arguments: vec![
                argument("stream", ArgKind::Handle, false, 32),
                argument("event", ArgKind::Handle, false, 40),
                argument("graph", ArgKind::Handle, true, 48),
            ],
            ..Signature::default()
        };
        let of = |name: &str| Semantics::of(name, &both);
        for name in ["cudaStreamBeginCapture", "cuStreamBeginCapture_v2_ptsz", "cuStreamBeginCaptureToGraph"] {
            assert_eq!(of(name).capture, CaptureUse::Begins, "{name}");
            assert!(!of(name).is_captured && of(name).concerns_others());
        }
        assert_eq!(of("cuStreamEndCapture").capture, CaptureUse::Ends(Some(48)));
        assert_eq!(of("cudaEventRecordWithFlags_ptsz").capture, CaptureUse::Records(40));
        assert_eq!(of("cudaStreamWaitEvent").capture, CaptureUse::Awaits(40));
        for name in [
            "cudaLaunchKernel",
            "cudaStreamWaitEvent",
            "cuStreamWriteValue32_v2",
            "cudaMallocAsync",
            "__cudaLaunchKernel",
        ] {
            assert!(of(name).is_captured, "{name}");
        }
        for name in ["cudaStreamSynchronize", "cuStreamGetCaptureInfo_v2", "cudaStreamIsCapturing", "cuGraphUpload"] {
            assert!(!of(name).is_captured, "{name}");
            assert_eq!(of(name).capture, CaptureUse::None, "{name}");
        }
    }
}
