/* Allocations of which everything is known: two pools, managed memory with advice and a prefetch, memory that nothing uses. */
#include "cuda_min.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

cudaError_t cudaDeviceGetDefaultMemPool(cuda_handle *pool, int device);
cudaError_t cudaMemPoolCreate(cuda_handle *pool, const void *properties);
cudaError_t cudaMemPoolDestroy(cuda_handle pool);
cudaError_t cudaMemPoolSetAttribute(cuda_handle pool, int attribute, void *value);
cudaError_t cudaMemPoolGetAttribute(cuda_handle pool, int attribute, void *value);
cudaError_t cudaMemPoolTrimTo(cuda_handle pool, size_t keep);
cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cuda_handle pool, cudaStream_t stream);
cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, int advice, cudaMemLocation location);
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream);

static void check(cudaError_t error, const char *what) {
    if (error) {
        fprintf(stderr, "%s: %d\n", what, error);
        exit(1);
    }
}
#define DO(call) check(call, #call)

int main(void) {
    cudaMemLocation device = {1, 0};
    cudaStream_t stream;
    DO(cudaStreamCreate(&stream));

    /* An attribute of four bytes, behind which nothing can be read. */
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + page, page, PROT_NONE);
    int *last = (int *)(pages + page) - 1;
    cuda_handle own, made;
    unsigned long long all = ~0ull, value = 0;
    DO(cudaDeviceGetDefaultMemPool(&own, 0));
    DO(cudaMemPoolGetAttribute(own, 1, last));
    DO(cudaMemPoolSetAttribute(own, 1, last));
    DO(cudaMemPoolSetAttribute(own, 4, &all));
    void *one, *two, *three;
    DO(cudaMallocAsync(&one, MIB, stream));
    DO(cudaMallocAsync(&two, MIB, stream));
    DO(cudaMemPoolGetAttribute(own, 5, &value));
    DO(cudaMemPoolGetAttribute(own, 7, &value));
    DO(cudaMemset(one, 1, MIB));
    DO(cudaMemset(two, 1, MIB));
    DO(cudaFreeAsync(two, stream));

    struct {
        int type, handles;
        cudaMemLocation place;
        void *attributes;
        size_t most;
        char rest[64];
    } properties = {1, 0, {1, 0}, 0, 0, {0}};
    DO(cudaMemPoolCreate(&made, &properties));
    DO(cudaMallocFromPoolAsync(&three, 3 * MIB, made, stream));
    DO(cudaFreeAsync(three, stream));
    DO(cudaStreamSynchronize(stream));
    DO(cudaMemPoolTrimTo(made, 0));
    DO(cudaMemPoolGetAttribute(made, 5, &value));
    DO(cudaMemPoolDestroy(made));

    void *managed, *idle;
    DO(cudaMallocManaged(&managed, MIB, 1));
    DO(cudaMemAdvise(managed, MIB, 3, device));
    DO(cudaMemAdvise(managed, MIB / 2, 4, device));
    DO(cudaMemPrefetchAsync(managed, MIB, device, 0, stream));
    DO(cudaMemset(managed, 1, MIB));
    DO(cudaDeviceSynchronize());
    DO(cudaMalloc(&idle, 4 * MIB));
    size_t free, total;
    DO(cudaMemGetInfo(&free, &total));
    DO(cudaFree(managed));
    DO(cudaDeviceSynchronize());
    return 0;
}
