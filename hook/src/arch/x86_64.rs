//! x86-64, System V.
//!
//! The trampoline is an ordinary function with an ordinary frame, so unwinders, exceptions and debuggers pass.
//! On entry it expects the address of a slot in `r11`; every other register belongs to the call. There are
//! three: one whose clock is the tick counter, one that asks for the time, and one for when nothing is
//! recorded. Stubs jump through a pointer to the one in force.
//!
//! A [`Frame`] begins at `rbp - 80`. The six integer argument registers lie next to each other, below the
//! saved `rbp`, the return address and the stack arguments, so that one index (`Op::word`) finds any argument.

use core::mem::offset_of;
use umtui_wire::chunk::OpenCall;

use crate::slots::{API_AT, EXPORTED, POOL, SLOTS, Slot, UNKNOWN_STACK};
use crate::thread::Thread;
use crate::{clock, enter, process, sites, slots};

use super::assembled::TRAMPOLINE;

mod leave;
mod measure;

pub use leave::leave_of;

/// A call that is passing through the trampoline.
#[repr(C)]
pub struct Frame {
    /// The result; no function of the table returns more than a register holds.
    pub result: u64,
    /// The call's place on the thread's desk.
    pub open: *mut OpenCall,
    /// Start of a call that has no place on the desk, ticks; of one without a slot, the function.
    pub late_start: u64,
    /// The function's slot.
    pub slot: *const Slot,
    /// Integer argument registers.
    pub registers: [u64; 6],
    /// Caller's frame.
    pub outer_frame: u64,
    /// Return address.
    pub site: u64,
}

const _: () = assert!(offset_of!(Frame, outer_frame) == 80);
const _: () = assert!(offset_of!(Frame, registers) == 32);
const _: () = assert!(size_of::<Slot>() == 32);
const _: () = assert!(offset_of!(Slot, real) == 0 && offset_of!(Slot, leave) == 8);
const _: () = assert!(size_of::<OpenCall>() == 64);
const _: () = assert!(offset_of!(OpenCall, head) == 0 && offset_of!(OpenCall, registers) == 24);

// A thread's state, in static thread-local storage: one instruction away, never allocated. `generation`
// begins as a value that no generation has.
core::arch::global_asm!(
    ".section .tdata, \"awT\", @progbits",
    ".balign 64",
    ".globl umtui_thread",
    ".hidden umtui_thread",
    ".type umtui_thread, @object",
    ".size umtui_thread, {size}",
    "umtui_thread:",
    ".quad -1",
    ".zero {rest}",
    ".text",
    size = const size_of::<Thread>(),
    rest = const size_of::<Thread>() - 8,
);

