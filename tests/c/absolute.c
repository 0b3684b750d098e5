/* dlopen by an absolute path, from the command line. */
#include "loader.h"

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: absolute PATH_OF_LIBCUDART\n");
        return 2;
    }
    return use_library(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
}
