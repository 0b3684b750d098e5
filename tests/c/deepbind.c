/* A library that links the driver, opened with RTLD_DEEPBIND. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dlfcn.h>

int main(void) {
    void *library = dlopen("libdeep.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) {
        printf("not opened\n");
        return 1;
    }
    int (*use)(void) = (int (*)(void))dlsym(library, "deep_use");
    return use ? use() : 1;
}
