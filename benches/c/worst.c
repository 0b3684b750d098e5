/* worst CALLS [faults]: how long single calls take, in processor time of the thread, which a preempted or sleeping thread
 * does not spend. The clock is read once between two calls, so that every measured time holds one call and one reading.
 *
 * Prints "calls N", "quantile Q NS" lines, "bucket FROM COUNT NS" lines (powers of two; the sum of their times), and
 * "late INDEX NS" lines, the sixteen longest in the order of the calls. With "faults" the thread's page faults are read,
 * too, and "faulted COUNT NS" says how many calls took one, and their time.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define LONGEST 16

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);

static inline uint64_t spent(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static long page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

static int compare(const void *one, const void *other) {
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 1000000;
    int faults = argc > 2 && !strcmp(argv[2], "faults"), version;
    if (calls < 1000) return 2;
    /* As every program does: what the hook has of its own begins here. */
    if (cuInit(0)) return 1;
    uint32_t *times = malloc((size_t)calls * sizeof *times);
    if (!times) return 1;
    /* Written once, so that storing a time takes no page fault later. */
    memset(times, 1, (size_t)calls * sizeof *times);
    for (int i = 0; i < 1000; i++) cuDriverGetVersion(&version);
    long faulted = 0, fault_count = page_faults();
    uint64_t faulted_ns = 0, before = spent();
    for (long i = 0; i < calls; i++) {
        cuDriverGetVersion(&version);
        uint64_t after = spent(), took = after - before;
        times[i] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
        before = after;
        if (faults) {
            long count = page_faults();
            if (count != fault_count) faulted++, faulted_ns += took;
            fault_count = count;
            before = spent();
        }
    }
    printf("calls %ld\n", calls);
    if (faults) printf("faulted %ld %llu\n", faulted, (unsigned long long)faulted_ns);

    long longest[LONGEST], kept = 0;
    for (long i = 0; i < calls; i++) {
        /* Insertion into the longest so far, the shortest of them last. */
        if (kept == LONGEST && times[i] <= times[longest[LONGEST - 1]]) continue;
        long at = kept < LONGEST ? kept++ : LONGEST - 1;
        for (; at > 0 && times[longest[at - 1]] < times[i]; at--) longest[at] = longest[at - 1];
        longest[at] = i;
    }
    for (long i = 0; i < kept; i++) printf("late %ld %u\n", longest[i], times[longest[i]]);
    for (int power = 0; power < 32; power++) {
        uint64_t from = power ? 1ull << power : 0, to = 1ull << (power + 1), sum = 0;
        long count = 0;
        for (long i = 0; i < calls; i++)
            if (times[i] >= from && times[i] < to) count++, sum += times[i];
        if (count) printf("bucket %llu %ld %llu\n", (unsigned long long)from, count, (unsigned long long)sum);
    }
    qsort(times, (size_t)calls, sizeof *times, compare);
    static const double quantiles[] = {0.5, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1.0};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        long at = (long)(quantiles[i] * (double)calls);
        printf("quantile %g %u\n", quantiles[i], times[at < calls ? at : calls - 1]);
    }
    free(times);
    return 0;
}
