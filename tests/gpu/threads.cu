// 64 threads, each with a stream of its own: launches, pool allocations, events.
#include <cstdio>
#include <thread>
#include <vector>
#include <atomic>
#include <cuda_runtime.h>

__global__ void touch(int *p) { atomicAdd(p, 1); }

int main() {
    const int threads = 64, rounds = 50;
    cudaFree(0);
    std::atomic<int> failed{0}, sum{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; t++) all.emplace_back([&] {
        cudaStream_t stream;
        failed += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
        int *p = nullptr, back = 0;
        failed += cudaMallocAsync((void **)&p, 4096, stream) != cudaSuccess;
        failed += cudaMemsetAsync(p, 0, 4096, stream) != cudaSuccess;
        for (int i = 0; i < rounds; i++) touch<<<1, 1, 0, stream>>>(p);
        failed += cudaMemcpyAsync(&back, p, sizeof back, cudaMemcpyDeviceToHost, stream) != cudaSuccess;
        failed += cudaStreamSynchronize(stream) != cudaSuccess;
        failed += cudaFreeAsync(p, stream) != cudaSuccess;
        failed += cudaStreamDestroy(stream) != cudaSuccess;
        sum += back;
    });
    for (auto &t : all) t.join();
    printf("failed %d sum %d\n", failed.load(), sum.load());
    fprintf(stderr, "expect runtime launch %d\nexpect driver launch %d\n", threads * rounds, threads * rounds);
    fprintf(stderr, "expect runtime cudaMallocAsync %d\nexpect driver cuMemAllocAsync %d\n", threads, threads);
    fprintf(stderr, "expect runtime cudaFreeAsync %d\nexpect driver cuMemFreeAsync %d\n", threads, threads);
    fprintf(stderr, "expect runtime cudaStreamSynchronize %d\nexpect threads %d\n", threads, threads + 1);
    return failed.load() ? 1 : 0;
}
