/* slow MS...: for each number a thread of its own makes one call that takes so many milliseconds, and prints how long it took by
 * CLOCK_MONOTONIC, in nanoseconds, in the order of the numbers. */
#include "fake.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static __thread long wanted;
static unsigned long took[16];

static unsigned long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (unsigned long)time.tv_sec * 1000000000 + (unsigned long)time.tv_nsec;
}

static int sleeps(void) {
    struct timespec time = {wanted / 1000, wanted % 1000 * 1000000};
    return nanosleep(&time, 0);
}

static void *work(void *user) {
    char **argument = user;
    wanted = atol(argument[1]);
    fake_inside = sleeps;
    unsigned long start = now();
    if (cuCtxSynchronize()) abort();
    took[(long)argument[0]] = now() - start;
    return 0;
}

int main(int argc, char **argv) {
    pthread_t id[16];
    char *arguments[16][2];
    for (int i = 1; i < argc && i < 16; i++) {
        arguments[i][0] = (char *)(long)i;
        arguments[i][1] = argv[i];
        pthread_create(&id[i], 0, work, arguments[i]);
    }
    for (int i = 1; i < argc && i < 16; i++) pthread_join(id[i], 0);
    for (int i = 1; i < argc && i < 16; i++) printf("%lu\n", took[i]);
    return 0;
}
