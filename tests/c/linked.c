/* Linked against libcudart.so.13: allocation, copies, a launch the way nvcc 13 emits it. */
#include "cuda_min.h"
#include <string.h>

static void scale(float *p, unsigned long n) {
    (void)p;
    (void)n;
}

int main(void) {
    static struct fatbin wrapper = {0x466243b1, 1, IMAGE, 0};
    void **fat = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(fat, (const char *)scale, "_Z5scalePfm", "_Z5scalePfm", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(fat);
    int version = 0, count = 0, device = -1;
    SHOW(cudaRuntimeGetVersion(&version));
    SHOW(cudaGetDeviceCount(&count));
    SHOW(cudaSetDevice(0));
    SHOW(cudaGetDevice(&device));
    printf("version %d count %d device %d\n", version, count, device);
    if (count == 0) return 0;
    float host[256], back[256];
    for (int i = 0; i < 256; i++) host[i] = (float)i;
    void *memory = 0;
    SHOW(cudaMalloc(&memory, sizeof host));
    SHOW(cudaMemcpy(memory, host, sizeof host, HOST_TO_DEVICE));
    unsigned long n = 256;
    void *params[] = {&memory, &n};
    dim3 grid = {1, 1, 1}, block = {256, 1, 1}, pgrid, pblock;
    size_t shared = 1;
    cudaStream_t stream = (cudaStream_t)1;
    SHOW(__cudaPushCallConfiguration(grid, block, 0, 0));
    SHOW(__cudaPopCallConfiguration(&pgrid, &pblock, &shared, &stream));
    printf("popped %u %u %u, %u %u %u, %zu %d\n", pgrid.x, pgrid.y, pgrid.z, pblock.x, pblock.y, pblock.z, shared,
           stream != 0);
    cuda_handle kernel = 0;
    SHOW(__cudaGetKernel(&kernel, (const void *)scale));
    SHOW(__cudaLaunchKernel(kernel, pgrid, pblock, params, shared, stream));
    SHOW(cudaLaunchKernel((const void *)scale, grid, block, params, 0, 0));
    SHOW(cudaDeviceSynchronize());
    SHOW(cudaMemcpy(back, memory, sizeof back, DEVICE_TO_HOST));
    printf("values %g %g %g\n", back[0], back[1], back[255]);
    void *managed = 0;
    SHOW(cudaMallocManaged(&managed, 1 << 20, 1));
    memset(managed, 7, 1 << 20);
    SHOW(cudaMemset(managed, 3, 1 << 20));
    printf("managed %d %d\n", ((unsigned char *)managed)[0], ((unsigned char *)managed)[(1 << 20) - 1]);
    SHOW(cudaFree(managed));
    SHOW(cudaFree(memory));
    SHOW(cudaPeekAtLastError());
    SHOW(cudaGetLastError());
    __cudaUnregisterFatBinary(fat);
    return 0;
}
