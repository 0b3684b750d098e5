/* ranges HOW: ranges and marks of clients written here after the layout of NVTX version 3's types: a library named by
 * NVTX_INJECTION64_PATH fills in function pointers. Without one nothing is filled in, and nothing is called. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
} attributes;

/* What one library with NVTX in it has. */
typedef struct {
    void *core[16], *core2[16];
    void **core_table[17], **core2_table[17];
} client;

static client first, second, *loading;

static int module_table(int module, void ****table, unsigned *count) {
    *table = module == 1 ? loading->core_table : module == 5 ? loading->core2_table : 0;
    *count = 16;
    return *table != 0;
}

static const struct {
    size_t size;
    int (*get)(int, void ****, unsigned *);
} callbacks = {sizeof callbacks, module_table};

static const void *export_table(uint32_t id) { return id == 1 ? &callbacks : 0; }

static int load(client *one) {
    loading = one;
    for (int i = 0; i < 16; i++) one->core_table[i] = &one->core[i], one->core2_table[i] = &one->core2[i];
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : 0;
    int (*initialize)(const void *(*)(uint32_t)) = library ? dlsym(library, "InitializeInjectionNvtx2") : 0;
    return initialize && initialize(export_table);
}

static client *in_use = &first;
#define CORE(index, type) ((type)in_use->core[index])
#define CORE2(index, type) ((type)in_use->core2[index])
static void mark_ex(const attributes *a) { CORE(1, void (*)(const attributes *))(a); }
static void mark(const char *name) { CORE(2, void (*)(const char *))(name); }
static void mark_w(const wchar_t *name) { CORE(3, void (*)(const wchar_t *))(name); }
static uint64_t start_ex(const attributes *a) { return CORE(4, uint64_t(*)(const attributes *))(a); }
static uint64_t start(const char *name) { return CORE(5, uint64_t(*)(const char *))(name); }
static uint64_t start_w(const wchar_t *name) { return CORE(6, uint64_t(*)(const wchar_t *))(name); }
static void end(uint64_t id) { CORE(7, void (*)(uint64_t))(id); }
static int push_ex(const attributes *a) { return CORE(8, int (*)(const attributes *))(a); }
static int push(const char *name) { return CORE(9, int (*)(const char *))(name); }
static int push_w(const wchar_t *name) { return CORE(10, int (*)(const wchar_t *))(name); }
static int pop(void) { return CORE(11, int (*)(void))(); }
static void name_thread(uint32_t id, const char *name) { CORE(14, void (*)(uint32_t, const char *))(id, name); }
static void domain_mark(void *d, const attributes *a) { CORE2(1, void (*)(void *, const attributes *))(d, a); }
static uint64_t domain_start(void *d, const attributes *a) {
    return CORE2(2, uint64_t(*)(void *, const attributes *))(d, a);
}
static void domain_end(void *d, uint64_t id) { CORE2(3, void (*)(void *, uint64_t))(d, id); }
static int domain_push(void *d, const attributes *a) { return CORE2(4, int (*)(void *, const attributes *))(d, a); }
static int domain_pop(void *d) { return CORE2(5, int (*)(void *))(d); }
static void *register_a(void *d, const char *name) { return CORE2(10, void *(*)(void *, const char *))(d, name); }
static void *register_w(void *d, const wchar_t *name) { return CORE2(11, void *(*)(void *, const wchar_t *))(d, name); }
static void *create(const char *name) { return CORE2(12, void *(*)(const char *))(name); }

static attributes with(int type, const void *message) {
    attributes a = {3, sizeof a, 0, 0, 0, 0, 0, 0, type, message};
    return a;
}

static void call(void) {
    int device;
    cudaGetDevice(&device);
}

static void rest(void) {
    attributes a = with(1, "with a resource");
    void *resource = CORE2(6, void *(*)(void *, void *))(0, &a);
    CORE2(7, void (*)(void *))(resource);
    CORE(12, void (*)(uint32_t, const char *))(7, "category");
    CORE(13, void (*)(uint32_t, const wchar_t *))(7, L"category");
    CORE2(8, void (*)(void *, uint32_t, const char *))(0, 7, "category");
    CORE2(9, void (*)(void *, uint32_t, const wchar_t *))(0, 7, L"category");
    CORE(15, void (*)(uint32_t, const wchar_t *))(1, L"another's thread");
    CORE2(14, void (*)(void *))(CORE2(13, void *(*)(const wchar_t *))(L"gone"));
    CORE2(15, void (*)(const void *))(0);
    printf("resource %d\n", resource != 0);
}

