/* cupti [late] [buffer BYTES] [limit RECORDS] [none N] [graphs] [busy THREADS]: a client of the stand-in CUPTI that asks for
 * everything, does some work of every kind, and prints what it was told beside what the driver counted. With `none` the first N
 * requests for a buffer are refused, with `late` the driver is initialised first, with `graphs` graphs are recorded as a whole,
 * with `busy` threads use managed memory while another one flushes. Each line of output is a word and a number. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags);
CUresult cuMemAllocHost_v2(void **out, size_t bytes);
CUresult cuMemFreeHost(void *pointer);
CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, cuda_handle stream);
CUresult cuMemFreeAsync(CUdeviceptr pointer, cuda_handle stream);
CUresult cuMemPrefetchAsync(CUdeviceptr at, size_t bytes, int device, cuda_handle stream);
CUresult cuMemAdvise(CUdeviceptr at, size_t bytes, int advice, int device);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, cuda_handle stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes);
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, cuda_handle stream);
CUresult cuEventCreate(cuda_handle *out, unsigned flags);
CUresult cuEventRecord(cuda_handle event, cuda_handle stream);
CUresult cuEventSynchronize(cuda_handle event);
CUresult cuStreamWaitEvent(cuda_handle stream, cuda_handle event, unsigned flags);
CUresult cuStreamBeginCapture_v2(cuda_handle stream, int mode);
CUresult cuStreamEndCapture(cuda_handle stream, cuda_handle *graph);
CUresult cuGraphInstantiateWithFlags(cuda_handle *out, cuda_handle graph, unsigned long long flags);
CUresult cuGraphLaunch(cuda_handle exec, cuda_handle stream);

struct totals {
    uint64_t size, h2d, d2h, d2d, rows_h2d, rows_d2h, rows_d2d, cpu_faults, gpu_groups, remote_maps;
    uint64_t causes[4];
    uint64_t kernels, copies, copy_bytes, sets, host_functions;
};
int umsim_counters(struct totals *out);

typedef void (*callback)(void *, uint32_t, uint32_t, const void *);
#define FUNCTIONS(X)                                                                                                   \
    X(cuptiGetVersion, (uint32_t *))                                                                                   \
    X(cuptiGetResultString, (int, const char **))                                                                      \
    X(cuptiGetTimestamp, (uint64_t *))                                                                                 \
    X(cuptiSubscribe, (void **, callback, void *))                                                                     \
    X(cuptiUnsubscribe, (void *))                                                                                      \
    X(cuptiEnableCallback, (uint32_t, void *, uint32_t, uint32_t))                                                     \
    X(cuptiEnableDomain, (uint32_t, void *, uint32_t))                                                                 \
    X(cuptiGetCallbackName, (uint32_t, uint32_t, const char **))                                                       \
    X(cuptiActivityRegisterCallbacks,                                                                                  \
      (void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t)))               \
    X(cuptiActivityEnable, (uint32_t))                                                                                 \
    X(cuptiActivityDisable, (uint32_t))                                                                                \
    X(cuptiActivityFlushAll, (uint32_t))                                                                               \
    X(cuptiActivityFlushPeriod, (uint32_t))                                                                            \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, uint8_t **))                                                     \
    X(cuptiActivityGetNumDroppedRecords, (void *, uint32_t, size_t *))                                                 \
    X(cuptiActivityConfigureUnifiedMemoryCounter, (const void *, uint32_t))                                            \
    X(cuptiActivitySetAttribute, (uint32_t, size_t *, void *))                                                         \
    X(cuptiActivityGetAttribute, (uint32_t, size_t *, void *))                                                         \
    X(cuptiFinalize, (void))
#define DECLARE(name, arguments) static int(*name) arguments;
FUNCTIONS(DECLARE)

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int result_ = (int)(call);                                                                                     \
        if (result_) printf("failed:%s %d\n", #call, result_);                                                         \
    } while (0)
#define SAY(name, value) printf("%s %llu\n", name, (unsigned long long)(value))

enum { MOST = 1 << 16 };
/* What the callbacks saw, by correlation id: the function's id. */
static uint32_t submitted[MOST];
static uint64_t entered, left, odd, contexts, named;
static int launch_id, alloc_id;