/// The beginning of a trampoline, up to the call of the real function. `$first` may jump to `20f`, with the thread in
/// `r10`, to have enter() decide. `$start` leaves the time in `rax` and may use
/// `rcx`, `rdx`, `r8` and `r9`; the call's place on the desk lies in the frame. `$return` is what follows the call.
macro_rules! trampoline {
    ($name:literal, [$($first:literal),*], [$($start:literal),*], [$($return:literal),*]) => {
        core::arch::global_asm!(
            ".text",
            ".balign 64",
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "sub rsp, 80",
            "mov [rbp - 56], r11",
            "mov [rbp - 24], rcx",
            "mov [rbp - 16], r8",
            "mov [rbp - 8], r9",
            // Recording in this process (zero in a child after fork), and this thread ready for it.
            "mov r10, qword ptr [rip + umtui_thread@gottpoff]",
            $($first,)*
            "mov rax, qword ptr [rip + {page}]",
            "cmp rax, qword ptr fs:[r10]",
            "jne 20f",
            // The slot's function known, and the call site seen since the set of loaded objects last changed.
            "cmp qword ptr [r11], 0",
            "je 20f",
            "mov rax, [rbp + 8]",
            "movzx ecx, ax",
            "lea r8, [rip + {sites}]",
            "cmp rax, [r8 + rcx * 8]",
            "jne 20f",
            // Room on the desk; and the call before this one must have its frame above ours, else it was left by
            // longjmp or an exception.
            "mov rcx, fs:[r10 + {open}]",
            "cmp rcx, fs:[r10 + {desk_end}]",
            "jae 20f",
            "cmp rbp, [rcx - 64 + {frame}]",
            "jae 20f",
            // The frame before the desk says that the place is taken, and once more, since a signal handler in between
            // takes the same place: one that finds a place taken whose frame is of the past would take the call for left.
            "lea r8, [rcx + 64]",
            "mov [rcx + {frame}], rbp",
            "mov fs:[r10 + {open}], r8",
            "mov [rcx + {frame}], rbp",
            "mov [rbp - 72], rcx",
            "mov [rcx + {site}], rax",
            "mov [rcx + 24], rdi",
            "mov [rcx + 32], rsi",
            "mov [rcx + 40], rdx",
            "movzx r10d, word ptr [r11 + {api}]",
            "inc r10d",
            $($start,)*
            "mov [rcx + {start}], rax",
            "mov [rcx], r10",
            "mov rdx, [rcx + 40]",
            "12:",
            "cmp word ptr [r11 + {stack}], 0",
            "jne 15f",
            "13:",
            "mov rcx, [rbp - 24]",
            "mov r8, [rbp - 16]",
            "call qword ptr [r11]",
            "mov r9, rax",
            "mov r11, [rbp - 56]",
            $($return,)*
            // Arguments on the stack: a copy of as many bytes as the function takes, kept aligned.
            "15:",
            "movzx ecx, word ptr [r11 + {stack}]",
            "cmp ecx, {unknown}",
            "je 17f",
            "lea r8d, [rcx + 8]",
            "and r8d, -16",
            "sub rsp, r8",
            "shr ecx, 3",
            "16:",
            "mov rax, [rbp + 8 + rcx * 8]",
            "mov [rsp - 8 + rcx * 8], rax",
            "dec ecx",
            "jnz 16b",
            "jmp 13b",
            // How many there are is not known: off the desk again, to be jumped to.
            "17:",
            "mov rcx, [rbp - 72]",
            "mov qword ptr [rcx], 0",
            "mov r10, qword ptr [rip + umtui_thread@gottpoff]",
            "mov fs:[r10 + {open}], rcx",
            "test byte ptr [r11 + {flags}], {left_out}",
            "jnz 22f",
            // Something is not ready: all registers are kept, and enter() sees to it.
            "20:",
            "mov [rbp - 48], rdi",
            "mov [rbp - 40], rsi",
            "mov [rbp - 32], rdx",
            "sub rsp, 128",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "movups [rsp + 64], xmm4",
            "movups [rsp + 80], xmm5",
            "movups [rsp + 96], xmm6",
            "movups [rsp + 112], xmm7",
            "lea rdi, [rbp - 80]",
            "mov rsi, r10",
            "add rsi, qword ptr fs:[0]",
            "call {enter}",
            "movups xmm0, [rsp]",
            "movups xmm1, [rsp + 16]",
            "movups xmm2, [rsp + 32]",
            "movups xmm3, [rsp + 48]",
            "movups xmm4, [rsp + 64]",
            "movups xmm5, [rsp + 80]",
            "movups xmm6, [rsp + 96]",
            "movups xmm7, [rsp + 112]",
            "add rsp, 128",
            "mov r11, [rbp - 56]",
            "mov rdi, [rbp - 48]",
            "mov rsi, [rbp - 40]",
            "mov rdx, [rbp - 32]",
            "mov r9, [rbp - 8]",
            "cmp eax, 1",
            "je 12b",
            "ja 21f",
            // Not recorded: as if we were not here.
            "22:",
            "mov rcx, [rbp - 24]",
            "mov r8, [rbp - 16]",
            // The slot may lie in the frame.
            "mov r10, [r11]",
            ".cfi_remember_state",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "jmp r10",
            ".cfi_restore_state",
            "21:",
            // cudaErrorSymbolNotFound, CUDA_ERROR_NOT_FOUND.
            "mov eax, 500",
            ".cfi_remember_state",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_restore_state",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            page = sym process::PAGE,
            sites = sym sites::SEEN,
            open = const offset_of!(Thread, open),
            desk_end = const offset_of!(Thread, desk_end),
            frame = const offset_of!(OpenCall, frame),
            site = const offset_of!(OpenCall, site),
            start = const offset_of!(OpenCall, start),
            api = const API_AT,
            stack = const offset_of!(Slot, stack_bytes),
            unknown = const UNKNOWN_STACK,
            flags = const offset_of!(Slot, flags),
            left_out = const slots::LEFT_OUT,
            enter = sym enter::enter,
        );
    };
}

