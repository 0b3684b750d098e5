// A managed array of 64 MiB that bounces: the CPU writes all of it, then in each round a kernel writes all and the CPU touches
// one float a page; then as many rounds with a prefetch to the device first. So in each round all of it goes to the device
// once and comes back once. What must be found is printed as "expect" lines; the time of a round goes to stderr.
//   bounce [ROUNDS [SECONDS-TO-SLEEP-AT-THE-END [MIB]]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>
#include <cuda_runtime.h>

__global__ void scale(float *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] = p[i] * 2.0f + 1.0f;
}

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 1; } } while (0)

static double now() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times.empty() ? 0 : times[times.size() / 2];
}

int main(int argc, char **argv) {
    const size_t bytes = (argc > 3 ? atoi(argv[3]) : 64) * (size_t)1048576, n = bytes / sizeof(float);
    const int rounds = argc > 1 ? atoi(argv[1]) : 5;
    float *p;
    CHECK(cudaMallocManaged(&p, bytes));
    for (size_t i = 0; i < n; i++) p[i] = 1.0f;
    cudaMemLocation device = {};
    device.type = cudaMemLocationTypeDevice;
    device.id = 0;
    std::vector<double> faulting, ahead;
    for (int round = 0; round < 2 * rounds; round++) {
        double begun = now();
        if (round >= rounds) CHECK(cudaMemPrefetchAsync(p, bytes, device, 0, 0));
        scale<<<256, 256>>>(p, n);
        CHECK(cudaDeviceSynchronize());
        volatile float sum = 0;
        for (size_t i = 0; i < n; i += 1024) sum = sum + p[i];
        (round < rounds ? faulting : ahead).push_back(now() - begun);
    }
    fprintf(stderr, "round ms faulting %.2f prefetch %.2f\n", median(faulting), median(ahead));
    CHECK(cudaGetLastError());
    if (argc > 2 && atoi(argv[2]) > 0) {
        printf("done\n");
        fflush(stdout);
        sleep(atoi(argv[2]));
    }
    printf("expect bytes_each_way %zu\nexpect kernels %d\nexpect user_bytes %zu\n", 2 * rounds * bytes, 2 * rounds, rounds * bytes);
    return 0;
}
