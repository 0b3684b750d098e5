/* Helper of deepbind. */
#include "cuda_min.h"

int deep_use(void) {
    int count = 0;
    SHOW(cuInit(0));
    SHOW(cuDeviceGetCount(&count));
    printf("count %d\n", count);
    return 0;
}
