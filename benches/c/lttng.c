/* A preload library as one would write it on LTTng-UST: an event at the beginning of the call and one at its end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tracepoints.h"

int cuDriverGetVersion(int *version) {
    static int (*real)(int *);
    if (!real) real = (int (*)(int *))dlsym(RTLD_NEXT, "cuDriverGetVersion");
    lttng_ust_tracepoint(umtui_bench, enter, 1, (uint64_t)__builtin_return_address(0));
    int status = real(version);
    lttng_ust_tracepoint(umtui_bench, leave, 1, status, *version);
    return status;
}
