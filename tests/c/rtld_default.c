/* Linked against the runtime, called through dlsym(RTLD_DEFAULT). */
#include "cuda_min.h"
#include <dlfcn.h>

int main(void) {
    cudaError_t (*get)(int *) = (cudaError_t(*)(int *))dlsym(RTLD_DEFAULT, "cudaGetDevice");
    cudaError_t (*wait)(void) = (cudaError_t(*)(void))dlsym(RTLD_DEFAULT, "cudaDeviceSynchronize");
    int device = -1;
    SHOW(cudaSetDevice(1));
    SHOW(get(&device));
    SHOW(wait());
    printf("device %d, absent %d\n", device, dlsym(RTLD_DEFAULT, "cudaNoSuchFunction") != 0);
    return 0;
}
