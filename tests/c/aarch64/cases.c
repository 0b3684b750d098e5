/* What is tested, one case for each name: registers, stack, results, ways in and out of the trampolines. */
#include "harness.h"
#include <pthread.h>
#include <setjmp.h>
#include <unwind.h>

#define BOTH(case) use(umtui_by_ticks), case(), use(umtui_by_clock), case()

static u64 pattern(unsigned n) { return 0x0101010101010101ull * (n + 1) ^ 0xa5a5; }

/* A call with every register and some words on the stack. */
static struct call made(const void *function, const u64 *stack, unsigned words) {
    struct call call = {.function = function, .stack_words = words, .stack = stack};
    for (int n = 0; n < 9; n++) call.x[n] = pattern(n);
    for (int n = 0; n < 8; n++) call.q[n] = (vector){pattern(20 + n), pattern(40 + n)};
    return call;
}

static void answer(void) {
    probe_answer.x[0] = pattern(60);
    probe_answer.x[1] = pattern(61);
    for (int n = 0; n < 4; n++) probe_answer.q[n] = (vector){pattern(70 + n), pattern(80 + n)};
}

/* The function saw the call as it was made, n times by now. */
static void arrived(const struct call *call, u64 n) {
    SAME(probe_seen.calls, n);
    for (int i = 0; i < 9; i++) CHECK(probe_seen.x[i] == call->x[i], "x%d: %llx", i, (unsigned long long)probe_seen.x[i]);
    for (int i = 0; i < 8; i++)
        CHECK(!memcmp(&probe_seen.q[i], &call->q[i], 16), "q%d: %llx", i, (unsigned long long)probe_seen.q[i].low);
    for (unsigned i = 0; i < call->stack_words; i++)
        CHECK(probe_seen.stack[i] == call->stack[i], "word %u: %llx", i, (unsigned long long)probe_seen.stack[i]);
    SAME(probe_seen.sp % 16, 0);
}

/* Whatever was called, the caller's own registers are as they were. */
static void kept(const struct call *call) {
    for (int i = 0; i < 10; i++) SAME(call->saved_x[i], 0x1000 + 19 + i);
    for (int i = 0; i < 8; i++) SAME(call->saved_d[i], 0x2000 + 8 + i);
    SAME(call->sp_after, call->sp_before);
}

static void came_back(const struct call *call) {
    SAME(call->result[0], probe_answer.x[0]);
    SAME(call->result[1], probe_answer.x[1]);
    for (int i = 0; i < 4; i++) CHECK(!memcmp(&call->result_q[i], &probe_answer.q[i], 16), "q%d of the result", i);
    kept(call);
}

/* leave() was told of the call. */
static void told_of(const struct call *call, unsigned leaves) {
    SAME(told.leaves, leaves);
    for (int i = 0; i < 8; i++) SAME(told.words[i], call->x[i]);
    for (unsigned i = 0; i < call->stack_words; i++) SAME(told.words[10 + i], call->stack[i]);
    SAME(told.site, (u64)probe_return);
    SAME(told.result, probe_answer.x[0]);
    SAME(told.result_high, probe_answer.x[1]);
    CHECK(told.start <= told.end, "%llu to %llu", (unsigned long long)told.start, (unsigned long long)told.end);
    SAME(open_calls(), 0);
}

/* The first call goes through enter, the second knows the way. */
static void registers_once(void) {
    struct call call = made(stub_to(probe_callee, 0), 0, 0);
    answer();
    for (unsigned n = 1; n <= 3; n++) {
        probe_call(&call);
        arrived(&call, n);
        came_back(&call);
        told_of(&call, n);
        SAME(told.enters, 1);
        CHECK(probe_seen.lr != (u64)probe_return, "it was called, not jumped to");
    }
}

static void registers(void) { BOTH(registers_once); }

static void stack_once(void) {
    static const u64 words[24] = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34};
    for (unsigned count = 1; count <= 24; count++) {
        struct call call = made(stub_to(probe_callee, count * 8), words, count);
        answer();
        for (unsigned n = 1; n <= 2; n++) {
            probe_call(&call);
            arrived(&call, n);
            came_back(&call);
            told_of(&call, n);
            CHECK(probe_seen.sp < call.sp_before, "a copy");
        }
        SAME(told.enters, 1);
    }
}

