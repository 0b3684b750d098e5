// What C cannot look at: a caller that fills every register that a call may use, and a callee that writes down what it
// finds there. Offsets are those of struct call and struct seen in harness.h.

    .text
    .macro landing_pad
    hint #34
    .endm

// void probe_call(struct call *): calls call->function, with callee-saved registers set to patterns, and writes down
// what is in them afterwards. probe_return is where the call returns to; probe_again calls from another place.
    .globl probe_call, probe_again, probe_return, probe_return_again
    .hidden probe_call, probe_again, probe_return, probe_return_again
    .type probe_call, @function
    .type probe_again, @function
probe_again:
    landing_pad
    mov x9, #1
    b 1f
probe_call:
    .cfi_startproc
    landing_pad
    mov x9, #0
1:
    stp x29, x30, [sp, #-192]!
    .cfi_def_cfa_offset 192
    .cfi_offset x29, -192
    .cfi_offset x30, -184
    mov x29, sp
    .cfi_def_cfa_register x29
    stp x19, x20, [x29, #16]
    stp x21, x22, [x29, #32]
    stp x23, x24, [x29, #48]
    stp x25, x26, [x29, #64]
    stp x27, x28, [x29, #80]
    stp d8, d9, [x29, #96]
    stp d10, d11, [x29, #112]
    stp d12, d13, [x29, #128]
    stp d14, d15, [x29, #144]
    stp x0, x9, [x29, #160]
    // The words on the stack.
    ldp x9, x10, [x0, #8]
    add x11, x9, #1
    bic x11, x11, #1
    lsl x11, x11, #3
    sub sp, sp, x11
    mov x11, #0
2:
    cmp x11, x9
    b.hs 3f
    ldr x12, [x10, x11, lsl #3]
    str x12, [sp, x11, lsl #3]
    add x11, x11, #1
    b 2b
3:
    mov x12, sp
    str x12, [x0, #224]
    .irp n, 19,20,21,22,23,24,25,26,27,28
    mov x\n, #(0x1000 + \n)
    .endr
    .irp n, 8,9,10,11,12,13,14,15
    mov x9, #(0x2000 + \n)
    fmov d\n, x9
    .endr
    ldr x9, [x29, #168]
    ldr x17, [x0]
    ldp q0, q1, [x0, #96]
    ldp q2, q3, [x0, #128]
    ldp q4, q5, [x0, #160]
    ldp q6, q7, [x0, #192]
    ldp x7, x8, [x0, #80]
    ldp x5, x6, [x0, #64]
    ldp x3, x4, [x0, #48]
    ldp x1, x2, [x0, #32]
    ldr x0, [x0, #24]
    cbnz x9, 4f
    blr x17
probe_return:
    b 5f
4:
    blr x17
probe_return_again:
5:
    ldr x9, [x29, #160]
    stp x0, x1, [x9, #240]
    str q0, [x9, #256]
    str q1, [x9, #272]
    str q2, [x9, #288]
    str q3, [x9, #304]
    stp x19, x20, [x9, #320]
    stp x21, x22, [x9, #336]
    stp x23, x24, [x9, #352]
    stp x25, x26, [x9, #368]
    stp x27, x28, [x9, #384]
    stp d8, d9, [x9, #400]
    stp d10, d11, [x9, #416]
    stp d12, d13, [x9, #432]
    stp d14, d15, [x9, #448]
    mov x10, sp
    str x10, [x9, #232]
    ldp x19, x20, [x29, #16]
    ldp x21, x22, [x29, #32]
    ldp x23, x24, [x29, #48]
    ldp x25, x26, [x29, #64]
    ldp x27, x28, [x29, #80]
    ldp d8, d9, [x29, #96]
    ldp d10, d11, [x29, #112]
    ldp d12, d13, [x29, #128]
    ldp d14, d15, [x29, #144]
    mov sp, x29
    ldp x29, x30, [sp], #192
    .cfi_def_cfa sp, 0
    ret
    .cfi_endproc
    .size probe_call, . - probe_call

// The function that is called: writes down its arguments in probe_seen, and answers probe_answer.
    .globl probe_callee
    .hidden probe_callee
    .type probe_callee, @function
probe_callee:
    landing_pad
    adrp x9, probe_seen
    add x9, x9, :lo12:probe_seen
    stp x0, x1, [x9]
    stp x2, x3, [x9, #16]
    stp x4, x5, [x9, #32]
    stp x6, x7, [x9, #48]
    mov x10, sp
    stp x8, x10, [x9, #64]
    stp x29, x30, [x9, #80]
    stp q0, q1, [x9, #96]
    stp q2, q3, [x9, #128]
    stp q4, q5, [x9, #160]
    stp q6, q7, [x9, #192]
    ldr x11, [x9, #224]
    add x11, x11, #1
    str x11, [x9, #224]
    add x11, x9, #232
    mov x12, #0
1:
    ldr x13, [sp, x12, lsl #3]
    str x13, [x11, x12, lsl #3]
    add x12, x12, #1
    cmp x12, #24
    b.lo 1b
    adrp x9, probe_answer
    add x9, x9, :lo12:probe_answer
    ldp x0, x1, [x9]
    ldp q0, q1, [x9, #16]
    ldp q2, q3, [x9, #48]
    .irp n, 2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
    mov x\n, #0xdead
    .endr
    .irp n, 4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    dup v\n\().2d, x17
    .endr
    ret
    .size probe_callee, . - probe_callee

// Overwrites all that a called function may.
    .globl probe_spoil
    .hidden probe_spoil
    .type probe_spoil, @function
probe_spoil:
    landing_pad
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
    mov x\n, #0xbad
    .endr
    .irp n, 0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    dup v\n\().2d, x17
    .endr
    ret
    .size probe_spoil, . - probe_spoil

// As Rust exports the tail-jumps.
    .macro export name, to
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    landing_pad
    b \to
    .size \name, . - \name
    .endm

    export exported_dlsym, umtui_dlsym
    export exported_dlvsym, umtui_dlvsym
    export exported_dlopen, umtui_dlopen
    export exported_dlclose, umtui_dlclose
