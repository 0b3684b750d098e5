//! Linux and glibc on aarch64: what differs on other machines.

use umtui_wire::{clock, header};

/// The header's word for this machine.
pub const HEADER_ARCH: u16 = header::ARCH_AARCH64;
/// The header's word for the tick counter.
pub const TICK_CLOCK: u32 = clock::CLOCK_CNTVCT;
/// The line in which the kernel names its clocksource if it keeps time by the tick counter.
pub const TICK_CLOCKSOURCE: &[u8] = b"arch_sys_counter\n";
/// Where the loader looks for libraries, near enough.
pub const LIBRARY_FOLDERS: [&[u8]; 5] =
    [b"/lib/aarch64-linux-gnu", b"/usr/lib/aarch64-linux-gnu", b"/lib64", b"/usr/lib64", b"/usr/local/lib"];

/// Gives what has it as a field pages of its own, of the largest size that the kernel may have: 64 KiB is usual where
/// memory is large.
#[repr(C, align(65536))]
pub struct OwnPages;

/// A system call with up to six arguments: its result, or a negative errno.
///
/// # Safety
/// As the system call itself: pointers among the arguments must be what it expects.
pub unsafe fn system_call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let outcome: isize;
    // SAFETY: the kernel's calling convention; the caller answers for the arguments.
    unsafe {
        core::arch::asm!("svc #0", in("x8") number, inlateout("x0") a as isize => outcome, in("x1") b, in("x2") c,
            in("x3") d, in("x4") e, in("x5") f, options(nostack));
    }
    outcome
}

/// Exports a name whose assembly is in `trampoline.s`: what that file defines itself is not exported.
macro_rules! export_jump {
    ($name:ident, $to:literal) => {
        #[allow(missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!("hint #34", concat!("b ", $to))
        }
    };
}

export_jump!(dlsym, "umtui_dlsym");
export_jump!(dlvsym, "umtui_dlvsym");
export_jump!(dlopen, "umtui_dlopen");
export_jump!(dlclose, "umtui_dlclose");

/// Defines a function that may be jumped to from anywhere and leads to another of ours with everything as it was.
macro_rules! landing_pad {
    ($(#[$attribute:meta])* $name:ident $(<$(const $number:ident: usize),*>)? => $to:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name$(<$(const $number: usize),*>)?() {
            core::arch::naked_asm!("hint #34", "b {to}", to = sym $to)
        }
    };
}
pub(crate) use landing_pad;

/// Calls a function on another stack.
///
/// # Safety
/// `top` is the end of one, at a multiple of 16, with room for the function.
#[unsafe(naked)]
pub unsafe extern "C" fn call_on_stack(function: extern "C" fn(), top: *mut u8) {
    core::arch::naked_asm!(
        "hint #34",
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov sp, x1",
        "blr x0",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret"
    )
}

/// Integer registers that hold arguments.
pub const GATHERED: usize = 8;

/// Defines and exports a variadic function. `$to` is called with `$kind`, where the arguments in registers lie, and where
/// those on the stack do; what comes back is its answer and one, or zero and the function to jump to with everything as
/// it was.
macro_rules! gather {
    ($name:ident, $kind:ident, $to:ident) => {
        #[allow(missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "hint #34",
                "stp x29, x30, [sp, #-80]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "mov x0, #{kind}",
                "add x1, sp, #16",
                "add x2, sp, #80",
                "bl {to}",
                "mov x17, x0",
                "mov x16, x1",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "cbz x17, 2f",
                "mov w0, w16",
                "ret",
                "2:",
                "br x16",
                kind = const $kind, to = sym $to
            )
        }
    };
}
pub(crate) use gather;
