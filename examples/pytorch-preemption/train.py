"""Data-parallel training of a small classifier that can be preempted: it goes on from its last checkpoint.

Everything comes from seeds: nothing is downloaded, and the losses are the same in every run. Each step uses the same
examples whatever the number of processes, which only share them out, so that they are also the same when workers come
and go. `--pause` makes a step take as long as one of a larger model would.

Runs as the pods of a PyTorchJob, under torchrun, or alone.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import gangway
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CLASSES, PIXELS, STEPS = 10, 14 * 14, 8
# Divides evenly among up to four processes: the mean of their means is then the mean of all.
BATCH = 96
STOPPED = 128 + 15  # what a shell says of a program that SIGTERM ended


class Training:
    """The model, and how far it has come."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(PIXELS, 32), nn.ReLU(), nn.Linear(32, CLASSES))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.losses: list[float] = []  # of the epochs that are done

    @property
    def epoch(self) -> int:
        return len(self.losses) + 1

    def load(self, path: Path, rank: int) -> None:
        """The first process reads it for all: they must not begin with different epochs."""
        found = [torch.load(path) if rank == 0 and path.exists() else None]
        if dist.is_initialized():
            dist.broadcast_object_list(found)
        saved = found[0]
        if saved is None:
            return
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.losses = saved["losses"]

    def save(self, path: Path) -> None:
        """Whoever reads it finds the old one or the new one, also after a crash."""
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "losses": self.losses}
        new = path.with_suffix(".new")
        with open(new, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
        gangway.checkpoint(path)


def examples(epoch: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Made-up digits: each class is a pattern, each example a noisy copy."""
    patterns = torch.rand(CLASSES, PIXELS, generator=torch.Generator().manual_seed(1))
    random = torch.Generator().manual_seed(1000 * epoch + step)
    labels = torch.randint(CLASSES, (BATCH,), generator=random)
    return patterns[labels] + 0.8 * torch.randn(BATCH, PIXELS, generator=random), labels


def train_epoch(training: Training, model: nn.Module, rank: int, world: int, pause: float) -> float:
    """The mean loss over all steps and processes."""
    total = torch.zeros(1)
    for step in range(STEPS):
        if gangway.should_stop():
            print(f"stops in epoch {training.epoch}, before step {step + 1}", flush=True)
            sys.exit(STOPPED)
        images, labels = examples(training.epoch, step)
        training.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[rank::world]), labels[rank::world])
        loss.backward()
        training.optimizer.step()
        total += loss.detach()
        time.sleep(pause)
    if dist.is_initialized():
        dist.all_reduce(total)
    return total.item() / STEPS / world


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="sleep so long after every step")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    gangway.on_preempt(lambda: print("is asked to stop", flush=True))
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    if world > 1 and BATCH % world != 0:
        sys.exit(f"{world} processes cannot share {BATCH} examples evenly")

    training = Training()
    folder = gangway.checkpoint_dir()
    checkpoint = Path(folder) / "checkpoint.pt" if folder else None
    if checkpoint:
        training.load(checkpoint, rank)
    print(f"rank {rank} of {world}, attempt {gangway.attempt()}, begins with epoch {training.epoch}", flush=True)
    model = DistributedDataParallel(training.model) if dist.is_initialized() else training.model

    while training.epoch <= arguments.epochs:
        loss = train_epoch(training, model, rank, world, arguments.pause)
        if rank == 0:
            print(f"epoch {training.epoch} loss {loss:.6f} world {world}", flush=True)
        gangway.progress(epoch=training.epoch, total=arguments.epochs, loss=loss)
        training.losses.append(loss)
        if checkpoint and rank == 0:
            training.save(checkpoint)
    if rank == 0:
        print(f"done after {arguments.epochs} epochs", flush=True)


main()
