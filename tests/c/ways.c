/* ways WAY [PATH...]: unusual ways to CUDA, and unusual company.
 *   versioned     the runtime's functions by dlvsym            entry   by cudaGetDriverEntryPoint, and per-thread ones by flags
 *   absolute P    the driver by its absolute path              namespace   by dlmopen, in a namespace of its own
 *   copies P P    two copies of the driver in one process      close P     the library P is opened and closed, too often by one
 *   descriptors   says how many more descriptors are open after some calls
 * Prints results, and what the drivers of libfake.c count. */
#define _GNU_SOURCE
#include "cuda_min.h"
#include <dirent.h>
#include <dlfcn.h>
#include <string.h>

typedef int (*ask)(int *);

static int descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

static void use_driver(void *library) {
    int version = 0;
    ask get = library ? (ask)dlsym(library, "cuDriverGetVersion") : 0;
    unsigned long *begun = library ? (unsigned long *)dlsym(library, "fake_begun") : 0;
    if (!get || !begun) return;
    for (int i = 0; i < 3; i++) printf("%d ", get(&version));
    printf("version %d begun %lu\n", version, *begun);
}

static void versioned(void) {
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW);
    ask get = (ask)dlvsym(runtime, "cudaGetDevice", "libcudart.so.13");
    ask named = (ask)dlvsym(RTLD_DEFAULT, "cudaGetDevice", "libcudart.so.13");
    int device = -1;
    printf("%d device %d, by default %d, ", get(&device), device, named != 0);
    printf("otherwise versioned %d, ", dlvsym(runtime, "cudaGetDevice", "libcudart.so.99") != 0);
    const char *said = dlerror();
    printf("%d, ", said && strstr(said, "libcudart.so.99") != 0);
    printf("another's %d\n", dlvsym(RTLD_NEXT, "strlen", "GLIBC_2.2.5") == (void *)0);
}

static void entry(void) {
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW), *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*find)(const char *, void **, unsigned long long, int *) =
        (int (*)(const char *, void **, unsigned long long, int *))dlsym(runtime, "cudaGetDriverEntryPoint");
    int (*get)(const char *, void **, int, unsigned long long, int *) =
        (int (*)(const char *, void **, int, unsigned long long, int *))dlsym(driver, "cuGetProcAddress_v2");
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    int status = -1, version = 0;
    void *memory = 0, *pointer = 0;
    char bytes[64] = "";
    printf("%d ", allocate(&memory, sizeof bytes));
    printf("%d %d ", find("cuDriverGetVersion", &pointer, 0, &status), status);
    if (pointer) printf("%d version %d ", ((ask)pointer)(&version), version);
    for (int flags = 1; flags <= 2; flags++) {
        printf("%d %d ", get("cuMemcpyHtoD", &pointer, 13000, (unsigned long long)flags, &status), status);
        int (*copy)(CUdeviceptr, const void *, size_t) = (int (*)(CUdeviceptr, const void *, size_t))pointer;
        for (int i = 0; i < flags; i++) printf("%d ", copy((CUdeviceptr)memory, bytes, sizeof bytes));
    }
    printf("\n");
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
    if (!strcmp(way, "versioned")) versioned();
    if (!strcmp(way, "entry")) entry();
    if (!strcmp(way, "absolute")) use_driver(dlopen(path, RTLD_NOW));
    if (!strcmp(way, "namespace")) use_driver(dlmopen(LM_ID_NEWLM, path, RTLD_NOW));
    if (!strcmp(way, "copies")) {
        void *first = dlopen(path, RTLD_NOW | RTLD_LOCAL), *second = argc > 3 ? dlopen(argv[3], RTLD_NOW | RTLD_LOCAL) : 0;
        use_driver(first);
        use_driver(second);
        use_driver(first);
        printf("two %d\n", first != second);
    }
    if (!strcmp(way, "close")) {
        use_driver(dlopen("libcuda.so.1", RTLD_NOW));
        for (int i = 0; i < 3; i++) {
            void *library = *path ? dlopen(path, RTLD_NOW) : 0;
            if (library && i < 2) dlclose(library);
            if (library) dlclose(library);
            use_driver(dlopen("libcuda.so.1", RTLD_NOW));
        }
    }
    if (!strcmp(way, "descriptors")) {
        int before = descriptors();
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        use_driver(library);
        printf("more descriptors %d\n", descriptors() - before);
    }
    return 0;
}
