/* Names that only look like CUDA's: they are somebody else's. */
#include "cuda_min.h"
#include <dlfcn.h>

int main(void) {
    void *library = dlopen("libforeign.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("not opened\n");
        return 1;
    }
    const char *names[] = {"cublasCreate_v2", "cudnnCreate", "curl_easy_init", "cuNotOurs", "cudaNotOurs"};
    for (int i = 0; i < 5; i++) {
        int (*function)(int) = (int (*)(int))dlsym(library, names[i]);
        printf("%s %d\n", names[i], function ? function(i) : -1);
    }
    printf("cudaMalloc there %d\n", dlsym(library, "cudaMalloc") != 0);
    int device = -1;
    SHOW(cudaGetDevice(&device));
    return 0;
}
