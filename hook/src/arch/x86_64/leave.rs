//! The end of a call on x86-64: the trampoline jumps here when the real function has returned, with the result in `r9`,
//! the time in `rax` and the slot in `r11`; from here it goes back to the caller.

use core::mem::offset_of;
use umtui_wire::chunk::{ChunkHeader, OpenCall};
use umtui_wire::record::{DURATION_AT, SLOT_BYTES};

use crate::slots::{Slot, shape};
use crate::thread::{BUSY, Thread};
use crate::{process, record};

/// The quick way, which writes one slot; `$write` puts the arguments into it, at `r8`, and may use `rax`; `rcx` is the
/// call's place on the desk.
macro_rules! quick_leave {
    ($name:literal, [$($write:literal),*]) => {
        core::arch::global_asm!(
            ".text",
            ".balign 32",
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            ".cfi_def_cfa rbp, 16",
            ".cfi_offset rbp, -16",
            "mov r10, qword ptr [rip + umtui_thread@gottpoff]",
            "mov rcx, [rbp - 72]",
            "mov rdx, qword ptr [rip + {page}]",
            "cmp rdx, qword ptr fs:[r10]",
            "jne umtui_leave",
            "mov rsi, fs:[r10 + {until}]",
            "cmp rax, rsi",
            "jae umtui_leave",
            // From here on a signal handler that calls CUDA leaves the chunk alone, and must not have changed it
            // since it was looked at.
            "mov qword ptr fs:[r10 + {until}], {busy}",
            "mov rdi, fs:[r10 + {chunk}]",
            "mov r8d, [rdi + {committed}]",
            "lea edx, [r8 + {slot_bytes}]",
            "cmp edx, fs:[r10 + {limit}]",
            "ja 9f",
            "add r8, rdi",
            "sub rax, [rcx + {start}]",
            "mov [r8 + {duration}], eax",
            "mov rax, [rcx + {start}]",
            "mov [r8 + 8], rax",
            "mov rax, [rbp + 8]",
            "or rax, [rcx + {depth}]",
            "mov [r8 + 16], rax",
            $($write,)*
            // The head, committed, and off the desk.
            "mov eax, [r11 + {head}]",
            "mov [r8], eax",
            "mov [r8 + 4], r9d",
            "mov [rdi + {committed}], edx",
            "mov fs:[r10 + {until}], rsi",
            "mov qword ptr [rcx], 0",
            "mov fs:[r10 + {open}], rcx",
            "mov rax, r9",
            ".cfi_remember_state",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_restore_state",
            "9:",
            "mov fs:[r10 + {until}], rsi",
            "jmp umtui_leave",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            page = sym process::PAGE,
            until = const offset_of!(Thread, quick_until),
            chunk = const offset_of!(Thread, chunk),
            limit = const offset_of!(Thread, limit),
            open = const offset_of!(Thread, open),
            busy = const BUSY,
            committed = const offset_of!(ChunkHeader, committed),
            slot_bytes = const SLOT_BYTES,
            start = const offset_of!(OpenCall, start),
            depth = const offset_of!(OpenCall, depth),
            duration = const DURATION_AT,
            head = const offset_of!(Slot, head),
        );
    };
}

quick_leave!("umtui_leave_none", []);
quick_leave!("umtui_leave_value", ["mov rax, [rcx + 24]", "mov [r8 + 32], rax"]);
quick_leave!(
    "umtui_leave_two_values",
    ["mov rax, [rcx + 24]", "mov [r8 + 32], rax", "mov rax, [rcx + 32]", "mov [r8 + 40], rax"]
);
quick_leave!("umtui_leave_value4", ["mov eax, [rcx + 24]", "mov [r8 + 28], eax"]);
// What a pointer leads to, zero after failure and where the pointer is none.
quick_leave!(
    "umtui_leave_pointee",
    [
        "xor eax, eax",
        "test r9d, r9d",
        "jnz 5f",
        "mov rax, [rcx + 24]",
        "cmp rax, 4096",
        "jae 4f",
        "xor eax, eax",
        "jmp 5f",
        "4: mov rax, [rax]",
        "5: mov [r8 + 32], rax"
    ]
);
quick_leave!(
    "umtui_leave_pointee_value",
    [
        "xor eax, eax",
        "test r9d, r9d",
        "jnz 5f",
        "mov rax, [rcx + 24]",
        "cmp rax, 4096",
        "jae 4f",
        "xor eax, eax",
        "jmp 5f",
        "4: mov rax, [rax]",
        "5: mov [r8 + 32], rax",
        "mov rax, [rcx + 32]",
        "mov [r8 + 40], rax"
    ]
);
quick_leave!(
    "umtui_leave_pointee4",
    [
        "xor eax, eax",
        "test r9d, r9d",
        "jnz 5f",
        "mov rax, [rcx + 24]",
        "cmp rax, 4096",
        "jae 4f",
        "xor eax, eax",
        "jmp 5f",
        "4: mov eax, [rax]",
        "5: mov [r8 + 28], eax"
    ]
);

core::arch::global_asm!(
    ".text",
    // The end of a call that needs more: the frame is completed from the desk, and leave() sees to it.
    ".balign 32",
    ".globl umtui_leave",
    ".hidden umtui_leave",
    ".type umtui_leave, @function",
    "umtui_leave:",
    ".cfi_startproc",
    ".cfi_def_cfa rbp, 16",
    ".cfi_offset rbp, -16",
    "mov [rbp - 80], r9",
    "mov rcx, [rbp - 72]",
    "lea rdx, [rip + {deeper}]",
    "cmp rcx, rdx",
    "je 2f",
    "mov rdx, [rcx + 24]",
    "mov [rbp - 48], rdx",
    "mov rdx, [rcx + 32]",
    "mov [rbp - 40], rdx",
    "mov rdx, [rcx + 40]",
    "mov [rbp - 32], rdx",
    "2:",
    "mov rsi, rax",
    "lea rdi, [rbp - 80]",
    "mov rdx, qword ptr [rip + umtui_thread@gottpoff]",
    "add rdx, qword ptr fs:[0]",
    "call {leave}",
    "mov rax, [rbp - 80]",
    ".cfi_remember_state",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_restore_state",
    ".cfi_endproc",
    ".size umtui_leave, . - umtui_leave",
    deeper = sym record::DEEPER,
    leave = sym record::leave,
);

unsafe extern "C" {
    fn umtui_leave();
    fn umtui_leave_none();
    fn umtui_leave_value();
    fn umtui_leave_two_values();
    fn umtui_leave_pointee();
    fn umtui_leave_pointee_value();
    fn umtui_leave_value4();
    fn umtui_leave_pointee4();
}

/// What the trampoline jumps to when a function whose arguments have this shape has returned.
pub fn leave_of(shape: u8) -> usize {
    let leave = match shape {
        shape::NONE => umtui_leave_none,
        shape::VALUE => umtui_leave_value,
        shape::TWO_VALUES => umtui_leave_two_values,
        shape::POINTEE => umtui_leave_pointee,
        shape::POINTEE_VALUE => umtui_leave_pointee_value,
        shape::VALUE4 => umtui_leave_value4,
        shape::POINTEE4 => umtui_leave_pointee4,
        _ => umtui_leave,
    };
    leave as *const () as usize
}
