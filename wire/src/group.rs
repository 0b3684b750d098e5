//! Groups of functions, by what people ask for: which calls to record, which to show.

/// What a function is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Group {
    /// Allocating, freeing, mapping, registering, advising; what is known of an address.
    Memory = 0,
    /// Kernels, host functions and graphs are launched.
    Launch = 1,
    /// Copies, memsets, prefetches.
    Copy = 2,
    /// The caller or a stream waits.
    Sync = 3,
    /// Streams.
    Stream = 4,
    /// Events.
    Event = 5,
    /// Graphs and stream capture.
    Graph = 6,
    /// Devices, contexts, versions.
    Device = 7,
    /// Modules, libraries, kernels as objects, entry points.
    Module = 8,
    /// Everything else.
    Other = 9,
    /// No functions: ranges and marks that the program gives names to (NVTX).
    Range = 10,
}

/// All groups, with the names that options use.
pub const GROUPS: [(Group, &str); 11] = [
    (Group::Memory, "memory"),
    (Group::Launch, "launch"),
    (Group::Copy, "copy"),
    (Group::Sync, "sync"),
    (Group::Stream, "stream"),
    (Group::Event, "event"),
    (Group::Graph, "graph"),
    (Group::Device, "device"),
    (Group::Module, "module"),
    (Group::Other, "other"),
    (Group::Range, "range"),
];

/// A bit for each group.
pub const ALL: u32 = (1 << GROUPS.len()) - 1;

/// Pieces of names, the first that fits decides: a piece that begins with `^` stands at the beginning of the name after
/// `cuda` or `cu`.
const RULES: [(&str, Group); 62] = [
    ("Launch", Group::Launch),
    ("^ConfigureCall", Group::Launch),
    ("^SetupArgument", Group::Launch),
    ("Synchronize", Group::Sync),
    ("WaitEvent", Group::Sync),
    ("WaitValue", Group::Sync),
    ("BatchMemOp", Group::Sync),
    ("Capture", Group::Graph),
    ("^Graph", Group::Graph),
    ("^UserObject", Group::Graph),
    ("^Memcpy", Group::Copy),
    ("^Memset", Group::Copy),
    ("^MemcpyBatch", Group::Copy),
    ("MemPrefetch", Group::Copy),
    ("DiscardAndPrefetch", Group::Copy),
    ("^StreamAttachMem", Group::Memory),
    ("^Stream", Group::Stream),
    ("^Event", Group::Event),
    ("IpcGetEvent", Group::Event),
    ("IpcOpenEvent", Group::Event),
    ("^Mem", Group::Memory),
    ("^Malloc", Group::Memory),
    ("^Free", Group::Memory),
    ("^Host", Group::Memory),
    ("^Ipc", Group::Memory),
    ("^Pointer", Group::Memory),
    ("^Array", Group::Memory),
    ("^Mipmapped", Group::Memory),
    ("^GetMipmapped", Group::Memory),
    ("^GetSymbol", Group::Memory),
    ("^ImportExternal", Group::Memory),
    ("^ExternalMemory", Group::Memory),
    ("^DestroyExternal", Group::Memory),
    ("DefaultMemPool", Group::Memory),
    ("MemPool", Group::Memory),
    ("GraphMem", Group::Memory),
    ("^Multicast", Group::Memory),
    ("^Tex", Group::Other),
    ("^Surf", Group::Other),
    ("^Module", Group::Module),
    ("^Library", Group::Module),
    ("^Kernel", Group::Module),
    ("^Func", Group::Module),
    ("^Link", Group::Module),
    ("^Occupancy", Group::Module),
    ("ProcAddress", Group::Module),
    ("EntryPoint", Group::Module),
    ("ExportTable", Group::Module),
    ("^GetFuncBySymbol", Group::Module),
    ("^GetKernel", Group::Module),
    ("^Device", Group::Device),
    ("Device", Group::Device),
    ("^Ctx", Group::Device),
    ("^GreenCtx", Group::Device),
    ("^DevResource", Group::Device),
    ("^DevSmResource", Group::Device),
    ("^ExecutionCtx", Group::Device),
    ("^Init", Group::Device),
    ("Version", Group::Device),
    ("^Thread", Group::Device),
    ("^Checkpoint", Group::Device),
    ("^Coredump", Group::Device),
];

/// The group of a function.
#[must_use]
pub fn of(name: &[u8]) -> Group {
    let name = name.strip_prefix(b"__").unwrap_or(name);
    let rest = name.strip_prefix(b"cuda").or_else(|| name.strip_prefix(b"cu")).unwrap_or(name);
    let fits = |piece: &str| match piece.strip_prefix('^') {
        Some(start) => rest.starts_with(start.as_bytes()),
        None => (0..rest.len()).any(|at| rest.get(at..).is_some_and(|rest| rest.starts_with(piece.as_bytes()))),
    };
    RULES.iter().find(|(piece, _)| fits(piece)).map_or(Group::Other, |&(_, group)| group)
}

/// The group with this name.
#[must_use]
pub fn named(name: &[u8]) -> Option<Group> {
    GROUPS.iter().find(|(_, known)| known.as_bytes() == name).map(|&(group, _)| group)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn functions_lie_where_people_look_for_them() {
        for (name, group) in [
            ("cudaMallocManaged", Group::Memory),
            ("cuMemAlloc_v2", Group::Memory),
            ("cuMemAddressReserve", Group::Memory),
            ("cudaHostAlloc", Group::Memory),
            ("cudaFreeAsync_ptsz", Group::Memory),
            ("cudaMemAdvise", Group::Memory),
            ("cudaStreamAttachMemAsync", Group::Memory),
            ("cudaMallocFromPoolAsync", Group::Memory),
            ("cudaDeviceGetDefaultMemPool", Group::Memory),
            ("cudaMemPrefetchAsync", Group::Copy),
            ("cuMemcpyHtoDAsync_v2", Group::Copy),
            ("cudaMemset3D", Group::Copy),
            ("cudaLaunchKernel", Group::Launch),
            ("__cudaLaunchKernel", Group::Launch),
            ("cuLaunchKernelEx", Group::Launch),
            ("cudaGraphLaunch", Group::Launch),
            ("cudaGraphAddKernelNode", Group::Graph),
            ("cudaStreamBeginCapture", Group::Graph),
            ("cudaDeviceSynchronize", Group::Sync),
            ("cuStreamWaitEvent", Group::Sync),
            ("cudaStreamCreate", Group::Stream),
            ("cudaEventRecord", Group::Event),
            ("cudaGetDevice", Group::Device),
            ("cuCtxSetCurrent", Group::Device),
            ("cuDevicePrimaryCtxRetain", Group::Device),
            ("cuInit", Group::Device),
            ("cuModuleLoadData", Group::Module),
            ("cuGetProcAddress_v2", Group::Module),
            ("cudaGetLastError", Group::Other),
        ] {
            assert_eq!(of(name.as_bytes()), group, "{name}");
        }
        for (group, name) in GROUPS {
            assert_eq!(named(name.as_bytes()), Some(group));
        }
        assert_eq!(named(b"memories"), None);
    }
}
