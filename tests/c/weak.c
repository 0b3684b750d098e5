/* Weak references to CUDA, and no CUDA: as programs ask that can do without it. */
#include "cuda_min.h"
#pragma weak cuInit
#pragma weak cudaGetDevice

int main(void) {
    int device = -1;
    if (cuInit) printf("cuInit %d, ", cuInit(0));
    else printf("cuInit absent, ");
    if (cudaGetDevice) printf("cudaGetDevice %d\n", cudaGetDevice(&device));
    else printf("cudaGetDevice absent\n");
    return 0;
}
