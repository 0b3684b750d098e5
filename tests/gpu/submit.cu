// What a submitting call costs the thread that makes it, ns: the median over batches of 50 calls, of which only the calls
// are timed. One line for each function: "NAME NS".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void nothing(int *p, int a, int b) { (void)p, (void)a, (void)b; }

template <typename F> static void measure(const char *name, F call) {
    std::vector<double> times;
    for (int batch = 0; batch < 200; batch++) {
        auto begun = std::chrono::steady_clock::now();
        for (int i = 0; i < 50; i++) call();
        times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun).count() / 50);
        cudaDeviceSynchronize();
    }
    std::sort(times.begin(), times.end());
    printf("%s %.0f\n", name, times[times.size() / 2]);
}

int main() {
    int *device, *pinned, *managed;
    cudaStream_t stream;
    cudaMalloc(&device, 4096);
    cudaMallocHost(&pinned, 4096);
    cudaMallocManaged(&managed, 4096);
    cudaStreamCreate(&stream);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    nothing<<<1, 32, 0, stream>>>(device, 1, 2);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaMemLocation here = {};
    here.type = cudaMemLocationTypeDevice;
    here.id = 0;
    measure("cudaLaunchKernel", [&] { nothing<<<1, 32, 0, stream>>>(device, 1, 2); });
    measure("cudaMemcpyAsync-h2d", [&] { cudaMemcpyAsync(device, pinned, 4, cudaMemcpyHostToDevice, stream); });
    measure("cudaMemcpyAsync-d2d", [&] { cudaMemcpyAsync(device, device + 64, 4, cudaMemcpyDeviceToDevice, stream); });
    measure("cudaMemsetAsync", [&] { cudaMemsetAsync(device, 0, 64, stream); });
    measure("cudaMemPrefetchAsync", [&] { cudaMemPrefetchAsync(managed, 4096, here, 0, stream); });
    measure("cudaGraphLaunch", [&] { cudaGraphLaunch(exec, stream); });
    measure("cudaGetDevice", [&] { int which; cudaGetDevice(&which); });
    return cudaGetLastError();
}
