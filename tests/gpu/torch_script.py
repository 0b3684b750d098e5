"""A small training step in PyTorch: what it computes must not depend on the hook."""
import torch

torch.manual_seed(0)
x = torch.randn(512, 512, device="cuda")
w = torch.randn(512, 512, device="cuda", requires_grad=True)
for _ in range(5):
    y = (x @ w).relu().sum()
    y.backward()
    with torch.no_grad():
        w -= 1e-4 * w.grad
        w.grad.zero_()
torch.cuda.synchronize()
print("loss is finite:", bool(torch.isfinite(y).item()), "shape", tuple(w.shape))
