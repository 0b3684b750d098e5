/* wrong heap|stack|race|leak: makes one mistake between two CUDA calls, for a sanitizer to find. */
#include "fake.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void *race(void *user) {
    for (int i = 0; i < 1000; i++) shared++;
    return user;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    volatile int version = 0, index = 4;
    cuDriverGetVersion((int *)&version);
    if (!strcmp(how, "heap")) {
        volatile char *memory = malloc(16);
        free((void *)memory);
        version += memory[3];
    }
    if (!strcmp(how, "stack")) {
        volatile char place[4] = "";
        version += place[index];
    }
    if (!strcmp(how, "race")) {
        pthread_t id[2];
        for (int i = 0; i < 2; i++) pthread_create(&id[i], 0, race, 0);
        for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
    }
    if (!strcmp(how, "leak")) version += malloc(1234) != 0;
    cuDriverGetVersion((int *)&version);
    return 0;
}