static void called(void *user, uint32_t domain, uint32_t id, const void *data) {
    const uint8_t *at = data;
    if (user != (void *)submitted) odd++;
    if (domain == 3) {
        contexts += id == 1;
        return;
    }
    uint32_t site = *(const uint32_t *)at, correlation = *(const uint32_t *)(at + 64);
    const char *name = *(const char **)(at + 8), *symbol = *(const char **)(at + 32);
    const char *known = 0;
    if (domain != 1 || correlation == 0 || correlation >= MOST) odd++;
    if (cuptiGetCallbackName(1, id, &known) || strcmp(known, name)) odd++;
    uint64_t *word = *(uint64_t **)(at + 56);
    if (site == 0) {
        __atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
        *word = correlation;
        submitted[correlation % MOST] = id;
        if ((int)id == launch_id && symbol && !strcmp(symbol, "_Z5scalePfm"))
            __atomic_fetch_add(&named, 1, __ATOMIC_RELAXED);
        /* The block's size is the fifth parameter of a launch. */
        if ((int)id == launch_id && ((const uint32_t *)(*(const uint8_t **)(at + 16) + 8))[3] != 256) odd++;
    } else {
        __atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
        if (*word != correlation || submitted[correlation % MOST] != id) odd++;
        if (**(int **)(at + 24) != 0) odd++;
    }
}

static size_t buffer_bytes = 1 << 16, limit, refuse;
static uint64_t buffers, by_others, unknown, records[64], sums[16][3], correlated, uncorrelated, nodes, in_graphs;
static uint64_t first_ns = UINT64_MAX, last_ns, backwards, faults_with_code, async_copies, overheads;
static uint32_t version;
static pthread_t self;

static void requested(uint8_t **buffer, size_t *size, size_t *max) {
    *buffer = refuse ? (refuse--, NULL) : aligned_alloc(8, buffer_bytes);
    *size = buffer_bytes;
    *max = limit;
}

static uint32_t word(const uint8_t *at, size_t offset) { return *(const uint32_t *)(at + offset); }
static uint64_t wide(const uint8_t *at, size_t offset) { return *(const uint64_t *)(at + offset); }

static void times(uint64_t start, uint64_t end) {
    if (start < first_ns) first_ns = start;
    if (end > last_ns) last_ns = end;
    backwards += end < start;
}

static void correlate(uint32_t correlation, int id) {
    int known = correlation < MOST && submitted[correlation] && (id == 0 || (int)submitted[correlation] == id);
    *(known ? &correlated : &uncorrelated) += 1;
}

static void look(const uint8_t *at) {
    uint32_t kind = word(at, 0);
    if (kind >= 64) {
        unknown++;
        return;
    }
    records[kind]++;
    switch (kind) {
    case 25: {
        uint32_t counter = word(at, 4);
        if (counter > 8) {
            unknown++;
            break;
        }
        sums[counter][0] += wide(at, 8);
        sums[counter][1]++;
        faults_with_code += counter == 3 && wide(at, 8) != 0 && wide(at, 24) == 0;
        if (counter == 1 && word(at, 44) == 0) sums[counter][2]++;
        if (wide(at, 24)) times(wide(at, 16), wide(at, 24));
        break;
    }
    case 10:
        times(wide(at, 16), wide(at, 24));
        if (wide(at, 144)) {
            nodes++;
            in_graphs += word(at, 156) != 0;
            correlate(word(at, 92), 0);
        } else
            correlate(word(at, 92), launch_id);
        if (word(at, 52) != 8 || word(at, 56) != 1 || word(at, 64) != 256 || word(at, 80) != 512) odd++;
        if (*(const char **)(at + 104) && strcmp(*(const char **)(at + 104), "_Z5scalePfm")) odd++;
        break;
    case 1:
        times(wide(at, 16), wide(at, 24));
        sums[9][0] += wide(at, 8);
        async_copies += at[7] & 1;
        correlate(word(at, 44), 0);
        break;
    case 22:
        sums[10][0] += wide(at, 8);
        if (word(at, 44) != 0 || word(at, 52) != 1) odd++;
        correlate(word(at, 60), 0);
        break;
    case 2:
        sums[11][0] += wide(at, 8);
        correlate(word(at, 44), 0);
        break;
    case 38:
        times(wide(at, 8), wide(at, 16));
        sums[12][word(at, 4) == 4]++;
        correlate(word(at, 24), 0);
        break;
    case 36: correlate(word(at, 4), 0); break;
    case 49: correlate(word(at, 12), word(at, 4) == 1 && word(at, 8) == 5 ? alloc_id : 0); break;
    case 51: correlate(word(at, 4), 0); break;
    case 17: overheads++; break;
    }
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    buffers++;
    by_others += !pthread_equal(self, pthread_self());
    if (context || stream || size != buffer_bytes || valid > size || valid == 0) odd++;
    uint8_t *at = NULL;
    size_t count = 0;
    int result;
    while ((result = cuptiActivityGetNextRecord(buffer, valid, &at)) == 0) {
        look(at);
        count++;
    }
    if (result != 12 || (limit && count > limit)) odd++;
    free(buffer);
}

