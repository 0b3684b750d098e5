/* Whether the table's words are where a compiler puts the arguments: functions with the prototypes of CUDA's are called
   through a stub, and each argument that is to be recorded is looked for where words.h says. */
#include "harness.h"

typedef struct { unsigned x, y, z; } dim3;
typedef struct { size_t width, height, depth; } extent;
typedef struct { void *ptr; size_t pitch, xsize, ysize; } pitched;
typedef struct { char bytes[64]; } handle;
typedef struct { int x, y, z, w, kind; } description;
typedef void *pointer;

/* The address of a copy that the compiler makes. */
#define ANY 0xa9a9a9a9a9a9a9a9ull

/* words.h: for each function NAME_stack, bytes on the stack, and NAME_words, one for each step of reading; a dim3 is two
   steps, of 8 and 4 bytes. */
static void found(const char *name, const unsigned char *words, unsigned count, const u64 *wanted, unsigned wanted_count) {
    SAME(told.leaves, 1);
    CHECK(count == wanted_count, "%s: %u", name, count);
    for (unsigned n = 0; n < count; n++) {
        u64 is = told.words[words[n]];
        /* What is above 32 bits of a smaller argument is nobody's business. */
        CHECK(wanted[n] == ANY || is == wanted[n] || (wanted[n] >> 32 == 0 && (u32)is == wanted[n]), "%s: argument %u: %llx", name, n,
              (unsigned long long)is);
    }
}

/* Whether the function itself gets its arguments. */
static int good;

#define FUNCTION(name, parameters, is_good)  \
    static int name parameters {             \
        good = (is_good);                    \
        return 0;                            \
    }
