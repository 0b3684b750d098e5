// A program with a profiler of its own: after some work it begins to use CUPTI, as PyTorch's profiler does, and counts the
// kernels that it is told of. Its output must be the same with the hook as without.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cupti.h>

static int kernels;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *records) {
    *size = 64 << 10;
    *buffer = (uint8_t *)aligned_alloc(8, *size);
    *records = 0;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
    CUpti_Activity *record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    free(buffer);
}

static int calls;
static void CUPTIAPI called(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *data) {
    calls += ((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER;
}

__global__ void add(int *p) { atomicAdd(p, 1); }

static void work(int *p, int times) {
    for (int i = 0; i < times; i++) add<<<4, 32>>>(p);
    cudaDeviceSynchronize();
}

int main() {
    int *p;
    cudaMalloc(&p, sizeof(int));
    cudaMemset(p, 0, sizeof(int));
    work(p, 10);
    CUpti_SubscriberHandle subscriber;
    printf("subscribe %d\n", cuptiSubscribe(&subscriber, called, nullptr));
    printf("callback %d\n", cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020));
    printf("register %d\n", cuptiActivityRegisterCallbacks(requested, completed));
    printf("enable %d\n", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    work(p, 7);
    printf("flush %d\n", cuptiActivityFlushAll(1));
    printf("disable %d\n", cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    printf("unsubscribe %d\n", cuptiUnsubscribe(subscriber));
    work(p, 5);
    int sum;
    cudaMemcpy(&sum, p, sizeof(int), cudaMemcpyDeviceToHost);
    printf("kernels %d calls %d sum %d\n", kernels, calls, sum);
}
