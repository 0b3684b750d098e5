/* longname N: loads a kernel whose name has N bytes, and asks for it. */
#include "cuda_min.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    size_t length = argc > 1 ? strtoul(argv[1], 0, 10) : 20000;
    const char *before = "umsim-image\nkernel ";
    char *image = calloc(1, strlen(before) + length + 2), *name = calloc(1, length + 1);
    cuda_handle context = 0, module = 0, function = 0;
    memset(name, 'k', length);
    strcat(strcat(strcpy(image, before), name), "\n");
    SHOW(cuInit(0));
    SHOW(cuDevicePrimaryCtxRetain(&context, 0));
    SHOW(cuCtxSetCurrent(context));
    SHOW(cuModuleLoadData(&module, image));
    CUresult found = cuModuleGetFunction(&function, module, name);
    printf("found %d\n", (int)found);
    return found != 0;
}