#define TRY(name, parameters, arguments, ...)                                                              \
    do {                                                                                                   \
        good = 0;                                                                                          \
        int (*stub) parameters = (int (*) parameters)stub_to(name, name##_stack);                          \
        stub arguments;                                                                                    \
        CHECK(good, #name " itself");                                                                      \
        const u64 wanted[] = {__VA_ARGS__};                                                                \
        found(#name, name##_words, sizeof name##_words, wanted, sizeof wanted / sizeof *wanted);           \
    } while (0)
#define P(n) ((pointer)(u64)(n))
#define BIG(n) (0x1111222200000000ull + (n))

#define LAUNCH (pointer f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
                pointer stream, pointer params, pointer extra)
FUNCTION(cuLaunchKernel, LAUNCH,
         f == P(BIG(1)) && gx == 2 && gy == 3 && gz == 4 && bx == 5 && by == 6 && bz == 7 && shared == 8 &&
             stream == P(BIG(9)) && params == P(10) && extra == P(11))
#define RUNTIME_LAUNCH (pointer f, dim3 grid, dim3 block, pointer params, size_t shared, pointer stream)
FUNCTION(cudaLaunchKernel, RUNTIME_LAUNCH,
         f == P(BIG(1)) && grid.x == 2 && grid.y == 3 && grid.z == 4 && block.x == 5 && block.y == 6 && block.z == 7 &&
             params == P(8) && shared == BIG(9) && stream == P(BIG(10)))
#define MEMSET3D (pitched to, int value, extent size)
FUNCTION(cudaMemset3D, MEMSET3D, to.ysize == 4 && value == 5 && size.depth == 8)
#define MEMSET3D_ASYNC (pitched to, int value, extent size, pointer stream)
FUNCTION(cudaMemset3DAsync, MEMSET3D_ASYNC, to.ysize == 4 && value == 5 && size.depth == 8 && stream == P(BIG(9)))
#define OPEN_HANDLE (pointer result, handle of, unsigned flags)
FUNCTION(cudaIpcOpenMemHandle, OPEN_HANDLE, result == P(BIG(1)) && of.bytes[63] == 9 && flags == 7)
#define ARRAY3D (pointer result, pointer desc, extent size, unsigned flags)
FUNCTION(cudaMalloc3DArray, ARRAY3D, result == P(BIG(1)) && desc == P(2) && size.height == 4 && flags == 6)
#define COPY2D (pointer dst, size_t dpitch, pointer src, size_t spitch, size_t width, size_t height, int kind, pointer stream)
FUNCTION(cudaMemcpy2DAsync, COPY2D, dst == P(BIG(1)) && dpitch == BIG(2) && src == P(BIG(3)) && spitch == BIG(4) &&
         width == BIG(5) && height == BIG(6) && kind == 7 && stream == P(BIG(8)))
#define SET_FLOAT (pointer f, int offset, float value)
FUNCTION(cuParamSetf, SET_FLOAT, f == P(BIG(1)) && offset == 2 && value == 1.5f)
/* No function of CUDA's, but the rules that none of them needs today. */
#define FULL (u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, dim3 grid, u64 h)
FUNCTION(testFull, FULL, a == BIG(1) && g == BIG(7) && grid.x == 8 && grid.y == 9 && grid.z == 10 && h == BIG(11))
#define FLOATS (double a, double b, double c, double d, double e, double f, double g, double h, u64 i, float j, u64 k)
FUNCTION(testFloats, FLOATS, a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && i == BIG(9) &&
         j == 10 && k == BIG(11))
#define MANY (u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, unsigned i, u64 j, handle k, float l, dim3 m, u64 n)
FUNCTION(testMany, MANY, a == BIG(1) && h == BIG(8) && i == 9 && j == BIG(10) && k.bytes[0] == 11 && l == 12 && m.x == 13 &&
         m.z == 15 && n == BIG(16))

static description cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return (description){x, y, z, w, kind};
}

static void once(void) {
    TRY(cuLaunchKernel, LAUNCH, (P(BIG(1)), 2, 3, 4, 5, 6, 7, 8, P(BIG(9)), P(10), P(11)), BIG(1), 2, 3, 4, 5, 6, 7, 8, BIG(9));
    TRY(cudaLaunchKernel, RUNTIME_LAUNCH, (P(BIG(1)), (dim3){2, 3, 4}, (dim3){5, 6, 7}, P(8), BIG(9), P(BIG(10))), BIG(1),
        3ull << 32 | 2, 4, 6ull << 32 | 5, 7, BIG(9), BIG(10));
    TRY(cudaMemset3D, MEMSET3D, ((pitched){P(1), 2, 3, 4}, 5, (extent){6, 7, 8}), 5);
    TRY(cudaMemset3DAsync, MEMSET3D_ASYNC, ((pitched){P(1), 2, 3, 4}, 5, (extent){6, 7, 8}, P(BIG(9))), 5, BIG(9));
    TRY(cudaIpcOpenMemHandle, OPEN_HANDLE, (P(BIG(1)), (handle){.bytes[63] = 9}, 7), BIG(1), ANY, 7);
    TRY(cudaMalloc3DArray, ARRAY3D, (P(BIG(1)), P(2), (extent){3, 4, 5}, 6), BIG(1), 6, ANY, ANY, ANY, 2, 2,
        2, 2, 2);
    TRY(cudaMemcpy2DAsync, COPY2D, (P(BIG(1)), BIG(2), P(BIG(3)), BIG(4), BIG(5), BIG(6), 7, P(BIG(8))), BIG(1), BIG(2),
        BIG(3), BIG(4), BIG(5), BIG(6), 7, BIG(8));
    TRY(cuParamSetf, SET_FLOAT, (P(BIG(1)), 2, 1.5f), BIG(1), 2);
    TRY(testFull, FULL, (BIG(1), 2, 3, 4, 5, 6, BIG(7), (dim3){8, 9, 10}, BIG(11)), BIG(1), 2, 3, 4, 5, 6, BIG(7),
        9ull << 32 | 8, 10, BIG(11));
    TRY(testFloats, FLOATS, (1, 2, 3, 4, 5, 6, 7, 8, BIG(9), 10, BIG(11)), BIG(9), BIG(11));
    TRY(testMany, MANY, (BIG(1), 2, 3, 4, 5, 6, 7, BIG(8), 9, BIG(10), (handle){.bytes[0] = 11}, 12, (dim3){13, 14, 15}, BIG(16)),
        BIG(1), 2, 3, 4, 5, 6, 7, BIG(8), 9, BIG(10), 14ull << 32 | 13, 15, BIG(16));
    description (*make)(int, int, int, int, int) =
        (description(*)(int, int, int, int, int))stub_to(cudaCreateChannelDesc, cudaCreateChannelDesc_stack);
    description made = make(1, 2, 3, 4, 5);
    CHECK(made.x == 1 && made.kind == 5, "cudaCreateChannelDesc itself");
    const u64 wanted[] = {1, 2, 3, 4, 5};
    found("cudaCreateChannelDesc", cudaCreateChannelDesc_words, sizeof cudaCreateChannelDesc_words, wanted, 5);
}

void conventions(void) {
    use(umtui_by_ticks);
    once();
    use(umtui_by_clock);
    once();
}
