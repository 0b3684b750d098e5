/* A signal handler jumps out of a blocking call, several times; calls go on as before. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf out;
static volatile sig_atomic_t stop;

static void sleeper(void *user) {
    (void)user;
    while (!stop) usleep(1000);
}

static void handler(int signal) {
    (void)signal;
    siglongjmp(out, 1);
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGALRM, &action, 0);
    int device = -1;
    cudaStream_t stream = 0;
    SHOW(cudaStreamCreate(&stream));
    SHOW(cudaLaunchHostFunc(stream, sleeper, 0));
    for (volatile int round = 0; round < 5; round++) {
        if (sigsetjmp(out, 1) == 0) {
            struct itimerval timer = {{0, 0}, {0, 20000}};
            setitimer(ITIMER_REAL, &timer, 0);
            cudaStreamSynchronize(stream);
            printf("round %d: the call returned\n", round);
        } else {
            printf("round %d: jumped out\n", round);
        }
        SHOW(cudaGetDevice(&device));
    }
    stop = 1;
    SHOW(cudaStreamSynchronize(stream));
    SHOW(cudaStreamDestroy(stream));
    SHOW(cudaDeviceSynchronize());
    printf("device %d\n", device);
    return 0;
}
