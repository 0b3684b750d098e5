/* profiled WHEN [PATH]: a program with a profiler of its own inside, whose buffers come from malloc. WHEN says when it begins to use
 * CUPTI: early (before cuInit), late (after work was done), twice (late, and again after it has left, cuptiFinalize between),
 * threads (late, from four threads at once). CUPTI is the one that it is linked with, or with PATH the library there, by dlopen.
 * Prints what each call said and how many kernels it was told of. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*callback)(void *, uint32_t, uint32_t, const void *);
typedef void (*request)(uint8_t **, size_t *, size_t *);
typedef void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
#define FUNCTIONS(X)                                                                                                   \
    X(cuptiSubscribe, (void **, callback, void *))                                                                     \
    X(cuptiUnsubscribe, (void *))                                                                                      \
    X(cuptiActivityRegisterCallbacks, (request, complete))                                                             \
    X(cuptiActivityEnable, (uint32_t))                                                                                 \
    X(cuptiActivityDisable, (uint32_t))                                                                                \
    X(cuptiActivityFlushAll, (uint32_t))                                                                               \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, uint8_t **))                                                     \
    X(cuptiFinalize, (void))
#define DECLARE(name, arguments) int name arguments;
FUNCTIONS(DECLARE)
#define POINTER(name, arguments) int(*name) arguments;
static struct {
    FUNCTIONS(POINTER)
} cupti;

static uint64_t kernels, unknown;
static uint8_t *lent[1024];
static size_t lent_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void requested(uint8_t **buffer, size_t *size, size_t *records) {
    *size = 1 << 16;
    *records = 0;
    *buffer = malloc(*size);
    pthread_mutex_lock(&lock);
    if (lent_count < 1024) lent[lent_count++] = *buffer;
    pthread_mutex_unlock(&lock);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    (void)context, (void)stream, (void)size;
    int ours = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < lent_count; i++) ours |= lent[i] == buffer;
    uint8_t *at = NULL;
    while (cupti.cuptiActivityGetNextRecord(buffer, valid, &at) == 0) kernels += *(uint32_t *)at == 10;
    unknown += !ours;
    pthread_mutex_unlock(&lock);
    if (ours) free(buffer);
}

static void called(void *user, uint32_t domain, uint32_t id, const void *data) { (void)user, (void)domain, (void)id, (void)data; }

static cuda_handle scale;
static CUdeviceptr device;

static void initialise(void) {
    cuda_handle context = 0, module = 0;
    SHOW(cuInit(0));
    SHOW(cuDevicePrimaryCtxRetain(&context, 0));
    SHOW(cuCtxSetCurrent(context));
    SHOW(cuModuleLoadData(&module, IMAGE));
    SHOW(cuModuleGetFunction(&scale, module, "_Z5scalePfm"));
    SHOW(cuMemAlloc_v2(&device, 1 << 16));
}

static void work(int count) {
    unsigned long elements = 256;
    void *params[] = {&device, &elements};
    int failed = 0;
    for (int i = 0; i < count; i++) failed |= cuLaunchKernel(scale, 8, 1, 1, 256, 1, 1, 0, 0, params, 0);
    printf("work %d\n", failed | cuCtxSynchronize());
}

static void profile(int count) {
    void *subscriber = 0;
    SHOW(cupti.cuptiSubscribe(&subscriber, called, 0));
    SHOW(cupti.cuptiActivityRegisterCallbacks(requested, completed));
    SHOW(cupti.cuptiActivityEnable(10));
    if (!device) initialise();
    work(count);
    SHOW(cupti.cuptiActivityFlushAll(1));
    SHOW(cupti.cuptiActivityDisable(10));
    SHOW(cupti.cuptiUnsubscribe(subscriber));
    printf("kernels %lu unknown %lu\n", kernels, unknown);
}

static void *subscribe(void *result) {
    void *subscriber = 0;
    *(int *)result = cupti.cuptiSubscribe(&subscriber, called, 0);
    return 0;
}

int main(int argc, char **argv) {
    const char *when = argc > 1 ? argv[1] : "late";
#define LINKED(name, arguments) cupti.name = name;
    FUNCTIONS(LINKED)
    if (!strcmp(when, "early")) {
        profile(5);
        return 0;
    }
    initialise();
    work(3);
    if (argc > 2) {
        void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        if (!library) return printf("%s\n", dlerror()) < 0;
#define FOUND(name, arguments) *(void **)&cupti.name = dlsym(library, #name);
        FUNCTIONS(FOUND)
    }
    if (!strcmp(when, "threads")) {
        pthread_t threads[4];
        int results[4], subscribed = 0;
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, subscribe, &results[i]);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0), subscribed += results[i] == 0;
        printf("subscribed %d\n", subscribed);
        return 0;
    }
    profile(5);
    work(2);
    if (!strcmp(when, "twice")) {
        SHOW(cupti.cuptiFinalize());
        profile(4);
    }
    return 0;
}
