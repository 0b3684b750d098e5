/* moves N [THREADS]: threads that go from processor to processor, one call on each, N calls a thread; each call carries its number.
 * Prints how many processors there were. */
#define _GNU_SOURCE
#include "fake.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static long calls;
static int processors[1024], count;

static void *work(void *user) {
    for (long i = 1; i <= calls; i++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(processors[(i + (long)user) % count], &set);
        sched_setaffinity(0, sizeof set, &set);
        if (cuInit((unsigned)i) != 1) abort();
    }
    return 0;
}

int main(int argc, char **argv) {
    calls = argc > 1 ? atol(argv[1]) : 1000;
    int threads = argc > 2 ? atoi(argv[2]) : 2;
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all)) return 1;
    for (int i = 0; i < CPU_SETSIZE && count < 1024; i++)
        if (CPU_ISSET(i, &all)) processors[count++] = i;
    pthread_t id[16];
    for (long i = 0; i < threads && i < 16; i++) pthread_create(&id[i], 0, work, (void *)i);
    for (int i = 0; i < threads && i < 16; i++) pthread_join(id[i], 0);
    printf("processors %d\n", count);
    return 0;
}
