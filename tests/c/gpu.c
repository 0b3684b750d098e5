/* gpu HOW [NUMBER]: work of an exact amount on the stand-in driver, and what a program may do to a tracer meanwhile. Prints what
 * the driver counted where that is asked for. A round is a kernel over 4 MiB of managed memory that the host has touched, a
 * copy of 1 MiB in and one of 256 KiB out, a fill of 1 MiB, and waiting for it all. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags);
CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count);
CUresult cuProfilerStart(void);
CUresult cuStreamBeginCapture_v2(cuda_handle stream, int mode);
CUresult cuStreamEndCapture(cuda_handle stream, cuda_handle *graph);
CUresult cuGraphInstantiateWithFlags(cuda_handle *out, cuda_handle graph, unsigned long long flags);
CUresult cuGraphLaunch(cuda_handle exec, cuda_handle stream);
CUresult cuProfilerStop(void);
struct totals {
    uint64_t size, h2d, d2h, d2d, rows_h2d, rows_d2h, rows_d2d, cpu_faults, gpu_groups, remote_maps;
    uint64_t causes[4];
    uint64_t kernels, copies, copy_bytes, sets, host_functions;
};
int umsim_counters(struct totals *out);

extern char **environ;
enum { MANAGED = 4 << 20, DEVICE = 1 << 20 };
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        int result_ = (int)(call);                                                                                     \
        if (result_) {                                                                                                 \
            printf("%s -> %d\n", #call, result_);                                                                      \
            fflush(stdout);                                                                                            \
            _exit(9);                                                                                                  \
        }                                                                                                              \
    } while (0)

static cuda_handle context, module, scale, spin;
static CUdeviceptr managed, device;
static char *host;

static void set_up(void) {
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuModuleLoadData(&module, IMAGE));
    MUST(cuModuleGetFunction(&scale, module, "_Z5scalePfm"));
    MUST(cuModuleGetFunction(&spin, module, "_Z4spinm"));
    MUST(cuMemAllocManaged(&managed, MANAGED, 1));
    MUST(cuMemAlloc_v2(&device, DEVICE));
    host = calloc(1, DEVICE);
}

static void launch(CUdeviceptr memory, unsigned long count, unsigned grid) {
    void *params[] = {&memory, &count};
    MUST(cuLaunchKernel(scale, grid, 1, 1, 256, 1, 1, 0, 0, params, 0));
}

static void wait_ns(unsigned long ns) {
    void *params[] = {&ns};
    MUST(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, 0, params, 0));
}

static void rounds(int count) {
    for (int round = 0; round < count; round++) {
        for (int i = 0; i < MANAGED / 4; i += 1024) ((volatile float *)managed)[i] = round;
        launch(managed, MANAGED / 4, 8);
        MUST(cuMemcpyHtoD_v2(device, host, DEVICE));
        MUST(cuMemcpyDtoH_v2(host, device, DEVICE / 4));
        MUST(cuMemsetD8_v2(device, 7, DEVICE));
        MUST(cuCtxSynchronize());
    }
}

static void counted(void) {
    struct totals t;
    umsim_counters(&t);
    printf("h2d %lu d2h %lu kernels %lu copies %lu bytes %lu sets %lu faults %lu groups %lu\n", t.h2d, t.d2h, t.kernels,
           t.copies, t.copy_bytes, t.sets, t.cpu_faults, t.gpu_groups);
    fflush(stdout);
}

/* Number of threads, and of those of a name that let a signal through. */
static void tasks(const char *when) {
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0, ours = 0;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.') continue;
        count++;
        char path[300], line[200], name[64] = "";
        unsigned long blocked = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            sscanf(line, "Name: %63[^\n]", name);
            sscanf(line, "SigBlk: %lx", &blocked);
        }
        if (file) fclose(file);
        if (strcmp(name, "umtui")) continue;
        ours++;
        /* All but SIGKILL, SIGSTOP and the two of the C library. */
        printf("%s: umtui blocks %d\n", when, (~blocked & ~(1ul << 8 | 1ul << 18 | 1ul << 31 | 1ul << 32)) == 0);
    }
    closedir(folder);
    printf("%s: umtui %d others %d\n", when, ours, count - ours);
}

static int threads_rounds = 50;
static void *worker(void *argument) {
    cuda_handle stream = 0;
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, 1));
    CUdeviceptr memory = device;
    unsigned long count = 256;
    void *params[] = {&memory, &count};
    for (int i = 0; i < threads_rounds; i++)
        MUST(cuLaunchKernel(scale, 1 + (unsigned)(size_t)argument, 1, 1, 256, 1, 1, 0, stream, params, 0));
    MUST(cuStreamSynchronize(stream));
    MUST(cuStreamDestroy_v2(stream));
    return 0;
}

static void many_threads(int count) {
    pthread_t *threads = calloc(count, sizeof *threads);
    for (int i = 0; i < count; i++) MUST(pthread_create(&threads[i], 0, worker, (void *)(size_t)i));
    for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
}

static void *initialise(void *barrier) {
    if (barrier) pthread_barrier_wait(barrier);
    MUST(cuInit(0));
    return 0;
}

static void on_signal(int number) {
    (void)number;
    MUST(cuInit(0));
}

static void *leave(void *unused) {
    (void)unused;
    exit(5);
}

static void forbid_threads(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(77);
}

static int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "rounds";
    int number = argc > 2 ? atoi(argv[2]) : 1;
