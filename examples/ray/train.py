"""Data-parallel training on Ray: actors on the nodes of the cluster have the examples and compute gradients; this
program, on the head, has the model.

The examples are points near a curve, made up from a seed, so that nothing has to be downloaded. The training goes on from
the last checkpoint in $CHECKPOINT_DIR, to the same numbers that it would have come to without the interruption. Plain
Python, since Ray is all that the environment has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path

import ray

TERMS, EXAMPLES, RATE = 4, 200, 0.15


@ray.remote(num_cpus=1)
class Shard:
    """One share of the examples."""

    def __init__(self, index: int) -> None:
        noise = random.Random(index)
        points = [noise.uniform(-1, 1) for _ in range(EXAMPLES)]
        self._examples = [([x**power for power in range(TERMS)], 1 - 2 * x + 3 * x**3 + noise.gauss(0, 0.05)) for x in points]

    def gradient(self, model: list[float]) -> tuple[float, list[float]]:
        """The mean loss of this share and its gradient."""
        loss, gradient = 0.0, [0.0] * TERMS
        for terms, wanted in self._examples:
            error = sum(weight * term for weight, term in zip(model, terms)) - wanted
            loss += error * error / EXAMPLES
            for i, term in enumerate(terms):
                gradient[i] += 2 * error * term / EXAMPLES
        return loss, gradient


def load(file: Path | None) -> tuple[int, list[float]]:
    if file is None or not file.exists():
        return 0, [0.0] * TERMS
    saved = json.loads(file.read_text())
    return saved["epoch"], saved["model"]


def save(file: Path | None, epoch: int, model: list[float]) -> None:
    """Whoever reads sees the old checkpoint or the new one."""
    if file is not None:
        new = file.with_suffix(".new")
        new.write_text(json.dumps({"epoch": epoch, "model": model}))
        new.rename(file)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fits a curve on Ray.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long an epoch takes at least: real data takes time")
    given = parser.parse_args()
    ray.init()
    folder = os.environ.get("CHECKPOINT_DIR")
    checkpoint = Path(folder) / "checkpoint.json" if folder else None
    done, model = load(checkpoint)
    how = f"goes on after epoch {done}" if done else "begins"
    print(f"attempt {os.environ.get('GANGWAY_ATTEMPT', '1')} {how}", flush=True)
    shards = [Shard.remote(index) for index in range(given.shards)]
    for epoch in range(done + 1, given.epochs + 1):
        results = ray.get([shard.gradient.remote(model) for shard in shards])
        slopes = [sum(each) / given.shards for each in zip(*(gradient for _, gradient in results))]
        model = [weight - RATE * slope for weight, slope in zip(model, slopes)]
        print(f"epoch {epoch} loss {sum(loss for loss, _ in results) / given.shards:.6f}", flush=True)
        save(checkpoint, epoch, model)
        time.sleep(given.seconds)
    print("the training is done on", sum(node["Alive"] for node in ray.nodes()), "nodes", flush=True)


main()
