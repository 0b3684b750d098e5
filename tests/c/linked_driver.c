/* Linked against libcuda.so.1. */
#include "cuda_min.h"

int main(void) {
    int count = 0, version = 0, device = -1;
    char name[64] = "";
    cuda_handle context = 0, module = 0, function = 0, stream = 0;
    SHOW(cuDeviceGetCount(&count));
    SHOW(cuInit(0));
    SHOW(cuDriverGetVersion(&version));
    SHOW(cuDeviceGetCount(&count));
    SHOW(cuDeviceGet(&device, 0));
    SHOW(cuDeviceGetName(name, sizeof name, device));
    printf("version %d count %d name %s\n", version, count, name);
    CUdeviceptr memory = 0;
    SHOW(cuMemAlloc_v2(&memory, 4096));
    SHOW(cuDevicePrimaryCtxRetain(&context, device));
    SHOW(cuCtxSetCurrent(context));
    SHOW(cuMemAlloc_v2(&memory, 4096));
    SHOW(cuMemsetD32_v2(memory, 0x40000000u, 1024)); /* 2.0f */
    SHOW(cuModuleLoadData(&module, IMAGE));
    SHOW(cuModuleGetFunction(&function, module, "_Z7missingv"));
    SHOW(cuModuleGetFunction(&function, module, "_Z5scalePfm"));
    const char *found = 0;
    SHOW(cuFuncGetName(&found, function));
    printf("function %s\n", found);
    SHOW(cuStreamCreate(&stream, 1));
    unsigned long n = 1024;
    void *params[] = {&memory, &n};
    SHOW(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, params, 0));
    SHOW(cuStreamSynchronize(stream));
    float back[1024];
    SHOW(cuMemcpyDtoH_v2(back, memory, sizeof back));
    printf("values %g %g\n", back[0], back[1023]);
    SHOW(cuStreamDestroy_v2(stream));
    SHOW(cuModuleUnload(module));
    SHOW(cuMemFree_v2(memory));
    SHOW(cuMemFree_v2(memory));
    SHOW(cuCtxSynchronize());
    SHOW(cuDevicePrimaryCtxRelease_v2(device));
    return 0;
}
