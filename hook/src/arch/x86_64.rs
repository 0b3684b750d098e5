//! x86-64, System V.
//!
//! The trampoline is an ordinary function with an ordinary frame, so unwinders, exceptions and debuggers pass.
//! On entry it expects the address of a slot in `r11`; every other register belongs to the call. There are
//! three: one whose clock is the tick counter, one that asks for the time, and one for when nothing is
//! recorded. Stubs jump through a pointer to the one in force.
//!
//! A [`Frame`] begins at `rbp - 88`. The six integer argument registers lie next to each other, below the
//! saved `rbp`, the return address and the stack arguments, so that one index (`Op::word`) finds any argument.

use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, Ordering};
use umtui_wire::chunk::OpenCall;

use crate::record::leave;
use crate::slots::{API_AT, EXPORTED, POOL, SLOTS, Slot, UNKNOWN_STACK};
use crate::thread::Thread;
use crate::{clock, enter, process, sites};

/// A call that is passing through the trampoline.
#[repr(C)]
pub struct Frame {
    /// Second half of the result.
    pub result_high: u64,
    /// The result.
    pub result: u64,
    /// The call's place on the thread's desk.
    pub open: *mut OpenCall,
    /// Start of a call that has no place on the desk, ticks.
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

const _: () = assert!(offset_of!(Frame, outer_frame) == 88);
const _: () = assert!(offset_of!(Frame, registers) == 40);
const _: () = assert!(size_of::<Slot>() == 32);
const _: () = assert!(offset_of!(Slot, real) == 0);
const _: () = assert!(size_of::<OpenCall>() == 64);
const _: () = assert!(offset_of!(OpenCall, head) == 0 && offset_of!(OpenCall, registers) == 24);

impl Frame {
    /// The words that `Op::word` counts: registers, saved frame, return address, stack arguments.
    pub fn words(&self) -> *const u64 {
        self.registers.as_ptr()
    }
}

/// What [`enter::enter`] tells the trampoline to do.
#[repr(u64)]
pub enum Verdict {
    /// Call the slot's function without recording it.
    Pass = 0,
    /// Call it and record it.
    Record = 1,
    /// There is no such function: return an error.
    Missing = 2,
}

// A thread's state, in static thread-local storage: one instruction away, never allocated. `generation`
// begins as a value that no generation has.
core::arch::global_asm!(
    ".section .tdata, \"awT\", @progbits",
    ".balign 64",
    ".local umtui_thread",
    ".type umtui_thread, @object",
    ".size umtui_thread, {size}",
    "umtui_thread:",
    ".quad -1",
    ".zero {rest}",
    ".text",
    size = const size_of::<Thread>(),
    rest = const size_of::<Thread>() - 8,
);

/// A trampoline. `$start` leaves the time in `rax` and may use `rdx`; the call's place on the desk is in `rcx`
/// and `rsi`, `rdi`, `r8`, `r9` and `r11` are kept. `$end` leaves the time in `rax`.
macro_rules! trampoline {
    ($name:literal, [$($start:literal),*], [$($end:literal),*]) => {
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
            "sub rsp, 96",
            "mov [rbp - 48], rdi",
            "mov [rbp - 40], rsi",
            "mov [rbp - 32], rdx",
            "mov [rbp - 24], rcx",
            "mov [rbp - 16], r8",
            "mov [rbp - 8], r9",
            "mov [rbp - 56], r11",
            "mov r10, qword ptr [rip + umtui_thread@gottpoff]",
            "add r10, qword ptr fs:[0]",
            // Recording in this process (zero in a child after fork), and this thread ready for it.
            "mov rax, qword ptr [rip + {page}]",
            "cmp rax, qword ptr [r10]",
            "jne 20f",
            // The slot's function known, and the call site seen since the set of loaded objects last changed.
            "cmp qword ptr [r11], 0",
            "je 20f",
            "mov rax, [rbp + 8]",
            "imul rcx, rax, {multiplier}",
            "shr rcx, {shift}",
            "and ecx, {mask}",
            "lea rdx, [rip + {sites}]",
            "mov rdx, [rdx + rcx * 8]",
            "xor rdx, rax",
            "cmp rdx, qword ptr [rip + {epoch}]",
            "jne 20f",
            // Room on the desk; and the call before this one must have its frame above ours, else it was left by
            // longjmp or an exception.
            "mov rcx, [r10 + {open}]",
            "cmp rcx, [r10 + {desk_end}]",
            "jae 20f",
            "cmp rbp, [rcx - 64 + {frame}]",
            "jae 20f",
            "lea rdx, [rcx + 64]",
            "mov [r10 + {open}], rdx",
            "mov [rbp - 72], rcx",
            "mov [rcx + {frame}], rbp",
            "mov [rcx + {site}], rax",
            "mov rdx, [rbp - 32]",
            "mov [rcx + 24], rdi",
            "mov [rcx + 32], rsi",
            "mov [rcx + 40], rdx",
            "movzx r10d, word ptr [r11 + {api}]",
            "inc r10d",
            $($start,)*
            "mov [rcx + {start}], rax",
            "mov [rcx], r10",
            "12:",
            "cmp word ptr [r11 + {stack}], 0",
            "jne 15f",
            "13:",
            "mov rdx, [rbp - 32]",
            "mov rcx, [rbp - 24]",
            "call qword ptr [r11]",
            "mov [rbp - 80], rax",
            "mov [rbp - 88], rdx",
            $($end,)*
            "mov rsi, rax",
            "lea rdi, [rbp - 88]",
            "mov rdx, qword ptr [rip + umtui_thread@gottpoff]",
            "add rdx, qword ptr fs:[0]",
            "call {leave}",
            "mov rax, [rbp - 80]",
            "mov rdx, [rbp - 88]",
            "14:",
            ".cfi_remember_state",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_restore_state",
            // Arguments on the stack: a copy of as many bytes as the function takes, kept aligned.
            "15:",
            "movzx ecx, word ptr [r11 + {stack}]",
            "cmp ecx, {unknown}",
            "je 17f",
            "lea edx, [rcx + 8]",
            "and edx, -16",
            "sub rsp, rdx",
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
            "add r10, qword ptr fs:[0]",
            "mov [r10 + {open}], rcx",
            // Something is not ready: all registers are kept, and enter() sees to it.
            "20:",
            "sub rsp, 128",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "movups [rsp + 64], xmm4",
            "movups [rsp + 80], xmm5",
            "movups [rsp + 96], xmm6",
            "movups [rsp + 112], xmm7",
            "lea rdi, [rbp - 88]",
            "mov rsi, r10",
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
            "mov r8, [rbp - 16]",
            "mov r9, [rbp - 8]",
            "cmp eax, 1",
            "je 12b",
            "ja 21f",
            // Not recorded: as if we were not here.
            "mov rdx, [rbp - 32]",
            "mov rcx, [rbp - 24]",
            ".cfi_remember_state",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "jmp qword ptr [r11]",
            ".cfi_restore_state",
            "21:",
            // cudaErrorSymbolNotFound, CUDA_ERROR_NOT_FOUND.
            "mov eax, 500",
            "jmp 14b",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            page = sym process::PAGE,
            epoch = sym sites::EPOCH,
            sites = sym sites::SEEN,
            multiplier = const sites::MULTIPLIER,
            shift = const sites::SHIFT,
            mask = const sites::MASK,
            open = const offset_of!(Thread, open),
            desk_end = const offset_of!(Thread, desk_end),
            frame = const offset_of!(OpenCall, frame),
            site = const offset_of!(OpenCall, site),
            start = const offset_of!(OpenCall, start),
            api = const API_AT,
            stack = const offset_of!(Slot, stack_bytes),
            unknown = const UNKNOWN_STACK,
            leave = sym leave,
            enter = sym enter::enter,
        );
    };
}

