/* together N: N children, in each of which eight threads make their first calls of four functions at the same moment. Prints how many
 * children came to their end. */
#include "fake.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready;

static void *work(void *user) {
    int version = 0;
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 8) sched_yield();
    for (int i = 0; i < 20; i++) {
        int bad = cuDriverGetVersion(&version) || version != 13000;
        bad |= cuCtxSynchronize() || cuInit(0) || cuEventQuery(0);
        if (bad) _exit(1);
    }
    return user;
}

int main(int argc, char **argv) {
    int children = argc > 1 ? atoi(argv[1]) : 1, ended = 0;
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t id[8];
            for (int j = 0; j < 8; j++) pthread_create(&id[j], 0, work, 0);
            for (int j = 0; j < 8; j++) pthread_join(id[j], 0);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        ended += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    printf("%d of %d ended\n", ended, children);
    return 0;
}