/* Every way in which a name, a payload and a colour can come. */
static void all(void) {
    void *domain = create("lib"), *again = create("lib"), *other = create("lib 2");
    void *registered = register_a(domain, "registered"), *wide = register_w(domain, L"weit \u00fc");
    printf("handles %d\n", domain == again && domain != other && registered != wide);
    printf("levels %d", push("outer"));
    attributes a = with(1, "painted");
    a.category = 7, a.color_type = 1, a.color = 0xff112233, a.payload_type = 2, a.payload = (uint64_t)-5;
    printf(" %d", push_ex(&a));
    printf(" %d", push_w(L"wei\u00df \u65e5\u672c"));
    attributes b = with(3, registered), c = with(3, wide), d = with(2, L"wide too"), e = with(1, 0);
    printf(" %d", domain_push(domain, &b));
    printf(" %d", domain_push(domain, &c));
    printf(" %d", domain_push(other, &d));
    call();
    mark("marked"), mark_w(L"m\u00e4rked"), domain_mark(other, &b);
    e.payload_type = 6, e.payload = 0xffffffff3fc00000;
    mark_ex(&e);
    /* Of the domains each is a stack of its own. */
    printf(" %d", pop());
    printf(" %d", domain_pop(domain));
    printf(" %d", domain_pop(other));
    printf(" %d", domain_pop(domain));
    printf(" %d", pop());
    printf(" %d", pop());
    printf(" %d %d\n", pop(), domain_pop(other));
    uint64_t one = start("one"), two = start_ex(&a), three = start_w(L"three"), four = domain_start(domain, &b);
    end(two), end(one), domain_end(domain, four), end(three), end(three), end(0), end(123456), end((uint64_t)-1);
    rest();
}

/* Attributes that are not what they should be. */
static void garbage(void) {
    attributes a = with(1, "whole");
    a.category = 9, a.color_type = 1, a.color = 0xff000001, a.payload_type = 1, a.payload = 77;
    for (int size = 0; size < 80; size++) {
        a.size = (uint16_t)size;
        push_ex(&a), pop();
    }
    a.size = 65535, mark_ex(&a);
    a.size = sizeof a, a.version = 0, mark_ex(&a);
    a.version = 65535, a.payload_type = -1, a.color_type = 99, mark_ex(&a);
    for (int type = -2; type < 8; type++) a.message_type = type, a.message = 0, mark_ex(&a);
    a.message_type = 99, a.message = (void *)1, mark_ex(&a);
    a.message_type = 3, a.message = (void *)0x123456789, mark_ex(&a);
    push_ex(0), pop(), push(0), pop(), push_w(0), pop(), mark(0), mark(""), mark_ex(0);
    wchar_t odd[] = {'A', 0xd800, 0x110000, -1, 'B', 0};
    mark_w(odd);
    attributes b = with(1, "in a domain of somebody else");
    domain_push((void *)0x1234, &b), domain_pop((void *)0x1234);
    printf("handles %d %d\n", register_a(0, 0) == 0, create(0) == 0);
    char *long_name = malloc(100000);
    memset(long_name, 'x', 99999), long_name[99999] = 0;
    mark(long_name);
    free(long_name);
    mark("\x1b[31m\xff\xfe");
    mark("last");
}

static void levels(int depth) {
    char name[32];
    for (int i = 0; i < depth; i++) sprintf(name, "level %d", i), push(name);
    call();
    for (int i = depth; i > 0; i--)
        if (pop() != i - 1) printf("level %d is wrong\n", i);
    mark("after");
}

/* Recording begins inside of ranges. */
static void early(void) {
    void *domain = create("lib"), *registered = register_a(domain, "registered early");
    char name[300];
    memset(name, 'n', 299), name[299] = 0;
    attributes a = with(3, registered);
    push("over before"), pop();
    mark("before");
    uint64_t gone = start("gone before"), id = start("started before");
    end(gone);
    push("first"), domain_push(domain, &a), push_w(L"zw\u00f6lf"), push(name);
    push("over too"), pop();
    domain_pop(domain), domain_push(domain, &a);
    usleep(20000);
    call();
    mark("then");
    pop(), pop(), domain_pop(domain), pop();
    end(id);
}

static void *thread_main(void *number) {
    char name[32];
    sprintf(name, "thread %d", (int)(intptr_t)number);
    if ((intptr_t)number % 2) name_thread((uint32_t)syscall(SYS_gettid), name);
    push(name);
    if ((intptr_t)number % 3 != 2) call();
    for (int i = 0; i < 100; i++) push("inner"), pop();
    pop();
    return 0;
}

