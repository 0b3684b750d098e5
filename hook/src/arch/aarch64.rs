//! aarch64, AAPCS64.
//!
//! The trampoline is an ordinary function with an ordinary frame, so unwinders, exceptions and debuggers pass.
//! On entry it expects the address of a slot in `x16`; `x0` to `x8` and the vector registers belong to the call. There
//! are three: one whose clock is the tick counter, one that asks for the time, and one for when nothing is
//! recorded. Stubs jump through a pointer to the one in force.
//!
//! The assembly is a file of its own, without a word of Rust in it, so that it can be assembled and tested where there
//! is no Rust for this machine: `trampoline.s`, and `layout.inc` with the numbers it needs.

use crate::record::leave;
use crate::slots::{EXPORTED, POOL, SLOTS};
use crate::thread::Thread;
use crate::{clock, enter, interpose, loader, measure, process, sites};

pub use super::aarch64_frame::{Frame, SITE_PLACES, site_place};
use super::assembled::TRAMPOLINE;

core::arch::global_asm!(
    include_str!("aarch64/layout.inc"),
    ".set umtui_pool_first, {first}",
    ".set umtui_pool_count, {count}",
    ".set umtui_page, {page}",
    ".set umtui_sites, {sites}",
    ".set umtui_slots, {slots}",
    ".set umtui_trampoline, {trampoline}",
    ".set umtui_measured, {measured}",
    ".set umtui_leave, {leave}",
    ".set umtui_enter, {enter}",
    ".set umtui_clock_now, {now}",
    ".set umtui_pick, {pick}",
    ".set umtui_pick_versioned, {pick_versioned}",
    ".set umtui_before_dlopen, {before_dlopen}",
    ".set umtui_before_dlclose, {before_dlclose}",
    ".set umtui_real_dlsym, {dlsym}",
    ".set umtui_real_dlvsym, {dlvsym}",
    ".set umtui_real_dlopen, {dlopen}",
    ".set umtui_real_dlclose, {dlclose}",
    include_str!("aarch64/trampoline.s"),
    first = const EXPORTED,
    count = const POOL,
    page = sym process::PAGE,
    sites = sym sites::SEEN,
    slots = sym SLOTS,
    trampoline = sym TRAMPOLINE,
    measured = sym measure::NOTHING,
    leave = sym leave,
    enter = sym enter::enter,
    now = sym clock::now,
    pick = sym interpose::pick,
    pick_versioned = sym interpose::pick_versioned,
    before_dlopen = sym interpose::before_dlopen,
    before_dlclose = sym interpose::before_dlclose,
    dlsym = sym loader::NEXT_DLSYM,
    dlvsym = sym loader::NEXT_DLVSYM,
    dlopen = sym loader::NEXT_DLOPEN,
    dlclose = sym loader::NEXT_DLCLOSE,
);

/// What the trampoline jumps to when a function has returned: here it always calls [`leave`].
pub fn leave_of(_: u8) -> usize {
    0
}

/// Defines an exported stub.
macro_rules! export {
    ($name:ident, $index:literal) => {
        #[allow(non_snake_case, missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "hint #34",
                "adrp x16, {slots} + {offset}",
                "add x16, x16, :lo12:{slots} + {offset}",
                "adrp x17, {trampoline}",
                "ldr x17, [x17, :lo12:{trampoline}]",
                "br x17",
                slots = sym crate::slots::SLOTS,
                offset = const $index * size_of::<crate::slots::Slot>(),
                trampoline = sym crate::arch::TRAMPOLINE,
            )
        }
    };
}
pub(crate) use export;

/// The calling thread's state.
pub fn thread() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: reads the thread pointer and the constant distance to our block.
    unsafe {
        core::arch::asm!(
            "adrp {0}, :gottprel:umtui_thread",
            "ldr {0}, [{0}, :gottprel_lo12:umtui_thread]",
            "mrs {1}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) thread,
            out(reg) _,
            options(nostack, pure, readonly)
        );
    }
    thread
}

/// The processor's tick counter, read where it stands in the program: without the barrier it may be read before what
/// comes before it.
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter.
    unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
    ticks
}

/// Whether the tick counter runs at one rate whatever the processor does: the generic timer does by its definition.
pub fn ticks_are_invariant() -> bool {
    true
}
