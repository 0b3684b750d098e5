// The trampolines, stubs and tail-jumps of aarch64 (AAPCS64, Linux). aarch64.rs says what they do; this file is read by
// Rust, after layout.inc and what it binds, and by GNU as for the tests. No braces, no preprocessor.
//
// On entry to a trampoline x16 has the address of a slot; x0 to x8 and q0 to q7 belong to the call, x9 to x15 and x17
// are free. What is jumped to, not called, is jumped to through x16 or x17, which a landing pad allows.

// A thread's state, in static thread-local storage: three instructions away, never allocated. The generation, which
// comes first, begins as a value that no generation has.
    .section .tdata, "awT", @progbits
    .balign 64
    .globl umtui_thread
    .hidden umtui_thread
    .type umtui_thread, @object
    .size umtui_thread, UMTUI_THREAD_BYTES
umtui_thread:
    .quad -1
    .zero UMTUI_THREAD_BYTES - 8

    .text

// A landing pad for indirect jumps and calls (`bti c`), by the number that assemblers know without the extension.
.macro umtui_landing_pad
    hint #34
.endm

// The address of the calling thread's state; the second register is overwritten.
.macro umtui_thread_to to, other
    adrp \to, :gottprel:umtui_thread
    ldr \to, [\to, :gottprel_lo12:umtui_thread]
    mrs \other, tpidr_el0
    add \to, \to, \other
.endm

