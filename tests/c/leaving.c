/* leaving MODE: threads that leave a call without its returning, and calls where they are unusual.
 *   cancel N     N threads, one after the other, are cancelled inside cuCtxSynchronize
 *   exit N       N threads call pthread_exit inside it
 *   key N        N threads make a call, and one in the destructor of a thread-specific value, again and again while they may
 *   deep N       a call within a call, N deep, of one thread
 *   stack N      N threads with stacks of 16 KiB make ten calls each
 *   first        the process's first call is made by a thread with a stack of 16 KiB
 *   short N      N threads, eight at a time, make five calls each
 *   fork N       four threads make calls all the time; N children of theirs make a hundred each
 * Prints what was done. */
#define _GNU_SOURCE
#include "fake.h"
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long count;
static pthread_key_t key;
static int stop, cleaned;
static pthread_barrier_t inside_call;

static void ask(void) {
    int version = 0;
    if (cuDriverGetVersion(&version) || version != 13000) abort();
}

static void cleanup(void *user) {
    (void)user;
    cleaned++;
    ask();
}

static int wait_for_ever(void) {
    pthread_barrier_wait(&inside_call);
    for (;;) pause();
    return 0;
}

static int leave(void) { pthread_exit((void *)7); }

static void *cancelled(void *inside) {
    fake_inside = (int (*)(void))inside;
    pthread_cleanup_push(cleanup, 0);
    ask();
    cuCtxSynchronize();
    abort();
    pthread_cleanup_pop(0);
    return 0;
}

static void destructor(void *value) {
    long left = (long)value;
    ask();
    if (left > 1) pthread_setspecific(key, (void *)(left - 1));
}

static void *keyed(void *user) {
    pthread_setspecific(key, user);
    ask();
    return 0;
}

static long depth;
static int deeper(void) {
    ask();
    return --depth > 0 ? cuCtxSynchronize() : 0;
}

static void *ten(void *user) {
    for (long i = 0; i < (long)user; i++) ask();
    return 0;
}

static void *for_ever(void *user) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) ask();
    return user;
}

static void one_by_one(void *(*work)(void *), void *user, size_t stack, int cancel) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack && pthread_attr_setstacksize(&attributes, stack)) abort();
    for (long i = 0; i < count; i++) {
        pthread_t id;
        void *result = 0;
        if (pthread_create(&id, &attributes, work, user)) abort();
        if (cancel) {
            pthread_barrier_wait(&inside_call);
            pthread_cancel(id);
        }
        pthread_join(id, &result);
        if (cancel && result != PTHREAD_CANCELED) abort();
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    count = argc > 2 ? atol(argv[2]) : 1;
    pthread_barrier_init(&inside_call, 0, 2);
    if (strcmp(mode, "first")) ask();
    if (!strcmp(mode, "cancel")) one_by_one(cancelled, (void *)wait_for_ever, 0, 1);
    if (!strcmp(mode, "exit")) one_by_one(cancelled, (void *)leave, 0, 0);
    if (!strcmp(mode, "key")) {
        pthread_key_create(&key, destructor);
        one_by_one(keyed, (void *)PTHREAD_DESTRUCTOR_ITERATIONS, 0, 0);
    }
    if (!strcmp(mode, "deep")) {
        fake_inside = deeper;
        for (int round = 0; round < 3; round++) {
            depth = count;
            if (cuCtxSynchronize()) abort();
        }
    }
    if (!strcmp(mode, "stack") || !strcmp(mode, "first")) one_by_one(ten, (void *)10, 16384, 0);
    if (!strcmp(mode, "short")) {
        for (long i = 0; i < count; i += 8) {
            pthread_t id[8];
            for (int j = 0; j < 8; j++)
                if (pthread_create(&id[j], 0, ten, (void *)5)) abort();
            for (int j = 0; j < 8; j++) pthread_join(id[j], 0);
        }
    }
    if (!strcmp(mode, "fork")) {
        pthread_t id[4];
        for (int i = 0; i < 4; i++) pthread_create(&id[i], 0, for_ever, 0);
        for (long i = 0; i < count; i++) {
            pid_t child = fork();
            if (child == 0) {
                ten((void *)100);
                _exit(3);
            }
            int status = 0;
            waitpid(child, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) printf("child %ld ended with %x\n", i, status);
        }
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < 4; i++) pthread_join(id[i], 0);
    }
    ask();
    printf("%s: cleaned %d, begun %lu\n", mode, cleaned, strcmp(mode, "fork") ? fake_begun : 0);
    if (!strcmp(mode, "fork")) fprintf(stderr, "begun %lu\n", fake_begun);
    return 0;
}
