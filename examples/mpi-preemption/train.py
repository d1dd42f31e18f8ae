"""Data-parallel training over MPI: every rank has its share of the examples, and after each step the mean of all
gradients, so that all ranks have the same model.

The digits are made up from a seed, so that nothing has to be downloaded: each class is a pattern, each example a noisy
copy. The training goes on from the last checkpoint in $CHECKPOINT_DIR, to the same numbers that it would have come to
without the interruption.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import gangway

CLASSES, PIXELS, HIDDEN = 10, 8 * 8, 32
EXAMPLES, BATCH, RATE, MOMENTUM = 512, 32, 0.02, 0.9
STEPS = EXAMPLES // BATCH  # of an epoch


def examples(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """This rank's share: the same patterns everywhere, other noise on each."""
    patterns = np.random.default_rng(1).random((CLASSES, PIXELS))
    own = np.random.default_rng(100 + rank)
    labels = own.integers(CLASSES, size=EXAMPLES)
    return patterns[labels] + 0.5 * own.standard_normal((EXAMPLES, PIXELS)), labels


class Model:
    """One hidden layer. All parameters lie in one array, as one all-reduce wants them."""

    def __init__(self) -> None:
        shapes = [(PIXELS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        self.flat = 0.1 * np.random.default_rng(0).standard_normal(ends[-1])
        self._views = [part.reshape(shape) for part, shape in zip(np.split(self.flat, ends[:-1]), shapes)]

    def loss_and_gradient(self, images: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        w1, b1, w2, b2 = self._views
        hidden = np.maximum(images @ w1 + b1, 0)
        scores = hidden @ w2 + b2
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(chances[rows, labels]).mean()
        chances[rows, labels] -= 1
        chances /= len(labels)
        back = (chances @ w2.T) * (hidden > 0)
        parts = [images.T @ back, back.sum(axis=0), hidden.T @ chances, chances.sum(axis=0)]
        return float(loss), np.concatenate([part.ravel() for part in parts])


class Training:
    """What a checkpoint holds: the model, its momentum, how many steps were done, and the epoch's losses so far."""

    def __init__(self, ranks: MPI.Comm, folder: str | None) -> None:
        self._ranks = ranks
        self._file = Path(folder) / "checkpoint.npz" if folder else None
        self._images, self._labels = examples(ranks.rank)
        self._model = Model()
        self._velocity = np.zeros_like(self._model.flat)
        self.steps_done = 0
        self.losses = 0.0

    def load(self) -> bool:
        """All ranks read the same file, which nobody writes before all have read it."""
        if self._file is None or not self._file.exists():
            return False
        with np.load(self._file) as saved:
            self._model.flat[:] = saved["model"]
            self._velocity[:] = saved["velocity"]
            self.steps_done, self.losses = int(saved["steps_done"]), float(saved["losses"])
        return True

    def save(self) -> None:
        """Whoever reads sees the old checkpoint or the new one, also after a power loss."""
        if self._file is None or self._ranks.rank != 0:
            return
        new = self._file.with_suffix(".new")
        with new.open("wb") as file:
            np.savez(file, model=self._model.flat, velocity=self._velocity, steps_done=self.steps_done,
                     losses=self.losses)  # fmt: skip
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._file)
        gangway.checkpoint(self._file)

    def step(self, wants_to_stop: bool) -> bool:
        """Whether any rank wants to stop: all ranks learn it in the same step, together with the gradients."""
        epoch, step = divmod(self.steps_done, STEPS)
        order = np.random.default_rng((epoch, self._ranks.rank)).permutation(EXAMPLES)
        batch = order[step * BATCH : (step + 1) * BATCH]
        loss, gradient = self._model.loss_and_gradient(self._images[batch], self._labels[batch])
        summed = np.concatenate([gradient, [loss, float(wants_to_stop)]])
        self._ranks.Allreduce(MPI.IN_PLACE, summed, op=MPI.SUM)
        self._velocity = MOMENTUM * self._velocity + summed[:-2] / self._ranks.size
        self._model.flat -= RATE * self._velocity
        self.losses = (self.losses if step else 0.0) + summed[-2] / self._ranks.size
        self.steps_done += 1
        return bool(summed[-1])

    def record(self, epoch: int, loss: float) -> None:
        """One line an epoch, of all attempts together."""
        if self._file is not None:
            with (self._file.parent / "losses.csv").open("a") as file:
                file.write(f"{gangway.attempt()},{epoch},{loss:.6f}\n")


def run(training: Training, rank: int, epochs: int, seconds: float, every: int) -> bool:
    """Whether it came to its end."""
    while training.steps_done < epochs * STEPS:
        should_stop = training.step(gangway.should_stop())
        epoch, rest = divmod(training.steps_done, STEPS)
        if rank == 0:
            gangway.progress(epoch=epoch, step=training.steps_done, total=epochs * STEPS, loss=training.losses / (rest or STEPS))
        if rest == 0:
            if rank == 0:
                loss = training.losses / STEPS
                print(f"epoch {epoch} loss {loss:.6f}", flush=True)
                training.record(epoch, loss)
            if epoch % every == 0 or epoch == epochs:
                training.save()
        if should_stop:
            training.save()
            return False
        time.sleep(seconds / STEPS)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a small classifier over MPI.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long an epoch takes at least: real data takes time")
    parser.add_argument("--checkpoint-every", type=int, default=5, metavar="EPOCHS")
    given = parser.parse_args()
    ranks = MPI.COMM_WORLD
    print(f"rank {ranks.rank} of {ranks.size} on {os.uname().nodename}", flush=True)
    gangway.on_preempt(lambda: print(f"rank {ranks.rank} was asked to stop", flush=True))
    training = Training(ranks, gangway.checkpoint_dir())
    is_resumed = training.load()
    ranks.Barrier()
    if ranks.rank == 0:
        epoch, step = divmod(training.steps_done, STEPS)
        how = f"goes on after epoch {epoch}, step {step}" if is_resumed else "begins"
        print(f"attempt {gangway.attempt()} {how}", flush=True)
    is_done = run(training, ranks.rank, given.epochs, given.seconds, given.checkpoint_every)
    if ranks.rank == 0:
        epoch, step = divmod(training.steps_done, STEPS)
        print("the training is done" if is_done else f"saved after epoch {epoch}, step {step}", flush=True)


main()