static void stack(void) { BOTH(stack_once); }

/* Passed through: the function is jumped to, and all is as if nobody had been between. */
static void jumped_to(struct call *call, u64 n) {
    arrived(call, n);
    came_back(call);
    SAME(probe_seen.lr, (u64)probe_return);
    SAME(probe_seen.sp, call->sp_before);
    SAME(open_calls(), 0);
    SAME(told.leaves, 0);
}

static void pass_once(void) {
    static const u64 words[3] = {7, 8, 9};
    struct call call = made(stub_to(probe_callee, 0), words, 3);
    answer();
    verdict = PASS;
    probe_call(&call);
    jumped_to(&call, 1);
    SAME(told.enters, 1);
}

static void pass(void) { BOTH(pass_once); }

/* How much lies on the stack is not known: also from a call site that the cache knows. */
static void unknown_once(void) {
    static const u64 words[5] = {7, 8, 9, 10, 11};
    struct call call = made(stub_to(probe_callee, UMTUI_STACK_UNKNOWN), words, 5);
    answer();
    verdict = PASS;
    for (unsigned n = 1; n <= 3; n++) {
        probe_call(&call);
        jumped_to(&call, n);
        SAME(told.enters, n);
        SAME(told.open, 0);
        SAME(open_word(0, UMTUI_OPEN_HEAD), 0);
    }
}

static void unknown(void) { BOTH(unknown_once); }

static void missing_once(void) {
    struct call call = made(stub_to(0, 0), 0, 0);
    verdict = MISSING;
    probe_call(&call);
    SAME((u32)call.result[0], UMTUI_NOT_FOUND);
    SAME(probe_seen.calls, 0);
    SAME(told.leaves, 0);
    kept(&call);
}

static void missing(void) { BOTH(missing_once); }

/* Nothing is recorded: known call sites go straight through, others ask first. */
static void off(void) {
    static const u64 words[3] = {7, 8, 9};
    use(umtui_off);
    struct call call = made(stub_to(probe_callee, 0), words, 3);
    answer();
    verdict = PASS;
    for (unsigned n = 1; n <= 3; n++) {
        probe_call(&call);
        jumped_to(&call, n);
        SAME(told.enters, 1);
        SAME(told.clocks, 0);
    }
    forget_sites();
    probe_call(&call);
    jumped_to(&call, 4);
    SAME(told.enters, 2);
    set_real(0);
    verdict = MISSING;
    probe_call(&call);
    SAME(told.enters, 3);
    SAME((u32)call.result[0], UMTUI_NOT_FOUND);
}

/* While nothing is recorded, a function that may begin the recording always asks. */
static void asks(void) {
    static const u64 words[3] = {7, 8, 9};
    use(umtui_off);
    struct call call = made(stub_to(probe_callee, 0), words, 3);
    answer();
    set_flag(UMTUI_CONTROLS_BIT);
    verdict = PASS;
    for (unsigned n = 1; n <= 3; n++) {
        probe_call(&call);
        jumped_to(&call, n);
        SAME(told.enters, n);
    }
    verdict = RECORD;
    probe_call(&call);
    SAME(told.enters, 4);
    SAME(told.leaves, 1);
    came_back(&call);
}

/* A function that is left out is jumped to, from a call site that is known without asking. */
static void left_out_once(void) {
    static const u64 words[5] = {7, 8, 9, 10, 11};
    struct call call = made(stub_to(probe_callee, UMTUI_STACK_UNKNOWN), words, 5);
    answer();
    set_flag(UMTUI_LEFT_OUT_BIT);
    verdict = PASS;
    for (unsigned n = 1; n <= 3; n++) {
        probe_call(&call);
        jumped_to(&call, n);
        SAME(told.enters, 1);
        SAME(open_word(0, UMTUI_OPEN_HEAD), 0);
    }
}

static void left_out(void) { BOTH(left_out_once); }

void umtui_call_recorded(u64), umtui_call_directly(u64), umtui_nothing(void);
extern char umtui_measured_site[], umtui_measured[];

