/* held callback|fork|constructor|close own|needed|bare: the loader's locks are held for as long as it takes another thread, or a child,
 * to make the process's first CUDA call: in a callback of dl_iterate_phdr, in which a thread is waited for or a child is forked; or in
 * the constructor or destructor of a library under dlopen or dlclose. The call comes from the program, from a library that names the
 * driver or from one that names none. Prints whether it was made in time. */
#define _GNU_SOURCE
#include "fake.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*ask)(void);
static const char *when = "";
static int made, looked;

static int own(void) {
    int version = 0;
    return cuDriverGetVersion(&version) || version != 13000;
}

static void *first(void *unused) {
    if (ask()) abort();
    __atomic_store_n(&made, 1, __ATOMIC_SEQ_CST);
    return unused;
}

/* Waits ten seconds at most, as nobody may who holds a lock that the call needs. */
static void let_another_call(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, first, 0)) return;
    for (int waited = 0; waited < 10000 && !__atomic_load_n(&made, __ATOMIC_SEQ_CST); waited++) usleep(1000);
}

static void let_a_child_call(void) {
    pid_t pid = fork();
    if (pid == 0) {
        first(0);
        _exit(made);
    }
    int status = -1;
    for (int waited = 0; waited < 10000 && waitpid(pid, &status, WNOHANG) == 0; waited++) usleep(1000);
    if (!WIFEXITED(status)) kill(pid, SIGKILL);
    made = WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void held(void) {
    if (looked++) return;
    if (!strcmp(when, "fork")) {
        let_a_child_call();
    } else {
        let_another_call();
    }
}

static int callback(struct dl_phdr_info *info, size_t bytes, void *unused) {
    (void)info, (void)bytes, (void)unused;
    held();
    return 1;
}

/* libheld.so calls these. */
void held_constructor(void) {
    if (!strcmp(when, "constructor")) held();
}

void held_destructor(void) {
    if (!strcmp(when, "close")) held();
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    when = argv[1];
    ask = own;
    if (strcmp(argv[2], "own")) {
        void *library = dlopen(!strcmp(argv[2], "bare") ? "libbare.so" : "libasks.so", RTLD_NOW | RTLD_LOCAL);
        ask = library ? (int (*)(void))dlsym(library, "asks") : 0;
        if (!ask) return 3;
    }
    if (!strcmp(when, "callback") || !strcmp(when, "fork")) {
        dl_iterate_phdr(callback, 0);
    } else {
        void *library = dlopen("libheld.so", RTLD_NOW | RTLD_LOCAL);
        if (!library) return 4;
        dlclose(library);
    }
    printf("%s\n", made ? "made" : "not made");
    fflush(stdout);
    /* A thread that still waits would be waited for. */
    if (!made) _exit(1);
    return 0;
}
