/* What dlsym, dlvsym and dlopen say, to the letter. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dlfcn.h>
#include <errno.h>

static void said(const char *what, void *found) {
    int error = errno;
    const char *text = dlerror();
    printf("%s: found %d, errno %d, %s\n", what, found != 0, error, text ? text : "(nothing)");
    text = dlerror();
    printf("then %s\n", text ? text : "(nothing)");
    errno = 55;
}

int main(void) {
    errno = 55;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *runtime = dlopen("libcudart.so.13", RTLD_NOW), *self = dlopen(0, RTLD_NOW);
    said("opened", driver && runtime && self ? driver : 0);
    said("no such library", dlopen("libcudart.so.99", RTLD_NOW));
    said("no such path", dlopen("/nowhere/libcuda.so.1", RTLD_NOW | RTLD_DEEPBIND));
    said("cuInit", dlsym(driver, "cuInit"));
    said("cuNoSuchFunction", dlsym(driver, "cuNoSuchFunction"));
    said("cudaMalloc in the driver", dlsym(driver, "cudaMalloc"));
    said("cudaMalloc in the program", dlsym(self, "cudaMalloc"));
    said("cudaMalloc by default", dlsym(RTLD_DEFAULT, "cudaMalloc"));
    said("cudaMalloc next", dlsym(RTLD_NEXT, "cudaMalloc"));
    said("cuInit by default", dlsym(RTLD_DEFAULT, "cuInit"));
    said("cudaMallocPitch in the runtime", dlsym(runtime, "cudaMallocPitch"));
    said("printf", dlsym(self, "printf"));
    said("cublasCreate_v2", dlsym(runtime, "cublasCreate_v2"));
    said("versioned", dlvsym(runtime, "cudaMalloc", "libcudart.so.13"));
    said("otherwise versioned", dlvsym(runtime, "cudaMalloc", "libcudart.so.12"));
    /* What was said before goes when something else is found. */
    dlsym(driver, "cuNoSuchFunction");
    said("after a failure, cuInit", dlsym(driver, "cuInit"));
    dlclose(driver);
    said("closed", driver);
    return 0;
}
