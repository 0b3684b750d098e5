/* The few declarations of the CUDA runtime and driver that these programs use, written for them. Handles are void pointers,
 * enumerations are ints: the binary interface is what matters here. */
#ifndef CUDA_MIN_H
#define CUDA_MIN_H

#include <stddef.h>
#include <stdio.h>

typedef int cudaError_t;
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
typedef void *cuda_handle;

typedef struct {
    unsigned x, y, z;
} dim3;
typedef struct {
    size_t width, height, depth;
} cudaExtent;
typedef struct {
    void *ptr;
    size_t pitch, xsize, ysize;
} cudaPitchedPtr;
typedef struct {
    int type, id;
} cudaMemLocation;

#define HOST_TO_DEVICE 1
#define DEVICE_TO_HOST 2

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaMalloc3D(cudaPitchedPtr *out, cudaExtent extent);
cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags);
cudaError_t cudaMallocHost(void **out, size_t bytes);
cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, int kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              int kind, cudaStream_t stream);
cudaError_t cudaMemset(void *dst, int value, size_t bytes);
cudaError_t cudaMemset3D(cudaPitchedPtr at, int value, cudaExtent extent);
cudaError_t cudaStreamCreate(cudaStream_t *out);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void *), void *user);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **params, size_t shared,
                             cudaStream_t stream);
cudaError_t __cudaLaunchKernel(cuda_handle kernel, dim3 grid, dim3 block, void **params, size_t shared,
                               cudaStream_t stream);
cudaError_t __cudaGetKernel(cuda_handle *out, const void *function);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid,
                            void *bid, void *block, void *grid, int *warp);

CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(int *device, int ordinal);
CUresult cuDeviceGetName(char *name, int length, int device);
CUresult cuDevicePrimaryCtxRetain(cuda_handle *out, int device);
CUresult cuDevicePrimaryCtxRelease_v2(int device);
CUresult cuCtxSetCurrent(cuda_handle context);
CUresult cuCtxEnablePeerAccess(cuda_handle peer, unsigned flags);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr pointer);
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes);
CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count);
CUresult cuModuleLoadData(cuda_handle *out, const void *image);
CUresult cuModuleGetFunction(cuda_handle *out, cuda_handle module, const char *name);
CUresult cuModuleUnload(cuda_handle module);
CUresult cuFuncGetName(const char **out, cuda_handle function);
CUresult cuLaunchKernel(cuda_handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, cuda_handle stream, void **params, void **extra);
CUresult cuStreamCreate(cuda_handle *out, unsigned flags);
CUresult cuStreamSynchronize(cuda_handle stream);
CUresult cuStreamDestroy_v2(cuda_handle stream);

/* A kernel as nvcc's generated code has it: a wrapper round an image, and stubs registered by address. */
struct fatbin {
    int magic, version;
    const void *data;
    void *unused;
};
#define IMAGE "umsim-image\nkernel _Z5scalePfm\nkernel _Z4spinm\nkernel _Z4failv\nkernel _Z5emptyv\n"

/* Prints a call and its result. */
#define SHOW(call) printf("%s -> %d\n", #call, (int)(call))

#endif
