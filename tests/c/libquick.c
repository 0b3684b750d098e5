/* A driver (-DDRIVER) and a CUPTI that do next to nothing, so that what is measured is the hook. Each launch calls back with
 * an id of its own where that was asked for; a flush hands over as many migrations as quick_wanted says. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef void (*callback)(void *, uint32_t, uint32_t, const void *);
/* CUpti_CallbackData. */
struct data {
    uint32_t site;
    const char *name;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *word;
    uint32_t correlation;
};

#ifdef DRIVER
callback quick_callback;
long quick_wanted, quick_done, quick_ns, quick_floor_ns;

int cuInit(unsigned flags) { return flags != 0; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGetName(char *name, int length, int device) { return (void)device, strncpy(name, "quick", length), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 1u << 30, device; }
int cuDeviceGetAttribute(int *value, int which, int device) { return *value = which, device; }
int cuDeviceGetUuid_v2(uint64_t *uuid, int device) { return uuid[0] = uuid[1] = 7, device; }
int cuFuncGetName(const char **name, void *function) { return *name = "quick", function == 0; }
int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
    (void)function;
    if (index >= 4) return 1;
    return *offset = index * 8, *size = 8, 0;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **params, void **extra) {
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)params, (void)extra;
    static uint32_t correlation;
    if (quick_callback) {
        struct data data = {0, "cuLaunchKernel", 0, 0, "quick", 0, 1, 0, ++correlation};
        quick_callback(0, 1, 307, &data);
        data.site = 1;
        quick_callback(0, 1, 307, &data);
    }
    return 0;
}
#else
extern callback quick_callback;
extern long quick_wanted, quick_done, quick_ns, quick_floor_ns;
enum { BYTES = 104 };
static callback asked;
static void (*requested)(uint8_t **, size_t *, size_t *);
static void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000l + time.tv_nsec;
}

int cuptiGetVersion(uint32_t *version) { return *version = 130000, 0; }
int cuptiGetTimestamp(uint64_t *ns) { return *ns = now(CLOCK_REALTIME), 0; }
int cuptiSubscribe(void **subscriber, callback function, void *user) {
    (void)user;
    asked = function;
    return *subscriber = &asked, 0;
}
int cuptiUnsubscribe(void *subscriber) { return (void)subscriber, quick_callback = 0, 0; }
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id) {
    (void)subscriber;
    if (domain == 1 && id == 307) quick_callback = enable ? asked : 0;
    return 0;
}
int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name) {
    if (domain != 1 || id > 307) return 1;
    return *name = id == 307 ? "cuLaunchKernel" : "cuMemAlloc", 0;
}
int cuptiActivityRegisterCallbacks(void *request, void *complete) {
    requested = (void (*)(uint8_t **, size_t *, size_t *))request;
    completed = (void (*)(void *, uint32_t, uint8_t *, size_t, size_t))complete;
    return 0;
}
int cuptiActivityEnable(uint32_t kind) { return kind == 0; }
int cuptiActivityDisable(uint32_t kind) { return kind == 0; }
int cuptiActivityConfigureUnifiedMemoryCounter(const void *configs, uint32_t count) { return !configs || !count; }
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count) {
    return (void)context, (void)stream, *count = 0, 0;
}
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    uint8_t *next = *record ? *record + BYTES : buffer;
    if (next + BYTES > buffer + valid) return 12;
    return *record = next, 0;
}

static size_t fill(uint8_t *buffer, size_t size, long wanted) {
    size_t used = 0;
    static uint64_t address = 0x7f0000000000;
    uint64_t start = now(CLOCK_REALTIME);
    for (; wanted > 0 && used + BYTES <= size; wanted--, used += BYTES) {
        uint8_t *at = buffer + used;
        memset(at, 0, BYTES);
        *(uint32_t *)at = 25, *(uint32_t *)(at + 4) = 1, *(uint64_t *)(at + 8) = 65536;
        *(uint64_t *)(at + 16) = start, *(uint64_t *)(at + 24) = start + 2000, *(uint64_t *)(at + 32) = address += 65536;
    }
    return used;
}

/* All by one thread: what it does between two flushes is to write down what the first has handed over. */
int cuptiActivityFlushAll(uint32_t flag) {
    static uint8_t copy[128 << 10];
    static long given, before;
    (void)flag;
    if (given) {
        quick_ns += now(CLOCK_THREAD_CPUTIME_ID) - before;
        __atomic_fetch_add(&quick_done, given, __ATOMIC_RELEASE);
        given = 0;
    }
    while (quick_wanted > 0) {
        uint8_t *buffer = 0;
        size_t size = 0, most = 0;
        requested(&buffer, &size, &most);
        if (!buffer) break;
        size_t used = fill(buffer, size, quick_wanted);
        long begun = now(CLOCK_THREAD_CPUTIME_ID);
        for (size_t at = 0; at < used; at += BYTES) {
            memcpy(copy + at, buffer + at, BYTES);
            __asm__ volatile("" ::: "memory");
        }
        quick_floor_ns += now(CLOCK_THREAD_CPUTIME_ID) - begun;
        given += used / BYTES;
        quick_wanted -= used / BYTES;
        completed(0, 0, buffer, size, used);
    }
    before = now(CLOCK_THREAD_CPUTIME_ID);
    return 0;
}
#endif
