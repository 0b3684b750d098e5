/* begins ROUNDS: in each round a process of one thread begins to call CUDA; while its first call is on its way, another thread forks,
 * a little later each round, and the child makes 20 calls. Prints how many of those succeeded.
 * begins crowd CALLS THREADS: the main thread makes CALLS calls, then so many threads make one each, in which they wait for one another and make
 * another. */
#define _GNU_SOURCE
#include "fake.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int going;
static pthread_barrier_t together;

static void *first(void *unused) {
    int version = 0;
    going = 1;
    cuDriverGetVersion(&version);
    return unused;
}

static int inside(void) {
    int version = 0;
    pthread_barrier_wait(&together);
    return cuDriverGetVersion(&version);
}

static void *one(void *unused) {
    fake_inside = inside;
    cuCtxSynchronize();
    return unused;
}

static int child(void) {
    int good = 0;
    for (int i = 0; i < 20; i++) good += cuCtxSynchronize() == 0;
    exit(good);
}

static int round_of(int number) {
    pthread_t thread;
    if (pthread_create(&thread, 0, first, 0)) return 0;
    while (!going) {
    }
    usleep(number * 100);
    pid_t pid = fork();
    if (pid == 0) child();
    int status = 0;
    waitpid(pid, &status, 0);
    pthread_join(thread, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(int argc, char **argv) {
    if (argc > 3 && !strcmp(argv[1], "crowd")) {
        int threads = atoi(argv[3]), version = 0;
        pthread_t id[256];
        if (threads > 256 || pthread_barrier_init(&together, 0, threads)) return 2;
        for (long i = atol(argv[2]); i > 0; i--) cuDriverGetVersion(&version);
        for (int i = 0; i < threads; i++)
            if (pthread_create(&id[i], 0, one, 0)) return 3;
        for (int i = 0; i < threads; i++) pthread_join(id[i], 0);
        return 0;
    }
    int rounds = argc > 1 ? atoi(argv[1]) : 10, good = 0;
    for (int i = 0; i < rounds; i++) {
        pid_t pid = fork();
        if (pid == 0) exit(round_of(i));
        int status = 0;
        waitpid(pid, &status, 0);
        good += WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    }
    printf("%d good\n", good);
    return 0;
}
