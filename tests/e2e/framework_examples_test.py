"""examples/ray and examples/tensorflow, followed as their READMEs say: trained, suspended and resumed. TF_CONFIG is read
on simulated nodes as well.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.examples import EXAMPLES, command, nodes
from e2e.walkthrough import Shell, a_shell
from kube.harness.real import REPOSITORY

PATIENCE = 300
CHIEF, WORKER = "digits-chief-0.default.svc:2222", "digits-worker-0.default.svc:2222"


def lacking(script: str) -> str:
    """What the example's set-up has not installed, as the reason for a skip."""
    done = subprocess.run([REPOSITORY / "tools" / "setup" / script, "--if-present"], capture_output=True)
    return "" if done.returncode == 0 else f"tools/setup/{script}"


@pytest.fixture
def shell(request: pytest.FixtureRequest, kubectl: Path) -> Iterator[Shell]:
    form, example, script = request.param
    with a_shell(form, kubectl, nodes(EXAMPLES / example / "cluster.yaml"), lambda: lacking(script)) as typed:
        yield typed


def follows(shell: Shell, example: str, *beginnings: str) -> None:
    for beginning in beginnings:
        # The fixture has another home than the one that has the cache.
        shell.types(f"export HOME={Path.home()}; " + command(example, beginning))


def epochs(log: str) -> dict[int, float]:
    return {int(epoch): float(loss) for epoch, loss in re.findall(r"^epoch (\d+) loss (\S+)$", log, re.MULTILINE)}


def is_suspended_and_goes_on(shell: Shell, example: str, job: str, source: str) -> None:
    """`source`: whose log is the training's."""
    log = f"kubectl logs {source}"
    shell.waits("it trains", lambda: len(epochs(shell.tries(log).stdout)) >= 3, seconds=PATIENCE)
    first = epochs(shell.types(log))
    assert list(first.values()) == sorted(first.values(), reverse=True), "the loss falls"
    follows(shell, example, f"arena suspend {job}")
    shell.waits("it is off its nodes", lambda: shell.types("kubectl get pods -o name") == "", seconds=PATIENCE)
    assert shell.status(job) == "SUSPENDED"
    follows(shell, example, f"arena resume {job}")
    shell.waits("it goes on", lambda: len(epochs(shell.tries(log).stdout)) >= 3, seconds=PATIENCE)
    said = shell.types(log)
    begun = re.search(r"^attempt 2 goes on after epoch (\d+)$", said, re.MULTILINE)
    assert begun and int(begun[1]) >= max(first), said
    assert next(iter(epochs(said))) == int(begun[1]) + 1 and max(epochs(said).values()) < min(first.values())


@pytest.mark.soak
@pytest.mark.parametrize("shell", [("containers", "ray", "ray.sh")], indirect=True)
def test_the_ray_job_is_suspended_resumed_and_ends(shell: Shell) -> None:
    follows(shell, "ray", "kubectl create configmap", "sed ")
    is_suspended_and_goes_on(shell, "ray", "curve", "job/curve")
    shell.waits("it ends", lambda: shell.status("curve") == "SUCCEEDED", seconds=PATIENCE)
    assert "the training is done on 2 nodes" in shell.types("kubectl logs job/curve")


@pytest.mark.soak
@pytest.mark.parametrize("shell", [("containers", "tensorflow", "tensorflow.sh")], indirect=True)
def test_chief_and_worker_train_together_are_suspended_resumed_and_end(shell: Shell) -> None:
    follows(shell, "tensorflow", "kubectl create configmap", "sed ")
    is_suspended_and_goes_on(shell, "tensorflow", "digits", "digits-chief-0")
    shell.waits("it ends", lambda: shell.status("digits") == "SUCCEEDED", seconds=PATIENCE)
    chief, worker = (shell.types(f"kubectl logs digits-{role}-0") for role in ("chief", "worker"))
    assert "the training is done" in chief and epochs(worker).items() <= epochs(chief).items(), "one training"


def test_where_tensorflow_is_missing_the_training_says_so() -> None:
    # Without site-packages nothing is installed.
    done = subprocess.run(["/usr/bin/python3", "-IS", EXAMPLES / "tensorflow" / "train.py"], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"\w+ is not installed here: tools/setup/tensorflow.sh installs TensorFlow .*\n", done.stderr)


@pytest.mark.parametrize("shell", [("simulated", "tensorflow", "tensorflow.sh")], indirect=True)
def test_each_pod_of_the_tf_job_is_told_who_the_others_are(shell: Shell) -> None:
    shell.types(f"kubectl create -f {EXAMPLES / 'tensorflow' / 'tfjob.yaml'}")
    for role in ("chief", "worker"):
        asked = command("tensorflow", "kubectl get pod digits-worker-0 -o jsonpath").replace("worker-0", f"{role}-0")
        shell.waits("its pods are made", lambda: shell.tries(asked).returncode == 0)
        assert json.loads(shell.types(asked)) == {
            "cluster": {"chief": [CHIEF], "worker": [WORKER]},
            "task": {"type": role, "index": 0},
            "environment": "cloud",
        }
