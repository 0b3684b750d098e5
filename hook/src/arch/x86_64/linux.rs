//! Linux and glibc on x86-64: what differs on other machines.

use umtui_wire::{clock, header};

use crate::{interpose, loader};

/// The header's word for this machine.
pub const HEADER_ARCH: u16 = header::ARCH_X86_64;
/// The header's word for the tick counter.
pub const TICK_CLOCK: u32 = clock::CLOCK_TSC;
/// The line in which the kernel names its clocksource if it keeps time by the tick counter.
pub const TICK_CLOCKSOURCE: &[u8] = b"tsc\n";
/// Where the loader looks for libraries, near enough.
pub const LIBRARY_FOLDERS: [&[u8]; 5] =
    [b"/lib/x86_64-linux-gnu", b"/usr/lib/x86_64-linux-gnu", b"/lib64", b"/usr/lib64", b"/usr/local/lib"];

/// Gives what has it as a field pages of its own, of the largest size that the kernel may have.
#[repr(C, align(4096))]
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
        core::arch::asm!("syscall", inlateout("rax") number as isize => outcome, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    outcome
}

/// `dlsym(handle, name)`: see [`interpose`].
#[allow(missing_docs)]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi", "push rsi", "sub rsp, 8",
        "mov rdx, [rsp + 24]",
        "call {pick}",
        "add rsp, 8", "pop rsi", "pop rdi",
        "test rax, rax",
        "jz 2f",
        "mov rax, rdx",
        "ret",
        "2:",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        pick = sym interpose::pick, real = sym loader::NEXT_DLSYM
    )
}

/// `dlvsym(handle, name, version)`.
#[allow(missing_docs)]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlvsym() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi", "push rsi", "push rdx",
        "mov rcx, [rsp + 24]",
        "call {pick}",
        "test rax, rax",
        "jz 2f",
        "mov rax, rdx",
        "add rsp, 24",
        "ret",
        "2:",
        "pop rdx", "pop rsi", "pop rdi",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        pick = sym interpose::pick_versioned, real = sym loader::NEXT_DLVSYM
    )
}

/// `dlopen(path, flags)`.
#[allow(missing_docs)]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi", "push rsi", "sub rsp, 8",
        "mov rdx, [rsp + 24]",
        "call {before}",
        "add rsp, 8", "pop rsi", "pop rdi",
        "mov esi, eax",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        before = sym interpose::before_dlopen, real = sym loader::NEXT_DLOPEN
    )
}

/// `dlclose(handle)`.
#[allow(missing_docs)]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose() {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi",
        "call {before}",
        "pop rdi",
        "mov rax, qword ptr [rip + {real}]",
        "jmp rax",
        before = sym interpose::before_dlclose, real = sym loader::NEXT_DLCLOSE
    )
}

/// Defines a function that may be jumped to from anywhere and leads to another of ours with everything as it was.
macro_rules! landing_pad {
    ($(#[$attribute:meta])* $name:ident $(<$(const $number:ident: usize),*>)? => $to:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name$(<$(const $number: usize),*>)?() {
            core::arch::naked_asm!("endbr64", "jmp {to}", to = sym $to)
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
    core::arch::naked_asm!("push rbp", "mov rbp, rsp", "mov rsp, rsi", "call rdi", "leave", "ret")
}

/// Integer registers that hold arguments.
pub const GATHERED: usize = 6;

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
                "endbr64",
                "push rbp",
                "mov rbp, rsp",
                "push r9", "push r8", "push rcx", "push rdx", "push rsi", "push rdi",
                "mov edi, {kind}",
                "mov rsi, rsp",
                "lea rdx, [rbp + 16]",
                "call {to}",
                "mov r11, rdx",
                "mov r10, rax",
                "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9", "pop rbp",
                // No vector registers hold arguments; and the result where there is one.
                "xor eax, eax",
                "test r10, r10",
                "jz 2f",
                "mov eax, r11d",
                "ret",
                "2:",
                "jmp r11",
                kind = const $kind, to = sym $to
            )
        }
    };
}
pub(crate) use gather;
