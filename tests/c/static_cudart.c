/* Linked with the static runtime, which reaches the driver only by dlopen, dlsym and cuGetProcAddress. */
#include "cuda_min.h"

static void scale(void) {}

int main(void) {
    static struct fatbin wrapper = {0x466243b1, 1, IMAGE, 0};
    void **fat = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(fat, (const char *)scale, "_Z5scalePfm", "_Z5scalePfm", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(fat);
    int version = 0, device = -1;
    SHOW(cudaRuntimeGetVersion(&version));
    SHOW(cudaGetDevice(&device));
    printf("version %d device %d\n", version, device);
    float *managed = 0;
    SHOW(cudaMallocManaged((void **)&managed, 1 << 20, 1));
    unsigned long n = (1 << 20) / sizeof(float);
    for (unsigned long i = 0; i < n; i++) managed[i] = 4.0f;
    void *params[] = {&managed, &n};
    dim3 grid = {1024, 1, 1}, block = {256, 1, 1};
    for (int round = 0; round < 3; round++) {
        SHOW(cudaLaunchKernel((const void *)scale, grid, block, params, 0, 0));
        SHOW(cudaDeviceSynchronize());
        printf("round %d: %g %g\n", round, managed[0], managed[n - 1]);
    }
    SHOW(cudaFree(managed));
    SHOW(cudaGetLastError());
    __cudaUnregisterFatBinary(fat);
    return 0;
}
