/* crowded LIBRARY...: looks up all that the libraries list as `names`, then calls two runtimes from libmajor12 and libmajor13. */
#include <dlfcn.h>
#include <stdio.h>

static int use(const char *name, const char *function) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int (*call)(void) = library ? (int (*)(void))dlsym(library, function) : 0;
    return call ? call() : 1;
}

int main(int argc, char **argv) {
    long found = 0;
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        const char **names = library ? dlsym(library, "names") : 0;
        if (!names) return 2;
        for (; *names; names++) found += dlsym(library, *names) != 0;
    }
    printf("%ld found\n", found);
    return use("libmajor12.so", "major12") | use("libmajor13.so", "major13");
}