static int find(const char *wanted) {
    for (int id = 1; id < 2000; id++) {
        const char *name = 0;
        if (cuptiGetCallbackName(1, id, &name) == 0 && !strcmp(name, wanted)) return id;
    }
    return -1;
}

static void launch(cuda_handle function, CUdeviceptr memory, unsigned long count, cuda_handle stream) {
    void *params[] = {&memory, &count};
    CHECK(cuLaunchKernel(function, 8, 1, 1, 256, 1, 1, 512, stream, params, 0));
}

static uint64_t truth_copies;

static void work(void) {
    enum { BYTES = 4 << 20, COUNT = BYTES / 4 };
    cuda_handle module = 0, scale = 0, one = 0, two = 0, event = 0, other = 0, first = 0, graph = 0, exec = 0;
    CUdeviceptr managed = 0, device = 0, there = 0, pool = 0, peer = 0;
    void *pinned = 0;
    CHECK(cuDevicePrimaryCtxRetain(&other, 1));
    CHECK(cuCtxSetCurrent(other));
    CHECK(cuMemAlloc_v2(&peer, 1 << 16));
    CHECK(cuDevicePrimaryCtxRetain(&first, 0));
    CHECK(cuCtxSetCurrent(first));
    CHECK(cuModuleLoadData(&module, IMAGE));
    CHECK(cuModuleGetFunction(&scale, module, "_Z5scalePfm"));
    CHECK(cuStreamCreate(&one, 1));
    CHECK(cuStreamCreate(&two, 1));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuMemAllocManaged(&managed, BYTES, 1));
    CHECK(cuMemAlloc_v2(&device, 1 << 20));
    CHECK(cuMemAlloc_v2(&there, 1 << 20));
    CHECK(cuMemAllocHost_v2(&pinned, 1 << 20));
    float *touched = (float *)managed;
    for (int i = 0; i < COUNT; i++) touched[i] = 1;
    for (int round = 0; round < 3; round++) {
        if (round == 2) CHECK(cuMemPrefetchAsync(managed, BYTES, 0, one));
        launch(scale, managed, COUNT, one);
        CHECK(cuEventRecord(event, one));
        CHECK(cuStreamWaitEvent(two, event, 0));
        launch(scale, device, 1 << 18, two);
        CHECK(cuEventSynchronize(event));
        for (int i = 0; i < COUNT; i += 1024) touched[i] += 1;
        CHECK(cuStreamSynchronize(two));
    }
    /* Pages that stay on the host are mapped for the device. */
    CHECK(cuMemPrefetchAsync(managed, BYTES, -1, one));
    CHECK(cuStreamSynchronize(one));
    CHECK(cuMemAdvise(managed, BYTES, 3, -1));
    launch(scale, managed, COUNT, one);
    memset(pinned, 1, 1 << 20);
    CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 1 << 20, one));
    CHECK(cuMemcpyHtoD_v2(device, pinned, 100));
    CHECK(cuMemcpyDtoD_v2(there, device, 1 << 19));
    /* Without it the copy goes through the host, and is told as two. */
    CHECK(cuCtxEnablePeerAccess(other, 0));
    CHECK(cuMemcpyDtoD_v2(peer, device, 1 << 16));
    CHECK(cuMemcpyDtoH_v2(pinned, there, 1 << 18));
    CHECK(cuMemsetD8Async(device, 7, 1 << 20, one));
    CHECK(cuMemAllocAsync(&pool, 1 << 16, one));
    CHECK(cuMemFreeAsync(pool, one));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamBeginCapture_v2(one, 0));
    launch(scale, device, 1 << 18, one);
    launch(scale, device, 1 << 18, one);
    CHECK(cuStreamEndCapture(one, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, one));
    CHECK(cuGraphLaunch(exec, one));
    CHECK(cuStreamSynchronize(one));
    CHECK(cuMemFree_v2(managed));
    CHECK(cuMemFree_v2(device));
    CHECK(cuMemFree_v2(there));
    CHECK(cuMemFreeHost(pinned));
    truth_copies = (1 << 20) + 100 + (1 << 19) + (1 << 18);
}

