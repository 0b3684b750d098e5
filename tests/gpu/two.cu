// Two devices: a managed array that each of them writes in turn, and copies from one to the other. What must be found is printed
// as "expect" lines; skipped, and said so, where there is but one device.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(int *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] += 1;
}

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 1; } } while (0)

int main() {
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("skipped: one device\n");
        return 0;
    }
    const size_t bytes = 8 << 20, n = bytes / sizeof(int);
    int *managed, *memory[2];
    CHECK(cudaMallocManaged(&managed, bytes));
    for (size_t i = 0; i < n; i++) managed[i] = 0;
    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaMalloc(&memory[device], bytes));
    }
    for (int turn = 0; turn < 4; turn++) {
        CHECK(cudaSetDevice(turn % 2));
        add<<<64, 256>>>(managed, n);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpyPeer(memory[1], 1, memory[0], 0, bytes));
    CHECK(cudaDeviceSynchronize());
    int sum = managed[0] + managed[n - 1];
    printf("sum %d\nexpect kernels 4\n", sum);
    return 0;
}
