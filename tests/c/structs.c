/* Structures by value and more than six arguments arrive bit-exact. */
#include "cuda_min.h"
#include <string.h>

int main(void) {
    cudaExtent extent = {100, 7, 3};
    cudaPitchedPtr at = {0, 0, 0, 0};
    SHOW(cudaMalloc3D(&at, extent));
    printf("pitch %zu xsize %zu ysize %zu\n", at.pitch, at.xsize, at.ysize);
    SHOW(cudaMemset3D(at, 0x5a, extent));
    static unsigned char back[3][7][128];
    for (int slice = 0; slice < 3; slice++)
        SHOW(cudaMemcpy2DAsync(back[slice], 128, (char *)at.ptr + slice * 7 * at.pitch, at.pitch, 100, 7,
                               DEVICE_TO_HOST, 0));
    SHOW(cudaDeviceSynchronize());
    long sum = 0;
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 7; y++)
            for (int x = 0; x < 128; x++) sum += back[z][y][x];
    printf("sum %ld of %d\n", sum, 0x5a * 100 * 7 * 3);
    dim3 grid = {0x11111111, 0x22222222, 0x33333333}, block = {0x44444444, 0x55555555, 0x66666666}, g, b;
    size_t shared = 0;
    void *stream = 0;
    SHOW(__cudaPushCallConfiguration(grid, block, 0x7777777788888888, (cudaStream_t)0x99999999aaaaaaaa));
    SHOW(__cudaPopCallConfiguration(&g, &b, &shared, &stream));
    printf("%x %x %x, %x %x %x, %zx, %llx\n", g.x, g.y, g.z, b.x, b.y, b.z, shared, (unsigned long long)stream);
    SHOW(cudaFree(at.ptr));
    return 0;
}
