/* Memory of the kinds that the other programs do not make: pools of our own, registered memory, physical memory with two mappings,
 * memory that another process opens, and with any argument a device that is
 * reset at the end. Prints "kind COUNT BYTES LEFT LEFT-BYTES" for what it made before. */
#include "cuda_min.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    unsigned long long words[8];
} ipc_handle;
typedef struct {
    int type, handle_types;
    cudaMemLocation location;
    void *security;
    unsigned char flags[8];
} allocation_prop;
typedef struct {
    cudaMemLocation location;
    int flags;
} access_desc;

cudaError_t cudaIpcGetMemHandle(ipc_handle *out, void *pointer);
cudaError_t cudaIpcOpenMemHandle(void **out, ipc_handle handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void *pointer);
cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *pointer);
cudaError_t cudaDeviceGetDefaultMemPool(cuda_handle *out, int device);
cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cuda_handle pool, cudaStream_t stream);
cudaError_t cudaDeviceReset(void);
CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr address, unsigned long long flags);
CUresult cuMemCreate(unsigned long long *out, size_t bytes, const allocation_prop *prop, unsigned long long flags);
CUresult cuMemRelease(unsigned long long handle);
CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr at, size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const access_desc *desc, size_t count);

#define MIB ((size_t)1 << 20)
#define DO(call) do { int error = (int)(call); if (error) { printf("%s: %d\n", #call, error); exit(1); } } while (0)

/* Opens it, closes it, and opens it once more. */
static void open_what_comes(int from) {
    ipc_handle handle;
    void *first, *second;
    int sum = 0, value[4];
    if (read(from, &handle, sizeof handle) != (ssize_t)sizeof handle) exit(1);
    DO(cudaIpcOpenMemHandle(&first, handle, 1));
    DO(cudaMemcpy(value, first, sizeof value, DEVICE_TO_HOST));
    for (int i = 0; i < 4; i++) sum += value[i];
    DO(cudaIpcCloseMemHandle(first));
    DO(cudaIpcOpenMemHandle(&second, handle, 1));
    exit(sum == 10 ? 0 : 2);
}

int main(int argc, char **argv) {
    (void)argv;
    int way[2], status = 0;
    const int values[4] = {1, 2, 3, 4};
    void *kept, *gone;
    if (pipe(way)) return 1;
    pid_t child = fork();
    if (child == 0) open_what_comes(way[0]);

    DO(cudaMalloc(&kept, 3 * MIB));
    DO(cudaMemcpy(kept, values, sizeof values, HOST_TO_DEVICE));
    ipc_handle handle;
    DO(cudaIpcGetMemHandle(&handle, kept));
    if (write(way[1], &handle, sizeof handle) != (ssize_t)sizeof handle) return 1;
    waitpid(child, &status, 0);
    if (status) return 1;
    DO(cudaMalloc(&gone, MIB));
    DO(cudaFree(gone));
    printf("device 2 %zu 1 %zu\n", 4 * MIB, 3 * MIB);

    void *plain = aligned_alloc(4096, 2 * MIB);
    memset(plain, 1, 2 * MIB);
    DO(cudaHostRegister(plain, 2 * MIB, 0));
    DO(cudaHostUnregister(plain));
    DO(cudaHostRegister(plain, MIB, 0));
    printf("registered 2 %zu 1 %zu\n", 3 * MIB, MIB);

    cuda_handle pool;
    cudaStream_t stream;
    DO(cudaStreamCreate(&stream));
    DO(cudaDeviceGetDefaultMemPool(&pool, 0));
    DO(cudaMallocFromPoolAsync(&kept, 5 * MIB, pool, stream));
    DO(cudaMallocFromPoolAsync(&gone, 4 * MIB, pool, stream));
    DO(cudaFreeAsync(gone, stream));
    DO(cudaStreamSynchronize(stream));
    printf("pool 2 %zu 1 %zu\n", 9 * MIB, 5 * MIB);

    const size_t grain = 2 * MIB;
    allocation_prop prop = {1, 0, {1, 0}, 0, {0}};
    access_desc access = {{1, 0}, 3};
    unsigned long long physical, second;
    CUdeviceptr at;
    DO(cuMemAddressReserve(&at, 4 * grain, 0, 0, 0));
    DO(cuMemCreate(&physical, 2 * grain, &prop, 0));
    DO(cuMemMap(at, 2 * grain, 0, physical, 0));
    DO(cuMemMap(at + 2 * grain, 2 * grain, 0, physical, 0));
    DO(cuMemSetAccess(at, 4 * grain, &access, 1));
    /* The mappings keep it. */
    DO(cuMemRelease(physical));
    DO(cuMemUnmap(at, 2 * grain));
    DO(cuMemCreate(&second, grain, &prop, 0));
    DO(cuMemRelease(second));
    printf("physical 2 %zu 1 %zu\n", 3 * grain, 2 * grain);
    printf("mapped 2 %zu 1 %zu\n", 4 * grain, 2 * grain);
    printf("shared 2 %zu 1 %zu\n", 6 * MIB, 3 * MIB);
    /* All that a device has goes with it. */
    if (argc > 1) DO(cudaDeviceReset());
    return 0;
}
