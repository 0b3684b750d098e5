// Captures raw activity records from a real libcupti, for the tests of the hook's decoder:
//   nvcc -o capture capture.cu && ./capture PATH-OF-LIBCUPTI OUT.bin
// OUT.bin: "UMCUPTI1", version u32, then for each record: length u32, name length u32, bytes, name. At most a few of a
// kind, so that the file stays small. What it saw goes to stdout.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <map>
#include <string>

#define FN(name, ...) typedef int (*name##_t)(__VA_ARGS__); static name##_t name
FN(cuptiGetVersion, uint32_t *);
FN(cuptiGetTimestamp, uint64_t *);
FN(cuptiSubscribe, void **, void (*)(void *, uint32_t, uint32_t, const void *), void *);
FN(cuptiEnableCallback, uint32_t, void *, uint32_t, uint32_t);
FN(cuptiGetCallbackName, uint32_t, uint32_t, const char **);
FN(cuptiActivityRegisterCallbacks, void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
FN(cuptiActivityEnable, uint32_t);
FN(cuptiActivityFlushAll, uint32_t);
FN(cuptiActivityGetNextRecord, uint8_t *, size_t, void **);
FN(cuptiActivityGetNumDroppedRecords, void *, uint32_t, size_t *);
FN(cuptiActivityConfigureUnifiedMemoryCounter, void *, uint32_t);

static FILE *out;
static std::map<uint32_t, int> kept, seen, sizes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long main_thread;

static uint64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void requested(uint8_t **buffer, size_t *size, size_t *records) {
    *size = 256 << 10;
    *buffer = (uint8_t *)aligned_alloc(8, *size);
    *records = 0;
}

static void completed(void *, uint32_t, uint8_t *buffer, size_t, size_t valid) {
    pthread_mutex_lock(&lock);
    long thread = syscall(SYS_gettid);
    static std::map<long, int> threads;
    if (threads[thread]++ == 0) printf("buffers completed in %s thread\n", thread == main_thread ? "the main" : "another");
    void *record = nullptr;
    uint8_t *last = nullptr;
    for (;;) {
        int status = cuptiActivityGetNextRecord(buffer, valid, &record);
        uint8_t *end = status == 0 ? (uint8_t *)record : buffer + valid;
        if (last) {
            uint32_t kind = *(uint32_t *)last, length = (uint32_t)(end - last);
            seen[kind]++;
            sizes[kind] = length;
            int most = kind == 25 ? 60 : 12;
            if (kept[kind]++ < most) {
                const char *name = kind == 10 ? *(const char **)(last + 104) : nullptr;
                uint32_t chars = name ? strlen(name) : 0;
                fwrite(&length, 4, 1, out);
                fwrite(&chars, 4, 1, out);
                fwrite(last, length, 1, out);
                if (chars) fwrite(name, chars, 1, out);
            }
            if (kind == 10 || kind == 1 || kind == 2)
                if (kept[kind] <= 12) printf("record kind %u correlation %u\n", kind, *(uint32_t *)(last + (kind == 10 ? 92 : 44)));
        }
        if (status != 0) break;
        last = (uint8_t *)record;
    }
    free(buffer);
    pthread_mutex_unlock(&lock);
}

static int callbacks;
static void callback(void *, uint32_t domain, uint32_t cbid, const void *data) {
    const uint32_t site = *(const uint32_t *)data;
    const char *name = *(const char **)((const char *)data + 8);
    if (site == 0 && callbacks++ < 60)
        printf("callback domain %u cbid %u %s correlation %u\n", domain, cbid, name, *(const uint32_t *)((const char *)data + 64));
}

__global__ void write_all(float *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] += 1;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    setvbuf(stdout, nullptr, _IOLBF, 0);
    main_thread = syscall(SYS_gettid);
    uint64_t t0 = now();
    cuInit(0);
    uint64_t t1 = now();
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) { printf("no library: %s\n", dlerror()); return 1; }
    uint64_t t2 = now();
