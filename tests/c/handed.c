/* handed CHILDREN CALLS: two threads make calls without end while children are forked, which make calls enough for several
 * chunks; prints what each has made. */
#include "cuda_min.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int over;

static void *work(void *done) {
    int device = -1;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        if (cudaGetDevice(&device)) break;
        ++*(unsigned long *)done;
    }
    return 0;
}

int main(int argc, char **argv) {
    int children = argc > 1 ? atoi(argv[1]) : 1, device = -1, bad = 0;
    long calls = argc > 2 ? atol(argv[2]) : 1000;
    unsigned long done[2][8] = {{0}};
    pthread_t id[2];
    if (cudaSetDevice(0)) return 1;
    for (int i = 0; i < 2; i++) pthread_create(&id[i], 0, work, done[i]);
    for (int i = 0; i < children; i++) {
        usleep(5000);
        pid_t child = fork();
        if (child == 0) {
            long good = 0;
            for (long call = 0; call < calls; call++) good += cudaGetDevice(&device) == 0;
            _exit(good != calls);
        }
        int status = 0;
        waitpid(child, &status, 0);
        bad |= status;
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
    printf("children %d bad %d parent %lu\n", children, bad, done[0][0] + done[1][0]);
    return bad != 0;
}
