/* inside malloc|dlopen|local N: N children, in each of which a timer's handler makes the process's first CUDA call while the child is
 * inside the allocator or the loader most of the time; local: the call comes from a library that was opened RTLD_LOCAL, and the child
 * is in the allocator. Prints how many of them came to their end. */
#define _GNU_SOURCE
#include "fake.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled;
static int (*ask)(void);

static int own(void) {
    int version = 0;
    return cuDriverGetVersion(&version) || version != 13000;
}

static void handler(int signal) {
    (void)signal;
    if (ask()) abort();
    handled++;
}

static void child(int in_loader, long moment) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 0}, {0, 300 + moment}};
    setitimer(ITIMER_REAL, &timer, 0);
    while (!handled) {
        if (in_loader) {
            void *library = dlopen("libm.so.6", RTLD_NOW);
            if (library) dlclose(library);
        } else {
            for (int i = 0; i < 64; i++) free(malloc(2000 + 997 * i));
        }
    }
    _exit(0);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int children = argc > 2 ? atoi(argv[2]) : 1, ended = 0;
    ask = own;
    if (!strcmp(how, "local")) {
        void *library = dlopen("libasks.so", RTLD_NOW | RTLD_LOCAL);
        ask = library ? (int (*)(void))dlsym(library, "asks") : 0;
        if (!ask) return 1;
    }
    for (int i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid == 0) child(!strcmp(how, "dlopen"), i * 37 % 500);
        int status = -1;
        for (int waited = 0; waitpid(pid, &status, WNOHANG) == 0; waited++) {
            usleep(2000);
            if (waited == 5000) kill(pid, SIGKILL);
        }
        ended += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    printf("%d of %d ended\n", ended, children);
    return 0;
}
