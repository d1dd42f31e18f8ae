"""Data-parallel training of a small classifier, as the pods of a PyTorchJob do it: one process group over all of them.

The digits are made up from a seed, so that nothing has to be downloaded: each class is a pattern, each example a noisy
copy. Prints a line an epoch, and goes on from the last checkpoint where the job has a folder for them.
"""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CLASSES, PIXELS, EXAMPLES, BATCH = 10, 28 * 28, 512, 64


def examples(rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's share: the same patterns everywhere, other noise on each."""
    patterns = torch.rand(CLASSES, PIXELS, generator=torch.Generator().manual_seed(1))
    own = torch.Generator().manual_seed(100 + rank)
    labels = torch.randint(CLASSES, (EXAMPLES,), generator=own)
    return patterns[labels] + 0.3 * torch.randn(EXAMPLES, PIXELS, generator=own), labels


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group(arguments.backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} on {os.uname().nodename}", flush=True)
    images, labels = examples(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, CLASSES)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    folder = os.environ.get("CHECKPOINT_DIR")
    checkpoint = Path(folder or ".") / "checkpoint.pt"
    done = 0
    if folder and checkpoint.exists():
        saved = torch.load(checkpoint)
        done = saved["epoch"]
        model.load_state_dict(saved["model"])
        print(f"goes on after epoch {done}", flush=True)
    for epoch in range(done + 1, arguments.epochs + 1):
        for start in range(0, EXAMPLES, BATCH):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[start : start + BATCH]), labels[start : start + BATCH])
            loss.backward()
            optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        print(f"epoch {epoch} loss {mean.item() / world:.4f}", flush=True)
        if folder and rank == 0:
            torch.save({"epoch": epoch, "model": model.state_dict()}, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").rename(checkpoint)
        time.sleep(0.5)  # an epoch of real digits takes longer than one of these


main()
