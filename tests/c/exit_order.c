/* Calls from a helper library's constructor and destructor, from the program's own, and from atexit. */
#include "cuda_min.h"
#include <stdlib.h>

static void call(const char *when) {
    int device = -1;
    void *memory = 0;
    int got = cudaGetDevice(&device), made = cudaMalloc(&memory, 64), freed = cudaFree(memory);
    printf("%s: %d %d %d device %d\n", when, got, made, freed, device);
    fflush(stdout);
}

static void at_exit(void) { call("atexit"); }
static __attribute__((constructor)) void begin(void) { call("constructor"); }
static __attribute__((destructor)) void end(void) { call("destructor"); }
void helper_touch(void);

int main(void) {
    helper_touch();
    atexit(at_exit);
    call("main");
    return 0;
}
