/* family MODE ...: processes that start others, and what they do; every one makes calls of the driver of libfake.c.
 *   leaf N            N calls
 *   show ...          prints arguments and environment, a line each
 *   start WAY HOW     starts `family show` by that function of the exec family: `cleared` without its environment, `other` with
 *                     another LD_PRELOAD besides, `kept` with all of it, `removed` with all but LD_PRELOAD
 *   follow WAY N      the same, of `family leaf N`
 *   chain N           ten calls, then becomes `family chain N-1`
 *   raw N             children by fork and by raw clone, N calls each; children that share memory by vfork and by raw clone
 *   daemon N          a grandchild of its own session makes N calls; waits for it
 *   pool N TASKS      N workers that wait for tasks on pipes, one call each; one is killed in between and made anew
 *   ranks N           starts N ranks as a launcher does; rank 1 dies at first and is started once more
 *   rank              what a rank does
 *   server N          a server, started by exec, that forks N children on request, ten calls each
 *   serve             that server
 *   forks N CALLS     N children, one after the other; prints how long that took, us, and the page faults of them all
 *   rolls N           two threads make calls while N children are made, a hundred each; says how many calls the parent began */
#define _GNU_SOURCE
#include "fake.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char *self;

static void calls(long count) {
    int version = 0;
    for (long i = 0; i < count; i++)
        if (cuDriverGetVersion(&version) || version != 13000) abort();
}

static void check(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static int end_of(pid_t child) {
    int status = -1;
    check(child > 0 && waitpid(child, &status, 0) == child, "wait");
    return status;
}

/* The environment that a child gets. */
static char **environment(const char *how) {
    static char *list[512];
    int count = 0;
    if (!strcmp(how, "other")) list[count++] = "LD_PRELOAD=libm.so.6";
    if (!strcmp(how, "cleared") || !strcmp(how, "other")) {
        list[count++] = "PATH=/nowhere";
        list[count++] = "EMPTY=";
        return list;
    }
    for (char **variable = environ; *variable; variable++)
        if (strcmp(how, "removed") || strncmp(*variable, "LD_PRELOAD=", 11)) list[count++] = *variable;
    return list;
}

/* Starts `family MODE ...` by a function. Those without an environment among their arguments take ours. */
static int start(const char *way, char **list, char *mode, char *number) {
    char *v[] = {self, mode, number, "3", "4", "5", "6", "7", "8", "9", "10", 0};
    if (!strncmp(way, "posix_spawn", 11)) {
        pid_t child = 0;
        int failed = way[11] ? posix_spawnp(&child, self, 0, 0, v, list) : posix_spawn(&child, self, 0, 0, v, list);
        if (failed) return failed;
        return end_of(child);
    }
    int is_vfork = !strcmp(way, "vfork"), fd = open(self, O_RDONLY | O_CLOEXEC);
    pid_t child = is_vfork ? vfork() : fork();
    if (child == 0) {
        errno = 77;
        if (!strcmp(way, "execve") || is_vfork) execve(self, v, list);
        if (!strcmp(way, "execvpe")) execvpe(self, v, list);
        if (!strcmp(way, "fexecve")) fexecve(fd, v, list);
        if (!strcmp(way, "execveat")) {
            /* The C library has it since 2.34. */
            int (*execveat)(int, const char *, char **, char **, int) = dlsym(RTLD_DEFAULT, "execveat");
            if (execveat) execveat(fd, "", v, list, AT_EMPTY_PATH);
        }
        if (!strcmp(way, "execle"))
            execle(self, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], (char *)0, list);
        if (is_vfork) _exit(98);
        environ = list;
        if (!strcmp(way, "execv")) execv(self, v);
        if (!strcmp(way, "execvp")) execvp(self, v);
        if (!strcmp(way, "execl"))
            execl(self, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], (char *)0);
        if (!strcmp(way, "execlp"))
            execlp(self, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], (char *)0);
        /* What cannot be started says so as before. */
        if (!strcmp(way, "missing")) {
            int result = execl("/no/such/program", "a", "b", (char *)0);
            printf("%d %d\n", result, errno);
            errno = 77;
            result = execve("/etc/passwd", v, list);
            printf("%d %d\n", result, errno);
            result = posix_spawn(&child, "/no/such/program", 0, 0, v, list);
            printf("%d\n", result);
            fflush(stdout);
            _exit(0);
        }
        if (!strcmp(way, "system")) _exit(system("exec $SELF leaf 3") != 0);
        _exit(97);
    }
    int status = end_of(child);
    close(fd);
    return status;
}

