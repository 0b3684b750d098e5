// Children of fork, several at a time: how long until all have ended, ms.
//
//   forks KIND CHILDREN AT_ONCE
//
// KIND says what a child does. "work": initialises CUDA, which the parent has not done, and uses managed memory. "idle":
// nothing of CUDA, which the parent uses, as the workers of a data loader. "refused": twenty calls, which fail, since
// CUDA does not work in the child of a process that uses it.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>

__global__ void add(int *values) { values[threadIdx.x] += 1; }

static void work() {
    int *values = nullptr;
    if (cudaMallocManaged(&values, 256 * sizeof(int)) != cudaSuccess) exit(1);
    for (int i = 0; i < 20; i++) add<<<1, 256>>>(values);
    if (cudaDeviceSynchronize() != cudaSuccess) exit(1);
    cudaFree(values);
}

static void refused() {
    int device;
    for (int i = 0; i < 20; i++) cudaGetDevice(&device);
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    const char *kind = arguments[1];
    int children = atoi(arguments[2]), at_once = atoi(arguments[3]), living = 0, failed = 0;
    if (strcmp(kind, "work")) work();
    timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < children + at_once; i++) {
        if (living == at_once || i >= children) {
            int status;
            if (wait(&status) < 0) break;
            failed += status != 0;
            living--;
        }
        if (i >= children) continue;
        pid_t pid = fork();
        if (pid == 0) {
            if (!strcmp(kind, "work")) work();
            if (!strcmp(kind, "refused")) refused();
            exit(0);
        }
        living += pid > 0;
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%.2f ms, %d failed\n", (ended.tv_sec - begun.tv_sec) * 1e3 + (ended.tv_nsec - begun.tv_nsec) / 1e6, failed);
}
