"""PyTorch's own profiler, begun while the hook records: what it finds must not depend on the hook."""
import torch
from torch.profiler import ProfilerActivity, profile

x = torch.randn(1024, 1024, device="cuda")
for _ in range(20):
    y = x @ x
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
    for _ in range(10):
        y = torch.relu(x @ x)
    torch.cuda.synchronize()
print(sorted((event.key, event.count) for event in found.key_averages() if event.device_type == torch.autograd.DeviceType.CUDA))
