/* counter FILE [THREADS] [CALLS]: threads make cheap calls and count each completed one in a shared file of 64-bit numbers, one
 * a thread, 64 bytes apart. CALLS 0 means until killed: the file then says what was completed. */
#include "cuda_min.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t calls;

static void *work(void *slot) {
    volatile uint64_t *done = slot;
    int device = -1;
    for (uint64_t i = 0; calls == 0 || i < calls; i++) {
        if (cudaGetDevice(&device)) break;
        __atomic_store_n(done, i + 1, __ATOMIC_RELEASE);
        if (i % 32 == 31) sched_yield(); /* so that all threads come to it soon */
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        printf("usage: counter FILE [THREADS] [CALLS]\n");
        return 2;
    }
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    calls = argc > 3 ? strtoull(argv[3], 0, 10) : 100000;
    if (threads < 1 || threads > 64) return 2;
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, 64 * 64)) {
        printf("cannot make the file\n");
        return 1;
    }
    char *map = mmap(0, 64 * 64, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) return 1;
    SHOW(cudaSetDevice(0));
    printf("running\n");
    fflush(stdout);
    pthread_t id[64];
    for (int i = 0; i < threads; i++) pthread_create(&id[i], 0, work, map + 64 * i);
    for (int i = 0; i < threads; i++) pthread_join(id[i], 0);
    for (int i = 0; i < threads; i++) printf("thread %d did %llu\n", i, *(unsigned long long *)(map + 64 * i));
    return 0;
}
