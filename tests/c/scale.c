/* scale THREADS CALLS [WORK]: each thread makes CALLS calls of a driver function that counts to WORK, 100 if it is not said:
 * about as long as the quickest of the real ones. Prints the processor time of a call in picoseconds, the least over the
 * threads. */
#define _GNU_SOURCE
#include "fake.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long calls;
static int amount = 100;

static int inside(void) {
    for (volatile int i = 0; i < amount; i++) {}
    return 0;
}

static pthread_barrier_t together;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void *work(void *took) {
    fake_inside = inside;
    for (int i = 0; i < 1000; i++) cuCtxSynchronize();
    pthread_barrier_wait(&together);
    long long start = now();
    for (long i = 0; i < calls; i++)
        if (cuCtxSynchronize()) abort();
    *(long long *)took = now() - start;
    return 0;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    calls = argc > 2 ? atol(argv[2]) : 100000;
    if (argc > 3) amount = atoi(argv[3]);
    if (threads < 1 || threads > 16) return 2;
    fake_uncounted = 1;
    pthread_t id[16];
    long long took[16], least = -1;
    pthread_barrier_init(&together, 0, threads);
    for (int i = 0; i < threads; i++) pthread_create(&id[i], 0, work, &took[i]);
    for (int i = 0; i < threads; i++) pthread_join(id[i], 0);
    for (int i = 0; i < threads; i++)
        if (least < 0 || took[i] < least) least = took[i];
    printf("%lld\n", least * 1000 / calls);
    return 0;
}
