/* part HOW: three rounds of 10 + 20 calls, where the 20 of each round lie between a start and a stop of HOW: profiler
 * (the runtime's), driver, signal (SIGUSR2), push, start or domain (ranges). Prints how many calls succeeded.
 * With fork, another thread makes 20 calls in a range, and while it is open a child makes 20 outside of any.
 * NVTX is a client written here after the layout of version 3's types: a library named by NVTX_INJECTION64_PATH fills in
 * function pointers. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

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

static uint64_t (*start_a)(const char *);
static void (*end)(uint64_t);
static int (*push_a)(const char *), (*pop)(void);
static int (*domain_push)(void *, const attributes *), (*domain_pop)(void *);
static void *(*register_a)(void *, const char *), *(*domain_create)(const char *);
static void *core[16], *core2[16];
static void **core_table[17], **core2_table[17];

static int module_table(int module, void ****table, unsigned *count) {
    *table = module == 1 ? core_table : module == 5 ? core2_table : 0;
    *count = 16;
    return *table != 0;
}

static const struct {
    size_t size;
    int (*get)(int, void ****, unsigned *);
} callbacks = {sizeof callbacks, module_table};

static const void *export_table(uint32_t id) { return id == 1 ? &callbacks : 0; }

static void load(void) {
    for (int i = 0; i < 16; i++) core_table[i] = &core[i], core2_table[i] = &core2[i];
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : 0;
    int (*initialize)(const void *(*)(uint32_t)) = library ? dlsym(library, "InitializeInjectionNvtx2") : 0;
    if (!initialize || !initialize(export_table)) return;
    start_a = core[5], end = core[7], push_a = core[9], pop = core[11];
    domain_push = core2[4], domain_pop = core2[5], register_a = core2[10], domain_create = core2[12];
}

static pthread_barrier_t step;

static void *in_range(void *unused) {
    int device = 0;
    push_a("step");
    for (int i = 0; i < 20; i++) cudaGetDevice(&device);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    pop();
    return unused;
}

static int forking(void) {
    int device = 0, status = 1;
    pthread_t thread;
    if (!push_a || pthread_barrier_init(&step, 0, 2) || pthread_create(&thread, 0, in_range, 0)) return 0;
    pthread_barrier_wait(&step);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 20; i++) cudaGetDevice(&device);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    pthread_barrier_wait(&step);
    pthread_join(thread, 0);
    return status;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int device = 0, good = 0, levels = 0;
    uint64_t id = 0;
    load();
    if (!strcmp(how, "fork")) return forking();
    void *domain = domain_create ? domain_create("lib") : 0, *name = register_a ? register_a(domain, "step") : 0;
    attributes registered = {3, sizeof registered, 0, 0, 0, 0, 0, 0, 3, name};
    attributes ascii = {3, sizeof ascii, 0, 0, 0, 0, 0, 0, 1, "inner"};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++) good += cudaGetDevice(&device) == 0;
        if (!strcmp(how, "profiler")) cudaProfilerStart();
        if (!strcmp(how, "driver")) cuProfilerStart();
        if (!strcmp(how, "signal")) raise(SIGUSR2);
        if (!strcmp(how, "push") && push_a) levels += push_a("outer"), levels += push_a("step"), push_a("inner");
        if (!strcmp(how, "start") && start_a) id = start_a("step");
        if (!strcmp(how, "domain") && domain_push) domain_push(domain, &registered), domain_push(domain, &ascii);
        for (int i = 0; i < 20; i++) good += cudaGetDevice(&device) == 0;
        if (!strcmp(how, "profiler")) cudaProfilerStop();
        if (!strcmp(how, "driver")) cuProfilerStop();
        if (!strcmp(how, "signal")) raise(SIGUSR2);
        if (!strcmp(how, "push") && push_a) pop(), pop(), pop();
        if (!strcmp(how, "start") && start_a) end(id);
        if (!strcmp(how, "domain") && domain_push) domain_pop(domain), domain_pop(domain);
    }
    printf("%d good, levels %d\n", good, levels);
    return 0;
}
