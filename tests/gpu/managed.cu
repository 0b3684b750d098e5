// A 16 MiB managed array: rounds of {kernel writes all, CPU touches one float a page}, then rounds with a
// prefetch before the kernel. What it calls is known from this source and printed as "expect" lines, by the
// name of the runtime function and of the driver function under it.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void scale(float *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] = p[i] * 2.0f + 1.0f;
}

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 1; } } while (0)

int main() {
    const size_t n = 4 << 20, bytes = n * sizeof(float);
    const int plain = 5, ahead = 5;
    float *p = nullptr;
    CHECK(cudaMallocManaged(&p, bytes));
    for (size_t i = 0; i < n; i++) p[i] = 1.0f;
    cudaMemLocation device = {};
    device.type = cudaMemLocationTypeDevice;
    device.id = 0;
    CHECK(cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, device));
    CHECK(cudaMemAdvise(p, bytes, cudaMemAdviseUnsetPreferredLocation, device));
    double sum = 0;
    for (int round = 0; round < plain + ahead; round++) {
        if (round >= plain) CHECK(cudaMemPrefetchAsync(p, bytes, device, 0, 0));
        scale<<<256, 256>>>(p, n);
        CHECK(cudaDeviceSynchronize());
        for (size_t i = 0; i < n; i += 1024) sum += p[i];
    }
    void *none = nullptr;
    cudaError_t refused = cudaMalloc(&none, (size_t)1 << 50);
    printf("refused %d %p, last %d\n", (int)refused, none, (int)cudaGetLastError());
    CHECK(cudaFree(p));
    printf("sum %.0f\n", sum);
    fprintf(stderr, "expect runtime cudaMallocManaged 1\nexpect driver cuMemAllocManaged 1\n");
    fprintf(stderr, "expect runtime launch %d\nexpect driver launch %d\n", plain + ahead, plain + ahead);
    fprintf(stderr, "expect runtime cudaMemPrefetchAsync %d\nexpect driver cuMemPrefetchAsync_v2 %d\n", ahead, ahead);
    fprintf(stderr, "expect runtime cudaMemAdvise 2\nexpect driver cuMemAdvise_v2 2\n");
    fprintf(stderr, "expect runtime cudaDeviceSynchronize %d\n", plain + ahead);
    fprintf(stderr, "expect runtime cudaMalloc 1\nexpect failed cudaMalloc 1\n");
    return 3;
}
