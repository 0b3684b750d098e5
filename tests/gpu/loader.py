"""Epochs of a data loader whose workers are forked anew each time, in a process that uses CUDA: prints ms for all of them.

    loader.py [EPOCHS] [WORKERS]
"""
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((1024,), float(index))


def main(epochs, workers):
    total = torch.zeros(1024, device="cuda")
    torch.cuda.synchronize()
    begun = time.monotonic()
    for _ in range(epochs):
        for batch in DataLoader(Numbers(), batch_size=8, num_workers=workers, multiprocessing_context="fork"):
            total += batch.cuda().sum(0)
    torch.cuda.synchronize()
    print(f"{(time.monotonic() - begun) * 1e3:.1f} ms, {epochs * workers} workers, {total.sum().item():.0f}")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    main(numbers[0] if numbers else 125, numbers[1] if len(numbers) > 1 else 8)
