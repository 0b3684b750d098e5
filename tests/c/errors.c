/* Failing calls: results, the last error, errno, and out-parameters that must not be touched. */
#include "cuda_min.h"
#include <dlfcn.h>
#include <errno.h>

static void fail(void) {}
#define TRY(call)                                                             \
    do {                                                                      \
        errno = 77;                                                           \
        int result = (int)(call);                                             \
        printf("%s -> %d, errno %d, last %d\n", #call, result, errno, (int)cudaPeekAtLastError()); \
    } while (0)

int main(void) {
    static struct fatbin wrapper = {0x466243b1, 1, IMAGE, 0};
    void **fat = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(fat, (const char *)fail, "_Z4failv", "_Z4failv", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(fat);
    void *memory = (void *)0x1234;
    int device = -7;
    TRY(cudaMalloc(&memory, (size_t)1 << 46));
    printf("untouched %d\n", memory == (void *)0x1234);
    TRY(cudaGetLastError());
    TRY(cudaSetDevice(99));
    TRY(cudaGetDevice(&device));
    printf("device %d\n", device);
    TRY(cudaMalloc(0, 16));
    TRY(cudaMemcpy(&device, &device, 4, 9));
    TRY(cudaFree((void *)0x4321));
    TRY(cudaStreamSynchronize((cudaStream_t)0xdeadbeef));
    TRY(cudaMallocManaged(&memory, 4096, 99));
    printf("untouched %d\n", memory == (void *)0x1234);
    printf("%s: %s\n", cudaGetErrorName(400), cudaGetErrorString(400));
    printf("%s: %s\n", cudaGetErrorName(123456), cudaGetErrorString(123456));
    SHOW(cudaGetLastError());
    SHOW(cudaGetLastError());
    void (*leave)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "umsim_set_errno_on_call");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!leave && driver) leave = (void (*)(int))dlsym(driver, "umsim_set_errno_on_call");
    if (leave) {
        leave(42);
        TRY(cudaDeviceSynchronize());
        leave(-1);
        TRY(cudaDeviceSynchronize());
    }
    dim3 one = {1, 1, 1}, none = {0, 1, 1};
    TRY(cudaLaunchKernel((const void *)fail, none, one, 0, 0, 0));
    TRY(cudaLaunchKernel((const void *)&device, one, one, 0, 0, 0));
    SHOW(cudaGetLastError());
    /* An illegal access: seen at the next synchronisation, and by every call from then on. */
    TRY(cudaLaunchKernel((const void *)fail, one, one, 0, 0, 0));
    TRY(cudaDeviceSynchronize());
    TRY(cudaMalloc(&memory, 16));
    printf("untouched %d\n", memory == (void *)0x1234);
    SHOW(cudaGetLastError());
    TRY(cudaStreamQuery(0));
    return 0;
}
