/* snapshot N: a timer's handler forks N times, in the midst of whatever the program is doing, which is mostly calling CUDA.
 * Each child goes on from there a little later, makes some calls and ends. Prints how many calls the parent has begun. */
#define _GNU_SOURCE
#include "fake.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t is_child, forks;
static int wanted;

static void handler(int signal) {
    (void)signal;
    int saved = errno;
    if (forks < wanted && !is_child) {
        pid_t child = fork();
        if (child < 0) abort();
        if (child) forks++;
        is_child = !child;
        if (is_child) usleep(500);
    }
    errno = saved;
}

static void make(int calls) {
    int version = 0;
    for (int i = 0; i < calls; i++)
        if (cuDriverGetVersion(&version) || version != 13000) abort();
}

int main(int argc, char **argv) {
    wanted = argc > 1 ? atoi(argv[1]) : 100;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 900}, {0, 900}};
    setitimer(ITIMER_REAL, &timer, 0);
    while (forks < wanted && !is_child) make(100);
    if (is_child) {
        make(10);
        _exit(0);
    }
    timer = (struct itimerval){0};
    setitimer(ITIMER_REAL, &timer, 0);
    int status, bad = 0;
    while (wait(&status) > 0) bad += status != 0;
    make(100);
    printf("%d forks, %d ended badly\nbegun %lu\n", (int)forks, bad, fake_begun);
    return 5;
}