// The entry of the cache of call sites for the site in x30: the site itself if it is known. The second register is
// overwritten.
.macro umtui_site_to to, other
    ubfx \to, x30, #UMTUI_SITES_SHIFT, #UMTUI_SITES_BITS
    adrp \other, umtui_sites
    add \other, \other, :lo12:umtui_sites
    ldr \to, [\other, \to, lsl #3]
.endm

// The counter may be read long before or after the instructions around it, another read of it among them; then a call
// would end before it began. The barrier is what the kernel's own clock_gettime has too.
.macro umtui_ticks_to to
    isb
    mrs \to, cntvct_el0
.endm

.macro umtui_keep_vectors
    sub sp, sp, #128
    stp q0, q1, [sp]
    stp q2, q3, [sp, #32]
    stp q4, q5, [sp, #64]
    stp q6, q7, [sp, #96]
.endm

// All argument registers as they were, and the slot.
.macro umtui_restore_arguments
    ldp q0, q1, [sp]
    ldp q2, q3, [sp, #32]
    ldp q4, q5, [sp, #64]
    ldp q6, q7, [sp, #96]
    add sp, sp, #128
    ldp x0, x1, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE)]
    ldp x2, x3, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE + 16)]
    ldp x4, x5, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE + 32)]
    ldp x6, x7, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE + 48)]
    ldp x8, x16, [x29, #(UMTUI_FRAME_INDIRECT - UMTUI_FRAME_ABOVE)]
.endm

// Ends the frame, whatever the stack pointer is. The directives after it must come behind a jump.
.macro umtui_end_frame
    .cfi_remember_state
    mov sp, x29
    ldp x29, x30, [sp], #16
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
.endm

// A trampoline. by_ticks 1: the tick counter is the clock; 0: the time is asked for. ask 1: enter() decides always.
.macro umtui_make_trampoline name, by_ticks, ask
    .balign 64
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    .cfi_startproc
    umtui_landing_pad
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #UMTUI_FRAME_ABOVE
    stp x0, x1, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE)]
    stp x2, x3, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE + 16)]
    stp x4, x5, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE + 32)]
    stp x6, x7, [x29, #(UMTUI_FRAME_REGISTERS - UMTUI_FRAME_ABOVE + 48)]
    stp x8, x16, [x29, #(UMTUI_FRAME_INDIRECT - UMTUI_FRAME_ABOVE)]
    umtui_thread_to x9, x10
    .if \ask
    b 20f
    .endif
    // Recording in this process (zero in a child after fork), and this thread ready for it.
    adrp x10, umtui_page
    ldr x10, [x10, :lo12:umtui_page]
    ldr x11, [x9, #UMTUI_THREAD_GENERATION]
    cmp x10, x11
    b.ne 20f
    // The slot's function known (what else the slot says was written before it), and the call site seen since the set
    // of loaded objects last changed.
    ldar x17, [x16]
    cbz x17, 20f
    umtui_site_to x10, x11
    cmp x10, x30
    b.ne 20f
    // Room on the desk; and the call before this one must have its frame above ours, else it was left by longjmp or an
    // exception.
    ldr x12, [x9, #UMTUI_THREAD_OPEN]
    ldr x10, [x9, #UMTUI_THREAD_DESK_END]
    cmp x12, x10
    b.hs 20f
    ldr x10, [x12, #(UMTUI_OPEN_FRAME - UMTUI_OPEN_BYTES)]
    cmp x29, x10
    b.hs 20f
    // The frame before the desk says that the place is taken, and once more, since a signal handler in between takes the
    // same place: one that finds a place taken whose frame is of the past would take the call for left.
    add x10, x12, #UMTUI_OPEN_BYTES
    str x29, [x12, #UMTUI_OPEN_FRAME]
    str x10, [x9, #UMTUI_THREAD_OPEN]
    str x29, [x12, #UMTUI_OPEN_FRAME]
    str x12, [x29, #(UMTUI_FRAME_OPEN - UMTUI_FRAME_ABOVE)]
    str x30, [x12, #UMTUI_OPEN_SITE]
    stp x0, x1, [x12, #UMTUI_OPEN_REGISTERS]
    str x2, [x12, #(UMTUI_OPEN_REGISTERS + 16)]
    .if \by_ticks
    umtui_ticks_to x10
    .else
    umtui_keep_vectors
    bl umtui_clock_now
    mov x10, x0
    umtui_restore_arguments
    ldr x12, [x29, #(UMTUI_FRAME_OPEN - UMTUI_FRAME_ABOVE)]
    .endif
    str x10, [x12, #UMTUI_OPEN_START]
    // Last, for whoever reads the desk: the call is open.
    ldrh w10, [x16, #UMTUI_SLOT_API]
    add w10, w10, #1
    stlr x10, [x12]
12:
    ldrh w10, [x16, #UMTUI_SLOT_STACK]
    cbnz w10, 15f
13:
    ldr x17, [x16]
    blr x17
    stp x0, x1, [x29, #(UMTUI_FRAME_RESULT - UMTUI_FRAME_ABOVE)]
    stp q0, q1, [x29, #(UMTUI_FRAME_VECTORS - UMTUI_FRAME_ABOVE)]
    stp q2, q3, [x29, #(UMTUI_FRAME_VECTORS - UMTUI_FRAME_ABOVE + 32)]
    .if \by_ticks
    umtui_ticks_to x1
    .else
    bl umtui_clock_now
    mov x1, x0
    .endif
    sub x0, x29, #UMTUI_FRAME_ABOVE
    umtui_thread_to x2, x3
    bl umtui_leave
    ldp q0, q1, [x29, #(UMTUI_FRAME_VECTORS - UMTUI_FRAME_ABOVE)]
    ldp q2, q3, [x29, #(UMTUI_FRAME_VECTORS - UMTUI_FRAME_ABOVE + 32)]
    ldp x0, x1, [x29, #(UMTUI_FRAME_RESULT - UMTUI_FRAME_ABOVE)]
14:
    umtui_end_frame
    ret
    .cfi_restore_state
    // Arguments on the stack: a copy of as many bytes as the function takes, kept aligned.
15:
    mov w11, #UMTUI_STACK_UNKNOWN
    cmp w10, w11
    b.eq 17f
    add x11, x10, #15
    and x11, x11, #-16
    sub sp, sp, x11
    add x11, x29, #16
16:
    sub x10, x10, #8
    ldr x13, [x11, x10]
    str x13, [sp, x10]
    cbnz x10, 16b
    b 13b
    // How many there are is not known: off the desk again, to be jumped to.
17:
    ldr x12, [x29, #(UMTUI_FRAME_OPEN - UMTUI_FRAME_ABOVE)]
    stlr xzr, [x12]
    umtui_thread_to x9, x10
    str x12, [x9, #UMTUI_THREAD_OPEN]
    ldrb w10, [x16, #UMTUI_SLOT_FLAGS]
    tbnz w10, #UMTUI_LEFT_OUT_BIT, 22f
    // Something is not ready: all registers are kept, and enter() sees to it.
20:
    umtui_keep_vectors
    sub x0, x29, #UMTUI_FRAME_ABOVE
    mov x1, x9
    bl umtui_enter
    mov w9, w0
    umtui_restore_arguments
    cmp w9, #UMTUI_VERDICT_RECORD
    b.eq 12b
    b.hi 21f
    // Not recorded: as if we were not here.
22:
    ldr x17, [x16]
    umtui_end_frame
    br x17
    .cfi_restore_state
21:
    mov w0, #UMTUI_NOT_FOUND
    b 14b
    .cfi_endproc
    .size \name, . - \name
.endm

    umtui_make_trampoline umtui_by_ticks, 1, 0
    umtui_make_trampoline umtui_by_clock, 0, 0
// For functions that may begin the recording.
    umtui_make_trampoline umtui_ask, 0, 1

// Nothing is recorded: to the real function, where the call site is known to be one of its callers and the function is
// none that may begin the recording.
    .balign 16
    .globl umtui_off
    .hidden umtui_off
    .type umtui_off, @function
umtui_off:
    .cfi_startproc
    umtui_landing_pad
    umtui_site_to x9, x10
    cmp x9, x30
    b.ne 1f
    ldrb w10, [x16, #UMTUI_SLOT_FLAGS]
    tbnz w10, #UMTUI_CONTROLS_BIT, 2f
    ldr x17, [x16]
    cbz x17, 1f
    br x17
1:
    b umtui_by_clock
2:
    b umtui_ask
    .cfi_endproc
    .size umtui_off, . - umtui_off

// What recording costs is measured by calls of a function that does nothing, as often as x0 says.
    .balign 16
    .globl umtui_nothing
    .hidden umtui_nothing
    .type umtui_nothing, @function
umtui_nothing:
    umtui_landing_pad
    ret
    .size umtui_nothing, . - umtui_nothing

.macro umtui_make_calls name
    .balign 16
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    str x19, [sp, #16]
    .cfi_offset x19, -16
    mov x19, x0
.endm

.macro umtui_end_calls name
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    .cfi_restore x19
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

    umtui_make_calls umtui_call_recorded
1:
    bl 2f
    .globl umtui_measured_site
    .hidden umtui_measured_site
umtui_measured_site:
    sub x19, x19, #1
    cbnz x19, 1b
    umtui_end_calls umtui_call_recorded
2:
    adrp x16, umtui_measured
    add x16, x16, :lo12:umtui_measured
    adrp x17, umtui_trampoline
    ldr x17, [x17, :lo12:umtui_trampoline]
    br x17

    umtui_make_calls umtui_call_directly
1:
    bl umtui_nothing
    sub x19, x19, #1
    cbnz x19, 1b
    umtui_end_calls umtui_call_directly

// Stubs for function pointers that the program is handed: a fixed pool, since no code is made at run time. The first
// has slot umtui_pool_first, and there are umtui_pool_count.
    .balign UMTUI_POOL_STEP
    .globl umtui_pool
    .hidden umtui_pool
    .type umtui_pool, @function
umtui_pool:
    .cfi_startproc
    .set umtui_index, umtui_pool_first
    .rept umtui_pool_count
    .balign UMTUI_POOL_STEP
    umtui_landing_pad
    adrp x16, umtui_slots + umtui_index * UMTUI_SLOT_BYTES
    add x16, x16, :lo12:umtui_slots + umtui_index * UMTUI_SLOT_BYTES
    adrp x17, umtui_trampoline
    ldr x17, [x17, :lo12:umtui_trampoline]
    br x17
    .set umtui_index, umtui_index + 1
    .endr
    .cfi_endproc
    .size umtui_pool, . - umtui_pool

// dlsym(handle, name), dlvsym(handle, name, version), dlopen(path, flags), dlclose(handle): glibc looks at x30 to know who calls, so it must be the
// caller's when the real function is jumped to.
.macro umtui_make_tail_jump name
    .balign 16
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    stp x0, x1, [sp, #16]
    mov x2, x30
.endm

.macro umtui_end_tail_jump real
    adrp x16, \real
    ldr x16, [x16, :lo12:\real]
    br x16
    .cfi_endproc
.endm

.macro umtui_end_tail_frame
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
.endm

    umtui_make_tail_jump umtui_dlsym
    bl umtui_pick
    mov x9, x0
    mov x10, x1
    ldp x0, x1, [sp, #16]
    umtui_end_tail_frame
    cbz x9, 1f
    mov x0, x10
    ret
1:
    umtui_end_tail_jump umtui_real_dlsym
    .size umtui_dlsym, . - umtui_dlsym

    .balign 16
    .globl umtui_dlvsym
    .hidden umtui_dlvsym
    .type umtui_dlvsym, @function
umtui_dlvsym:
    .cfi_startproc
    stp x29, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset x29, -48
    .cfi_offset x30, -40
    mov x29, sp
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    mov x3, x30
    bl umtui_pick_versioned
    mov x9, x0
    mov x10, x1
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    cbz x9, 1f
    mov x0, x10
    ret
1:
    umtui_end_tail_jump umtui_real_dlvsym
    .size umtui_dlvsym, . - umtui_dlvsym

    umtui_make_tail_jump umtui_dlopen
    bl umtui_before_dlopen
    mov w1, w0
    ldr x0, [sp, #16]
    umtui_end_tail_frame
    umtui_end_tail_jump umtui_real_dlopen
    .size umtui_dlopen, . - umtui_dlopen

    umtui_make_tail_jump umtui_dlclose
    bl umtui_before_dlclose
    ldr x0, [sp, #16]
    umtui_end_tail_frame
    umtui_end_tail_jump umtui_real_dlclose
    .size umtui_dlclose, . - umtui_dlclose
