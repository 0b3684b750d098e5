/* A CUDA program started by posix_spawn, by vfork and exec, and by fork and exec from a process that calls CUDA itself. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void ended(const char *how, pid_t child) {
    int status = -1, device = -1;
    waitpid(child, &status, 0);
    printf("%s: exited %d with %d\n", how, WIFEXITED(status), WEXITSTATUS(status));
    SHOW(cudaGetDevice(&device));
    fflush(stdout);
}

int main(int argc, char **argv) {
    (void)argc;
    int device = -1;
    char other[4096];
    snprintf(other, sizeof other, "%s", argv[0]);
    snprintf(strrchr(other, '/'), 32, "/rtld_default");
    char *arguments[] = {other, 0};
    SHOW(cudaGetDevice(&device));
    fflush(stdout);
    pid_t child = 0;
    if (posix_spawn(&child, other, 0, 0, arguments, environ)) return 1;
    ended("posix_spawn", child);
    child = vfork();
    if (child == 0) {
        execv(other, arguments);
        _exit(99);
    }
    ended("vfork", child);
    child = fork();
    if (child == 0) {
        execv(other, arguments);
        _exit(99);
    }
    ended("fork", child);
    return 0;
}
