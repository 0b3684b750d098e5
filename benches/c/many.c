/* many threads COUNT | many forks COUNT MS: short threads, at most eight at once, or children of fork one after another, that
 * make twenty calls each; a child works for MS milliseconds between them. Prints "ns CPU WALL" for all of it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 20

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t spent(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

/* Twenty calls, and so many nanoseconds of work among them. */
static void work(uint64_t ns) {
    int version;
    for (int i = 0; i < CALLS; i++) {
        uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns / CALLS;
        if (cuDriverGetVersion(&version)) abort();
        while (ns && now(CLOCK_THREAD_CPUTIME_ID) < end) {}
    }
}

static void *thread(void *nothing) {
    work(0);
    return nothing;
}

int main(int argc, char **argv) {
    if (argc < 3 || cuInit(0)) return 2;
    long count = atol(argv[2]);
    uint64_t ns = argc > 3 ? (uint64_t)(atof(argv[3]) * 1e6) : 0;
    work(0);
    uint64_t begun = now(CLOCK_MONOTONIC), cpu = spent(RUSAGE_SELF) + spent(RUSAGE_CHILDREN);
    if (!strcmp(argv[1], "threads"))
        for (long at = 0; at < count; at += 8) {
            pthread_t id[8];
            for (int i = 0; i < 8; i++)
                if (pthread_create(&id[i], NULL, thread, NULL)) return 1;
            for (int i = 0; i < 8; i++) pthread_join(id[i], NULL);
        }
    else
        for (long at = 0; at < count; at++) {
            pid_t child = fork();
            if (child == 0) {
                work(ns);
                _exit(0);
            }
            int status;
            if (waitpid(child, &status, 0) != child || status) return 1;
        }
    printf("ns %llu %llu\n", (unsigned long long)(spent(RUSAGE_SELF) + spent(RUSAGE_CHILDREN) - cpu),
           (unsigned long long)(now(CLOCK_MONOTONIC) - begun));
    return 0;
}
