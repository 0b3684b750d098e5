// How long memory of each kind lives, and which memory launches of graphs use. Lines are read by check_memory.py:
//   "life KIND BYTES MADE-FROM MADE-TO FREED-FROM FREED-TO"   one allocation of so many bytes; between these moments its call
//       returned, and the call that released it began (CLOCK_REALTIME, ns)
//   "graph ALLOCATIONS AT-MOST LEFT"    memory of graphs: by launches, bytes at a moment at most, bytes left
//   "given BYTES LAUNCHES FROM TO"      an allocation of so many bytes that only launches of graphs were given: how many, and
//       between which moments the last one was over
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)

static const size_t MIB = 1 << 20;

__global__ void fill(int *p, size_t n, int value) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] = value;
}

static unsigned long long now() {
    timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return at.tv_sec * 1000000000ull + at.tv_nsec;
}

template <class Make, class Free> static void life(const char *kind, size_t bytes, int ms, Make make, Free release) {
    unsigned long long made = now();
    make();
    unsigned long long is_made = now();
    usleep(ms * 1000);
    unsigned long long frees = now();
    release();
    printf("life %s %zu %llu %llu %llu %llu\n", kind, bytes, made, is_made, frees, now());
}

int main() {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaFree(nullptr));
    void *p = nullptr, *plain = aligned_alloc(4096, 64 * MIB);
    memset(plain, 1, 64 * MIB);
    size_t bytes = 33 * MIB;
    life("device", bytes, 5, [&] { CHECK(cudaMalloc(&p, bytes)); }, [&] { CHECK(cudaFree(p)); });
    bytes += MIB;
    // The same addresses again, most likely: another life.
    life("device", bytes, 10, [&] { CHECK(cudaMalloc(&p, bytes)); }, [&] { CHECK(cudaFree(p)); });
    bytes += MIB;
    life("managed", bytes, 10, [&] { CHECK(cudaMallocManaged(&p, bytes)); }, [&] { CHECK(cudaFree(p)); });
    bytes += MIB;
    life("pinned", bytes, 10, [&] { CHECK(cudaMallocHost(&p, bytes)); }, [&] { CHECK(cudaFreeHost(p)); });
    bytes += MIB;
    life("registered", bytes, 10, [&] { CHECK(cudaHostRegister(plain, bytes, 0)); }, [&] { CHECK(cudaHostUnregister(plain)); });
    bytes += MIB;
    life("pool", bytes, 10, [&] { CHECK(cudaMallocAsync(&p, bytes, stream)); }, [&] { CHECK(cudaFreeAsync(p, stream)); });
    CHECK(cudaStreamSynchronize(stream));

    // A kernel is known by its parameters once it was launched; by then it is loaded, too.
    int *warm, *given;
    CHECK(cudaMalloc(&warm, MIB));
    fill<<<8, 64, 0, stream>>>(warm, MIB / sizeof(int), 1);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMalloc(&given, 45 * MIB));
    // Memory that each launch allocates and frees: 3 launches.
    cudaGraph_t graph, copy, outer;
    cudaGraphExec_t exec, cloned, nested;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync(&p, 2 * MIB, stream));
    fill<<<8, 64, 0, stream>>>((int *)p, 2 * MIB / sizeof(int), 2);
    CHECK(cudaFreeAsync(p, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) { CHECK(cudaGraphLaunch(exec, stream)); CHECK(cudaStreamSynchronize(stream)); }
    // Memory that a launch leaves and a call frees: 1 launch.
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync(&p, 3 * MIB, stream));
    fill<<<8, 64, 0, stream>>>((int *)p, 3 * MIB / sizeof(int), 3);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeAsync(p, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("graph 4 %zu 0\n", 3 * MIB);

    // Memory that is used by launches alone: through a clone, and as a part of another graph.
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    fill<<<64, 256, 0, stream>>>(given, 45 * MIB / sizeof(int), 4);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphClone(&copy, graph));
    CHECK(cudaGraphInstantiate(&cloned, copy, 0));
    CHECK(cudaGraphCreate(&outer, 0));
    cudaGraphNode_t node;
    CHECK(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, graph));
    CHECK(cudaGraphInstantiate(&nested, outer, 0));
    for (int i = 0; i < 4; i++) CHECK(cudaGraphLaunch(cloned, stream));
    CHECK(cudaStreamSynchronize(stream));
    usleep(5000);
    unsigned long long from = now();
    CHECK(cudaGraphLaunch(nested, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("given %zu 5 %llu %llu\n", 45 * MIB, from, now());
    CHECK(cudaFree(given));
    CHECK(cudaFree(warm));
    return 0;
}
