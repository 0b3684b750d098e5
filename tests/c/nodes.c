/* nodes WAY SEED: makes graphs of nodes drawn by SEED, each node by the function for its type (WAY 0), by cudaGraphAddNode (WAY 1), by
 * cudaGraphAddNode where it has data of edges (WAY 2), or each in turn (WAY 3); launches them, and says what memory they have: how many
 * allocations, their bytes, how many of them are freed by a node of their graph. */
#include "cuda_min.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef cuda_handle graph_t;
typedef cuda_handle node_t;
cudaError_t cudaGraphCreate(graph_t *graph, unsigned flags);
cudaError_t cudaGraphInstantiate(cuda_handle *exec, graph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cuda_handle exec, cudaStream_t stream);
cudaError_t cudaGraphAddMemsetNode(node_t *node, graph_t graph, const node_t *list, size_t count, const void *params);
cudaError_t cudaGraphAddMemcpyNode(node_t *node, graph_t graph, const node_t *list, size_t count, const void *params);
cudaError_t cudaGraphAddKernelNode(node_t *node, graph_t graph, const node_t *list, size_t count, const void *params);
cudaError_t cudaGraphAddHostNode(node_t *node, graph_t graph, const node_t *list, size_t count, const void *params);
cudaError_t cudaGraphAddEmptyNode(node_t *node, graph_t graph, const node_t *list, size_t count);
cudaError_t cudaGraphAddChildGraphNode(node_t *node, graph_t graph, const node_t *list, size_t count, graph_t child);
cudaError_t cudaGraphAddMemAllocNode(node_t *node, graph_t graph, const node_t *list, size_t count, void *params);
cudaError_t cudaGraphAddMemFreeNode(node_t *node, graph_t graph, const node_t *list, size_t count, void *address);

/* As CUDA's headers lay them out, on 64 bits. */
struct kernel {
    void *function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
};
struct volume {
    void *srcarray;
    size_t srcpos[3];
    void *src;
    size_t srcpitch[3];
    void *dstarray;
    size_t dstpos[3];
    void *dst;
    size_t dstpitch[3];
    size_t width, height, depth;
    int kind;
};
struct set {
    void *dst;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};
struct host {
    void (*function)(void *);
    void *user;
};
struct alloc {
    int type, handles, location[2];
    void *security;
    char rest[64];
    const void *access;
    size_t accesses, bytes;
    void *address;
};
struct any {
    int type, reserved[3];
    union {
        long long padding[29];
        struct kernel kernel;
        struct {
            int flags, reserved[3];
            struct volume copy;
        } copy;
        struct set set;
        struct host host;
        graph_t child;
        struct alloc alloc;
        void *freed;
    } of;
    long long reserved2;
};

static struct fatbin wrapper = {0x466243b1, 1, IMAGE, 0};
static char scale;
static void nothing(void *user) { (void)user; }
static cudaError_t (*add_plain)(node_t *, graph_t, const node_t *, size_t, struct any *);
static cudaError_t (*add_edges)(node_t *, graph_t, const node_t *, const void *, size_t, struct any *);
static int way, turn;

static void check(cudaError_t error, const char *what) {
    if (error) {
        fprintf(stderr, "%s: %d\n", what, error);
        exit(1);
    }
}
#define DO(call) check(call, #call)

