"""Milliseconds of one PyTorch training step of a transformer, in one of two sizes: "gpu", whose step waits for the GPU,
as a step that makes good use of one does, and "launch", whose kernels are so small that launching them takes longer than
running them.

cost_step.py SIZE [STEPS [WARM_UP]]     prints "ms MEDIAN", the median over the steps, each with its synchronisation
"""
import statistics
import sys
import time

import torch
from torch import nn

size = sys.argv[1] if len(sys.argv) > 1 else "gpu"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 60
warm_up = int(sys.argv[3]) if len(sys.argv) > 3 else 10
torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = True
WIDTH, LAYERS, BATCH, LENGTH = {"gpu": (1024, 8, 64, 256), "launch": (256, 8, 8, 64)}[size]
layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.TransformerEncoder(layer, LAYERS), nn.Linear(WIDTH, 1000)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
y = torch.randint(1000, (BATCH, LENGTH), device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    return loss


for _ in range(warm_up):
    step()
torch.cuda.synchronize()
times = []
for _ in range(steps):
    start = time.perf_counter()
    loss = step()
    torch.cuda.synchronize()
    times.append((time.perf_counter() - start) * 1e3)
assert torch.isfinite(loss).item()
print(f"ms {statistics.median(times):.4f}")
