/* A library in a folder of its own opens its neighbour through its own RUNPATH ($ORIGIN). */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *library = dlopen("sub/librunpath.so", RTLD_NOW);
    if (!library) library = dlopen("librunpath.so", RTLD_NOW);
    if (!library) {
        printf("not opened\n");
        return 1;
    }
    int (*open_neighbour)(void) = (int (*)(void))dlsym(library, "open_neighbour");
    return open_neighbour ? open_neighbour() : 1;
}
