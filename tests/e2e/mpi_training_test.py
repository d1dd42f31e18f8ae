"""A training over MPI, as examples/mpi-preemption describes it: two workers add up their gradients in every step. A
critical job takes their room; afterwards the training goes on by itself, to the losses of a run that nobody disturbed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.examples import EXAMPLES, command, nodes
from e2e.walkthrough import Shell, a_shell

EXAMPLE = "mpi-preemption"
EPOCHS, EVERY = 120, 5  # as its README has them
PATIENCE = 180


def missing() -> str:
    if shutil.which("mpirun") is None:
        return "openmpi-bin"
    tried = subprocess.run(["/usr/bin/python3", "-c", "import mpi4py, numpy"], capture_output=True)
    return "" if tried.returncode == 0 else "python3-mpi4py"


@pytest.fixture
def shell(kubectl: Path) -> Iterator[Shell]:
    with a_shell("containers", kubectl, nodes(EXAMPLES / EXAMPLE / "cluster-of-two.yaml"), missing) as typed:
        typed.types(f"kubectl create -f {EXAMPLES / EXAMPLE / 'pc.yaml'}")
        yield typed


class Losses:
    """What a training has written beside its checkpoints: of each epoch the attempt that did it, and the loss."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "losses.csv"

    def rows(self) -> list[tuple[int, int, str]]:
        text = self._file.read_text() if self._file.exists() else ""
        cells = [line.split(",") for line in text.splitlines()]
        return [(int(attempt), int(epoch), loss) for attempt, epoch, loss in cells]

    def of(self, attempt: int) -> dict[int, str]:
        return {epoch: loss for number, epoch, loss in self.rows() if number == attempt}


def submits(shell: Shell, job: str, *, called: str = "", folder: str = "", seconds: str = "") -> Path:
    """As the README says it; another name, another folder for checkpoints, another pace. Returns that folder."""
    line = command(EXAMPLE, f"arena submit mpijob --name={job}")
    if called:
        line = line.replace(f"--name={job}", f"--name={called}")
    if folder:
        line = line.replace("$HOME/checkpoints", f"$HOME/{folder}")
    if seconds:
        line = line.replace("train.py", f"train.py --seconds={seconds}")
    kept = shell.folder / (folder or "checkpoints")
    kept.mkdir(exist_ok=True)
    shell.types(line)
    return kept


def undisturbed(shell: Shell) -> dict[int, str]:
    kept = submits(shell, "medium", called="alone", folder="alone", seconds="0")
    shell.waits("the undisturbed run", lambda: shell.status("alone") == "SUCCEEDED", seconds=PATIENCE)
    shell.types("arena delete alone")
    return Losses(kept).of(attempt=1)


def reported(shell: Shell) -> set[str]:
    """What the training has told about itself."""
    types = shell.tries("kubectl get pod medium-worker-0 -o jsonpath='{.status.conditions[*].type}'").stdout.split()
    return {each for each in types if each.startswith("gangway.dev/")}


def test_a_preempted_training_comes_to_the_losses_of_an_undisturbed_one(shell: Shell) -> None:
    expected = undisturbed(shell)
    assert list(expected) == list(range(1, EPOCHS + 1))
    landmarks = [float(expected[epoch]) for epoch in (1, 5, 10, 20, 60, EPOCHS)]
    assert landmarks == sorted(landmarks, reverse=True) and landmarks[0] > 2 and landmarks[-1] < 0.1, "it learns"

    losses = Losses(submits(shell, "medium", seconds="0.3"))
    shell.waits("it has a checkpoint", lambda: len(losses.rows()) > EVERY, seconds=PATIENCE)
    shell.waits("it reports", lambda: reported(shell) == {"gangway.dev/Checkpoint", "gangway.dev/Progress"})
    assert shell.is_in("2/2 (100%)", "arena top node")
    submits(shell, "critical", seconds="0.2")
    shell.waits("it is queued", lambda: shell.status("medium") == "QUEUING")
    shell.waits("critical runs", lambda: shell.status("critical") == "RUNNING", seconds=PATIENCE)
    assert shell.is_in("preempted by default/critical and is queued again as attempt 2", "arena get medium")
    done = max(losses.of(attempt=1))
    assert EVERY < done < EPOCHS

    shell.waits("critical ends", lambda: shell.status("critical") == "SUCCEEDED", seconds=PATIENCE)
    shell.waits("it comes back and ends", lambda: shell.status("medium") == "SUCCEEDED", seconds=PATIENCE)
    log = shell.types("arena logs medium")
    begun = re.search(r"attempt 2 goes on after epoch (\d+), step (\d+)", log)
    assert begun and "the training is done" in log, log
    first, second = losses.of(attempt=1), losses.of(attempt=2)
    assert list(first) == list(range(1, done + 1))
    assert list(second) == list(range(int(begun[1]) + 1, EPOCHS + 1)), "it goes on where the checkpoint ends"
    assert int(begun[1]) >= done // EVERY * EVERY, "nothing is lost but what came after the last checkpoint"
    assert {**first, **second} == expected and {**second, **first} == expected, "as if nothing had happened"
