"""Two ranks by torchrun, on two GPUs or sharing one: each works on its own, then they agree over the host."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank % torch.cuda.device_count())
x = torch.full((256, 256), float(rank + 1), device="cuda")
total = (x @ x).sum().cpu()
dist.all_reduce(total)
torch.cuda.synchronize()
dist.destroy_process_group()
