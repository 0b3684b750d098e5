//! Calls of a function that does nothing, as often as `rdi` says: by them the hook measures what recording costs.

core::arch::global_asm!(
    ".text",
    ".balign 16",
    ".globl umtui_nothing",
    ".hidden umtui_nothing",
    "umtui_nothing: ret",
    ".balign 16",
    ".globl umtui_call_recorded",
    ".hidden umtui_call_recorded",
    "umtui_call_recorded:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "mov rbx, rdi",
    "2: call 3f",
    ".globl umtui_measured_site",
    ".hidden umtui_measured_site",
    "umtui_measured_site:",
    "dec rbx",
    "jnz 2b",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    "3: lea r11, [rip + {slot}]",
    "jmp qword ptr [rip + {trampoline}]",
    ".balign 16",
    ".globl umtui_call_directly",
    ".hidden umtui_call_directly",
    "umtui_call_directly:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "mov rbx, rdi",
    "2: call umtui_nothing",
    "dec rbx",
    "jnz 2b",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    slot = sym crate::measure::NOTHING,
    trampoline = sym super::TRAMPOLINE,
);

unsafe extern "C" {
    fn umtui_call_recorded(times: usize);
    fn umtui_call_directly(times: usize);
    static umtui_nothing: u8;
    static umtui_measured_site: u8;
}

/// The address of a function that does nothing.
pub fn nothing() -> usize {
    &raw const umtui_nothing as usize
}

/// Where [`call_recorded`] calls from.
pub fn measured_site() -> u64 {
    &raw const umtui_measured_site as u64
}

/// Calls it through the trampoline in force.
pub fn call_recorded(times: usize) {
    // SAFETY: the slot stands for the function, the site is known, and the thread is ready to record.
    unsafe { umtui_call_recorded(times) };
}

/// Calls it as it is.
pub fn call_directly(times: usize) {
    // SAFETY: it does nothing.
    unsafe { umtui_call_directly(times) };
}
