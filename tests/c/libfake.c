/* Under the name libcuda.so.1: see fake.h. */
#include "fake.h"

__thread int (*fake_inside)(void);
unsigned long fake_begun;

static void begun(void) { __atomic_fetch_add(&fake_begun, 1, __ATOMIC_RELAXED); }

CUresult cuInit(unsigned flags) {
    begun();
    return flags ? 1 : 0;
}

CUresult cuDriverGetVersion(int *version) {
    begun();
    *version = 13000;
    return 0;
}

CUresult cuCtxSynchronize(void) {
    begun();
    return fake_inside ? fake_inside() : 0;
}

CUresult cuLaunchKernel(cuda_handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, cuda_handle stream, void **params, void **extra) {
    begun();
    return f == (void *)1 && gx == 2 && gy == 3 && gz == 4 && bx == 5 && by == 6 && bz == 7 && shared == 8 &&
                   stream == (void *)9 && params == (void *)10 && extra == (void *)11
               ? 0
               : 1;
}

int cuBrandNewFunction(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
    begun();
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

CUresult cuParamSetf(cuda_handle function, int offset, float value) {
    begun();
    return function == (void *)1 && value == (float)offset / 4 ? 0 : 1;
}