trampoline!("umtui_by_ticks", ["rdtsc", "shl rdx, 32", "or rax, rdx"], ["rdtsc", "shl rdx, 32", "or rax, rdx"]);
trampoline!(
    "umtui_by_clock",
    [
        "push rcx",
        "push r10",
        // Some functions take floating-point arguments.
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
        "pop r10",
        "pop rcx",
        "mov rdi, [rbp - 48]",
        "mov rsi, [rbp - 40]",
        "mov r8, [rbp - 16]",
        "mov r9, [rbp - 8]",
        "mov r11, [rbp - 56]"
    ],
    ["call umtui_clock_now"]
);

core::arch::global_asm!(
    ".text",
    ".local umtui_clock_now",
    "umtui_clock_now: jmp {now}",
    // Nothing is recorded: to the real function, where the call site is known to be one of its callers.
    ".balign 16",
    ".globl umtui_off",
    ".hidden umtui_off",
    "umtui_off:",
    "imul rax, qword ptr [rsp], {multiplier}",
    "shr rax, {shift}",
    "and eax, {mask}",
    "lea r10, [rip + {sites}]",
    "mov rax, [r10 + rax * 8]",
    "xor rax, qword ptr [rsp]",
    "cmp rax, qword ptr [rip + {epoch}]",
    "jne umtui_by_clock",
    "mov r10, [r11]",
    "test r10, r10",
    "jz umtui_by_clock",
    "jmp r10",
    now = sym clock::now,
    epoch = sym sites::EPOCH,
    sites = sym sites::SEEN,
    multiplier = const sites::MULTIPLIER,
    shift = const sites::SHIFT,
    mask = const sites::MASK,
);

unsafe extern "C" {
    fn umtui_by_ticks();
    fn umtui_by_clock();
    fn umtui_off();
    static umtui_pool: u8;
    // Defined by the linker: where this library begins and ends in memory.
    static __ehdr_start: u8;
    static _end: u8;
}

/// The trampoline in force; stubs jump through it. The one that asks for the time is right at any moment.
/// Set from the start, since other libraries' constructors may call before ours has run.
pub static TRAMPOLINE: AtomicPtr<()> = AtomicPtr::new(umtui_by_clock as *const () as *mut ());

/// Which trampoline to use.
pub enum Trampoline {
    /// The tick counter is the clock.
    ByTicks,
    /// Nothing is recorded.
    Off,
}

/// Chooses the trampoline.
pub fn use_trampoline(which: Trampoline) {
    let address = match which {
        Trampoline::ByTicks => umtui_by_ticks as *const (),
        Trampoline::Off => umtui_off as *const (),
    };
    TRAMPOLINE.store(address.cast_mut(), Ordering::Release);
}

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

/// Bytes from one stub of the pool to the next.
const POOL_STEP: usize = 32;

/// The address of the pool's stub with this index.
pub fn pool_stub(index: usize) -> usize {
    (&raw const umtui_pool as usize).wrapping_add(index.wrapping_mul(POOL_STEP))
}

/// Whether an address lies in this library: one of our stubs.
pub fn is_ours(address: usize) -> bool {
    (&raw const __ehdr_start as usize..&raw const _end as usize).contains(&address)
}

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
