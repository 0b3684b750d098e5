/* registers N: N calls with every register set to a pattern; prints in how many of them the driver found a register changed, or the
 * caller did afterwards. The rounding of both floating-point units is unusual, the x87 stack is empty. */
#include "fake.h"
#include <string.h>
#include <stdlib.h>

#define MXCSR 0xffc0 /* all masked, round to zero, denormals are zero */
#define X87 0x0c7f   /* all masked, round to zero, single precision */

struct around {
    struct registers set;
    unsigned long rax, rdx, kept[5], stack[2], flags;
    unsigned mxcsr;
    unsigned short x87[16];
};
static struct around around;
static int wide;

#define PUSH "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
#define POP "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\n"
#define EACH(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)
#define NARROW(n) "movups 128+32*" #n "(%rax), %xmm" #n "\n"
#define WIDE(n) "vmovups 128+32*" #n "(%rax), %ymm" #n "\n"
_Static_assert(offsetof(struct around, rax) == 384 && offsetof(struct around, x87) == 468, "as below");

/* call_with_all(function, around): the stack is aligned at its call. */
void call_with_all(void *function, struct around *around);
__asm__(".text\ncall_with_all:\nendbr64\n" PUSH
        "sub $24, %rsp\nmov %rsi, 8(%rsp)\nmov %rdi, %r10\nmov %rsi, %rax\n"
        "stmxcsr 16(%rsp)\nfnstcw 20(%rsp)\nldmxcsr 64(%rax)\nfldcw 72(%rax)\n"
        "cmpl $0, wide(%rip)\njne 1f\n" EACH(NARROW) "jmp 2f\n1:" EACH(WIDE)
        "2: mov 0(%rax), %rdi\nmov 8(%rax), %rsi\nmov 16(%rax), %rdx\nmov 24(%rax), %rcx\nmov 32(%rax), %r8\nmov 40(%rax), %r9\n"
        "movabs $0xb1b1b1b1b1b1b1b1, %rbx\nmovabs $0xb2b2b2b2b2b2b2b2, %r12\nmovabs $0xb3b3b3b3b3b3b3b3, %r13\n"
        "movabs $0xb4b4b4b4b4b4b4b4, %r14\nmovabs $0xb5b5b5b5b5b5b5b5, %r15\nmov %rsp, 440(%rax)\n"
        "call *%r10\n"
        "mov 8(%rsp), %r11\nmov %rax, 384(%r11)\nmov %rdx, 392(%r11)\nmov %rbx, 400(%r11)\nmov %r12, 408(%r11)\n"
        "mov %r13, 416(%r11)\nmov %r14, 424(%r11)\nmov %r15, 432(%r11)\nmov %rsp, 448(%r11)\npushf\npopq 456(%r11)\n"
        "stmxcsr 464(%r11)\nfnstenv 468(%r11)\nldmxcsr 16(%rsp)\nfninit\nfldcw 20(%rsp)\n"
        "cmpl $0, wide(%rip)\nje 3f\nvzeroupper\n3: add $24, %rsp\n" POP "ret\n");

static int differs(const char *what, long *count, int differs) {
    *count += differs;
    if (differs && *count == 1) fprintf(stderr, "first change of %s\n", what);
    return differs;
}

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 1, arguments = 0, vectors = 0, upper = 0, control = 0, stack = 0, results = 0;
    wide = fake_wide = __builtin_cpu_supports("avx") != 0;
    struct registers *set = &around.set;
    for (long i = 0; i < calls; i++) {
        for (int j = 0; j < 6; j++) set->integer[j] = 0x0101010101010101 * (unsigned long)(j + 1) + (unsigned long)i;
        for (int j = 0; j < 256; j++) set->vector[j / 32][j % 32] = (unsigned char)(i * 7 + j * 13 + 1);
        set->mxcsr = MXCSR;
        set->x87[0] = X87;
        memset(&fake_registers, 0, sizeof fake_registers);
        call_with_all((void *)cuEventQuery, &around);
        struct registers *found = &fake_registers;
        differs("an argument", &arguments, memcmp(found->integer, set->integer, sizeof set->integer) != 0);
        int lower = 0, higher = 0;
        for (int j = 0; j < 8; j++) {
            lower |= memcmp(found->vector[j], set->vector[j], 16) != 0;
            higher |= wide && memcmp(found->vector[j] + 16, set->vector[j] + 16, 16) != 0;
        }
        differs("a vector", &vectors, lower);
        differs("an upper half", &upper, higher);
        int entry = found->mxcsr != MXCSR || found->x87[0] != X87 || found->x87[4] != 0xffff || (found->flags & 0x400);
        int after = around.mxcsr != MXCSR || around.x87[0] != X87 || around.x87[4] != 0xffff || (around.flags & 0x400);
        differs("floating-point control", &control, entry || after);
        differs("the stack", &stack, found->stack % 16 != 8 || around.stack[0] != around.stack[1]);
        int kept = around.rax == FAKE_RAX && around.rdx == FAKE_RDX;
        for (int j = 0; j < 5; j++) kept &= around.kept[j] == 0x0101010101010101 * (unsigned long)(0xb1 + j);
        differs("a result", &results, !kept);
    }
    printf("arguments %ld, vectors %ld, upper halves %ld, control %ld, stack %ld, results %ld\n", arguments, vectors, upper, control,
           stack, results);
    return 0;
}
