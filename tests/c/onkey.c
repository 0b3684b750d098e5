/* One call for each line of its input. */
#include "cuda_min.h"

int main(void) {
    int device = -1, key;
    SHOW(cudaSetDevice(0));
    while ((key = getchar()) != EOF)
        if (key == '\n' && cudaGetDevice(&device)) return 1;
    return 0;
}
