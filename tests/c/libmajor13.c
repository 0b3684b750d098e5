/* Helper of two_majors, linked to libcudart.so.13: locations by value. */
#include "cuda_min.h"

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream);
cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, int advice, cudaMemLocation location);
cudaError_t cudaMemRangeGetAttribute(void *out, size_t size, int attribute, const void *pointer, size_t bytes);

int major13(void) {
    char *memory = 0;
    int version = 0, preferred = -9, prefetched = -9;
    SHOW(cudaRuntimeGetVersion(&version));
    SHOW(cudaSetDevice(1));
    SHOW(cudaMallocManaged((void **)&memory, 1 << 20, 1));
    memory[0] = 13;
    cudaMemLocation first = {1, 0}, host = {2, 0};
    SHOW(cudaMemAdvise(memory, 1 << 20, 3, host));
    SHOW(cudaMemPrefetchAsync(memory, 1 << 20, first, 0, 0));
    SHOW(cudaDeviceSynchronize());
    SHOW(cudaMemRangeGetAttribute(&preferred, 4, 2, memory, 1 << 20));
    SHOW(cudaMemRangeGetAttribute(&prefetched, 4, 4, memory, 1 << 20));
    printf("13: version %d preferred %d prefetched %d value %d\n", version, preferred, prefetched, memory[0]);
    SHOW(cudaMemPrefetchAsync(memory, 1 << 20, first, 1, 0));
    SHOW(cudaGetLastError());
    SHOW(cudaFree(memory));
    return 0;
}
