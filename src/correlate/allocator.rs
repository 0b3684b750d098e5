//! Caching allocators: libraries that ask the driver for large segments, and hand out blocks of them without any call.
//!
//! What such a library keeps is not leaked, and that a kernel was given an address in a segment says nothing of the rest of it.
//! They are known by the code that called: its library, and where it has a name its function. Where only one of both tells,
//! that is what is gone by, and which it was is said.

use crate::trace::{SiteId, Trace};

/// A library that caches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allocator {
    /// `PyTorch`: `c10::cuda::CUDACachingAllocator`, and its like for pinned memory.
    PyTorch,
    /// RAPIDS' RMM: pools, arenas and bins.
    Rmm,
    /// `CuPy`: `MemoryPool`.
    CuPy,
    /// XLA's, of JAX and TensorFlow: the best-fit allocator with coalescing.
    Xla,
}

/// By what an allocator was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownBy {
    /// The function's name.
    Function,
    /// The library alone, in which the allocator is, but not only it.
    Library,
}

impl Allocator {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PyTorch => "PyTorch",
            Self::Rmm => "RMM",
            Self::CuPy => "CuPy",
            Self::Xla => "XLA",
        }
    }

    /// Of a call site. `function`: the name of the function, demangled, if it is known.
    #[must_use]
    pub fn of_site(trace: &Trace, site: SiteId, function: Option<&str>) -> Option<(Self, KnownBy)> {
        let module = trace.sites.get(site)?.module.and_then(|module| trace.sites.module(module));
        let path = module.map_or("", |module| trace.names.get(module.path));
        Self::of(path, function.unwrap_or_default())
    }

    /// Of code in the library with this path, in a function with this name; empty where it is not known.
    #[must_use]
    pub fn of(path: &str, function: &str) -> Option<(Self, KnownBy)> {
        let by_function = FUNCTIONS.iter().find(|(part, _)| function.contains(part));
        if let Some(&(_, allocator)) = by_function {
            return allocator.map(|allocator| (allocator, KnownBy::Function));
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let by_library = LIBRARIES.iter().find(|(start, folder, _)| name.starts_with(start) && path.contains(folder));
        by_library.map(|&(.., allocator)| (allocator, KnownBy::Library))
    }
}

/// Parts of functions' names; `None`: it allocates, but does not cache. The first that fits counts.
const FUNCTIONS: &[(&str, Option<Allocator>)] = &[
    ("CUDACachingAllocator", Some(Allocator::PyTorch)),
    ("CachingHostAllocator", Some(Allocator::PyTorch)),
    ("cudaMallocMaybeCapturing", Some(Allocator::PyTorch)),
    ("rmm::mr::pool_memory_resource", Some(Allocator::Rmm)),
    ("rmm::mr::arena_memory_resource", Some(Allocator::Rmm)),
    ("rmm::mr::detail::arena", Some(Allocator::Rmm)),
    ("rmm::mr::binning_memory_resource", Some(Allocator::Rmm)),
    ("rmm::mr::fixed_size_memory_resource", Some(Allocator::Rmm)),
    // One allocation for each that is asked for, unless a pool is behind it, which its name does not tell.
    ("rmm::mr::", None),
    ("tsl::BFCAllocator", Some(Allocator::Xla)),
    ("xla::BFCAllocator", Some(Allocator::Xla)),
    ("tensorflow::BFCAllocator", Some(Allocator::Xla)),
    ("DeviceMemAllocator", Some(Allocator::Xla)),
    ("stream_executor::gpu::GpuExecutor::Allocate", Some(Allocator::Xla)),
    ("stream_executor::gpu::CudaExecutor::Allocate", Some(Allocator::Xla)),
    ("stream_executor::gpu::GpuDriver::DeviceAllocate", Some(Allocator::Xla)),
    ("stream_executor::gpu::(anonymous namespace)::DeviceAllocate", Some(Allocator::Xla)),
];

/// How libraries' file names begin, and a part of their paths. Only libraries in which little else allocates: of
/// `libtorch_cuda`, which has hundreds of other uses, nothing follows.
const LIBRARIES: &[(&str, &str, Allocator)] = &[
    ("libc10_cuda", "", Allocator::PyTorch),
    ("librmm", "", Allocator::Rmm),
    ("runtime.", "cupy_backends", Allocator::CuPy),
    ("memory.", "cupy/cuda", Allocator::CuPy),
    ("libjax_common", "", Allocator::Xla),
    ("xla_cuda_plugin", "", Allocator::Xla),
    ("xla_extension", "", Allocator::Xla),
    ("libtensorflow_framework", "", Allocator::Xla),
    ("libtensorflow_cc", "", Allocator::Xla),
    ("_pywrap_tensorflow_internal", "", Allocator::Xla),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_known_by_function_or_library() {
        let torch = "/site-packages/torch/lib/libc10_cuda.so";
        assert_eq!(Allocator::of(torch, ""), Some((Allocator::PyTorch, KnownBy::Library)));
        let inside = "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::alloc_block(...)";
        assert_eq!(Allocator::of("/a/libother.so", inside), Some((Allocator::PyTorch, KnownBy::Function)));
        let cupy = "/site-packages/cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so";
        assert_eq!(Allocator::of(cupy, ""), Some((Allocator::CuPy, KnownBy::Library)));
        assert_eq!(Allocator::of("/opt/x/runtime.so", ""), None);
        assert_eq!(Allocator::of("/site-packages/torch/lib/libtorch_cuda.so", "at::native::x()"), None);
        assert_eq!(Allocator::of("/app", "main"), None);
        assert_eq!(Allocator::of("", ""), None);
    }

    #[test]
    fn one_that_does_not_cache_is_none_wherever_it_lies() {
        let plain = "rmm::mr::cuda_memory_resource::do_allocate(unsigned long, rmm::cuda_stream_view)";
        assert_eq!(Allocator::of("/lib/librmm.so", plain), None);
        let pool = "rmm::mr::pool_memory_resource<rmm::mr::cuda_memory_resource>::block_from_upstream()";
        assert_eq!(Allocator::of("/lib/librmm.so", pool), Some((Allocator::Rmm, KnownBy::Function)));
        assert_eq!(Allocator::of("/lib/librmm.so", ""), Some((Allocator::Rmm, KnownBy::Library)));
    }
}
