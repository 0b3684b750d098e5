/* graphs N: captures a step of two streams into a graph, with a pool allocation and a copy in it, launches it N times, then another
 * graph that is built by hand once, and an invalid capture at the end. */
#include "cuda_min.h"
#include <stdlib.h>

typedef cuda_handle graph_t;
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, graph_t *graph);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaGraphCreate(graph_t *graph, unsigned flags);
cudaError_t cudaGraphAddMemsetNode(cuda_handle *node, graph_t graph, const cuda_handle *list, size_t count, const void *params);
cudaError_t cudaGraphAddKernelNode(cuda_handle *node, graph_t graph, const cuda_handle *list, size_t count, const void *params);
cudaError_t cudaGraphInstantiate(cuda_handle *exec, graph_t graph, unsigned long long flags);
cudaError_t cudaGraphUpload(cuda_handle exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cuda_handle exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cuda_handle exec);
cudaError_t cudaGraphDestroy(graph_t graph);

static struct fatbin wrapper = {0x466243b1, 1, IMAGE, 0};
static char scale, spin;

static void check(cudaError_t error, const char *what) {
    if (error) {
        fprintf(stderr, "%s: %d\n", what, error);
        exit(1);
    }
}
#define DO(call) check(call, #call)

static void run(char *stub, void **params, cudaStream_t stream) {
    dim3 one = {1, 1, 1}, block = {64, 1, 1};
    DO(cudaLaunchKernel(stub, one, block, params, 0, stream));
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 3;
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &scale, "_Z5scalePfm", "_Z5scalePfm", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &spin, "_Z4spinm", "_Z4spinm", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    cudaStream_t a, b;
    cudaEvent_t forked, joined;
    DO(cudaStreamCreate(&a));
    DO(cudaStreamCreate(&b));
    DO(cudaEventCreate(&forked));
    DO(cudaEventCreate(&joined));
    void *device, *pinned, *pool;
    size_t floats = 1024, ns = 20000;
    DO(cudaMalloc(&device, floats * 4));
    DO(cudaMallocHost(&pinned, floats * 4));
    void *other;
    DO(cudaMalloc(&other, 8192));
    void *scaled_other[] = {&other, &floats};
    void *scaled[] = {&device, &floats}, *spun[] = {&ns};
    /* Outside of any capture: b waits for an event of a. */
    DO(cudaEventRecord(forked, a));
    DO(cudaStreamWaitEvent(b, forked, 0));
    run(&scale, scaled, b);
    DO(cudaDeviceSynchronize());

    /* Ten calls are captured. */
    graph_t graph;
    cuda_handle exec;
    DO(cudaStreamBeginCapture(a, 2));
    DO(cudaMemcpyAsync(device, pinned, floats * 4, HOST_TO_DEVICE, a));
    DO(cudaEventRecord(forked, a));
    DO(cudaStreamWaitEvent(b, forked, 0));
    run(&spin, spun, b);
    run(&scale, scaled, a);
    DO(cudaMallocAsync(&pool, 4096, a));
    DO(cudaFreeAsync(pool, a));
    DO(cudaEventRecord(joined, b));
    DO(cudaStreamWaitEvent(a, joined, 0));
    run(&scale, scaled, a);
    DO(cudaStreamEndCapture(a, &graph));
    DO(cudaGraphInstantiate(&exec, graph, 0));
    DO(cudaGraphDestroy(graph));
    DO(cudaGraphUpload(exec, a));
    for (int i = 0; i < n; i++) {
        DO(cudaGraphLaunch(exec, a));
        DO(cudaStreamSynchronize(a));
    }
    DO(cudaGraphExecDestroy(exec));
    /* Not captured any more. */
    run(&scale, scaled, b);

    DO(cudaGraphCreate(&graph, 0));
    struct {
        void *dst;
        size_t pitch;
        unsigned value, element;
        size_t width, height;
    } set = {device, 0, 7, 4, floats, 1};
    cuda_handle node;
    DO(cudaGraphAddMemsetNode(&node, graph, 0, 0, &set));
    /* Of a kernel that was launched before, the parameters are known. */
    struct {
        void *function;
        dim3 grid, block;
        unsigned shared;
        void **params, **extra;
    } kernel = {&scale, {1, 1, 1}, {64, 1, 1}, 0, scaled_other, 0};
    DO(cudaGraphAddKernelNode(&node, graph, 0, 0, &kernel));
    DO(cudaGraphInstantiate(&exec, graph, 0));
    DO(cudaGraphLaunch(exec, b));
    DO(cudaStreamSynchronize(b));

    DO(cudaStreamBeginCapture(a, 2));
    run(&scale, scaled, a);
    printf("wait %d\n", cudaStreamSynchronize(a) != 0);
    printf("end %d\n", cudaStreamEndCapture(a, &graph) != 0);
    cudaGetLastError();
    run(&scale, scaled, a);
    DO(cudaDeviceSynchronize());
    return 0;
}
