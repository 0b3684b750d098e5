"""Segments and blocks of PyTorch's caching allocator, in known numbers, for check_memory.py:

reserved BYTES             what the allocator keeps in the end
block ADDRESS BYTES TIMES  a tensor there: kernels were given its address at least so often; BYTES: a copy to it has so many
                           bytes, 0: there was none
"""
import torch

MIB = 1 << 20
torch.cuda.init()
gone = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
del gone
torch.cuda.empty_cache()
kept = torch.empty(50 * MIB, dtype=torch.uint8, device="cuda")
tensors = [torch.zeros(n, dtype=torch.float32, device="cuda") for n in (1000, 5000, 300_000, 2_000_000)]
host = torch.ones(300_000, dtype=torch.float32)
tensors[2].copy_(host)
for turn, tensor in enumerate(tensors):
    for _ in range(40 + 10 * turn):
        tensor.add_(1.0)
# What is handed back is kept, too.
del kept
torch.cuda.synchronize()
for turn, tensor in enumerate(tensors):
    print("block", tensor.data_ptr(), 1_200_000 if turn == 2 else 0, 40 + 10 * turn)
print("reserved", torch.cuda.memory_reserved())
