/* Preloaded: a tracer that takes dlsym, as some do: it hands out a function of its own for cuDriverGetVersion, and writes into
 * $SECOND_OUT how often that was called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*real_get)(int *);
static int asked;

static int get(int *version) {
    asked++;
    return real_get(version);
}

void *dlsym(void *handle, const char *name) {
    static void *(*next)(void *, const char *);
    if (!next) next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *found = next(handle, name);
    if (!found || strcmp(name, "cuDriverGetVersion")) return found;
    real_get = (int (*)(int *))found;
    return (void *)get;
}

static __attribute__((destructor)) void end(void) {
    const char *path = getenv("SECOND_OUT");
    FILE *file = path && asked ? fopen(path, "w") : 0;
    if (!file) return;
    fprintf(file, "%d\n", asked);
    fclose(file);
}
