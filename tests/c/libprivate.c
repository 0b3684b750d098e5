/* Helper of runpath: uses the runtime. */
#include "cuda_min.h"

int private_use(void) {
    int device = -1;
    SHOW(cudaGetDevice(&device));
    SHOW(cudaDeviceSynchronize());
    printf("device %d\n", device);
    return 0;
}
