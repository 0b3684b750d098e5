// Where pages are: a managed array whose 2 MiB blocks were last prefetched to the device, to the host, or not at all. Tells
// for each block what cudaMemRangeGetAttribute says, "place OFFSET BYTES WHERE"; -1 is the host, -2 nowhere yet. Nothing
// touches the pages afterwards, so that is where they are.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 1; } } while (0)

int main() {
    const size_t block = 2 << 20, blocks = 16;
    char *p;
    CHECK(cudaMallocManaged(&p, block * blocks));
    memset(p, 1, block * blocks);
    cudaMemLocation device = {}, host = {};
    device.type = cudaMemLocationTypeDevice;
    host.type = cudaMemLocationTypeHost;
    CHECK(cudaMemPrefetchAsync(p, 12 * block, device, 0, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPrefetchAsync(p + 4 * block, 4 * block, host, 0, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPrefetchAsync(p + 6 * block, 65536, device, 0, 0));
    CHECK(cudaDeviceSynchronize());
    printf("base %p\n", (void *)p);
    for (size_t begin = 0, end; begin < blocks * block; begin = end) {
        int where = -3;
        end = begin == 6 * block ? begin + 65536 : begin / block * block + block;
        CHECK(cudaMemRangeGetAttribute(&where, sizeof where, cudaMemRangeAttributeLastPrefetchLocation, p + begin, end - begin));
        printf("place %zu %zu %d\n", begin, end - begin, where);
    }
    return 0;
}
