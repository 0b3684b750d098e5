/* A host function on a stream that calls CUDA itself. */
#include "cuda_min.h"

static int inner_result = -1, inner_device = -1, inner_wait = -1, ran;

static void callback(void *user) {
    inner_result = cudaGetDevice(&inner_device);
    inner_wait = cudaDeviceSynchronize(); /* not permitted here */
    ran += *(int *)user;
}

int main(void) {
    int step = 5;
    cudaStream_t stream = 0;
    SHOW(cudaStreamCreate(&stream));
    SHOW(cudaLaunchHostFunc(stream, callback, &step));
    SHOW(cudaLaunchHostFunc(stream, callback, &step));
    SHOW(cudaStreamSynchronize(stream));
    printf("ran %d, inside: %d %d, device %d\n", ran, inner_result, inner_wait, inner_device);
    SHOW(cudaStreamDestroy(stream));
    SHOW(cudaLaunchHostFunc(0, callback, &step));
    SHOW(cudaDeviceSynchronize());
    printf("ran %d\n", ran);
    return 0;
}
