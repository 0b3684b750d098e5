//! What depends on the machine: the trampoline, the stubs, thread-local storage, the tick counter; and what Linux and
//! glibc do differently from machine to machine. Nothing outside this folder knows one.

use core::mem::offset_of;
use umtui_wire::table::FIRST_STACK_WORD;

#[cfg(target_arch = "aarch64")]
mod aarch64;
// On other machines for its assertions: a structure that changes here must not break the assembly there.
#[cfg_attr(not(target_arch = "aarch64"), allow(dead_code, reason = "the assertions alone"))]
#[path = "aarch64/frame.rs"]
mod aarch64_frame;
mod assembled;
#[cfg(target_arch = "aarch64")]
#[path = "aarch64/linux.rs"]
mod linux;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "x86_64")]
#[path = "x86_64/linux.rs"]
mod linux;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

pub use assembled::*;
pub use linux::*;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the hook has no trampoline for this machine");

// Registers, caller's frame, return address, then the caller's stack arguments: the words that the table counts.
const _: () = assert!(offset_of!(Frame, registers) + 8 * FIRST_STACK_WORD == size_of::<Frame>());
