// Two devices: copies from one to the other with and without peer access and through the host, and a managed array that each
// of them writes in turn. What must be found is printed as "expect" lines, and as "flow FROM TO WHAT BYTES" where -1 is the
// host; skipped, and said so, where there is but one device.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(int *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] += 1;
}

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 1; } } while (0)

int main() {
    int devices = 0, peers = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("skipped: one device\n");
        return 0;
    }
    const size_t bytes = 8 << 20, n = bytes / sizeof(int);
    int *managed, *memory[2], *pinned;
    CHECK(cudaMallocManaged(&managed, bytes));
    CHECK(cudaMallocHost(&pinned, bytes));
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
    CHECK(cudaDeviceCanAccessPeer(&peers, 0, 1));
    if (peers) {
        CHECK(cudaSetDevice(0));
        CHECK(cudaDeviceEnablePeerAccess(1, 0));
        CHECK(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, bytes / 2, 0));
        CHECK(cudaDeviceSynchronize());
    }
    // Through the host, and back.
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemcpy(pinned, memory[1], bytes / 4, cudaMemcpyDeviceToHost));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpy(memory[0], pinned, bytes / 4, cudaMemcpyHostToDevice));
    int sum = managed[0] + managed[n - 1];
    printf("sum %d\nexpect kernels 4\n", sum);
    printf("flow -1 0 migrations %zu\nflow 0 1 migrations %zu\nflow 1 0 migrations %zu\n", bytes, 2 * bytes, bytes);
    // Without peer access the driver goes through memory of the host of its own, and CUPTI tells both halves.
    printf("flow 0 -1 copies %zu\nflow -1 1 copies %zu\n", bytes, bytes);
    printf("flow 1 -1 copies %zu\nflow -1 0 copies %zu\n", bytes / 4, bytes / 4);
    if (peers) printf("flow 0 1 copies %zu\nflow 0 1 with_peer_access %zu\n", bytes / 2, bytes / 2);
    printf("staged 1 0 %zu\nstaged_by_driver 0 1 %zu\n", bytes / 4, bytes);
    return 0;
}
