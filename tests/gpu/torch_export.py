"""Writes what PyTorch itself says of two small training steps: NAME.json of its profiler, NAME.pickle of its allocator.

torch_export.py NAME
"""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

name = sys.argv[1]
torch.cuda.memory._record_memory_history(max_entries=2000)
layers = [torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, targets = torch.randn(32, 64), torch.randint(0, 8, (32,))
activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
with profile(activities=activities, profile_memory=True, record_shapes=True) as profiled:
    for _ in range(2):
        with record_function("step"):
            loss = torch.nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
    torch.cuda.synchronize()
profiled.export_chrome_trace(name + ".json")
torch.cuda.memory._dump_snapshot(name + ".pickle")
print(torch.__version__, torch.cuda.memory_reserved(), torch.cuda.memory_allocated())