static int shares_memory(void *user) {
    calls(1);
    *(volatile int *)user += 1;
    syscall(SYS_exit, 0);
    return 0;
}

static void raw(long count) {
    pid_t child = fork();
    if (child == 0) {
        calls(count);
        _exit(0);
    }
    check(end_of(child) == 0, "fork");
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        calls(count);
        _exit(0);
    }
    check(end_of(child) == 0, "clone");
    volatile int shared = 0;
    child = vfork();
    if (child == 0) {
        calls(1);
        shared += 1;
        _exit(0);
    }
    check(end_of(child) == 0 && shared == 1, "vfork");
    char *stack = malloc(1 << 18);
    for (int suspends = 0; suspends < 2; suspends++) {
        child = clone(shares_memory, stack + (1 << 18), CLONE_VM | SIGCHLD | (suspends ? CLONE_VFORK : 0), (void *)&shared);
        check(end_of(child) == 0 && shared == 2 + suspends, "clone that shares memory");
    }
    free(stack);
}

static void demon(long count) {
    int done[2];
    check(pipe(done) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            calls(count);
            check(write(done[1], "x", 1) == 1, "write");
            exit(0);
        }
        _exit(0);
    }
    char byte;
    check(end_of(child) == 0 && read(done[0], &byte, 1) == 1, "daemon");
}

struct worker {
    pid_t pid;
    int tasks, results;
};

static struct worker work(void) {
    int tasks[2], results[2];
    check(pipe2(tasks, O_CLOEXEC) == 0 && pipe2(results, O_CLOEXEC) == 0, "pipe");
    struct worker made = {fork(), tasks[1], results[0]};
    if (made.pid == 0) {
        close(tasks[1]);
        char byte;
        while (read(tasks[0], &byte, 1) == 1) {
            calls(1);
            if (write(results[1], &byte, 1) != 1) break;
        }
        exit(0);
    }
    close(tasks[0]);
    close(results[1]);
    return made;
}

static void pool(long count, long tasks) {
    struct worker workers[64];
    signal(SIGPIPE, SIG_IGN);
    for (long i = 0; i < count; i++) workers[i] = work();
    for (long task = 0; task < tasks; task++) {
        struct worker *worker = &workers[task % count];
        if (task == tasks / 2) {
            /* It has answered all it was asked. */
            kill(worker->pid, SIGKILL);
            check(WTERMSIG(end_of(worker->pid)) == SIGKILL, "kill");
            close(worker->tasks);
            close(worker->results);
            *worker = work();
        }
        char byte = 0;
        check(write(worker->tasks, "t", 1) == 1 && read(worker->results, &byte, 1) == 1, "task");
        calls(1);
    }
    for (long i = 0; i < count; i++) close(workers[i].tasks);
    for (long i = 0; i < count; i++) check(end_of(workers[i].pid) == 0, "worker");
}

static pid_t rank(long number, long count, int attempt) {
    char values[4][64];
    snprintf(values[0], 64, "RANK=%ld", number + 8);
    snprintf(values[1], 64, "LOCAL_RANK=%ld", number);
    snprintf(values[2], 64, "WORLD_SIZE=%ld", count + 8);
    snprintf(values[3], 64, "ATTEMPT=%d", attempt);
    char *list[600], *v[] = {self, "rank", 0};
    int at = 0;
    for (char **variable = environ; *variable && at < 590; variable++) list[at++] = *variable;
    for (int i = 0; i < 4; i++) list[at++] = values[i];
    list[at] = 0;
    pid_t child = 0;
    check(posix_spawn(&child, self, 0, 0, v, list) == 0, "posix_spawn");
    return child;
}

static void ranks(long count) {
    pid_t running[64];
    for (long i = 0; i < count; i++) running[i] = rank(i, count, 0);
    for (long i = 0; i < count; i++) {
        int status = end_of(running[i]);
        if (status) {
            check(i == 1 && WTERMSIG(status) == SIGABRT, "rank");
            check(end_of(rank(i, count, 1)) == 0, "rank started again");
        }
    }
}

