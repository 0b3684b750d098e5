// Memory of every kind, in known numbers: two processes, one of which opens the other's. What must be found is printed as
// lines "memory KIND COUNT BYTES LEFT LEFT-BYTES": how many were made, of how many bytes in all, and what of that was not
// released; "-": not known.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda.h>
#include <cuda_runtime.h>

__managed__ int counters[65536];

__global__ void fill(int *p, size_t n, int value) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] = value;
}

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)
#define DRIVER(x) do { CUresult e = (x); if (e != CUDA_SUCCESS) { printf("%s: %d\n", #x, (int)e); exit(1); } } while (0)

static const size_t MIB = 1 << 20;

static void opens(int from) {
    cudaIpcMemHandle_t handle;
    if (read(from, &handle, sizeof handle) != (ssize_t)sizeof handle) exit(1);
    void *first, *second;
    CHECK(cudaIpcOpenMemHandle(&first, handle, cudaIpcMemLazyEnablePeerAccess));
    fill<<<8, 64>>>((int *)first, 3 * MIB / sizeof(int), 7);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcCloseMemHandle(first));
    CHECK(cudaIpcOpenMemHandle(&second, handle, cudaIpcMemLazyEnablePeerAccess));
    exit(0);
}

static void expect(const char *kind, int count, size_t bytes, int left, size_t left_bytes) {
    printf("memory %s %d %zu %d %zu\n", kind, count, bytes, left, left_bytes);
}

int main() {
    int way[2];
    if (pipe(way)) return 1;
    pid_t child = fork();
    if (child == 0) opens(way[0]);

    void *kept, *gone;
    // A device's: 3 MiB that another process opens, 1 MiB that goes, a pitch.
    CHECK(cudaMalloc(&kept, 3 * MIB));
    cudaIpcMemHandle_t handle;
    CHECK(cudaIpcGetMemHandle(&handle, kept));
    if (write(way[1], &handle, sizeof handle) != (ssize_t)sizeof handle) return 1;
    int status = 0;
    waitpid(child, &status, 0);
    if (status) { printf("the other process failed\n"); return 1; }
    CHECK(cudaMalloc(&gone, MIB));
    CHECK(cudaFree(gone));
    size_t pitch;
    CHECK(cudaMallocPitch(&gone, &pitch, 1000, 256));
    size_t pitched = pitch * 256;
    CHECK(cudaFree(gone));
    expect("device", 3, 4 * MIB + pitched, 1, 3 * MIB);

    // Managed: two of three stay.
    int *managed[3];
    for (int i = 0; i < 3; i++) CHECK(cudaMallocManaged(&managed[i], (i + 1) * 2 * MIB));
    fill<<<64, 256>>>(managed[2], 6 * MIB / sizeof(int), 1);
    CHECK(cudaDeviceSynchronize());
    counters[5] = managed[2][0];
    CHECK(cudaFree(managed[1]));
    expect("managed", 3, 12 * MIB, 2, 8 * MIB);

    // Pinned, and registered later.
    CHECK(cudaMallocHost(&gone, 2 * MIB));
    CHECK(cudaFreeHost(gone));
    CHECK(cudaHostAlloc(&kept, MIB, cudaHostAllocMapped));
    expect("pinned", 2, 3 * MIB, 1, MIB);
    void *plain = aligned_alloc(4096, 2 * MIB);
    memset(plain, 1, 2 * MIB);
    CHECK(cudaHostRegister(plain, 2 * MIB, cudaHostRegisterDefault));
    CHECK(cudaHostUnregister(plain));
    CHECK(cudaHostRegister(plain, MIB, cudaHostRegisterDefault));
    expect("registered", 2, 3 * MIB, 1, MIB);

    // Of a device's pool and of one of our own.
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocAsync(&kept, 5 * MIB, stream));
    CHECK(cudaMallocAsync(&gone, 4 * MIB, stream));
    CHECK(cudaFreeAsync(gone, stream));
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    unsigned long long threshold = 16 * MIB, used = 0, reserved = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMallocFromPoolAsync(&gone, 8 * MIB, pool, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    fprintf(stderr, "pool used %llu reserved %llu\n", used, reserved);
    CHECK(cudaFreeAsync(gone, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect("pool", 3, 17 * MIB, 1, 5 * MIB);

    // Physical memory, one handle mapped twice, one mapping taken away again.
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t grain;
    DRIVER(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUmemGenericAllocationHandle physical, second;
    CUdeviceptr at;
    DRIVER(cuMemAddressReserve(&at, 4 * grain, 0, 0, 0));
    DRIVER(cuMemCreate(&physical, 2 * grain, &prop, 0));
    DRIVER(cuMemMap(at, 2 * grain, 0, physical, 0));
    DRIVER(cuMemMap(at + 2 * grain, 2 * grain, 0, physical, 0));
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DRIVER(cuMemSetAccess(at, 4 * grain, &access, 1));
    DRIVER(cuMemRelease(physical));
    fill<<<8, 64>>>((int *)at, 2 * grain / sizeof(int), 3);
    CHECK(cudaDeviceSynchronize());
    DRIVER(cuMemUnmap(at, 2 * grain));
    DRIVER(cuMemCreate(&second, grain, &prop, 0));
    DRIVER(cuMemRelease(second));
    expect("physical", 2, 3 * grain, 1, 2 * grain);
    expect("mapped", 2, 4 * grain, 1, 2 * grain);

    // A graph's: captured, and a node that was added, launched twice.
    cudaGraph_t captured, built;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync(&gone, 2 * MIB, stream));
    fill<<<8, 64, 0, stream>>>((int *)gone, 2 * MIB / sizeof(int), 2);
    CHECK(cudaFreeAsync(gone, stream));
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&exec, captured, 0));
    for (int i = 0; i < 2; i++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphCreate(&built, 0));
    cudaGraphNode_t made, freed;
    cudaMemAllocNodeParams node = {};
    node.poolProps = props;
    node.bytesize = MIB;
    CHECK(cudaGraphAddMemAllocNode(&made, built, nullptr, 0, &node));
    CHECK(cudaGraphAddMemFreeNode(&freed, built, &made, 1, node.dptr));
    CHECK(cudaGraphInstantiate(&exec, built, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("memory graph 2 %zu - -\n", 3 * MIB);

    // Arrays: their sizes are in their descriptors.
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    cudaArray_t array, stays;
    CHECK(cudaMallocArray(&array, &format, 256, 64));
    CHECK(cudaFreeArray(array));
    CHECK(cudaMallocArray(&stays, &format, 128, 32));
    expect("array", 2, 256 * 64 * 16 + 128 * 32 * 16, 1, 128 * 32 * 16);

    // Refused: more than there is.
    if (cudaMalloc(&gone, (size_t)1 << 45) == cudaSuccess) return 1;
    cudaGetLastError();
    printf("memory refused 1 %zu - -\n", (size_t)1 << 45);
    expect("shared", 2, 6 * MIB, 1, 3 * MIB);
    // A variable in managed memory is there once in each process, and the runtime does not ask for its size.
    printf("memory static 2 - 2 -\n");
    printf("counter %d\n", counters[5]);
    return 0;
}
