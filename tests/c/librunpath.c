/* Helper of runpath. */
#include <dlfcn.h>
#include <stdio.h>

int open_neighbour(void) {
    void *library = dlopen("libprivate.so", RTLD_NOW);
    printf("neighbour %d\n", library != 0);
    if (!library) return 1;
    int (*use)(void) = (int (*)(void))dlsym(library, "private_use");
    return use ? use() : 1;
}
