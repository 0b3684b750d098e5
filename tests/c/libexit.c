/* Helper of exit_order. */
#include "cuda_min.h"

static void call(const char *when) {
    int count = -1;
    int got = cudaGetDeviceCount(&count);
    printf("%s: %d count %d\n", when, got, count);
    fflush(stdout);
}

static __attribute__((constructor)) void begin(void) { call("helper constructor"); }
static __attribute__((destructor)) void end(void) { call("helper destructor"); }
void helper_touch(void) {}