static int done;

static void *flusher(void *unused) {
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        CHECK(cuptiActivityFlushAll(0));
        usleep(500);
    }
    return unused;
}

static void *busy(void *number) {
    enum { BYTES = 3 << 20, COUNT = BYTES / 4 };
    cuda_handle context = 0, module = 0, scale = 0, stream = 0;
    CUdeviceptr managed = 0;
    CHECK(cuDevicePrimaryCtxRetain(&context, (int)((size_t)number & 1)));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, IMAGE));
    CHECK(cuModuleGetFunction(&scale, module, "_Z5scalePfm"));
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuMemAllocManaged(&managed, BYTES, 1));
    float *touched = (float *)managed;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < COUNT; i += 1024) touched[i] += 1;
        launch(scale, managed, COUNT, stream);
        CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuMemFree_v2(managed));
    CHECK(cuStreamDestroy_v2(stream));
    return 0;
}

static void together(size_t count) {
    pthread_t flushing, threads[16];
    cuda_handle context = 0;
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(pthread_create(&flushing, 0, flusher, 0));
    for (size_t i = 0; i < count && i < 16; i++) CHECK(pthread_create(&threads[i], 0, busy, (void *)i));
    for (size_t i = 0; i < count && i < 16; i++) pthread_join(threads[i], 0);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    pthread_join(flushing, 0);
}

int main(int argc, char **argv) {
    int graphs = 0;
    size_t threads = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "graphs")) graphs = 1;
        if (!strcmp(argv[i], "late")) CHECK(cuInit(0));
        if (i + 1 < argc && !strcmp(argv[i], "buffer")) buffer_bytes = strtoul(argv[i + 1], 0, 10);
        if (i + 1 < argc && !strcmp(argv[i], "limit")) limit = strtoul(argv[i + 1], 0, 10);
        if (i + 1 < argc && !strcmp(argv[i], "busy")) threads = strtoul(argv[i + 1], 0, 10);
        if (i + 1 < argc && !strcmp(argv[i], "none")) refuse = strtoul(argv[i + 1], 0, 10);
    }
    self = pthread_self();
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("no library: %s\n", dlerror());
        return 3;
    }
