/* The hook's side of the trampoline, in C: what enter, leave and the tables do in Rust, as little of it as the assembly
   can tell. layout.h is made of hook/src/arch/aarch64/layout.inc, words.h of the table of CUDA functions. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "layout.h"
#include "words.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef struct { u64 low, high; } vector;

/* See probe.s. */
struct call {
    const void *function;
    u64 stack_words;
    const u64 *stack;
    u64 x[9];
    vector q[8] __attribute__((aligned(16)));
    u64 sp_before, sp_after;
    u64 result[2];
    vector result_q[4];
    u64 saved_x[10];
    u64 saved_d[8];
};
_Static_assert(offsetof(struct call, q) == 96 && offsetof(struct call, sp_before) == 224, "as probe.s has it");
_Static_assert(offsetof(struct call, result) == 240 && offsetof(struct call, saved_x) == 320, "as probe.s has it");
_Static_assert(offsetof(struct call, saved_d) == 400, "as probe.s has it");

struct seen {
    u64 x[9], sp, fp, lr;
    vector q[8];
    u64 calls, stack[24];
};
_Static_assert(offsetof(struct seen, q) == 96 && offsetof(struct seen, stack) == 232, "as probe.s has it");

struct answer {
    u64 x[2];
    vector q[4];
};

extern struct seen probe_seen;
extern struct answer probe_answer;
extern const char probe_return[], probe_return_again[];
void probe_call(struct call *), probe_again(struct call *), probe_callee(void), probe_spoil(void);

/* What trampoline.s defines. */
extern const char umtui_pool[];
void umtui_by_ticks(void), umtui_by_clock(void), umtui_off(void);
/* As Rust exports what it names umtui_dlsym, umtui_dlopen and umtui_dlclose. */
void exported_dlsym(void), exported_dlvsym(void), exported_dlopen(void), exported_dlclose(void);

/* What umtui_enter is to say. */
enum verdict { PASS = 0, RECORD = UMTUI_VERDICT_RECORD, MISSING = 2 };
extern enum verdict verdict;
/* Called at the end of them, if set. */
extern void (*inside_enter)(void), (*inside_leave)(void), (*inside_clock)(void);

/* What they were called for. */
struct told {
    unsigned enters, leaves, clocks;
    /* Of the last enter: calls on the desk as it found it. */
    unsigned open;
    /* Of the last leave. */
    u64 start, end, site, result, result_high, depth;
    u64 words[10 + 24];
};
extern struct told told;

/* A stub whose slot leads to a function with so many bytes of arguments on the stack. Everything is forgotten. */
const void *stub_to(const void *function, unsigned stack_bytes);
/* The stub of another slot, for a second function. */
const void *second_stub_to(const void *function, unsigned stack_bytes);
void set_real(const void *function);
void set_generation(u64);
void forget_sites(void);
/* Sets a bit of the first slot's flags. */
void set_flag(unsigned bit);
void use(void (*trampoline)(void));
/* The desk: how many calls are open, and the frame of the innermost. */
unsigned open_calls(void);
u64 open_word(unsigned call, unsigned offset);
void fill_desk(void);

#define CHECK(condition, ...)                                          \
    do {                                                               \
        if (!(condition)) {                                            \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);     \
            printf(__VA_ARGS__);                                       \
            printf("\n");                                              \
            exit(1);                                                   \
        }                                                              \
    } while (0)
#define SAME(found, wanted) \
    CHECK((u64)(found) == (u64)(wanted), "%llx, not %llx", (unsigned long long)(found), (unsigned long long)(wanted))

#endif
