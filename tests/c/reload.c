/* Libraries come and go: each runtime is opened, used through dlsym and closed, several times over, and a library that links one of
 * them likewise. */
#include "cuda_min.h"
#include <dlfcn.h>

static void use(const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int version = -1, device = -1;
    cudaError_t (*of)(int *) = (cudaError_t(*)(int *))dlsym(library, "cudaRuntimeGetVersion");
    cudaError_t (*get)(int *) = (cudaError_t(*)(int *))dlsym(library, "cudaGetDevice");
    int first = of(&version), second = get(&device);
    printf("%s: %d %d, version %d device %d\n", name, first, second, version, device);
    dlclose(library);
}

static void linked(const char *name, const char *function) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int (*call)(void) = (int (*)(void))dlsym(library, function);
    printf("%s: %d\n", name, call ? call() : -1);
    printf("still there %d, closed %d\n", dlopen(name, RTLD_NOW | RTLD_NOLOAD) != 0, dlclose(library) | dlclose(library));
}

int main(void) {
    for (int round = 0; round < 3; round++) {
        use("libcudart.so.13");
        use("libcudart.so.12");
        linked("libmajor13.so", "major13");
        linked("libmajor12.so", "major12");
    }
    return 0;
}
