"""Data-parallel training with TensorFlow: chief and worker find each other by TF_CONFIG, and after each step have the mean
of both gradients.

The digits are made up from a seed, so that nothing has to be downloaded: each class is a pattern, each example a noisy
copy. The training goes on from the chief's last checkpoint in $CHECKPOINT_DIR: variables begin everywhere as they do on the
chief.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

try:
    import numpy as np
    import tensorflow as tf
except ModuleNotFoundError as missing:
    sys.exit(f"{missing.name} is not installed here: tools/setup/tensorflow.sh installs TensorFlow and prints the folder "
             "that the pods have to mount (examples/tensorflow/README.md)")  # fmt: skip

CLASSES, PIXELS, EXAMPLES, RATE = 10, 8 * 8, 512, 0.5


def place() -> tuple[str, int, int]:
    """Role and index of this pod, and how many train together; from TF_CONFIG, which every pod of a TFJob has."""
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    task = config.get("task", {"type": "chief", "index": 0})
    peers = sum(len(config.get("cluster", {}).get(role, [])) for role in ("chief", "worker"))
    return task["type"], int(task["index"]), max(peers, 1)


def examples(share: int) -> tuple[tf.Tensor, tf.Tensor]:
    """One share: the same patterns in all of them, other noise in each."""
    patterns = np.random.default_rng(1).random((CLASSES, PIXELS))
    own = np.random.default_rng(100 + share)
    labels = own.integers(CLASSES, size=EXAMPLES)
    images = patterns[labels] + 0.5 * own.standard_normal((EXAMPLES, PIXELS))
    return tf.constant(images, tf.float32), tf.constant(labels, tf.int64)


def load(checkpoint: Path | None) -> dict[str, np.ndarray]:
    if checkpoint is not None and checkpoint.exists():
        with np.load(checkpoint) as saved:
            return dict(saved)
    return {"weights": np.zeros((PIXELS, CLASSES), np.float32), "biases": np.zeros(CLASSES, np.float32),
            "epoch": np.array(0, np.int64)}  # fmt: skip


def save(checkpoint: Path | None, state: dict[str, tf.Variable]) -> None:
    """Whoever reads sees the old checkpoint or the new one."""
    if checkpoint is not None:
        new = checkpoint.with_suffix(".new")
        with new.open("wb") as file:
            np.savez(file, **{name: variable.numpy() for name, variable in state.items()})
        new.rename(checkpoint)


def train(share: int, epochs: int, seconds: float, checkpoint: Path | None) -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before anything else is done with TensorFlow
    with strategy.scope():
        state = {name: tf.Variable(value) for name, value in load(checkpoint).items()}
    images, labels = examples(share)

    def mean_of_all() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            scores = tf.matmul(images, state["weights"]) + state["biases"]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
        slopes = tape.gradient(loss, [state["weights"], state["biases"]])
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, [*slopes, loss])

    step = tf.function(lambda: strategy.run(mean_of_all))
    done = int(state["epoch"].numpy())
    how = f"goes on after epoch {done}" if done else "begins"
    print(f"attempt {os.environ.get('GANGWAY_ATTEMPT', '1')} {how}", flush=True)
    for epoch in range(done + 1, epochs + 1):
        of_weights, of_biases, loss = (strategy.experimental_local_results(each)[0] for each in step())
        state["weights"].assign(state["weights"].numpy() - RATE * of_weights.numpy())
        state["biases"].assign(state["biases"].numpy() - RATE * of_biases.numpy())
        state["epoch"].assign(epoch)
        print(f"epoch {epoch} loss {float(loss):.6f}", flush=True)
        save(checkpoint, state)
        time.sleep(seconds)
    print("the training is done", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a small classifier with TensorFlow.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long an epoch takes at least: real data takes time")
    given = parser.parse_args()
    role, index, peers = place()
    print(f"{role} {index} of {peers} on {os.uname().nodename}", flush=True)
    is_chief, folder = role == "chief", os.environ.get("CHECKPOINT_DIR")
    checkpoint = Path(folder) / "checkpoint.npz" if is_chief and folder else None
    train(0 if is_chief else index + 1, given.epochs, given.seconds, checkpoint)


main()
