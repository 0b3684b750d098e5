//! Names of status codes.

use umtui_wire::table::Layer;

/// The name of a status: `cudaErrorMemoryAllocation`, `CUDA_ERROR_OUT_OF_MEMORY`; `None` for unknown numbers.
#[must_use]
pub fn name(layer: Layer, status: u32) -> Option<&'static str> {
    let found = CODES.iter().find(|(code, ..)| *code == status)?;
    let text = match layer {
        Layer::Runtime => found.1,
        Layer::Driver => found.2,
    };
    (!text.is_empty()).then_some(text)
}

/// A status as text: its name, else its number.
#[must_use]
pub fn text(layer: Layer, status: u32) -> String {
    name(layer, status).map_or_else(|| status.to_string(), str::to_owned)
}

/// Code, runtime's name, driver's name. Since CUDA 10.1 both number alike.
const CODES: &[(u32, &str, &str)] = &[
    (0, "cudaSuccess", "CUDA_SUCCESS"),
    (1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE"),
    (2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"),
    (3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED"),
    (4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED"),
    (5, "cudaErrorProfilerDisabled", "CUDA_ERROR_PROFILER_DISABLED"),
    (9, "cudaErrorInvalidConfiguration", ""),
    (12, "cudaErrorInvalidPitchValue", ""),
    (13, "cudaErrorInvalidSymbol", ""),
    (16, "cudaErrorInvalidHostPointer", ""),
    (17, "cudaErrorInvalidDevicePointer", ""),
    (18, "cudaErrorInvalidTexture", ""),
    (21, "cudaErrorInvalidMemcpyDirection", ""),
    (34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY"),
    (35, "cudaErrorInsufficientDriver", ""),
    (36, "cudaErrorCallRequiresNewerDriver", ""),
    (46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE"),
    (52, "cudaErrorMissingConfiguration", ""),
    (98, "cudaErrorInvalidDeviceFunction", ""),
    (100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE"),
    (101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE"),
    (102, "cudaErrorDeviceNotLicensed", "CUDA_ERROR_DEVICE_NOT_LICENSED"),
    (127, "cudaErrorStartupFailure", ""),
    (200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE"),
    (201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT"),
    (205, "cudaErrorMapBufferObjectFailed", "CUDA_ERROR_MAP_FAILED"),
    (206, "cudaErrorUnmapBufferObjectFailed", "CUDA_ERROR_UNMAP_FAILED"),
    (207, "cudaErrorArrayIsMapped", "CUDA_ERROR_ARRAY_IS_MAPPED"),
    (208, "cudaErrorAlreadyMapped", "CUDA_ERROR_ALREADY_MAPPED"),
    (209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (210, "cudaErrorAlreadyAcquired", "CUDA_ERROR_ALREADY_ACQUIRED"),
    (211, "cudaErrorNotMapped", "CUDA_ERROR_NOT_MAPPED"),
    (214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE"),
    (215, "cudaErrorUnsupportedLimit", "CUDA_ERROR_UNSUPPORTED_LIMIT"),
    (216, "cudaErrorDeviceAlreadyInUse", "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"),
    (217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"),
    (218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX"),
    (219, "cudaErrorInvalidGraphicsContext", "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT"),
    (220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE"),
    (221, "cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"),
    (222, "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    (223, "cudaErrorJitCompilationDisabled", "CUDA_ERROR_JIT_COMPILATION_DISABLED"),
    (300, "cudaErrorInvalidSource", "CUDA_ERROR_INVALID_SOURCE"),
    (301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND"),
    (302, "cudaErrorSharedObjectSymbolNotFound", "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"),
    (303, "cudaErrorSharedObjectInitFailed", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"),
    (304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM"),
    (400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE"),
    (401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE"),
    (500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND"),
    (600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY"),
    (700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    (701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
    (702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT"),
    (704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"),
    (705, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"),
    (708, "cudaErrorSetOnActiveProcess", "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"),
    (709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED"),
    (710, "cudaErrorAssert", "CUDA_ERROR_ASSERT"),
    (711, "cudaErrorTooManyPeers", "CUDA_ERROR_TOO_MANY_PEERS"),
    (712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"),
    (713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"),
    (714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR"),
    (715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION"),
    (716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS"),
    (717, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE"),
    (718, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC"),
    (719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED"),
    (720, "cudaErrorCooperativeLaunchTooLarge", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"),
    (800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED"),
    (801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED"),
    (802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"),
    (803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    (804, "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    (805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED"),
    (900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
    (901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
    (902, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE"),
    (903, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"),
    (904, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"),
    (905, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"),
    (906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"),
    (907, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT"),
    (908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"),
    (909, "cudaErrorTimeout", "CUDA_ERROR_TIMEOUT"),
    (910, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"),
    (911, "cudaErrorExternalDevice", "CUDA_ERROR_EXTERNAL_DEVICE"),
    (912, "cudaErrorInvalidClusterSize", "CUDA_ERROR_INVALID_CLUSTER_SIZE"),
    (999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_named() {
        assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(text(Layer::Runtime, 2), "cudaErrorMemoryAllocation");
        assert_eq!(text(Layer::Driver, 2), "CUDA_ERROR_OUT_OF_MEMORY");
        assert_eq!(text(Layer::Driver, 4242), "4242");
    }
}