trampoline!(
    "umtui_by_ticks",
    [],
    ["rdtsc", "shl rdx, 32", "or rax, rdx"],
    ["rdtsc", "shl rdx, 32", "or rax, rdx", "jmp qword ptr [r11 + 8]"]
);
/// With a clock that is asked for.
macro_rules! trampoline_by_clock {
    ($name:literal, [$($first:literal),*]) => {
        trampoline!(
    $name,
    [$($first),*],
    [
        "push rdi",
        "push rsi",
        "push r10",
        "push r11",
        // The call's floating-point arguments, which the C library's clock may overwrite.
        "sub rsp, 128",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "call umtui_clock_now",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r11",
        "pop r10",
        "pop rsi",
        "pop rdi",
        "mov rcx, [rbp - 72]",
        "mov r9, [rbp - 8]"
    ],
    [
        "mov [rbp - 80], r9",
        "call umtui_clock_now",
        "mov r9, [rbp - 80]",
        "mov r11, [rbp - 56]",
        "jmp qword ptr [r11 + 8]"
    ]
);
    };
}

trampoline_by_clock!("umtui_by_clock", []);
// For functions that may begin the recording.
trampoline_by_clock!("umtui_ask", ["jmp 20f"]);

core::arch::global_asm!(
    ".text",
    ".local umtui_clock_now",
    "umtui_clock_now: jmp {now}",
    // Nothing is recorded: to the real function, where the call site is known to be one of its callers and the
    // function is none that may begin the recording.
    ".balign 16",
    ".globl umtui_off",
    ".hidden umtui_off",
    "umtui_off:",
    "lea rax, [rip + {sites}]",
    "movzx r10d, word ptr [rsp]",
    "lea r10, [rax + r10 * 8]",
    "mov rax, [rsp]",
    "cmp rax, [r10]",
    "jne umtui_by_clock",
    "test byte ptr [r11 + {flags}], {control}",
    "jnz umtui_ask",
    "mov r10, [r11]",
    "test r10, r10",
    "jz umtui_by_clock",
    "jmp r10",
    now = sym clock::now,
    sites = sym sites::SEEN,
    flags = const offset_of!(Slot, flags),
    control = const slots::CONTROLS_RECORDING,
);

// Stubs for function pointers that the program is handed: a fixed pool, since no code is made at run time.
core::arch::global_asm!(
    ".text",
    ".balign 32",
    ".globl umtui_pool",
    ".hidden umtui_pool",
    "umtui_pool:",
    ".set umtui_index, {first}",
    ".rept {count}",
    ".balign 32",
    "endbr64",
    "lea r11, [rip + {slots} + umtui_index * 32]",
    "jmp qword ptr [rip + {trampoline}]",
    ".set umtui_index, umtui_index + 1",
    ".endr",
    first = const EXPORTED,
    count = const POOL,
    slots = sym SLOTS,
    trampoline = sym TRAMPOLINE,
);

/// Defines an exported stub.
macro_rules! export {
    ($name:ident, $index:literal) => {
        #[allow(non_snake_case, missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "endbr64",
                "lea r11, [rip + {slots} + {offset}]",
                "jmp qword ptr [rip + {trampoline}]",
                slots = sym crate::slots::SLOTS,
                offset = const $index * 32,
                trampoline = sym crate::arch::TRAMPOLINE,
            )
        }
    };
}
pub(crate) use export;

/// Places for call sites, see [`site_place`].
pub const SITE_PLACES: usize = 1 << 16;

/// Where the trampoline looks for a site in [`sites::SEEN`]: one instruction tells.
pub const fn site_place(site: u64) -> usize {
    site as usize & 0xffff
}

/// The calling thread's state.
pub fn thread() -> *mut Thread {
    let thread: *mut Thread;
    // SAFETY: reads the thread pointer and the constant distance to our block.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + umtui_thread@gottpoff]",
            "add {0}, qword ptr fs:[0]",
            out(reg) thread,
            options(nostack, pure, readonly)
        );
    }
    thread
}

/// The processor's tick counter.
pub fn ticks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Whether the tick counter runs at one rate whatever the processor does.
#[allow(unused_unsafe, reason = "cpuid is unsafe to call in older versions of Rust")]
pub fn ticks_are_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    // SAFETY: every 64-bit processor has the instruction.
    let (last, power) = unsafe { (__cpuid(0x8000_0000).eax, __cpuid(0x8000_0007).edx) };
    last >= 0x8000_0007 && power & (1 << 8) != 0
}
