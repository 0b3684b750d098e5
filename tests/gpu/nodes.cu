// Graphs whose nodes are added by cudaGraphAddNode and cuGraphAddNode: memory that they allocate and free, and memory that their
// kernels and sets are given. Lines are as those of lifetimes.cu, read by check_memory.py.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK(x) do { int e = (int)(x); if (e != 0) { printf("%s: %d\n", #x, e); exit(1); } } while (0)

static const size_t MIB = 1 << 20;

__global__ void fill(int *p, size_t n, int value) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] = value;
}

static unsigned long long now() {
    timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return at.tv_sec * 1000000000ull + at.tv_nsec;
}

// Behind the last node.
static void add(cudaGraph_t graph, cudaGraphNode_t *last, cudaGraphNodeParams *params) {
    cudaGraphNode_t before = *last;
    size_t count = before != nullptr;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(last, graph, &before, nullptr, count, params));
#else
    CHECK(cudaGraphAddNode(last, graph, &before, count, params));
#endif
}

static void add(CUgraph graph, CUgraphNode *last, CUgraphNodeParams *params, bool) {
    CUgraphNode before = *last;
    size_t count = before != nullptr;
#if CUDA_VERSION >= 13000
    CHECK(cuGraphAddNode(last, graph, &before, nullptr, count, params));
#else
    CHECK(cuGraphAddNode(last, graph, &before, count, params));
#endif
}

int main() {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int *given, *set;
    size_t n = MIB / sizeof(int);
    int value = 3;
    CHECK(cudaMalloc(&given, 45 * MIB));
    CHECK(cudaMalloc(&set, 46 * MIB));
    // A kernel is known by its parameters once it was launched; what it is given here is no memory of its own.
    int *warm;
    CHECK(cudaMalloc(&warm, MIB));
    fill<<<8, 64, 0, stream>>>(warm, n, 1);
    CHECK(cudaStreamSynchronize(stream));

    // By the runtime: memory of 2 MiB that each of 3 launches allocates, fills and frees.
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t last = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeMemAlloc;
    params.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    params.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    params.alloc.bytesize = 2 * MIB;
    add(graph, &last, &params);
    void *p = params.alloc.dptr;
    params = {};
    params.type = cudaGraphNodeTypeMemset;
    params.memset.dst = p;
    params.memset.value = 5;
    params.memset.elementSize = 4;
    params.memset.width = n;
    params.memset.height = 1;
    add(graph, &last, &params);
    void *arguments[] = {&given, &n, &value};
    params = {};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)fill;
    params.kernel.gridDim = dim3(8);
    params.kernel.blockDim = dim3(64);
    params.kernel.kernelParams = arguments;
    add(graph, &last, &params);
    params = {};
    params.type = cudaGraphNodeTypeMemFree;
    params.free.dptr = p;
    add(graph, &last, &params);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) { CHECK(cudaGraphLaunch(exec, stream)); CHECK(cudaStreamSynchronize(stream)); }
    usleep(5000);
    unsigned long long from = now();
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("given %zu 3 %llu %llu\n", 45 * MIB, from, now());

    // By the driver: memory of 5 MiB, in 2 launches.
    CUgraph drivers;
    CUgraphExec ready;
    CUgraphNode end = nullptr;
    CUcontext context;
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuGraphCreate(&drivers, 0));
    CUgraphNodeParams node = {};
    node.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    node.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    node.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    node.alloc.bytesize = 5 * MIB;
    add(drivers, &end, &node, true);
    CUdeviceptr memory = node.alloc.dptr;
    node = {};
    node.type = CU_GRAPH_NODE_TYPE_MEMSET;
    node.memset.dst = (CUdeviceptr)set;
    node.memset.value = 7;
    node.memset.elementSize = 4;
    node.memset.width = 46 * MIB / 4;
    node.memset.height = 1;
    node.memset.ctx = context;
    add(drivers, &end, &node, true);
    node = {};
    node.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    node.free.dptr = memory;
    add(drivers, &end, &node, true);
    CHECK(cuGraphInstantiateWithFlags(&ready, drivers, 0));
    CHECK(cuGraphLaunch(ready, (CUstream)stream));
    CHECK(cudaStreamSynchronize(stream));
    usleep(5000);
    from = now();
    CHECK(cuGraphLaunch(ready, (CUstream)stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("given %zu 2 %llu %llu\n", 46 * MIB, from, now());
    printf("graph 5 %zu 0\n", 5 * MIB);
    printf("memory graph 2 %zu - -\n", 7 * MIB);
    CHECK(cudaFree(given));
    CHECK(cudaFree(set));
    CHECK(cudaFree(warm));
    return 0;
}
