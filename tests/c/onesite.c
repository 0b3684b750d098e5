/* As Python's ctypes does: every function is called through a pointer from one call site, found by dlsym. One is in no table. */
#include "fake.h"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*any)(long, long, long, long, long, long, long, long, long, long, long);

__attribute__((noinline)) static int call(any function, long first) {
    int result = function(first, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    __asm__ volatile("" ::: "memory");
    return result;
}

static void all(void *library, const char *when) {
    int version = 0;
    any init = (any)dlsym(library, "cuInit"), launch = (any)dlsym(library, "cuLaunchKernel");
    any fresh = (any)dlsym(library, "cuBrandNewFunction"), ask = (any)dlsym(library, "cuDriverGetVersion");
    for (int round = 0; round < 3; round++) {
        printf("%s: %d", when, call(init, 0));
        printf(" %d", call(fresh, 1));
        printf(" %d", call(launch, 1));
        printf(" %d version %d", call(ask, (long)&version), version);
        printf(" %d\n", call(init, 1));
    }
    fflush(stdout);
}

int main(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 1;
    /* Looked up before anything is called. */
    printf("fresh %d\n", dlsym(library, "cuBrandNewFunction") != 0);
    all(library, "first");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        all(library, "child");
        _exit(0);
    }
    waitpid(child, 0, 0);
    all(library, "parent");
    return 0;
}
