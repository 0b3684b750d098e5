//! Names of the numbers that CUDA's enumerations stand for, as its headers have them, without their prefixes.

use super::semantics::base_name;

/// An enumeration whose values have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Enumeration {
    CopyKind,
    Advice,
    RangeAttribute,
    CaptureMode,
    CaptureStatus,
    LocationType,
    MemoryType,
    PoolAttribute,
    PointerAttribute,
    DeviceAttribute,
    Limit,
    CacheConfig,
    FunctionAttribute,
    StreamAttribute,
    NodeType,
}

type Table = &'static [(u32, &'static str)];

const ALL: &[(Enumeration, &str)] = &[
    (Enumeration::CopyKind, "copykind"),
    (Enumeration::Advice, "advice"),
    (Enumeration::RangeAttribute, "rangeattr"),
    (Enumeration::CaptureMode, "capturemode"),
    (Enumeration::CaptureStatus, "capturestatus"),
    (Enumeration::LocationType, "loctype"),
    (Enumeration::MemoryType, "memtype"),
    (Enumeration::PoolAttribute, "poolattr"),
    (Enumeration::PointerAttribute, "ptrattr"),
    (Enumeration::DeviceAttribute, "devattr"),
    (Enumeration::Limit, "limit"),
    (Enumeration::CacheConfig, "cachecfg"),
    (Enumeration::FunctionAttribute, "funcattr"),
    (Enumeration::StreamAttribute, "streamattr"),
    (Enumeration::NodeType, "nodetype"),
];

impl Enumeration {
    /// The word that stands for it in a signature.
    #[must_use]
    pub fn word(self) -> &'static str {
        ALL.iter().find(|(item, _)| *item == self).map_or("", |(_, word)| word)
    }

    /// The enumeration that `word` stands for in a signature.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        ALL.iter().find(|(_, name)| *name == word).map(|(item, _)| *item)
    }

    /// The name of `value`.
    #[must_use]
    pub fn name(self, value: u32) -> Option<&'static str> {
        self.table().iter().find(|(number, _)| *number == value).map(|(_, name)| *name)
    }

    /// The value that `name` stands for.
    #[must_use]
    pub fn value(self, name: &str) -> Option<u32> {
        self.table().iter().find(|(_, text)| *text == name).map(|(number, _)| *number)
    }

    const fn table(self) -> Table {
        match self {
            Self::CopyKind => {
                &[(0, "HostToHost"), (1, "HostToDevice"), (2, "DeviceToHost"), (3, "DeviceToDevice"), (4, "Default")]
            }
            Self::Advice => &[
                (1, "SetReadMostly"),
                (2, "UnsetReadMostly"),
                (3, "SetPreferredLocation"),
                (4, "UnsetPreferredLocation"),
                (5, "SetAccessedBy"),
                (6, "UnsetAccessedBy"),
            ],
            Self::RangeAttribute => &[
                (1, "ReadMostly"),
                (2, "PreferredLocation"),
                (3, "AccessedBy"),
                (4, "LastPrefetchLocation"),
                (5, "PreferredLocationType"),
                (6, "PreferredLocationId"),
                (7, "LastPrefetchLocationType"),
                (8, "LastPrefetchLocationId"),
            ],
            Self::CaptureMode => &[(0, "Global"), (1, "ThreadLocal"), (2, "Relaxed")],
            Self::CaptureStatus => &[(0, "None"), (1, "Active"), (2, "Invalidated")],
            Self::LocationType => LOCATION_TYPES,
            Self::MemoryType => &[(0, "Unregistered"), (1, "Host"), (2, "Device"), (3, "Managed"), (4, "Unified")],
            Self::PoolAttribute => POOL_ATTRIBUTES,
            Self::PointerAttribute => POINTER_ATTRIBUTES,
            Self::DeviceAttribute => DEVICE_ATTRIBUTES,
            Self::Limit => &[
                (0, "StackSize"),
                (1, "PrintfFifoSize"),
                (2, "MallocHeapSize"),
                (3, "DevRuntimeSyncDepth"),
                (4, "DevRuntimePendingLaunchCount"),
                (5, "MaxL2FetchGranularity"),
                (6, "PersistingL2CacheSize"),
            ],
            Self::CacheConfig => &[(0, "PreferNone"), (1, "PreferShared"), (2, "PreferL1"), (3, "PreferEqual")],
            Self::FunctionAttribute => FUNCTION_ATTRIBUTES,
            Self::StreamAttribute => STREAM_ATTRIBUTES,
            Self::NodeType => &[
                (0, "Kernel"),
                (1, "Memcpy"),
                (2, "Memset"),
                (3, "Host"),
                (4, "Graph"),
                (5, "Empty"),
                (6, "WaitEvent"),
                (7, "EventRecord"),
                (8, "ExtSemaphoreSignal"),
                (9, "ExtSemaphoreWait"),
                (10, "MemAlloc"),
                (11, "MemFree"),
                (12, "BatchMemOp"),
                (13, "Conditional"),
            ],
        }
    }
}

/// `cudaMemLocationType`.
pub const LOCATION_TYPES: Table = &[
    (0, "Invalid"),
    (1, "Device"),
    (2, "Host"),
    (3, "HostNuma"),
    (4, "HostNumaCurrent"),
    (5, "Invisible"),
    (6, "DeviceLocalityDomain"),
];

const POOL_ATTRIBUTES: Table = &[
    (1, "ReuseFollowEventDependencies"),
    (2, "ReuseAllowOpportunistic"),
    (3, "ReuseAllowInternalDependencies"),
    (4, "ReleaseThreshold"),
    (5, "ReservedMemCurrent"),
    (6, "ReservedMemHigh"),
    (7, "UsedMemCurrent"),
    (8, "UsedMemHigh"),
    (9, "AllocationType"),
    (10, "ExportHandleTypes"),
    (11, "LocationId"),
    (12, "LocationType"),
    (13, "MaxPoolSize"),
    (14, "HwDecompressEnabled"),
    (15, "LocalityDomainId"),
];

