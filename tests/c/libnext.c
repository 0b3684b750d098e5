/* Helper of rtld_next. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dlfcn.h>

cudaError_t next_get_device(int *device) {
    cudaError_t (*get)(int *) = (cudaError_t(*)(int *))dlsym(RTLD_NEXT, "cudaGetDevice");
    return get ? get(device) : -1;
}

int next_is_stable(const char *name) {
    void *first = dlsym(RTLD_NEXT, name);
    return first == dlsym(RTLD_NEXT, name) ? (first ? 1 : 2) : 0;
}

/* As the OpenMP runtimes do: a weak function that forwards to the next one of its name. */
__attribute__((weak)) int ompt_start_tool(int version) {
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "ompt_start_tool");
    return next ? next(version) + 100 : -1;
}

int call_tool(void) { return ompt_start_tool(5); }
