/* sigalrm early|late|alternate|new HANDLED: a timer's handler calls CUDA while the main program does, until it has run HANDLED times.
 * early: the timer runs before the first call. alternate: the handler has a stack of its own. new: each handler's call comes from a
 * call site of its own, as long as there are some. Prints how many calls each side has made. */
#define _GNU_SOURCE
#include "fake.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile long handled, made, wanted;
static int many_sites;

#define ONE(n) case n: result = cuDriverGetVersion(&version); break;
#define FOUR(n) ONE(n) ONE(n + 1) ONE(n + 2) ONE(n + 3)
#define SIXTEEN(n) FOUR(n) FOUR(n + 4) FOUR(n + 8) FOUR(n + 12)
#define SITES(n) SIXTEEN(n) SIXTEEN(n + 16) SIXTEEN(n + 32) SIXTEEN(n + 48)

static void handler(int signal) {
    (void)signal;
    int version = 0, result = -1;
    switch (many_sites ? handled : -1) {
        SITES(0) SITES(64) SITES(128) SITES(192)
        default: result = cuDriverGetVersion(&version);
    }
    if (result || version != 13000) abort();
    handled++;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    wanted = argc > 2 ? atol(argv[2]) : 300;
    many_sites = !strcmp(how, "new");
    if (strcmp(how, "early")) {
        cuInit(0);
        made++;
    }
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    if (!strcmp(how, "alternate")) {
        stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
        sigaltstack(&stack, 0);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 150}, {0, 150}}, none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, 0);
    while (handled < wanted) {
        if (cuInit(0)) abort();
        made++;
    }
    setitimer(ITIMER_REAL, &none, 0);
    /* One that is under way must not come while the numbers are taken. */
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, 0);
    printf("main %ld handler %ld begun %lu\n", made, handled, fake_begun);
    return 0;
}
