/* dlopen of the runtime with RTLD_GLOBAL, everything through dlsym. */
#include "loader.h"

int main(void) {
    void *library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
    int result = use_library(library);
    printf("by default scope %d\n", dlsym(RTLD_DEFAULT, "cudaMallocPitch") != 0);
    return result;
}