static int be_rank(void) {
    calls(10);
    if (atoi(getenv("LOCAL_RANK")) == 1 && atoi(getenv("ATTEMPT")) == 0) abort();
    return 0;
}

/* The request is a byte, the answer the child's status. */
static void server(long count) {
    int ask[2], answer[2];
    check(pipe(ask) == 0 && pipe(answer) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ask[0], 0);
        dup2(answer[1], 1);
        close(ask[1]);
        execl(self, self, "serve", (char *)0);
        _exit(99);
    }
    close(ask[0]);
    for (long i = 0; i < count; i++) {
        char byte = 1;
        check(write(ask[1], "f", 1) == 1 && read(answer[0], &byte, 1) == 1 && byte == 0, "server");
    }
    close(ask[1]);
    check(end_of(child) == 0, "server's end");
}

static int serve(void) {
    char byte;
    while (read(0, &byte, 1) == 1) {
        pid_t child = fork();
        if (child == 0) {
            calls(10);
            exit(0);
        }
        byte = end_of(child) != 0;
        if (write(1, &byte, 1) != 1) return 1;
    }
    return 0;
}

static void forks(long count, long each) {
    struct timespec from, to;
    calls(1);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0) {
            calls(each);
            exit(0);
        }
        check(end_of(child) == 0, "child");
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    printf("%ld %ld\n", (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000, children.ru_minflt);
}

static int go, stop;
static void *when_told(void *user) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        if (__atomic_load_n(&go, __ATOMIC_RELAXED)) calls(20);
        else usleep(50);
    }
    return user;
}

static void rolls(long count) {
    pthread_t id[2];
    for (int i = 0; i < 2; i++) pthread_create(&id[i], 0, when_told, 0);
    for (long i = 0; i < count; i++) {
        unsigned long until = __atomic_load_n(&fake_begun, __ATOMIC_RELAXED) + 15000 + (unsigned long)(i * 7919 % 20011);
        __atomic_store_n(&go, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&fake_begun, __ATOMIC_RELAXED) < until) usleep(20);
        pid_t child = fork();
        __atomic_store_n(&go, 0, __ATOMIC_RELAXED);
        if (child == 0) {
            calls(100);
            _exit(3);
        }
        check(WEXITSTATUS(end_of(child)) == 3, "child");
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) pthread_join(id[i], 0);
    printf("%lu\n", fake_begun);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    long number = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;
    static char path[4096];
    check(realpath("/proc/self/exe", path) != 0, "realpath");
    self = path;
    if (!strcmp(mode, "leaf")) calls(number);
    if (!strcmp(mode, "show")) {
        for (int i = 1; i < argc; i++) printf("argument %s\n", argv[i]);
        for (char **variable = environ; *variable; variable++) printf("%s\n", *variable);
    }
    if (!strcmp(mode, "start")) {
        fflush(stdout);
        printf("status %x\n", start(argv[2], environment(argv[3]), "show", "2"));
    }
    if (!strcmp(mode, "follow")) {
        calls(1);
        check(setenv("SELF", self, 1) == 0, "setenv");
        char **list = environment("cleared"), own[4200];
        if (!strcmp(argv[2], "system")) {
            snprintf(own, sizeof own, "SELF=%s", self);
            list[2] = own;
        }
        printf("status %x\n", start(argv[2], list, "leaf", argv[3]));
    }
    if (!strcmp(mode, "chain")) {
        calls(10);
        char left[32];
        snprintf(left, sizeof left, "%ld", number - 1);
        if (number > 1) execl(self, self, "chain", left, (char *)0);
        printf("%d\n", (int)getpid());
    }
    if (!strcmp(mode, "raw")) {
        calls(1);
        raw(number);
        calls(1);
    }
    if (!strcmp(mode, "daemon")) demon(number);
    if (!strcmp(mode, "pool")) pool(number, second);
    if (!strcmp(mode, "ranks")) ranks(number);
    if (!strcmp(mode, "rank")) return be_rank();
    if (!strcmp(mode, "server")) server(number);
    if (!strcmp(mode, "serve")) return serve();
    if (!strcmp(mode, "forks")) forks(number, second);
    if (!strcmp(mode, "rolls")) rolls(number);
    return 0;
}
