"""CuPy with managed memory: only its driver calls can be seen, since it carries no shared cudart."""
import cupy

cupy.cuda.set_allocator(cupy.cuda.malloc_managed)
a = cupy.arange(1 << 20, dtype=cupy.float32)
for _ in range(5):
    a = a * 2 + 1
print("sum", float(a.sum()))
