//! The tables of an export and the columns of them that are read. Which tables and columns there are depends on the
//! version of the schema and on what was recorded: any of them may be missing, and what is missing is `None`.
//!
//! Times are nanoseconds since the session began, sizes bytes. Names are ids of `StringIds` unless they are text.

use super::database::{Row, Values};

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident = $table:literal { $($field:ident: $type:ty = $column:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $name {
                $(#[doc = concat!("`", $column, "`.")] pub $field: Option<$type>,)*
            }

            impl Row for $name {
                const TABLE: &'static str = $table;
                const COLUMNS: &'static [&'static str] = &[$($column,)*];

                fn of(values: &Values<'_, '_>) -> Self {
                    let mut column = 0..;
                    $(let $field = column.next().and_then(|column| values.get(column));)*
                    Self { $($field,)* }
                }
            }
        )*

        /// The tables that are known, in the order above.
        pub const TABLES: &[&str] = &[$($table,)*];
    };
}

rows! {
    /// What is said about the export.
    Export = "META_DATA_EXPORT" { name: String = "name", value: String = "value", }

    /// What is said about the recording.
    Capture = "META_DATA_CAPTURE" { name: String = "name", value: String = "value", }

    /// A string.
    StringId = "StringIds" { id: i64 = "id", value: String = "value", }

    /// When the session began, by the clock on the wall.
    SessionStart = "TARGET_INFO_SESSION_START_TIME" {
        utc_ns: i64 = "utcEpochNs",
    }

    /// How long the session was.
    Analysis = "ANALYSIS_DETAILS" { duration: i64 = "duration", start: i64 = "startTime", stop: i64 = "stopTime", }

    /// What the recorder has to say, among it what was lost.
    Diagnostic = "DIAGNOSTIC_EVENT" {
        timestamp: i64 = "timestamp", severity: i64 = "severity", source: i64 = "source", text: String = "text",
    }

    /// A process.
    Process = "PROCESSES" { global: i64 = "globalPid", pid: i64 = "pid", name: String = "name", }

    /// A thread's name.
    ThreadName = "ThreadNames" { name: i64 = "nameId", global: i64 = "globalTid", }

    /// A device.
    Gpu = "TARGET_INFO_GPU" {
        id: i64 = "id", name: String = "name", bus: String = "busLocation", memory: i64 = "totalMemory",
        multiprocessors: i64 = "smCount", uuid: String = "uuid", device: i64 = "cuDevice",
        major: i64 = "computeMajor", minor: i64 = "computeMinor",
    }

    /// Which device CUDA gives which number.
    CudaDevice = "TARGET_INFO_CUDA_DEVICE" {
        gpu: i64 = "gpuId", device: i64 = "cudaId", pid: i64 = "pid", uuid: String = "uuid",
        multiprocessors: i64 = "numMultiprocessors",
    }

    /// A call of the runtime or the driver.
    Call = "CUPTI_ACTIVITY_KIND_RUNTIME" {
        start: i64 = "start", end: i64 = "end", class: i64 = "eventClass", thread: i64 = "globalTid",
        correlation: i64 = "correlationId", name: i64 = "nameId", result: i64 = "returnValue",
        chain: i64 = "callchainId",
    }

    /// A frame of a call's stack.
    Frame = "CUDA_CALLCHAINS" {
        id: i64 = "id", symbol: i64 = "symbol", module: i64 = "module", ip: i64 = "originalIP",
        depth: i64 = "stackDepth",
    }

    /// A kernel.
    Kernel = "CUPTI_ACTIVITY_KIND_KERNEL" {
        start: i64 = "start", end: i64 = "end", device: i64 = "deviceId", context: i64 = "contextId",
        stream: i64 = "streamId", correlation: i64 = "correlationId", process: i64 = "globalPid",
        demangled: i64 = "demangledName", short: i64 = "shortName", mangled: i64 = "mangledName",
        launch: i64 = "launchType", registers: i64 = "registersPerThread",
        grid_x: i64 = "gridX", grid_y: i64 = "gridY", grid_z: i64 = "gridZ",
        block_x: i64 = "blockX", block_y: i64 = "blockY", block_z: i64 = "blockZ",
        static_shared: i64 = "staticSharedMemory", dynamic_shared: i64 = "dynamicSharedMemory",
        local: i64 = "localMemoryPerThread", node: i64 = "graphNodeId", graph: i64 = "graphId",
    }

    /// A copy, or a migration of unified memory.
    Copy = "CUPTI_ACTIVITY_KIND_MEMCPY" {
        start: i64 = "start", end: i64 = "end", device: i64 = "deviceId", context: i64 = "contextId",
        stream: i64 = "streamId", correlation: i64 = "correlationId", process: i64 = "globalPid",
        bytes: i64 = "bytes", kind: i64 = "copyKind", from: i64 = "srcKind", to: i64 = "dstKind",
        from_device: i64 = "srcDeviceId", to_device: i64 = "dstDeviceId", cause: i64 = "migrationCause",
        node: i64 = "graphNodeId", address: i64 = "virtualAddress", count: i64 = "copyCount",
    }

    /// Memory that was set to a value.
    Set = "CUPTI_ACTIVITY_KIND_MEMSET" {
        start: i64 = "start", end: i64 = "end", device: i64 = "deviceId", context: i64 = "contextId",
        stream: i64 = "streamId", correlation: i64 = "correlationId", process: i64 = "globalPid",
        value: i64 = "value", bytes: i64 = "bytes", node: i64 = "graphNodeId", memory: i64 = "memKind",
    }

    /// A wait.
    Sync = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" {
        start: i64 = "start", end: i64 = "end", device: i64 = "deviceId", context: i64 = "contextId",
        stream: i64 = "streamId", correlation: i64 = "correlationId", process: i64 = "globalPid",
        kind: i64 = "syncType", event: i64 = "eventId", event_sync: i64 = "eventSyncId",
    }

    /// An event that was recorded on a stream.
    Event = "CUPTI_ACTIVITY_KIND_CUDA_EVENT" {
        time: i64 = "timestamp", device: i64 = "deviceId", context: i64 = "contextId", stream: i64 = "streamId",
        correlation: i64 = "correlationId", process: i64 = "globalPid", event: i64 = "eventId",
        event_sync: i64 = "eventSyncId",
    }

    /// A graph that ran, recorded as a whole.
    GraphRun = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" {
        start: i64 = "start", end: i64 = "end", device: i64 = "deviceId", context: i64 = "contextId",
        stream: i64 = "streamId", correlation: i64 = "correlationId", process: i64 = "globalPid",
        graph: i64 = "graphId", executable: i64 = "graphExecId",
    }

    /// A page that the CPU met elsewhere.
    CpuFault = "CUDA_UM_CPU_PAGE_FAULT_EVENTS" {
        start: i64 = "start", process: i64 = "globalPid", address: i64 = "address", pc: i64 = "originalFaultPc",
        unresolved: i64 = "unresolvedFaultPc",
    }

    /// Pages that a device met elsewhere.
    GpuFault = "CUDA_UM_GPU_PAGE_FAULT_EVENTS" {
        start: i64 = "start", end: i64 = "end", process: i64 = "globalPid", device: i64 = "deviceId",
        address: i64 = "address", pages: i64 = "numberOfPageFaults", access: i64 = "faultAccessType",
    }

    /// Memory that was allocated or released.
    Usage = "CUDA_GPU_MEMORY_USAGE_EVENTS" {
        start: i64 = "start", process: i64 = "globalPid", device: i64 = "deviceId", context: i64 = "contextId",
        address: i64 = "address", pc: i64 = "pc", bytes: i64 = "bytes", kind: i64 = "memKind",
        operation: i64 = "memoryOperationType", name: String = "name", correlation: i64 = "correlationId",
        stream: i64 = "streamId", pool: i64 = "localMemoryPoolAddress", imported: i64 = "importedMemoryPoolAddress",
        pool_size: i64 = "localMemoryPoolSize", pool_used: i64 = "localMemoryPoolUtilizedSize",
        pool_threshold: i64 = "localMemoryPoolReleaseThreshold",
    }

    /// What became of a pool.
    Pool = "CUDA_GPU_MEMORY_POOL_EVENTS" {
        start: i64 = "start", process: i64 = "globalPid", device: i64 = "deviceId", address: i64 = "address",
        operation: i64 = "operationType", kind: i64 = "poolType", correlation: i64 = "correlationId",
        keep: i64 = "minBytesToKeep",
        size: i64 = "localMemoryPoolSize", used: i64 = "localMemoryPoolUtilizedSize",
        threshold: i64 = "localMemoryPoolReleaseThreshold",
    }

    /// A graph that was made, or made ready.
    GraphEvent = "CUDA_GRAPH_EVENTS" {
        start: i64 = "start", end: i64 = "end", name: i64 = "nameId", thread: i64 = "globalTid", graph: i64 = "graphId",
        original: i64 = "originalGraphId", executable: i64 = "graphExecId",
    }

    /// A node of a graph that was made.
    GraphNode = "CUDA_GRAPH_NODE_EVENTS" {
        start: i64 = "start", end: i64 = "end", name: i64 = "nameId", thread: i64 = "globalTid",
        node: i64 = "graphNodeId", original: i64 = "originalGraphNodeId",
    }

    /// A range, a mark, or what describes them.
    Nvtx = "NVTX_EVENTS" {
        start: i64 = "start", end: i64 = "end", kind: i64 = "eventType", id: i64 = "rangeId",
        category: i64 = "category", color: i64 = "color", text: String = "text", thread: i64 = "globalTid",
        end_thread: i64 = "endGlobalTid", text_id: i64 = "textId", domain: i64 = "domainId",
        unsigned: i64 = "uint64Value", signed: i64 = "int64Value", double: f64 = "doubleValue",
        unsigned32: i64 = "uint32Value", signed32: i64 = "int32Value", float: f64 = "floatValue",
        json_id: i64 = "jsonTextId", json: String = "jsonText", binary: bool = "binaryData",
    }

    /// Names of the kinds of copies.
    CopyKinds = "ENUM_CUDA_MEMCPY_OPER" { id: i64 = "id", name: String = "name", }

    /// Names of the kinds of memory.
    MemoryKinds = "ENUM_CUDA_MEM_KIND" { id: i64 = "id", name: String = "name", }

    /// Names of the kinds of waits.
    WaitKinds = "ENUM_CUPTI_SYNC_TYPE" { id: i64 = "id", name: String = "name", }

    /// Names of what makes pages move.
    Causes = "ENUM_CUDA_UNIF_MEM_MIGRATION" { id: i64 = "id", name: String = "name", }

    /// Names of how pages are used.
    Accesses = "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE" { id: i64 = "id", name: String = "name", }

    /// Names of what can become of memory.
    MemoryOperations = "ENUM_CUDA_DEV_MEM_EVENT_OPER" { id: i64 = "id", name: String = "name", }
}
