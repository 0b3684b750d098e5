/* Opens a runtime library one way or another and makes a few calls through dlsym. */
#ifndef LOADER_H
#define LOADER_H

#include "cuda_min.h"
#include <dlfcn.h>

static int use_library(void *library) {
    if (!library) {
        printf("not opened\n");
        return 1;
    }
    cudaError_t (*count)(int *) = (cudaError_t(*)(int *))dlsym(library, "cudaGetDeviceCount");
    cudaError_t (*allocate)(void **, size_t) = (cudaError_t(*)(void **, size_t))dlsym(library, "cudaMalloc");
    cudaError_t (*release)(void *) = (cudaError_t(*)(void *))dlsym(library, "cudaFree");
    cudaError_t (*wait)(void) = (cudaError_t(*)(void))dlsym(library, "cudaDeviceSynchronize");
    printf("found %d %d %d %d\n", count != 0, allocate != 0, release != 0, wait != 0);
    if (!count || !allocate || !release || !wait) return 1;
    int devices = 0;
    void *memory = 0;
    SHOW(count(&devices));
    SHOW(allocate(&memory, 1000));
    SHOW(wait());
    SHOW(release(memory));
    printf("devices %d\n", devices);
    dlerror();
    void *absent = dlsym(library, "cudaNoSuchFunction");
    printf("absent %d, message %d\n", absent != 0, dlerror() != 0);
    return 0;
}

#endif