/* The calls by which the hook measures itself: from the site it names, as many as were asked for. */
static void measure_once(void) {
    stub_to(probe_callee, 0);
    *(void (**)(void))(umtui_measured + UMTUI_SLOT_REAL) = umtui_nothing;
    umtui_call_recorded(5);
    SAME(told.leaves, 5);
    SAME(told.enters, 1);
    SAME(told.site, (u64)umtui_measured_site);
    umtui_call_directly(7);
    SAME(told.leaves, 5);
    SAME(open_calls(), 0);
}

static void measure(void) { BOTH(measure_once); }

/* What sends a call through enter: another site, forgotten sites, a child after fork, a function not known, a full desk. */
static void cache_once(void) {
    struct call call = made(stub_to(probe_callee, 0), 0, 0);
    answer();
    probe_call(&call);
    probe_call(&call);
    SAME(told.enters, 1);
    probe_again(&call);
    SAME(told.enters, 2);
    SAME(told.site, (u64)probe_return_again);
    probe_again(&call);
    probe_call(&call);
    SAME(told.enters, 2);
    forget_sites();
    probe_call(&call);
    SAME(told.enters, 3);
    probe_call(&call);
    SAME(told.enters, 3);
    set_generation(4);
    probe_call(&call);
    SAME(told.enters, 4);
    probe_call(&call);
    SAME(told.enters, 4);
    set_generation(0);
    verdict = PASS;
    probe_call(&call);
    SAME(told.enters, 5);
    set_generation(4);
    verdict = RECORD;
    probe_call(&call);
    SAME(told.enters, 6);
    fill_desk();
    probe_call(&call);
    SAME(told.enters, 7);
    arrived(&call, 12);
    came_back(&call);
    set_real(0);
    verdict = MISSING;
    probe_call(&call);
    SAME(told.enters, 8);
}

static void cache(void) { BOTH(cache_once); }

/* A call inside a call lies above it on the desk, and its time within the other's. */
static struct call inner;
static u64 inner_start, inner_end, outer_site;
static int outer_function(u64 a, u64 b, u64 c) {
    SAME(open_calls(), 1);
    SAME(open_word(0, UMTUI_OPEN_REGISTERS), a);
    SAME(open_word(0, UMTUI_OPEN_REGISTERS + 8), b);
    SAME(open_word(0, UMTUI_OPEN_REGISTERS + 16), c);
    SAME(open_word(0, UMTUI_OPEN_HEAD), 42);
    outer_site = open_word(0, UMTUI_OPEN_SITE);
    probe_call(&inner);
    SAME(told.depth, 1);
    inner_start = told.start;
    inner_end = told.end;
    return a + b + c;
}

static void nested_once(void) {
    int (*outer)(u64, u64, u64) = (int (*)(u64, u64, u64))stub_to(outer_function, 0);
    inner = made(second_stub_to(probe_callee, 0), 0, 0);
    answer();
    for (unsigned n = 1; n <= 3; n++) {
        SAME(outer(n, n * 10, n * 100), n * 111);
        SAME(told.leaves, 2 * n);
        SAME(told.depth, 0);
        SAME((u32)told.result, n * 111);
        SAME(told.site, outer_site);
        CHECK(told.start <= inner_start && inner_end <= told.end, "within");
    }
    SAME(open_calls(), 0);
}

static void nested(void) { BOTH(nested_once); }

/* longjmp over the trampoline: the next call finds the frame that was left, and does not take it for an open one. */
static jmp_buf back;
static void leaps(void) { longjmp(back, 1); }

static int plain(int a) { return a + 1; }

static void longjmp_once(void) {
    void (*leap)(void) = (void (*)(void))stub_to(leaps, 0);
    int (*call)(int) = (int (*)(int))second_stub_to(plain, 0);
    SAME(call(1), 2);
    for (volatile int n = 0; n < 3; n++) {
        if (!setjmp(back)) {
            leap();
            CHECK(0, "it leapt");
        }
        SAME(open_calls(), 1);
    }
    /* The first time, the site was new; then, the frame that was left. */
    SAME(told.enters, 4);
    SAME(call(2), 3);
    SAME(told.enters, 5);
    SAME(told.depth, 0);
    SAME(open_calls(), 0);
}

