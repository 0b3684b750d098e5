/* Parent and child both call after a fork. */
#include "cuda_min.h"
#include <sys/wait.h>
#include <unistd.h>

static int some_calls(const char *who) {
    float host[64], back[64];
    void *memory = 0;
    char *managed = 0;
    int device = -1, bad = 0;
    for (int i = 0; i < 64; i++) host[i] = (float)i;
    bad |= cudaGetDevice(&device);
    bad |= cudaMalloc(&memory, sizeof host);
    bad |= cudaMemcpyAsync(memory, host, sizeof host, HOST_TO_DEVICE, 0);
    bad |= cudaMemcpy(back, memory, sizeof back, DEVICE_TO_HOST);
    bad |= cudaMallocManaged((void **)&managed, 1 << 20, 1);
    managed[5000] = 5;
    bad |= cudaMemset(managed, 1, 1 << 20);
    bad |= cudaDeviceSynchronize();
    int sum = managed[0] + managed[5000];
    bad |= cudaFree(managed);
    bad |= cudaFree(memory);
    printf("%s: bad %d device %d value %g sum %d\n", who, bad, device, back[63], sum);
    fflush(stdout);
    return bad;
}

int main(void) {
    int bad = some_calls("before");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int own = some_calls("child");
        _exit(own ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child exited %d with %d\n", WIFEXITED(status), WEXITSTATUS(status));
    bad |= some_calls("parent");
    return bad != 0;
}