static unsigned long long state;
static unsigned draw(unsigned below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

/* Adds a node behind the last one. */
static void add(graph_t graph, node_t *last, struct any *node) {
    size_t count = *last != 0;
    node_t before = *last;
    int how = way == 3 ? turn++ % 3 : way;
    if (how == 1 && !add_plain) how = 2;
    if (how == 2 && !add_edges) how = 1;
    if (how == 1) {
        DO(add_plain(last, graph, &before, count, node));
        return;
    }
    if (how == 2) {
        DO(add_edges(last, graph, &before, 0, count, node));
        return;
    }
    switch (node->type) {
    case 0: DO(cudaGraphAddKernelNode(last, graph, &before, count, &node->of.kernel)); break;
    case 1: DO(cudaGraphAddMemcpyNode(last, graph, &before, count, &node->of.copy.copy)); break;
    case 2: DO(cudaGraphAddMemsetNode(last, graph, &before, count, &node->of.set)); break;
    case 3: DO(cudaGraphAddHostNode(last, graph, &before, count, &node->of.host)); break;
    case 4: DO(cudaGraphAddChildGraphNode(last, graph, &before, count, node->of.child)); break;
    case 5: DO(cudaGraphAddEmptyNode(last, graph, &before, count)); break;
    case 10: DO(cudaGraphAddMemAllocNode(last, graph, &before, count, &node->of.alloc)); break;
    case 11: DO(cudaGraphAddMemFreeNode(last, graph, &before, count, node->of.freed)); break;
    }
}

int main(int argc, char **argv) {
    way = argc > 1 ? atoi(argv[1]) : 1;
    state = argc > 2 ? strtoull(argv[2], 0, 0) : 1;
    int version;
    DO(cudaRuntimeGetVersion(&version));
    void *plain = dlsym(RTLD_DEFAULT, "cudaGraphAddNode"), *second = dlsym(RTLD_DEFAULT, "cudaGraphAddNode_v2");
    if (version < 13000) memcpy(&add_plain, &plain, sizeof plain), memcpy(&add_edges, &second, sizeof second);
    else memcpy(&add_edges, &plain, sizeof plain);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &scale, "_Z5scalePfm", "_Z5scalePfm", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    cudaStream_t stream;
    DO(cudaStreamCreate(&stream));
    void *memory[3];
    size_t floats = 256;
    for (int i = 0; i < 3; i++) DO(cudaMalloc(&memory[i], 4096 << i));
    /* Of a kernel that was launched before, the parameters are known. */
    void *first[] = {&memory[0], &floats};
    dim3 one = {1, 1, 1}, block = {64, 1, 1};
    DO(cudaLaunchKernel(&scale, one, block, first, 0, stream));
    DO(cudaStreamSynchronize(stream));

    size_t made = 0, bytes = 0, freed = 0;
    graph_t child;
    DO(cudaGraphCreate(&child, 0));
    node_t last = 0;
    struct any node;
    memset(&node, 0, sizeof node);
    node.type = 2;
    node.of.set = (struct set){memory[2], 0, 1, 4, 64, 1};
    add(child, &last, &node);
    for (int graphs = 0; graphs < 3; graphs++) {
        graph_t graph;
        void *held[64];
        size_t holds = 0;
        last = 0;
        DO(cudaGraphCreate(&graph, 0));
        for (int step = 0; step < 16; step++) {
            void *target = holds && draw(2) ? held[draw(holds)] : memory[draw(2)];
            void *params[] = {&target, &floats};
            memset(&node, 0, sizeof node);
            unsigned what = draw(8);
            if (what == 0) {
                node.of.kernel = (struct kernel){&scale, {1, 1, 1}, {64, 1, 1}, 0, params, 0};
            } else if (what == 1) {
                node.type = 1;
                node.of.copy.copy = (struct volume){0, {0}, memory[0], {256, 256, 1}, 0, {0}, target, {256, 256, 1}, 256, 1, 1, 3};
            } else if (what == 2) {
                node.type = 2;
                node.of.set = (struct set){target, 0, 7, 1, 128, 1};
            } else if (what == 3) {
                node.type = 3;
                node.of.host = (struct host){nothing, 0};
            } else if (what == 4) {
                node.type = step % 2 ? 4 : 5;
                if (node.type == 4) node.of.child = child;
            } else if (what < 7 || !holds) {
                node.type = 10;
                node.of.alloc.type = 1;
                node.of.alloc.location[0] = 1;
                node.of.alloc.bytes = 4096 * (size_t)(1 + draw(8));
            } else {
                node.type = 11;
                node.of.freed = held[--holds];
                freed++;
            }
            add(graph, &last, &node);
            if (node.type == 10) {
                made++, bytes += node.of.alloc.bytes;
                held[holds++] = node.of.alloc.address;
            }
        }
        cuda_handle exec;
        DO(cudaGraphInstantiate(&exec, graph, 0));
        DO(cudaGraphLaunch(exec, stream));
        DO(cudaStreamSynchronize(stream));
    }
    printf("%zu %zu %zu\n", made, bytes, freed);
    return 0;
}
