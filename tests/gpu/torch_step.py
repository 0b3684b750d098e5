"""Training steps in PyTorch under NVTX ranges: each kernel must be found under its
step and part."""
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 256, device="cuda")
y = torch.randint(0, 10, (64,), device="cuda")
for step in range(4):
    torch.cuda.nvtx.range_push("step")
    optimizer.zero_grad()
    torch.cuda.nvtx.range_push("forward")
    loss = torch.nn.functional.cross_entropy(model(x), y)
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_push("backward")
    loss.backward()
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_push("optimizer")
    optimizer.step()
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
with torch.autograd.profiler.emit_nvtx():
    torch.relu(x @ x.t()).sum().item()
print("loss is finite:", bool(torch.isfinite(loss).item()))
