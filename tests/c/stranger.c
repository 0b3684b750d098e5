/* stranger: what a program does that cannot load the hook, or can and must not be harmed by it: built statically, with musl, for
 * 32 bits, and run with rights of its own. Says what came of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

static void *thread(void *user) { return user; }

static void ended(const char *how, pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    printf("%s %x\n", how, status);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *self = "/proc/self/exe";
    if (argc > 1) {
        printf("again %s %s\n", argv[1], getenv("A") ? getenv("A") : "without");
        return 4;
    }
    printf("secure %lu\n", getauxval(AT_SECURE));
    pthread_t id;
    void *result = 0;
    pthread_create(&id, 0, thread, argv);
    pthread_join(id, &result);
    printf("thread %d\n", result == argv);
#ifndef STATIC
    void *program = dlopen(0, RTLD_NOW);
    size_t (*length)(const char *) = (size_t(*)(const char *))dlsym(program, "strlen");
    printf("strlen %zu, nothing %d\n", length("four"), dlsym(program, "cuNothing") != 0);
    dlclose(program);
    printf("missing %d, told %d\n", dlopen("/no/such/library.so", RTLD_NOW) != 0, dlerror() != 0);
#endif
    fflush(stdout);
    char *arguments[] = {argv[0], "spawned", 0}, *list[] = {"A=b", 0};
    pid_t child = fork();
    if (child == 0) _exit(execle(self, argv[0], "cleared", (char *)0, list));
    ended("execle", child);
    child = fork();
    if (child == 0) _exit(execl(self, argv[0], "kept", (char *)0));
    ended("execl", child);
    child = vfork();
    if (child == 0) {
        execve(self, arguments, list);
        _exit(9);
    }
    ended("vfork", child);
    if (posix_spawn(&child, self, 0, 0, arguments, list)) return 1;
    ended("posix_spawn", child);
    return 3;
}
