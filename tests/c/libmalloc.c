/* Preloaded: an allocator as jemalloc is one. With MALLOC_CALLS in the environment it calls CUDA itself, as some memory profilers do,
 * in every sixteenth allocation. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *memory);
#pragma weak cuDriverGetVersion

unsigned long malloc_calls;
static int calls_cuda;
static __thread int inside __attribute__((tls_model("initial-exec")));

static __attribute__((constructor)) void begin(void) { calls_cuda = getenv("MALLOC_CALLS") != 0; }

static void ask(void) {
    unsigned long number = __atomic_add_fetch(&malloc_calls, 1, __ATOMIC_RELAXED);
    int version = 0;
    if (!calls_cuda || inside || number % 16) return;
    inside = 1;
    if (cuDriverGetVersion && (cuDriverGetVersion(&version) || version != 13000)) _exit(88);
    inside = 0;
}

void *malloc(size_t bytes) {
    ask();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    ask();
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
    ask();
    return __libc_realloc(old, bytes);
}

void *memalign(size_t align, size_t bytes) { return __libc_memalign(align, bytes); }

void free(void *memory) { __libc_free(memory); }
