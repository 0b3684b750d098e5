/* The driver API alone, linked: managed and device memory, a kernel from PTX, a failing call. */
#include <cuda.h>
#include <stdio.h>

static const char *ptx =
    ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry bump(.param .u64 p)\n"
    "{ .reg .u64 %a; .reg .u32 %v; ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a; ld.global.u32 %v, [%a];\n"
    "  add.u32 %v, %v, 1; st.global.u32 [%a], %v; ret; }\n";

#define CHECK(x) do { CUresult e = (x); if (e) { printf("%s: %d\n", #x, (int)e); return 1; } } while (0)

int main(void) {
    CUdevice device; CUcontext context; CUmodule module; CUfunction bump; CUdeviceptr p = 0, q = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&bump, module, "bump"));
    CHECK(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
    *(volatile int *)p = 5;
    void *parameters[] = {&p};
    for (int i = 0; i < 7; i++) CHECK(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, 0, parameters, 0));
    CHECK(cuCtxSynchronize());
    printf("value %d\n", *(volatile int *)p);
    CHECK(cuMemAlloc(&q, 1 << 20));
    CHECK(cuMemFree(q));
    q = 77;
    printf("refused %d, left %llu\n", (int)cuMemAlloc(&q, (size_t)1 << 50), (unsigned long long)q);
    CHECK(cuMemFree(p));
    CHECK(cuModuleUnload(module));
    fprintf(stderr, "expect driver launch 7\nexpect driver cuMemAllocManaged 1\nexpect driver cuMemAlloc_v2 2\n"
                    "expect driver cuMemFree_v2 2\nexpect failed cuMemAlloc_v2 1\nexpect kernel bump\n");
    return 4;
}
