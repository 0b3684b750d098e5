/* Helper of two_majors, linked to libcudart.so.12: device numbers. */
#include "cuda_min.h"

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream);
cudaError_t cudaMemPrefetchAsync_v2(const void *pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                                    cudaStream_t stream);
cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, int advice, int device);
cudaError_t cudaMemRangeGetAttribute(void *out, size_t size, int attribute, const void *pointer, size_t bytes);

int major12(void) {
    char *memory = 0;
    int version = 0, preferred = -9, prefetched = -9;
    SHOW(cudaRuntimeGetVersion(&version));
    SHOW(cudaSetDevice(0));
    SHOW(cudaMallocManaged((void **)&memory, 1 << 20, 1));
    memory[0] = 12;
    SHOW(cudaMemAdvise(memory, 1 << 20, 3, 1));
    SHOW(cudaMemPrefetchAsync(memory, 1 << 20, 1, 0));
    SHOW(cudaDeviceSynchronize());
    SHOW(cudaMemRangeGetAttribute(&preferred, 4, 2, memory, 1 << 20));
    SHOW(cudaMemRangeGetAttribute(&prefetched, 4, 4, memory, 1 << 20));
    printf("12: version %d preferred %d prefetched %d value %d\n", version, preferred, prefetched, memory[0]);
    cudaMemLocation host = {2, 0};
    SHOW(cudaMemPrefetchAsync_v2(memory, 1 << 20, host, 0, 0));
    SHOW(cudaMemPrefetchAsync(memory, 1 << 20, 77, 0));
    SHOW(cudaGetLastError());
    SHOW(cudaFree(memory));
    return 0;
}
