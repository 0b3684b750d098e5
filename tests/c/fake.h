/* libfake.c: a driver of a few functions whose frames are plain C, for what the stand-in's own cannot stand. */
#ifndef FAKE_H
#define FAKE_H

#include "cuda_min.h"

/* What cuCtxSynchronize does in the calling thread, and its result. */
extern __thread int (*fake_inside)(void);
/* Succeeds if the value is a quarter of the offset. */
CUresult cuParamSetf(cuda_handle function, int offset, float value);
/* A function that no table knows: the sum of its arguments, each times its place. */
int cuBrandNewFunction(int a, int b, int c, int d, int e, int f, int g, int h, int i);
/* Calls that have begun, of all threads and functions. */
extern unsigned long fake_begun;

#endif
