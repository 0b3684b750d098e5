/* cost [CALLS]: what one cudaGetDevice takes, in nanoseconds: the median of 21 loops of CALLS calls each.
 *
 * With COST_CUPTI set, an empty CUPTI callback is subscribed to the runtime API first, so that it is called before and
 * after every call: what a tool pays that counts calls by CUPTI and does nothing with them. COST_CUPTI=driver subscribes it
 * to the driver API as well: under a shared runtime the hook records the driver's call inside the runtime's too.
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOPS 21

static unsigned long called;

static void CUPTIAPI callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *info) {
    (void)data, (void)domain, (void)id, (void)info;
}

static void CUPTIAPI counting(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *info) {
    (void)data, (void)domain, (void)id, (void)info;
    called++;
}

static int subscribe(CUpti_CallbackFunc function, CUpti_SubscriberHandle *subscriber) {
    const char *wanted = getenv("COST_CUPTI");
    return cuptiSubscribe(subscriber, function, NULL) == CUPTI_SUCCESS &&
           cuptiEnableDomain(1, *subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS &&
           (!wanted || strcmp(wanted, "driver") ||
            cuptiEnableDomain(1, *subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 200000;
    int device, wanted = getenv("COST_CUPTI") != NULL;
    double loops[LOOPS];
    CUpti_SubscriberHandle subscriber;
    if (calls < 1) return 2;
    if (cudaFree(0) != cudaSuccess) {
        fprintf(stderr, "cost: no usable GPU\n");
        return 3;
    }
    if (wanted) {
        /* First with one that counts: an empty one could not tell whether it is called. */
        if (!subscribe(counting, &subscriber)) {
            fprintf(stderr, "cost: CUPTI cannot be subscribed to\n");
            return 4;
        }
        cudaGetDevice(&device);
        if (called < 2 || called % 2) {
            fprintf(stderr, "cost: %lu callbacks for one call, not pairs\n", called);
            return 5;
        }
        cuptiUnsubscribe(subscriber);
        if (!subscribe(callback, &subscriber)) return 4;
    }
    for (long i = 0; i < 10000; i++) cudaGetDevice(&device);
    for (int loop = 0; loop < LOOPS; loop++) {
        long good = 0;
        uint64_t start = now();
        for (long i = 0; i < calls; i++) good += cudaGetDevice(&device) == cudaSuccess;
        loops[loop] = (double)(now() - start) / (double)calls;
        if (good != calls) return 6;
    }
    qsort(loops, LOOPS, sizeof loops[0], compare);
    if (wanted) fprintf(stderr, "cost: %lu pairs of callbacks a call\n", called / 2);
    printf("ns %.2f\n", loops[LOOPS / 2]);
    return 0;
}
