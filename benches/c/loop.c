/* loop WHAT CALLS [THREADS]: calls one function, or reads the clock twice, in a loop; prints nanoseconds a round, in
 * processor time of the thread and by the clock on the wall, of five loops and of the threads the median. WHAT: none, pointee, clocks, both (pointee between two clocks).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOPS 5
#define THREADS 64

int cuInit(unsigned flags);
int cuCtxSynchronize(void);
int cuDriverGetVersion(int *version);

static const char *what;
static long calls;
static pthread_barrier_t together;
/* Processor time and time on the wall. */
static double times[2][THREADS];

static inline uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t now(void) { return read_clock(CLOCK_MONOTONIC); }

/* One call site each, as a program has. */
static __attribute__((noinline)) long rounds(long count) {
    long good = 0;
    int version = 0;
    if (!strcmp(what, "none"))
        for (long i = 0; i < count; i++) good += cuCtxSynchronize() == 0;
    else if (!strcmp(what, "pointee"))
        for (long i = 0; i < count; i++) good += cuDriverGetVersion(&version) == 0;
    else if (!strcmp(what, "clocks"))
        for (long i = 0; i < count; i++) {
            uint64_t start = now();
            good += now() >= start;
        }
    else
        for (long i = 0; i < count; i++) {
            uint64_t start = now();
            good += cuDriverGetVersion(&version) == 0;
            good -= now() < start;
        }
    return good;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void *measure(void *number) {
    long thread = (long)number;
    double spent[LOOPS], passed[LOOPS];
    /* The first calls of a process and a thread are another matter. */
    if (rounds(1000) != 1000) abort();
    for (int loop = 0; loop < LOOPS; loop++) {
        pthread_barrier_wait(&together);
        uint64_t start = now(), start_spent = read_clock(CLOCK_THREAD_CPUTIME_ID);
        if (rounds(calls) != calls) abort();
        spent[loop] = (double)(read_clock(CLOCK_THREAD_CPUTIME_ID) - start_spent) / (double)calls;
        passed[loop] = (double)(now() - start) / (double)calls;
    }
    qsort(spent, LOOPS, sizeof spent[0], compare);
    qsort(passed, LOOPS, sizeof passed[0], compare);
    times[0][thread] = spent[LOOPS / 2];
    times[1][thread] = passed[LOOPS / 2];
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    what = argc > 1 ? argv[1] : "none";
    calls = argc > 2 ? atol(argv[2]) : 1000000;
    int count = argc > 3 ? atoi(argv[3]) : 1;
    if (count < 1 || count > THREADS || calls < 1) {
        fprintf(stderr, "usage: loop none|pointee|clocks|both CALLS [THREADS]\n");
        return 2;
    }
    /* As every program does: what the hook has of its own begins here. */
    if (cuInit(0)) return 1;
    pthread_barrier_init(&together, NULL, (unsigned)count);
    if (count == 1)
        measure((void *)0);
    else {
        for (long i = 0; i < count; i++)
            if (pthread_create(&threads[i], NULL, measure, (void *)i)) return 1;
        for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    }
    for (int kind = 0; kind < 2; kind++) qsort(times[kind], (size_t)count, sizeof(double), compare);
    printf("ns %.3f %.3f\n", times[0][count / 2], times[1][count / 2]);
    return 0;
}
