/* sandbox WHAT WHEN CALLS [PATH]: as limits.c, with something taken away by the kernel's filter or by a change of place.
 *   openat: it fails        trap: it fails by SIGSYS, whose handler calls CUDA        shared: no file can be mapped shared
 *   pid: getpid fails        memory: the calls by which memory is read fail, each in a way of its own
 *   slow: a file takes a second and a half to be made; meanwhile another thread makes 50 calls
 *   space: no more address space    chdir: to the root    chroot: into PATH    unlink, replace: of the files in PATH
 * Prints how many calls succeeded and were begun, and whether errno stayed as it was over each of them. */
#define _GNU_SOURCE
#include "fake.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void filter(struct sock_filter *code, unsigned short length) {
    struct sock_fprog program = {length, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(77);
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

static void forbid_openat(unsigned how) {
    struct sock_filter code[] = {LOAD(nr), UNLESS(SYS_openat, 1), RETURN(how), RETURN(SECCOMP_RET_ALLOW)};
    filter(code, sizeof code / sizeof *code);
}

static void forbid_shared(void) {
    struct sock_filter code[] = {
        LOAD(nr),      UNLESS(SYS_mmap, 4),
        LOAD(args[3]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_SHARED | MAP_ANONYMOUS),
        UNLESS(MAP_SHARED, 1), RETURN(SECCOMP_RET_ERRNO | ENODEV),
        RETURN(SECCOMP_RET_ALLOW)};
    filter(code, sizeof code / sizeof *code);
}

static void forbid_pid(void) {
    struct sock_filter code[] = {LOAD(nr), UNLESS(SYS_getpid, 1), RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)};
    filter(code, sizeof code / sizeof *code);
}

static void forbid_reading(void) {
    struct sock_filter code[] = {
        LOAD(nr),
        UNLESS(SYS_process_vm_readv, 1),
        RETURN(SECCOMP_RET_ERRNO | EINVAL),
        UNLESS(SYS_pread64, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        RETURN(SECCOMP_RET_ALLOW)};
    filter(code, sizeof code / sizeof *code);
}

static void refuse(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    int version = 0;
    if (cuDriverGetVersion(&version) || version != 13000) abort();
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void trap_making(void) {
    struct sock_filter code[] = {
        LOAD(nr),      UNLESS(SYS_openat, 4),
        LOAD(args[2]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_CREAT),
        UNLESS(O_CREAT, 1), RETURN(SECCOMP_RET_TRAP),
        RETURN(SECCOMP_RET_ALLOW)};
    filter(code, sizeof code / sizeof *code);
}

/* Makes the file in another way, which is not filtered. */
static void make_slowly(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    usleep(1500000);
    long file = syscall(SYS_open, registers[REG_RSI], registers[REG_RDX], registers[REG_R10]);
    registers[REG_RAX] = file < 0 ? -errno : file;
}

static void *meanwhile(void *unused) {
    int version = 0;
    usleep(200000);
    for (int i = 0; i < 50; i++)
        if (cuDriverGetVersion(&version) || version != 13000) abort();
    return unused;
}

static void each_file(const char *dir, int replace) {
    DIR *folder = opendir(dir);
    struct dirent *entry;
    char path[4096];
    while (folder && (entry = readdir(folder))) {
        if (!strstr(entry->d_name, ".umt")) continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        unlink(path);
        int file = replace ? open(path, O_WRONLY | O_CREAT, 0600) : -1;
        if (replace && (write(file, "mine", 4) != 4 || close(file))) abort();
    }
    if (folder) closedir(folder);
}

static pthread_t other;

static void take(const char *what, const char *path) {
    if (!strcmp(what, "openat")) forbid_openat(SECCOMP_RET_ERRNO | EPERM);
    if (!strcmp(what, "pid")) forbid_pid();
    if (!strcmp(what, "memory")) forbid_reading();
    if (!strcmp(what, "trap")) {
        struct sigaction action = {.sa_sigaction = refuse, .sa_flags = SA_SIGINFO};
        sigaction(SIGSYS, &action, 0);
        forbid_openat(SECCOMP_RET_TRAP);
    }
    if (!strcmp(what, "slow")) {
        struct sigaction action = {.sa_sigaction = make_slowly, .sa_flags = SA_SIGINFO};
        sigaction(SIGSYS, &action, 0);
        trap_making();
        if (pthread_create(&other, 0, meanwhile, 0)) abort();
    }
    if (!strcmp(what, "shared")) forbid_shared();
    if (!strcmp(what, "space")) {
        struct rlimit limit = {1 << 20, 1 << 20};
        setrlimit(RLIMIT_AS, &limit);
    }
    if (!strcmp(what, "chdir") && chdir("/")) abort();
    if (!strcmp(what, "chroot") && (chroot(path) || chdir("/"))) _exit(77);
    if (!strcmp(what, "unlink")) each_file(path, 0);
    if (!strcmp(what, "replace")) each_file(path, 1);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    long calls = atol(argv[3]), good = 0, kept = 0, before = 0;
    int version = 0;
    if (!strcmp(argv[2], "late"))
        for (int i = 0; i < 100; i++) before += cuDriverGetVersion(&version) == 0;
    take(argv[1], argc > 4 ? argv[4] : ".");
    for (long i = 0; i < calls; i++) {
        errno = 77;
        good += cuDriverGetVersion(&version) == 0;
        kept += errno == 77;
    }
    if (!strcmp(argv[1], "slow")) pthread_join(other, 0);
    /* From a call site of its own. */
    errno = 77;
    good += cuInit(0) == 0;
    kept += errno == 77;
    printf("%ld before, %ld succeeded, errno kept %ld\n", before, good, kept);
    fprintf(stderr, "begun %lu\n", fake_begun);
    return 5;
}