static void leap(void) { BOTH(longjmp_once); }

/* A structure that does not fit registers comes back through x8. */
struct big {
    u64 words[5];
};
static struct big make_big(u64 a, u32 b) { return (struct big){{a, b, a + b, ~a, 5}}; }

static void structure_once(void) {
    struct big (*make)(u64, u32) = (struct big(*)(u64, u32))stub_to(make_big, 0);
    for (u64 n = 1; n <= 3; n++) {
        struct big big = make(n, 7), wanted = {{n, 7, n + 7, ~n, 5}};
        CHECK(!memcmp(&big, &wanted, sizeof big), "%llu", (unsigned long long)n);
        SAME(told.leaves, n);
        SAME(told.words[0], n);
    }
}

static void structure(void) { BOTH(structure_once); }

/* Unwinding from what the trampoline calls shows who called the stub. */
static unsigned passed_callers;
static const char *caller_begins, *caller_ends;
static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *unused) {
    (void)unused;
    const char *at = (const char *)_Unwind_GetIP(context);
    passed_callers += at > caller_begins && at <= caller_ends;
    return _URC_NO_REASON;
}
static unsigned unwound;
static void unwind(void) {
    passed_callers = 0;
    _Unwind_Backtrace(look, 0);
    SAME(passed_callers, 1);
    unwound++;
}
static int unwinds(int a) {
    unwind();
    return a;
}

__attribute__((noinline)) static int calls_what_unwinds(int (*stub)(int)) {
    int result = stub(9) + 1;
    __asm__ volatile("" ::: "memory");
    return result;
}

static void unwinding_once(void) {
    int (*stub)(int) = (int (*)(int))stub_to(unwinds, 64);
    caller_begins = (const char *)calls_what_unwinds;
    caller_ends = caller_begins + 64;
    unwound = 0;
    inside_enter = inside_leave = inside_clock = unwind;
    SAME(calls_what_unwinds(stub), 10);
    SAME(calls_what_unwinds(stub), 10);
    /* The function twice, enter once, leave twice; and the clock, where it is asked. */
    SAME(unwound, 5 + told.clocks);
}

static void unwinding(void) { BOTH(unwinding_once); }

/* A thread that ends inside a call is unwound through the trampoline by force, down to its first cleanup. */
static int cleaned;
static void clean(void *unused) {
    (void)unused;
    cleaned++;
}
static int exits(void) {
    pthread_exit((void *)77);
    return 0;
}
static const void *exit_stub;
static void *thread(void *unused) {
    (void)unused;
    exit_stub = stub_to(exits, 40);
    pthread_cleanup_push(clean, 0);
    ((int (*)(void))exit_stub)();
    pthread_cleanup_pop(0);
    return 0;
}

static void exit_once(void) {
    pthread_t id;
    void *result;
    cleaned = 0;
    CHECK(!pthread_create(&id, 0, thread, 0), "a thread");
    CHECK(!pthread_join(id, &result), "its end");
    SAME((u64)result, 77);
    SAME(cleaned, 1);
}

static void thread_exit(void) { BOTH(exit_once); }

/* Each thread has a state of its own, which begins with a generation that none has. */
extern __thread u64 umtui_thread[] __attribute__((tls_model("initial-exec")));
static void *looks(void *other) {
    CHECK((u64 *)other != umtui_thread, "the same place");
    SAME(umtui_thread[0], ~0ull);
    for (int n = 1; n < UMTUI_THREAD_BYTES / 8; n++) SAME(umtui_thread[n], 0);
    return 0;
}

static void threads(void) {
    pthread_t id;
    SAME(umtui_thread[0], ~0ull);
    SAME((u64)umtui_thread % 64, 0);
    umtui_thread[0] = 3;
    CHECK(!pthread_create(&id, 0, looks, umtui_thread), "a thread");
    pthread_join(id, 0);
}

