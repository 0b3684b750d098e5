//! Kineto's categories.

/// What an event is by its category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A call of the runtime.
    Runtime,
    /// A call of the driver.
    Driver,
    /// A kernel.
    Kernel,
    /// A copy.
    Copy,
    /// Memory was set.
    Set,
    /// A synchronisation.
    Wait,
    /// An event was recorded.
    Event,
    /// Time that went elsewhere.
    Overhead,
    /// A range of the program, shown on a stream.
    OnStream,
    /// The profiler's own span.
    Trace,
    /// Anything else.
    Other,
}

impl Category {
    /// Of a category as it stands, also as PyTorch before 1.9 wrote it.
    #[must_use]
    pub const fn of(name: &[u8]) -> Self {
        match name {
            b"cuda_runtime" | b"Runtime" => Self::Runtime,
            b"cuda_driver" => Self::Driver,
            b"kernel" | b"Kernel" => Self::Kernel,
            b"gpu_memcpy" | b"Memcpy" => Self::Copy,
            b"gpu_memset" | b"Memset" => Self::Set,
            b"cuda_sync" => Self::Wait,
            b"cuda_event" => Self::Event,
            b"overhead" => Self::Overhead,
            b"gpu_user_annotation" => Self::OnStream,
            b"Trace" => Self::Trace,
            _ => Self::Other,
        }
    }

    /// Whether it is work of the GPU or the driver, which has a record of its own.
    #[must_use]
    pub const fn is_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Set | Self::Wait | Self::Event | Self::Overhead)
    }
}
