//! What depends on the processor: the trampoline, the stubs, thread-local storage, the tick counter.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
