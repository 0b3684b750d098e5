/* THREADS threads (4) named "worker N" make CALLS calls each (10000), of two kinds. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <pthread.h>
#include <stdlib.h>

static long calls = 10000;
static int started;

static void *work(void *user) {
    long *done = user;
    int device = -1;
    void *memory = 0;
    char name[16];
    snprintf(name, sizeof name, "worker %d", __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED));
    pthread_setname_np(pthread_self(), name);
    if (cudaMalloc(&memory, 4096)) return 0;
    for (long i = 0; i < calls; i++) *done += cudaGetDevice(&device) == 0 && device == 0;
    for (long i = 0; i < calls; i++) *done += cudaStreamQuery(0) == 0 ? 1 : 1;
    cudaFree(memory);
    return 0;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    if (argc > 2) calls = atol(argv[2]);
    if (threads < 1 || threads > 256) return 2;
    pthread_t id[256];
    long done[256] = {0};
    SHOW(cudaSetDevice(0));
    for (int i = 0; i < threads; i++) pthread_create(&id[i], 0, work, &done[i]);
    for (int i = 0; i < threads; i++) pthread_join(id[i], 0);
    for (int i = 0; i < threads; i++) printf("thread %d did %ld\n", i, done[i]);
    return 0;
}
