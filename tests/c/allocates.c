/* allocates N: N allocations of many sizes between CUDA calls, in four threads, for libmalloc.c. Prints what was begun. */
#include "fake.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *user) {
    for (long i = 0; i < (long)user; i++) {
        char *memory = malloc(16 + i % 3000);
        memory = realloc(memory, 64 + i % 5000);
        memory[0] = 1;
        if (i % 8 == 0 && cuCtxSynchronize()) abort();
        free(memory);
    }
    return 0;
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 1000;
    pthread_t id[4];
    for (int i = 0; i < 4; i++) pthread_create(&id[i], 0, work, (void *)count);
    for (int i = 0; i < 4; i++) pthread_join(id[i], 0);
    char text[64];
    int length = snprintf(text, sizeof text, "begun %lu\n", fake_begun);
    if (write(2, text, length) != length) return 1;
    _exit(4);
}