#define FIND(name, arguments) *(void **)&name = dlsym(library, #name);
    FUNCTIONS(FIND)
    CHECK(cuptiGetVersion(&version));
    SAY("version", version);
    struct { uint32_t scope, kind, device, enable; } counters[8];
    for (uint32_t i = 0; i < 8; i++) {
        counters[i].scope = 1;
        counters[i].kind = i + 1;
        counters[i].device = 0;
        counters[i].enable = 1;
    }
    SAY("early-configure", cuptiActivityConfigureUnifiedMemoryCounter(counters, 8));
    SAY("early-enable", cuptiActivityEnable(25));
    SAY("odd-kind", cuptiActivityEnable(60));
    void *subscriber = 0, *second = 0;
    SAY("subscribe", cuptiSubscribe(&subscriber, called, submitted));
    SAY("second-subscribe", cuptiSubscribe(&second, called, 0));
    launch_id = find("cuLaunchKernel");
    alloc_id = find("cuMemAllocManaged");
    SAY("launch-id", launch_id);
    const char *nothing;
    SAY("unknown-id", cuptiGetCallbackName(1, 1999, &nothing));
    if (subscriber) {
        CHECK(cuptiEnableDomain(1, subscriber, 1));
        CHECK(cuptiEnableCallback(1, subscriber, 3, 1));
    }
    CHECK(cuInit(0));
    SAY("configure", cuptiActivityConfigureUnifiedMemoryCounter(counters, 8));
    CHECK(cuptiActivityRegisterCallbacks(requested, completed));
    static const uint32_t kinds[] = {1, 2, 10, 17, 22, 25, 36, 38, 49};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[32];
        sprintf(name, "enable:%u", kinds[i]);
        SAY(name, cuptiActivityEnable(kinds[i]));
    }
    if (graphs) CHECK(cuptiActivityEnable(51));

    uint64_t before = 0, after = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t real = now.tv_sec * 1000000000ull + now.tv_nsec;
    CHECK(cuptiGetTimestamp(&before));
    SAY("epoch", before - real < 1000000 || real - before < 1000000);
    if (threads)
        together(threads);
    else
        work();
    CHECK(cuptiGetTimestamp(&after));
    CHECK(cuptiActivityFlushAll(1));
    CHECK(cuptiActivityFlushAll(1));

    struct totals totals;
    umsim_counters(&totals);
    SAY("buffers", buffers);
    SAY("by-others", by_others);
    SAY("entered", entered);
    SAY("left", left);
    SAY("named-launches", named);
    SAY("contexts", contexts);
    SAY("odd", odd);
    SAY("unknown", unknown);
    SAY("backwards", backwards);
    SAY("in-time", first_ns >= before && last_ns <= after + 1000000000);
    SAY("correlated", correlated);
    SAY("uncorrelated", uncorrelated);
    SAY("nodes", nodes);
    SAY("in-graphs", in_graphs);
    SAY("async-copies", async_copies);
    for (int kind = 0; kind < 64; kind++)
        if (records[kind]) printf("records:%d %llu\n", kind, (unsigned long long)records[kind]);
    SAY("um:h2d", sums[1][0]);
    SAY("um:d2h", sums[2][0]);
    SAY("um:d2d", sums[8][0]);
    SAY("um:h2d-rows", sums[1][1]);
    SAY("um:h2d-rows-to-0", sums[1][2]);
    SAY("um:d2h-rows", sums[2][1]);
    SAY("um:cpu-faults", sums[3][1]);
    SAY("um:with-code", faults_with_code);
    SAY("um:gpu-groups", sums[4][0]);
    SAY("um:remote-maps", sums[7][1]);
    SAY("copy-bytes", sums[9][0]);
    SAY("peer-bytes", sums[10][0]);
    SAY("set-bytes", sums[11][0]);
    SAY("context-waits", sums[12][1]);
    SAY("truth:h2d", totals.h2d);
    SAY("truth:d2h", totals.d2h);
    SAY("truth:d2d", totals.d2d);
    SAY("truth:h2d-rows", totals.rows_h2d);
    SAY("truth:d2h-rows", totals.rows_d2h);
    SAY("truth:cpu-faults", totals.cpu_faults);
    SAY("truth:gpu-groups", totals.gpu_groups);
    SAY("truth:remote-maps", totals.remote_maps);
    SAY("truth:kernels", totals.kernels);
    SAY("truth:copies", totals.copies);
    SAY("truth:sets", totals.sets);
    SAY("truth:copy-bytes", truth_copies);
    size_t dropped = 0;
    CHECK(cuptiActivityGetNumDroppedRecords(0, 0, &dropped));
    SAY("dropped", dropped);

    /* A child has no CUPTI, and goes on without. */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(cuptiActivityFlushAll(0) == 15 && cuCtxSynchronize() == 0 ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    SAY("child", status);
    if (subscriber) {
        uint64_t calls = entered;
        CHECK(cuptiUnsubscribe(subscriber));
        CHECK(cuCtxSynchronize());
        SAY("after-unsubscribe", entered - calls);
        SAY("unsubscribe-again", cuptiUnsubscribe(subscriber));
    }
    CHECK(cuptiFinalize());
    return 0;
}
