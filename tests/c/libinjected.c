/* A tool as it is injected: says when it was called, what it could do then, and which NVTX ranges the program opens. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* By CUDA_INJECTION64_PATH, inside the first cuInit. */
int InitializeInjection(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *library = dlopen("libcupti.so.13", RTLD_NOW);
    int (*count)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*enable)(uint32_t) = library ? (int (*)(uint32_t))dlsym(library, "cuptiActivityEnable") : 0;
    int devices;
    dprintf(1, "injected count %d init %d kernels %d unified %d\n", count(&devices), init(0), enable ? enable(10) : -1,
           enable ? enable(25) : -1);
    return 1;
}

struct callbacks {
    size_t bytes;
    int (*table)(int module, void ****table, unsigned *count);
};
struct attributes {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
};

static int depth;

static int push_ascii(const char *name) {
    dprintf(1, "%*spush %s\n", 2 * depth, "", name);
    return depth++;
}

static int push_ex(const struct attributes *at) {
    dprintf(1, "%*spush %s version %d bytes %d color %x payload %d:%llu\n", 2 * depth, "", at->message, at->version,
           at->bytes, at->color, at->payload_type, (unsigned long long)at->payload);
    return depth++;
}

static int pop(void) {
    depth--;
    dprintf(1, "%*spop\n", 2 * depth, "");
    return depth;
}

/* By NVTX_INJECTION64_PATH. */
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
    const struct callbacks *callbacks = export_table(1);
    void ***table = 0;
    unsigned count = 0;
    if (!callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->table(1, &table, &count) || count < 16)
        return 0;
    *table[8] = (void *)push_ex;
    *table[9] = (void *)push_ascii;
    *table[11] = (void *)pop;
    dprintf(1, "ranges core %u core2 %d other %d\n", count, callbacks->table(5, &table, &count), callbacks->table(2, &table, &count));
    return 1;
}
