/* Both major versions of the runtime in one process, each called with its own signatures. With the argument "local" the helper
 * libraries are opened RTLD_LOCAL, else RTLD_GLOBAL. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int use(const char *name, const char *function, int mode) {
    void *library = dlopen(name, RTLD_NOW | mode);
    if (!library) {
        printf("%s: not opened\n", name);
        return 1;
    }
    int (*call)(void) = (int (*)(void))dlsym(library, function);
    return call ? call() : 1;
}

int main(int argc, char **argv) {
    int mode = argc > 1 && !strcmp(argv[1], "local") ? RTLD_LOCAL : RTLD_GLOBAL;
    return use("libmajor12.so", "major12", mode) | use("libmajor13.so", "major13", mode) |
           use("libmajor12.so", "major12", mode);
}