/* dlsym and its kin: asked first, then the real function with everything as it was, its caller's address too. */
u64 umtui_real_dlsym, umtui_real_dlvsym, umtui_real_dlopen, umtui_real_dlclose;
static u64 asked[4], asked_count;
static struct { u64 decided, pointer; } picked;
struct pair { u64 first, second; };
struct pair umtui_pick_versioned(u64 handle, u64 name, u64 version, u64 caller) {
    asked[0] = handle, asked[1] = name, asked[2] = caller, asked[3] = version;
    struct pair pair = {picked.decided, picked.pointer};
    probe_spoil();
    return pair;
}

struct pair umtui_pick(u64 handle, u64 name, u64 caller) {
    asked[0] = handle, asked[1] = name, asked[2] = caller;
    asked_count++;
    struct pair pair = {picked.decided, picked.pointer};
    probe_spoil();
    return pair;
}
u32 umtui_before_dlopen(u64 path, u64 flags, u64 caller) {
    asked[0] = path, asked[1] = flags, asked[2] = caller;
    asked_count++;
    probe_spoil();
    return flags & ~8u;
}
void umtui_before_dlclose(void) {
    asked_count++;
    probe_spoil();
}

static void tail_jumps(void) {
    umtui_real_dlsym = umtui_real_dlvsym = umtui_real_dlopen = umtui_real_dlclose = (u64)probe_callee;
    answer();
    struct call call = made(exported_dlsym, 0, 0);
    probe_call(&call);
    for (int n = 0; n < 2; n++) {
        SAME(probe_seen.x[n], call.x[n]);
        SAME(asked[n], call.x[n]);
    }
    SAME(asked[2], (u64)probe_return);
    SAME(probe_seen.lr, (u64)probe_return);
    SAME(probe_seen.sp, call.sp_before);
    came_back(&call);
    picked.decided = 1, picked.pointer = 0x1234;
    probe_call(&call);
    SAME(probe_seen.calls, 1);
    SAME(call.result[0], 0x1234);
    kept(&call);
    call.function = exported_dlvsym, call.x[2] = 0x56;
    probe_call(&call);
    SAME(asked[2], (u64)probe_return);
    SAME(asked[3], 0x56);
    SAME(call.result[0], 0x1234);
    kept(&call);
    picked.decided = 0;
    probe_call(&call);
    for (int n = 0; n < 3; n++) SAME(probe_seen.x[n], call.x[n]);
    SAME(probe_seen.lr, (u64)probe_return);
    SAME(probe_seen.sp, call.sp_before);
    came_back(&call);
    call.function = exported_dlopen, call.x[1] = 0x109;
    probe_call(&call);
    SAME(asked[0], call.x[0]);
    SAME((u32)asked[1], 0x109);
    SAME(asked[2], (u64)probe_return);
    SAME(probe_seen.x[0], call.x[0]);
    SAME((u32)probe_seen.x[1], 0x101);
    SAME(probe_seen.lr, (u64)probe_return);
    SAME(probe_seen.sp, call.sp_before);
    came_back(&call);
    call.function = exported_dlclose;
    probe_call(&call);
    SAME(asked_count, 4);
    SAME(probe_seen.x[0], call.x[0]);
    SAME(probe_seen.lr, (u64)probe_return);
    came_back(&call);
    SAME(probe_seen.calls, 4);
}

void conventions(void);

__attribute__((visibility("default"))) int harness(const char *name) {
    static const struct { const char *name; void (*run)(void); } CASES[] = {
        {"registers", registers}, {"stack", stack}, {"pass", pass}, {"unknown", unknown}, {"missing", missing},
        {"off", off}, {"asks", asks}, {"left_out", left_out}, {"measure", measure}, {"cache", cache}, {"nested", nested}, {"longjmp", leap}, {"structure", structure},
        {"unwinding", unwinding}, {"thread_exit", thread_exit}, {"threads", threads}, {"tail_jumps", tail_jumps},
        {"conventions", conventions},
    };
    for (unsigned n = 0; n < sizeof CASES / sizeof *CASES; n++)
        if (!strcmp(name, CASES[n].name)) {
            CASES[n].run();
            printf("done %s\n", name);
            return 0;
        }
    return 2;
}
