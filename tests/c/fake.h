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
/* If set, they are not counted any more. */
extern int fake_uncounted;

/* Registers as cuEventQuery finds them at its first instruction; what it leaves in others is arbitrary. */
struct registers {
    unsigned long integer[6]; /* rdi rsi rdx rcx r8 r9 */
    unsigned long stack, flags;
    unsigned mxcsr, spare;
    unsigned short x87[16]; /* as fnstenv has them: control word first, tag word in [4] */
    unsigned long pad[3];
    unsigned char vector[8][32]; /* ymm0 to ymm7 */
} __attribute__((aligned(64)));
extern struct registers fake_registers;
/* Nonzero: the upper halves of vector registers are there. */
extern int fake_wide;
CUresult cuEventQuery(cuda_handle event);
/* What it returns: success in the lower half. */
#define FAKE_RAX 0x1122334400000000

#endif