#define HOW(name) if (!strcmp(how, name))
    HOW("nothing") {
        tasks("at all");
        return 0;
    }
    HOW("small") {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        MUST(pthread_attr_setstacksize(&attributes, 16384));
        MUST(pthread_create(&thread, &attributes, initialise, 0));
        pthread_join(thread, 0);
    }
    HOW("default-small") {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 16384);
        MUST(pthread_setattr_default_np(&attributes));
    }
    HOW("handler") {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    }
    HOW("at-once") {
        pthread_barrier_t barrier;
        pthread_t threads[8];
        pthread_barrier_init(&barrier, 0, 8);
        for (int i = 0; i < 8; i++) MUST(pthread_create(&threads[i], 0, initialise, &barrier));
        for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    }
    HOW("later") printf("cuInit %d\n", cuInit(77));
    HOW("only-wrong") return printf("cuInit %d\n", cuInit(77)) < 0;
    HOW("only-init") return printf("cuInit %d\n", cuInit(0)) < 0;
    HOW("no-thread") {
        forbid_threads();
        printf("cuInit %d\n", cuInit(0));
        return 0;
    }
    HOW("fork-before") {
        pid_t child = fork();
        if (child == 0) {
            set_up();
            rounds(number);
            counted();
            exit(0);
        }
        printf("child %d\n", wait_for(child));
    }
    HOW("tasks") tasks("before");
    HOW("errno") {
        errno = 77;
        cuInit(0);
        printf("errno %d\n", errno);
    }
    HOW("paused") {
        /* Kernels with a grid of 8 are between start and stop. */
        set_up();
        for (int i = 0; i < number; i++) {
            launch(device, 256, 9);
            MUST(cuCtxSynchronize());
            MUST(cuProfilerStart());
            launch(device, 256, 8);
            MUST(cuMemcpyHtoD_v2(device, host, 100));
            MUST(cuCtxSynchronize());
            MUST(cuProfilerStop());
            launch(device, 256, 10);
            MUST(cuMemcpyHtoD_v2(device, host, 4096));
            MUST(cuCtxSynchronize());
            if (i % 16 == 0) usleep(30000);
        }
        return 0;
    }
    set_up();
    HOW("tasks") {
        /* Until it has got a processor. */
        usleep(200000);
        tasks("after");
    }
    HOW("errno") {
        for (int i = 0; i < 1000; i++) {
            errno = 1000 + i;
            launch(device, 256, 8);
            if (errno != 1000 + i) printf("errno %d\n", errno);
        }
        MUST(cuCtxSynchronize());
        printf("errno kept\n");
    }
    HOW("for-ever") {
        for (;;) {
            struct timespec now;
            rounds(1);
            clock_gettime(CLOCK_MONOTONIC, &now);
            struct totals t;
            umsim_counters(&t);
            printf("%lu %lu %lu %lu\n", now.tv_sec * 1000000000ul + now.tv_nsec, t.kernels, t.h2d, t.copy_bytes);
            fflush(stdout);
            usleep(2000);
        }
    }
    HOW("graph") {
        cuda_handle graph = 0, exec = 0, stream = 0;
        unsigned long count = 256;
        void *params[] = {&device, &count};
        MUST(cuStreamCreate(&stream, 1));
        MUST(cuStreamBeginCapture_v2(stream, 0));
        for (int i = 0; i < 2; i++) MUST(cuLaunchKernel(scale, 8, 1, 1, 256, 1, 1, 0, stream, params, 0));
        MUST(cuStreamEndCapture(stream, &graph));
        MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
        for (int i = 0; i < number; i++) MUST(cuGraphLaunch(exec, stream));
        MUST(cuStreamSynchronize(stream));
        return 0;
    }
    HOW("threads") {
        many_threads(number);
        counted();
        return 0;
    }
    HOW("launches") {
        for (int i = 0; i < number; i++) launch(device, 256, 8);
        MUST(cuCtxSynchronize());
        counted();
        return 0;
    }
    HOW("forks") {
        for (int i = 0; i < number; i++) {
            launch(device, 256, 8);
            pid_t child = fork();
            if (child == 0) _exit(0);
            static int status;
            status = wait_for(child);
            child = vfork();
            if (child == 0) _exit(0);
            status |= wait_for(child);
            char *arguments[] = {"true", 0};
            status |= posix_spawnp(&child, "true", 0, 0, arguments, environ);
            status |= wait_for(child);
            if (status) printf("child %d\n", status);
        }
        MUST(cuCtxSynchronize());
        counted();
        return 0;
    }
    HOW("fork-after") {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            rounds(1);
            _exit(0);
        }
        printf("child %d\n", wait_for(child));
    }
    rounds(number);
    counted();
    HOW("_exit") _exit(3);
    HOW("quick") quick_exit(4);
    HOW("abort") abort();
    HOW("thread") {
        pthread_t thread;
        MUST(pthread_create(&thread, 0, leave, 0));
        pause();
    }
    HOW("exec") {
        execl("/bin/true", "true", (char *)0);
        return 8;
    }
    HOW("exec-fails") {
        execl("/nonexistent", "nonexistent", (char *)0);
        rounds(1);
        counted();
    }
    HOW("in-flight") {
        /* The first has ended when main returns, the second has not. */
        wait_ns(1000);
        MUST(cuCtxSynchronize());
        wait_ns(60000000000ul);
    }
    return 0;
}
