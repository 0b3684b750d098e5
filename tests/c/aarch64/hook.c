/* See harness.h. */
#include "harness.h"

#define SLOTS 8
#define DESK_CALLS 15
#define AT(type, base, offset) (*(type *)((char *)(base) + (offset)))

/* What trampoline.s wants. */
u64 umtui_page, umtui_sites[1 << UMTUI_SITES_BITS];
char umtui_slots[SLOTS * UMTUI_SLOT_BYTES] __attribute__((aligned(64)));
char umtui_measured[UMTUI_SLOT_BYTES] __attribute__((aligned(64)));
void (*umtui_trampoline)(void);
extern __thread char umtui_thread[UMTUI_THREAD_BYTES] __attribute__((tls_model("initial-exec")));

struct seen probe_seen;
struct answer probe_answer;
enum verdict verdict;
void (*inside_enter)(void), (*inside_leave)(void), (*inside_clock)(void);
struct told told;

/* One more than a desk has: the first is above all frames. */
static char desk[(1 + DESK_CALLS) * UMTUI_OPEN_BYTES] __attribute__((aligned(64)));

static char *first_call(void) { return desk + UMTUI_OPEN_BYTES; }

static void sit_down(void) {
    memset(desk, 0, sizeof desk);
    AT(u64, desk, UMTUI_OPEN_FRAME) = ~0ull;
    AT(char *, umtui_thread, UMTUI_THREAD_OPEN) = first_call();
    AT(char *, umtui_thread, UMTUI_THREAD_DESK_END) = desk + sizeof desk;
}

static void set_slot(int slot, const void *function, unsigned stack_bytes) {
    char *at = umtui_slots + slot * UMTUI_SLOT_BYTES;
    AT(const void *, at, UMTUI_SLOT_REAL) = function;
    AT(u16, at, UMTUI_SLOT_API) = 40 + slot;
    AT(u16, at, UMTUI_SLOT_STACK) = stack_bytes;
}

const void *stub_to(const void *function, unsigned stack_bytes) {
    memset(&told, 0, sizeof told);
    memset(&probe_seen, 0, sizeof probe_seen);
    memset(umtui_sites, 0, sizeof umtui_sites);
    memset(umtui_slots, 0, sizeof umtui_slots);
    inside_enter = inside_leave = inside_clock = 0;
    verdict = RECORD;
    set_generation(3);
    sit_down();
    set_slot(1, function, stack_bytes);
    return umtui_pool + UMTUI_POOL_STEP;
}

const void *second_stub_to(const void *function, unsigned stack_bytes) {
    set_slot(2, function, stack_bytes);
    return umtui_pool + 2 * UMTUI_POOL_STEP;
}

void set_real(const void *function) { AT(const void *, umtui_slots, UMTUI_SLOT_BYTES + UMTUI_SLOT_REAL) = function; }
void set_generation(u64 generation) { umtui_page = generation; }
void forget_sites(void) { memset(umtui_sites, 0, sizeof umtui_sites); }
void set_flag(unsigned bit) { AT(unsigned char, umtui_slots, UMTUI_SLOT_BYTES + UMTUI_SLOT_FLAGS) |= 1u << bit; }
void use(void (*trampoline)(void)) { umtui_trampoline = trampoline; }

unsigned open_calls(void) {
    return (AT(char *, umtui_thread, UMTUI_THREAD_OPEN) - first_call()) / UMTUI_OPEN_BYTES;
}

u64 open_word(unsigned call, unsigned offset) { return AT(u64, first_call() + call * UMTUI_OPEN_BYTES, offset); }

void fill_desk(void) {
    for (unsigned call = 0; call < DESK_CALLS; call++) AT(u64, first_call() + call * UMTUI_OPEN_BYTES, UMTUI_OPEN_FRAME) = ~1ull;
    AT(char *, umtui_thread, UMTUI_THREAD_OPEN) = desk + sizeof desk;
}

static u64 counter;

u64 umtui_clock_now(void) {
    told.clocks++;
    u64 now = ++counter;
    if (inside_clock) inside_clock();
    probe_spoil();
    return now;
}