static void threads(void) {
    pthread_t ids[6];
    call();
    name_thread((uint32_t)syscall(SYS_gettid), "the main one");
    name_thread((uint32_t)syscall(SYS_gettid) + 1, "not this one");
    uint64_t id = start("across");
    for (int i = 0; i < 6; i++) pthread_create(&ids[i], 0, thread_main, (void *)(intptr_t)i);
    for (int i = 0; i < 6; i++) pthread_join(ids[i], 0);
    end(id);
    /* As many as there are stacks for, one after another. */
    for (int i = 0; i < 1500; i++) pthread_create(&ids[0], 0, thread_main, 0), pthread_join(ids[0], 0);
}

static void forks(int before) {
    void *domain = create("lib"), *registered = register_a(domain, "registered");
    attributes a = with(3, registered);
    call();
    for (int i = 0; i < before; i++) {
        char name[320];
        memset(name, 'p', 290), sprintf(name + 290, "%d", i);
        mark(name);
    }
    domain_push(domain, &a), push("open over fork");
    uint64_t id = start("started over fork");
    pid_t pid = fork();
    if (pid == 0) {
        push("before its first call"), pop();
        push("open in the child");
        call();
        domain_mark(domain, &a);
        pop(), pop(), domain_pop(domain);
        end(id);
        exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    pop(), domain_pop(domain);
    end(id);
    printf("child %d\n", status);
}

static void clients(void) {
    load(&second);
    void *domain = create("shared"), *registered = register_a(domain, "by the first");
    push("first's");
    in_use = &second;
    attributes a = with(3, registered);
    call();
    printf("same %d\n", create("shared") == domain);
    push("second's"), domain_push(domain, &a);
    in_use = &first;
    domain_pop(domain), pop();
    in_use = &second;
    pop();
}

static void errnos(void) {
    void *domain = create("lib");
    attributes a = with(1, "name");
    errno = 77;
    load(&second);
    for (int i = 0; i < 3000; i++) {
        char name[32];
        sprintf(name, "name %d", i);
        errno = 77;
        push(name), domain_push(domain, &a), mark(name), mark_w(L"weit"), domain_pop(domain), pop();
        uint64_t id = start(name);
        end(id);
        register_a(domain, name);
        if (errno != 77) {
            printf("errno became %d\n", errno);
            return;
        }
        if (i == 5) call();
    }
    printf("errno kept\n");
}

static void paused(void) {
    push("outer"), push("over before"), pop();
    call();
    cudaProfilerStart();
    call();
    push("while on");
    cudaProfilerStop();
    pop();
    push("while off"), pop(), mark("off");
    push("left open");
    cudaProfilerStart();
    call();
    pop(), pop();
    cudaProfilerStop();
}

static void handler(int unused) {
    (void)unused;
    push("in a handler"), pop();
}

static void signals(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGALRM, &action, 0);
    call();
    ualarm(200, 200);
    for (int i = 0; i < 100000; i++) push("outside"), call(), pop();
    ualarm(0, 0);
    mark("after");
}

static void many(int count) {
    call();
    for (int i = 0; i < count; i++) {
        char name[48];
        sprintf(name, "aten::ones, op_id = %d", i);
        push(name), pop();
    }
    mark("once more"), mark("once more");
    call();
}

/* For a profiler that counts instructions: pairs of a registered or a plain name, and none. */
static void loop(const char *kind, int count) {
    void *domain = create("lib");
    attributes a = with(3, register_a(domain, "registered"));
    call();
    for (int i = 0; i < count; i++) {
        if (!strcmp(kind, "registered")) domain_push(domain, &a), domain_pop(domain);
        if (!strcmp(kind, "ascii")) push("forward pass 12"), pop();
    }
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0;
    if (!load(&first)) {
        call();
        printf("no listener\n");
        return 0;
    }
    if (!strcmp(how, "all")) call(), all();
    if (!strcmp(how, "garbage")) call(), garbage();
    if (!strcmp(how, "levels")) call(), levels(count);
    if (!strcmp(how, "early-levels")) levels(count);
    if (!strcmp(how, "early")) early();
    if (!strcmp(how, "threads")) threads();
    if (!strcmp(how, "fork")) forks(count);
    if (!strcmp(how, "clients")) clients();
    if (!strcmp(how, "errno")) errnos();
    if (!strcmp(how, "paused")) paused();
    if (!strcmp(how, "signals")) signals();
    if (!strcmp(how, "many")) many(count);
    if (!strcmp(how, "loop")) loop(argv[3], count);
    return 0;
}
