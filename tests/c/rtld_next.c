/* A library that looks things up with RTLD_NEXT (see libnext.c): the same answer every time, and a weak symbol forwarded. */
#include "cuda_min.h"

cudaError_t next_get_device(int *device);
int next_is_stable(const char *name);
int call_tool(void);

int main(void) {
    int device = -1;
    SHOW(cudaSetDevice(0));
    SHOW(next_get_device(&device));
    printf("device %d\n", device);
    printf("stable %d %d %d\n", next_is_stable("cudaGetDevice"), next_is_stable("cudaMalloc"),
           next_is_stable("cuNoSuchFunction"));
    printf("tool %d\n", call_tool());
    return 0;
}
