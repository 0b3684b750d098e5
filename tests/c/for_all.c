/* for_all LIBRARY...: opens each runtime, one that is given with a leading + for all (RTLD_GLOBAL), then a library that calls the runtime
 * and names none. Prints which version answers. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int all = argv[i][0] == '+';
        if (!dlopen(argv[i] + all, RTLD_NOW | (all ? RTLD_GLOBAL : RTLD_LOCAL))) return 2;
    }
    void *library = dlopen("libversion.so", RTLD_NOW | RTLD_LOCAL);
    int (*version)(void) = library ? (int (*)(void))dlsym(library, "version") : 0;
    if (!version) return 3;
    for (int i = 0; i < 3; i++) printf("version %d\n", version());
    return 0;
}