#define GET(name) name = (name##_t)dlsym(library, #name)
    GET(cuptiGetVersion); GET(cuptiGetTimestamp); GET(cuptiSubscribe); GET(cuptiEnableCallback); GET(cuptiGetCallbackName);
    GET(cuptiActivityRegisterCallbacks); GET(cuptiActivityEnable); GET(cuptiActivityFlushAll); GET(cuptiActivityGetNextRecord);
    GET(cuptiActivityGetNumDroppedRecords); GET(cuptiActivityConfigureUnifiedMemoryCounter);
    uint32_t version = 0;
    cuptiGetVersion(&version);
    out = fopen(argv[2], "wb");
    fwrite("UMCUPTI1", 8, 1, out);
    fwrite(&version, 4, 1, out);
    void *subscriber = nullptr;
    int subscribed = cuptiSubscribe(&subscriber, callback, nullptr);
    uint64_t t3 = now();
    printf("version %u subscribe %d; cuInit %.1f ms, dlopen %.1f ms, subscribe %.1f ms\n", version, subscribed, (t1 - t0) / 1e6, (t2 - t1) / 1e6, (t3 - t2) / 1e6);
    uint64_t begun = now();
    for (uint32_t domain = 1; domain <= 2; domain++) {
        int last = 0, found = 0;
        for (uint32_t id = 1; id < 1200; id++) {
            const char *name = nullptr;
            if (cuptiGetCallbackName(domain, id, &name) != 0 || !name) continue;
            last = id;
            std::string n = name;
            bool submits = n.find("Memcpy") != n.npos || n.find("Memset") != n.npos || n.find("LaunchKernel") != n.npos || n.find("GraphLaunch") != n.npos || n.find("Prefetch") != n.npos || n.find("LaunchCooperative") != n.npos;
            if (submits) { found++; if (cuptiEnableCallback(1, subscriber, domain, id) != 0) printf("not enabled: %s\n", name); }
        }
        printf("domain %u: last id %d, %d enabled\n", domain, last, found);
    }
    printf("finding callback ids took %.2f ms\n", (now() - begun) / 1e6);
    begun = now();
    printf("register %d\n", cuptiActivityRegisterCallbacks(requested, completed));
    for (uint32_t kind = 1; kind <= 8; kind++) {
        struct { uint32_t scope, kind, device, enable; } config = {1, kind, 0, 1};
        printf("um counter %u: %d\n", kind, cuptiActivityConfigureUnifiedMemoryCounter(&config, 1));
    }
    struct { uint32_t scope, kind, device, enable; } configs[8];
    int count = 0;
    for (uint32_t kind = 1; kind <= 8; kind++) configs[count++] = {1, kind, 0, 1};
    printf("um counters together: %d\n", cuptiActivityConfigureUnifiedMemoryCounter(configs, count));
    for (uint32_t kind : {10u, 1u, 22u, 2u, 38u, 36u, 17u, 25u, 49u}) printf("enable %u: %d\n", kind, cuptiActivityEnable(kind));
    printf("enabling took %.1f ms\n", (now() - begun) / 1e6);
    uint64_t least = ~0ull, sum = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t a = now(), stamp, b;
        cuptiGetTimestamp(&stamp);
        b = now();
        if (b - a < least) least = b - a;
        sum += b - a;
    }
    timespec real;
    uint64_t stamp;
    cuptiGetTimestamp(&stamp);
    clock_gettime(CLOCK_REALTIME, &real);
    printf("timestamp bracket: least %llu mean %llu ns; realtime - cupti %lld ns\n", (unsigned long long)least, (unsigned long long)sum / 1000,
           (long long)(real.tv_sec * 1000000000ll + real.tv_nsec - (long long)stamp));

    const size_t bytes = 8 << 20, n = bytes / sizeof(float);
    float *managed, *device, *pinned, *pageable = (float *)malloc(bytes);
    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaMallocManaged(&managed, bytes);
    cudaMalloc(&device, bytes);
    cudaMallocHost(&pinned, bytes);
    memset(pageable, 0, bytes);
    for (size_t i = 0; i < n; i++) managed[i] = 1;
    printf("-- kernel\n");
    write_all<<<64, 256, 0, stream>>>(managed, n);
    cudaEventRecord(event, stream);
    cudaEventSynchronize(event);
    cudaStreamSynchronize(stream);
    for (size_t i = 0; i < n; i += 1024) managed[i] = 2;
    printf("-- prefetch\n");
    cudaMemLocation where = {cudaMemLocationTypeDevice, 0};
    cudaMemPrefetchAsync(managed, bytes, where, 0, stream);
    write_all<<<64, 256, 1024>>>(managed, n);
    cudaDeviceSynchronize();
    printf("-- copies\n");
    cudaMemcpy(device, pageable, bytes, cudaMemcpyHostToDevice);
    cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(device, device + n / 2, bytes / 2, cudaMemcpyDeviceToDevice, stream);
    printf("-- sets\n");
    cudaMemset(device, 7, bytes);
    cudaMemsetAsync(device, 0, 1024, stream);
    cudaStreamSynchronize(stream);
    printf("-- graph\n");
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    write_all<<<8, 128, 0, stream>>>(device, 1024);
    cudaMemcpyAsync(pinned, device, 4096, cudaMemcpyDeviceToHost, stream);
    cudaMemsetAsync(device, 1, 4096, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 2; i++) cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    begun = now();
    cuptiActivityFlushAll(1);
    printf("forced flush took %.2f ms\n", (now() - begun) / 1e6);
    begun = now();
    cuptiActivityFlushAll(0);
    printf("empty flush took %.3f ms\n", (now() - begun) / 1e6);
    size_t dropped = 77;
    int asked = cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
    printf("dropped %zu (%d)\n", dropped, asked);
    for (auto &[kind, times] : seen) printf("kind %u: %d records, %d bytes\n", kind, times, sizes[kind]);
    fclose(out);
    printf("last error %s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
