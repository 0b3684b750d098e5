/* jumps N [alternate]: a timer's handler jumps out of whatever the program is doing, which is mostly calling CUDA, N times; then a
 * thousand calls are made in peace. Prints what was begun before and in all. */
#define _GNU_SOURCE
#include "fake.h"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static sigjmp_buf out;
static volatile sig_atomic_t calling;

static void handler(int signal) {
    (void)signal;
    if (calling) siglongjmp(out, 1);
}

int main(int argc, char **argv) {
    long jumps = argc > 1 ? atol(argv[1]) : 1000;
    int version = 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    if (argc > 2) {
        stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
        sigaltstack(&stack, 0);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 53}, {0, 53}}, none = {{0, 0}, {0, 0}};
    cuInit(0);
    setitimer(ITIMER_REAL, &timer, 0);
    volatile long jumped = -1;
    sigsetjmp(out, 1);
    calling = 0;
    if (++jumped < jumps) {
        calling = 1;
        for (;;) cuDriverGetVersion(&version);
    }
    setitimer(ITIMER_REAL, &none, 0);
    unsigned long before = fake_begun;
    for (int i = 0; i < 1000; i++) cuCtxSynchronize();
    printf("jumped %ld, begun %lu\n", jumped, before);
    return 0;
}