const POINTER_ATTRIBUTES: Table = &[
    (1, "Context"),
    (2, "MemoryType"),
    (3, "DevicePointer"),
    (4, "HostPointer"),
    (5, "P2PTokens"),
    (6, "SyncMemops"),
    (7, "BufferId"),
    (8, "IsManaged"),
    (9, "DeviceOrdinal"),
    (10, "IsLegacyCudaIpcCapable"),
    (11, "RangeStartAddr"),
    (12, "RangeSize"),
    (13, "Mapped"),
    (14, "AllowedHandleTypes"),
    (15, "IsGpuDirectRdmaCapable"),
    (16, "AccessFlags"),
    (17, "MempoolHandle"),
];

/// Those that unified memory hangs on, and a few that every program asks for.
const DEVICE_ATTRIBUTES: Table = &[
    (1, "MaxThreadsPerBlock"),
    (10, "WarpSize"),
    (13, "ClockRate"),
    (16, "MultiProcessorCount"),
    (20, "ComputeMode"),
    (41, "UnifiedAddressing"),
    (75, "ComputeCapabilityMajor"),
    (76, "ComputeCapabilityMinor"),
    (83, "ManagedMemory"),
    (86, "HostNativeAtomicSupported"),
    (88, "PageableMemoryAccess"),
    (89, "ConcurrentManagedAccess"),
    (91, "CanUseHostPointerForRegisteredMem"),
    (95, "CooperativeLaunch"),
    (100, "PageableMemoryAccessUsesHostPageTables"),
    (101, "DirectManagedMemAccessFromHost"),
    (115, "MemoryPoolsSupported"),
];

const FUNCTION_ATTRIBUTES: Table = &[
    (0, "MaxThreadsPerBlock"),
    (1, "SharedSizeBytes"),
    (2, "ConstSizeBytes"),
    (3, "LocalSizeBytes"),
    (4, "NumRegs"),
    (5, "PtxVersion"),
    (6, "BinaryVersion"),
    (7, "CacheModeCa"),
    (8, "MaxDynamicSharedMemorySize"),
    (9, "PreferredSharedMemoryCarveout"),
    (10, "ClusterDimMustBeSet"),
    (11, "RequiredClusterWidth"),
    (12, "RequiredClusterHeight"),
    (13, "RequiredClusterDepth"),
    (14, "NonPortableClusterSizeAllowed"),
    (15, "ClusterSchedulingPolicyPreference"),
];

const STREAM_ATTRIBUTES: Table = &[
    (1, "AccessPolicyWindow"),
    (2, "Cooperative"),
    (3, "SynchronizationPolicy"),
    (4, "ClusterDimension"),
    (5, "ClusterSchedulingPolicyPreference"),
    (6, "ProgrammaticStreamSerialization"),
    (7, "ProgrammaticEvent"),
    (8, "Priority"),
    (9, "MemSyncDomainMap"),
    (10, "MemSyncDomain"),
];

/// Names of the flag bits that `role` of the function `api` takes; `None` where they are not known, or `bits`
/// holds others. Zero is "default".
#[must_use]
pub fn flags(api: &str, role: &str, bits: u32) -> Option<String> {
    if role != "flags" {
        return None;
    }
    let table: Table = match base_name(api) {
        "cudaMallocManaged" | "cuMemAllocManaged" | "cudaStreamAttachMemAsync" | "cuStreamAttachMemAsync" => {
            &[(1, "Global"), (2, "Host"), (4, "Single")]
        }
        "cudaHostAlloc" | "cuMemHostAlloc" => &[(1, "Portable"), (2, "Mapped"), (4, "WriteCombined")],
        "cudaHostRegister" | "cuMemHostRegister" => &[(1, "Portable"), (2, "Mapped"), (4, "IoMemory"), (8, "ReadOnly")],
        "cudaStreamCreateWithFlags"
        | "cudaStreamCreateWithPriority"
        | "cuStreamCreate"
        | "cuStreamCreateWithPriority" => &[(1, "NonBlocking")],
        "cudaEventCreateWithFlags" | "cuEventCreate" => {
            &[(1, "BlockingSync"), (2, "DisableTiming"), (4, "Interprocess")]
        }
        _ => return None,
    };
    if bits == 0 {
        return Some("Default".to_owned());
    }
    let mut rest = bits;
    let mut names = Vec::new();
    for &(bit, name) in table {
        if bits & bit != 0 {
            rest &= !bit;
            names.push(name);
        }
    }
    (rest == 0).then(|| names.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_agree() {
        for &(item, word) in ALL {
            assert_eq!(Enumeration::from_word(word), Some(item));
            assert_eq!(item.word(), word);
            for &(value, name) in item.table() {
                assert_eq!(item.name(value), Some(name));
                assert_eq!(item.value(name), Some(value), "{name} twice in {word}");
                assert!(!name.starts_with(|c: char| c.is_ascii_digit()));
            }
        }
        assert_eq!(Enumeration::Advice.name(99), None);
    }

    #[test]
    fn flag_bits_have_names_where_known() {
        assert_eq!(flags("cudaMallocManaged", "flags", 1).as_deref(), Some("Global"));
        assert_eq!(flags("cuMemHostRegister_v2", "flags", 9).as_deref(), Some("Portable|ReadOnly"));
        assert_eq!(flags("cudaHostAlloc", "flags", 0x10), None);
        assert_eq!(flags("cudaLaunchKernel", "flags", 1), None);
    }
}
