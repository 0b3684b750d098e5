/* Ends in one of several ways in the midst of work: segv, abort, _exit, quick_exit, kill9, or blocked N (sits in a call for N seconds). */
#include "cuda_min.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sleeper(void *user) { sleep(*(unsigned *)user); }

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int device = -1;
    void *memory = 0;
    for (int i = 0; i < 1000; i++) cudaGetDevice(&device);
    SHOW(cudaMalloc(&memory, 4096));
    printf("about to: %s\n", how);
    fflush(stdout);
    if (!strcmp(how, "segv")) *(volatile int *)16 = 1;
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "_exit")) _exit(7);
    if (!strcmp(how, "quick_exit")) quick_exit(8);
    if (!strcmp(how, "kill9")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "blocked")) {
        unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
        SHOW(cudaLaunchHostFunc(0, sleeper, &seconds));
        fflush(stdout);
        SHOW(cudaDeviceSynchronize());
        return 0;
    }
    printf("usage: die segv|abort|_exit|quick_exit|kill9|blocked [SECONDS]\n");
    return 2;
}