static u64 ticks(void) {
    u64 now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now));
    return now;
}

static u64 *registers(char *frame) { return &AT(u64, frame, UMTUI_FRAME_REGISTERS); }

/* As enter.rs and what it calls. */
u64 umtui_enter(char *frame, char *thread) {
    told.enters++;
    told.open = open_calls();
    SAME((u64)thread, (u64)umtui_thread);
    SAME((u64)frame % 16, 0);
    u64 address = (u64)frame + UMTUI_FRAME_ABOVE, site = registers(frame)[9];
    char *slot = AT(char *, frame, UMTUI_FRAME_SLOT);
    CHECK((slot >= umtui_slots && slot < umtui_slots + sizeof umtui_slots) || slot == umtui_measured, "%p", slot);
    AT(u64, thread, UMTUI_THREAD_GENERATION) = umtui_page;
    umtui_sites[site >> UMTUI_SITES_SHIFT & ((1 << UMTUI_SITES_BITS) - 1)] = site;
    /* Calls that were left without returning. */
    char *open = AT(char *, thread, UMTUI_THREAD_OPEN);
    while (AT(u64, open - UMTUI_OPEN_BYTES, UMTUI_OPEN_FRAME) <= address) open -= UMTUI_OPEN_BYTES;
    AT(char *, thread, UMTUI_THREAD_OPEN) = open;
    static char deeper[UMTUI_OPEN_BYTES];
    if (verdict == RECORD && open == desk + sizeof desk) {
        AT(char *, frame, UMTUI_FRAME_OPEN) = deeper;
    } else if (verdict == RECORD) {
        AT(char *, frame, UMTUI_FRAME_OPEN) = open;
        AT(char *, thread, UMTUI_THREAD_OPEN) = open + UMTUI_OPEN_BYTES;
        AT(u64, open, UMTUI_OPEN_FRAME) = address;
        AT(u64, open, UMTUI_OPEN_SITE) = site;
        memcpy(open + UMTUI_OPEN_REGISTERS, registers(frame), 24);
        AT(u64, open, UMTUI_OPEN_START) = umtui_trampoline == umtui_by_ticks ? ticks() : umtui_clock_now();
        AT(u64, open, UMTUI_OPEN_HEAD) = AT(u16, slot, UMTUI_SLOT_API) + 1;
    }
    u64 answer = verdict;
    if (inside_enter) inside_enter();
    probe_spoil();
    return answer;
}

/* As record.rs. */
void umtui_leave(char *frame, u64 end, char *thread) {
    told.leaves++;
    SAME((u64)thread, (u64)umtui_thread);
    SAME((u64)frame % 16, 0);
    char *open = AT(char *, frame, UMTUI_FRAME_OPEN), *slot = AT(char *, frame, UMTUI_FRAME_SLOT);
    CHECK((slot >= umtui_slots && slot < umtui_slots + sizeof umtui_slots) || slot == umtui_measured, "%p", slot);
    unsigned stack_words = AT(u16, slot, UMTUI_SLOT_STACK) / 8;
    memcpy(told.words, registers(frame), (10 + stack_words) * 8);
    told.start = AT(u64, open, UMTUI_OPEN_START);
    told.end = end;
    told.site = registers(frame)[9];
    told.result = AT(u64, frame, UMTUI_FRAME_RESULT);
    told.result_high = AT(u64, frame, UMTUI_FRAME_RESULT + 8);
    told.depth = (open - first_call()) / UMTUI_OPEN_BYTES;
    if (open >= desk && open < desk + sizeof desk) {
        SAME(AT(u64, open, UMTUI_OPEN_HEAD), AT(u16, slot, UMTUI_SLOT_API) + 1);
        AT(u64, open, UMTUI_OPEN_HEAD) = 0;
        /* So that the next call's are its own. */
        AT(u64, open, UMTUI_OPEN_SITE) = 0;
        memset(open + UMTUI_OPEN_REGISTERS, 0, 24);
        AT(char *, thread, UMTUI_THREAD_OPEN) = open;
    }
    if (inside_leave) inside_leave();
    probe_spoil();
}
