/* The static runtime's way to the driver: dlopen, dlsym of cuGetProcAddress_v2, then that one for itself and for the rest. */
#include "cuda_min.h"
#include <dlfcn.h>

typedef CUresult (*get_v2)(const char *, void **, int, unsigned long long, int *);
typedef CUresult (*get_v1)(const char *, void **, int, unsigned long long);

static void *ask(get_v2 get, const char *name, int version, unsigned long long flags) {
    void *address = (void *)1;
    int status = -1;
    CUresult result = get(name, &address, version, flags, &status);
    printf("%s %d flags %llu -> %d, status %d, found %d\n", name, version, flags, result, status,
           address != 0 && address != (void *)1);
    return address == (void *)1 ? 0 : address;
}

int main(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("no driver\n");
        return 1;
    }
    get_v2 first = (get_v2)dlsym(library, "cuGetProcAddress_v2");
    get_v1 old = (get_v1)ask(first, "cuGetProcAddress", 11030, 0);
    get_v2 get = (get_v2)ask(first, "cuGetProcAddress", 12000, 0);
    if (!old || !get) return 1;
    CUresult (*init)(unsigned) = (CUresult(*)(unsigned))ask(get, "cuInit", 2000, 0);
    SHOW(init(0));
    CUresult (*retain)(void **, int) = (CUresult(*)(void **, int))ask(get, "cuDevicePrimaryCtxRetain", 7000, 0);
    CUresult (*current)(void *) = (CUresult(*)(void *))ask(get, "cuCtxSetCurrent", 4000, 0);
    CUresult (*allocate)(CUdeviceptr *, size_t) = (CUresult(*)(CUdeviceptr *, size_t))ask(get, "cuMemAlloc", 3020, 0);
    CUresult (*release)(CUdeviceptr) = (CUresult(*)(CUdeviceptr))ask(get, "cuMemFree", 3020, 0);
    ask(get, "cuMemAlloc", 2000, 0);
    ask(get, "cuMemPrefetchAsync", 7000, 0);
    ask(get, "cuMemPrefetchAsync", 8000, 0);
    ask(get, "cuMemPrefetchAsync", 12020, 2);
    void *legacy = ask(get, "cuMemcpyHtoD", 13000, 1);
    void *own = ask(get, "cuMemcpyHtoD", 13000, 2);
    printf("legacy and per-thread differ %d\n", legacy != own);
    printf("same answer twice %d\n", ask(get, "cuMemcpyHtoD", 13000, 1) == legacy);
    ask(get, "cuNoSuchFunction", 13000, 0);
    ask(get, "cublasCreate_v2", 13000, 0);
    ask(get, "cuMemAlloc", 99000, 0);
    ask(get, "cuMemAlloc", 13000, 3);
    void *address = (void *)1;
    CUresult result = get("cuMemAlloc", &address, 12000, 0, 0);
    printf("NULL status, known -> %d, found %d\n", result, address != 0 && address != (void *)1);
    result = get("cuNothing", &address, 12000, 0, 0);
    printf("NULL status, unknown -> %d, null %d\n", result, address == 0);
    int status = -1;
    result = get("cuMemAlloc", 0, 12000, 0, &status);
    printf("NULL out -> %d, status %d\n", result, status);
    printf("NULL name -> %d\n", get(0, &address, 12000, 0, &status));
    address = 0;
    result = old("cuMemAlloc", &address, 11030, 0);
    printf("old form, known -> %d, found %d\n", result, address != 0);
    result = old("cuNothing", &address, 11030, 0);
    printf("old form, unknown -> %d, null %d\n", result, address == 0);
    result = old("cuGetProcAddress", &address, 11030, 0);
    printf("old form for itself -> %d, same %d\n", result, address == (void *)old);
    void *context = 0;
    CUdeviceptr memory = 0;
    SHOW(retain(&context, 0));
    SHOW(current(context));
    SHOW(allocate(&memory, 4096));
    SHOW(release(memory));
    SHOW(release(12345));
    return 0;
}
