"""examples/pytorch-preemption, followed as its README says: real torch over gloo, in containers.

The losses say whether anything was lost: they are those of a run that nobody disturbs, however often the training was
interrupted and whatever the number of its processes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.cluster import ContainerCluster, missing_parts
from containers.frameworks_test import has_torch
from e2e.walkthrough import Shell
from kube.harness.processes import free_ports
from kube.harness.real import REPOSITORY

EXAMPLE = Path("examples/pytorch-preemption")
PACKAGE = Path("python/gangway")
# Pods that train take a while to start where many things run at once.
PATIENCE = 240
LOSSES = "import json, sys, torch; print(json.dumps(torch.load(sys.argv[1])['losses']))"


class Example:
    """A clone's folder, in which somebody types what the README says."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.folder = shell.folder / EXAMPLE
        shutil.copytree(REPOSITORY / EXAMPLE, self.folder)
        shutil.copytree(REPOSITORY / PACKAGE, shell.folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
        self._blocks = re.findall(r"^```sh\n(.*?)^```$", (self.folder / "README.md").read_text(), re.M | re.S)

    def follows(self, text: str) -> None:
        """Types those lines of the README that have this in them."""
        self._types(next(each for each in self._blocks if text in each))

    def trains(self, job: str, epochs: int, pause: float) -> None:
        """The same, but for the number of epochs and the length of a step."""
        block = next(each for each in self._blocks if f"--name={job}" in each)
        self._types(re.sub(r"--epochs \d+ --pause \S+\b", f"--epochs {epochs} --pause {pause}", block))

    def _types(self, block: str) -> None:
        self.shell.types(f"cd {EXAMPLE}\n{block}")

    def comes_in_between(self) -> None:
        self.follows("--name=urgent")
        self.waits("the urgent job runs", lambda: self.shell.status("urgent") == "RUNNING")

    def waits(self, what: str, condition: Any) -> None:
        self.shell.waits(what, condition, seconds=PATIENCE)

    def log(self, pod: str) -> str:
        return self.shell.tries(f"kubectl logs {pod}").stdout

    def begins(self, pod: str) -> list[tuple[int, int, int]]:
        """Size of the group, attempt and first epoch, whenever the processes formed one."""
        found = re.findall(r"rank \d+ of (\d+), attempt (\d+), begins with epoch (\d+)$", self.log(pod), re.M)
        return [(int(world), int(attempt), int(epoch)) for world, attempt, epoch in found]

    def epochs(self, pod: str) -> list[int]:
        return [int(epoch) for epoch in re.findall(r"epoch (\d+) loss", self.log(pod))]

    def saved(self, job: str) -> list[float]:
        """The losses up to its checkpoint."""
        return losses_in(self.folder / "checkpoints" / job / "checkpoint.pt")

    def job(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.shell.types(f"kubectl get pytorchjob {job} -o json"))
        return found

    def conditions(self, job: str) -> dict[str, str]:
        return {each["type"]: each["status"] for each in self.job(job)["status"]["conditions"]}

    def uids(self, job: str) -> dict[str, str]:
        listed = self.shell.types(f"kubectl get pods -l training.kubeflow.org/job-name={job} -o json")
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in json.loads(listed)["items"]}

    def events(self, job: str) -> list[tuple[str, str]]:
        chosen = f"involvedObject.kind=PyTorchJob,involvedObject.name={job}"
        listed = json.loads(self.shell.types(f"kubectl get events --field-selector {chosen} -o json"))
        return [(event["reason"], event["message"]) for event in listed["items"]]

    def shows(self, text: str, job: str) -> bool:
        return self.shell.is_in(text, f"arena get {job}")

    def undisturbed(self, epochs: int, processes: int) -> list[float]:
        """The losses of so many processes on this machine that nobody stops."""
        program = ["/usr/bin/python3", str(self.folder / "train.py"), "--epochs", str(epochs)]
        everyone = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.shell.folder / "python"), "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": str(free_ports(1)[0]), "WORLD_SIZE": str(processes)}  # fmt: skip
        ranks = [subprocess.Popen(program, env=everyone | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
                 for rank in range(processes)]  # fmt: skip
        try:
            said = [rank.communicate(timeout=PATIENCE)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        losses = [float(loss) for loss in re.findall(r"^epoch \d+ loss (\S+) ", said[0], re.M)]
        assert len(losses) == epochs, said
        return losses


def losses_in(checkpoint: Path) -> list[float]:
    if not checkpoint.exists():
        return []
    done = subprocess.run(["/usr/bin/python3", "-c", LOSSES, checkpoint], capture_output=True, text=True, check=True)
    losses: list[float] = json.loads(done.stdout)
    return losses


@pytest.fixture
def example(kubectl: Path) -> Iterator[Example]:
    if lacking := missing_parts() or ("" if has_torch() else "python3-torch"):
        pytest.skip(f"this machine cannot run it: {lacking}")
    description = (REPOSITORY / EXAMPLE / "cluster.yaml").read_text()
    with tempfile.TemporaryDirectory(prefix="gangway-example-") as folder, ContainerCluster(description) as cluster:
        followed = Example(Shell("containers", cluster, kubectl, Path(folder)))
        followed.shell.types(f"kubectl create -f {EXAMPLE}/priorities.yaml")
        yield followed


def test_a_preempted_training_comes_back_and_loses_nothing(example: Example) -> None:
    epochs = 16
    expected = example.undisturbed(epochs, processes=3)
    assert expected[0] > 2 > 0.5 > expected[-1], "it learns"
    assert "created" in example.shell.types(f"kubectl create --dry-run=server -f {EXAMPLE}/requeue.yaml")
    # Most of it is left when somebody comes, also where that takes long.
    example.trains("requeue", epochs, pause=0.25)
    example.waits("it trains", lambda: len(example.epochs("requeue-master-0")) >= 2)
    example.comes_in_between()

    told = "PyTorchJob requeue was preempted by default/urgent and is queued again as attempt 2."
    example.waits("it is queued again", lambda: example.shell.status("requeue") == "QUEUING")
    assert example.shows("preempted by default/urgent", "requeue")
    last = example.job("requeue")["status"]["conditions"][-1]
    assert (last["type"], last["reason"], last["message"]) == ("Restarting", "PyTorchJobPreempted", told)
    before = example.saved("requeue")
    assert 2 <= len(before) < epochs

    example.follows("arena delete urgent")
    example.waits("it is done", lambda: example.shell.status("requeue") in ("SUCCEEDED", "FAILED"))
    again = f"{example.shell.types('arena get requeue')}{example.log('requeue-master-0')}"
    assert example.begins("requeue-master-0") == [(3, 2, len(before) + 1)], again
    assert example.epochs("requeue-master-0") == list(range(len(before) + 1, epochs + 1)), again
    assert example.saved("requeue") == pytest.approx(expected, abs=1e-4)
    status = example.job("requeue")["status"]
    assert status["gangway"]["attempt"] == 2 and "restarts" not in status["gangway"]
    assert example.conditions("requeue") == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert ("PyTorchJobPreempted", told) in example.events("requeue")


@pytest.mark.soak
def test_an_elastic_training_goes_on_with_fewer_and_grows_back(example: Example) -> None:
    epochs, first = 100, "elastic-worker-0"
    expected = example.undisturbed(epochs, processes=1)
    example.trains("elastic", epochs, pause=0.2)
    # Those that start late join later.
    example.waits("three train", lambda: len(example.epochs(first)) >= 2 and example.begins(first)[-1][0] == 3)
    before = example.uids("elastic")
    example.comes_in_between()
    example.waits("two train", lambda: example.begins(first)[-1][0] == 2)
    assert example.shell.status("elastic") == "RUNNING" and example.shows("INSTANCES: 2/3", "elastic")
    status = example.job("elastic")["status"]
    assert status["replicaStatuses"]["Worker"]["active"] == 2 and status["conditions"][-1]["type"] == "Running"
    lost = {pod for pod, uid in example.uids("elastic").items() if uid != before[pod]}
    assert len(lost) == 1 and first not in lost, "the others meet at the first"

    example.follows("arena delete urgent")
    example.waits("three train again", lambda: example.begins(first)[-1][0] == 3)
    assert not example.shows("INSTANCES:", "elastic")
    assert example.job("elastic")["status"]["replicaStatuses"]["Worker"]["active"] == 3

    refused = example.shell.tries("kubectl scale pytorchjob/elastic --replicas=4")
    assert refused.returncode == 1 and "must not be more than spec.elasticPolicy.maxReplicas (3)" in refused.stderr
    example.shell.types("kubectl scale pytorchjob/elastic --replicas=2")
    example.waits("it does with two", lambda: example.begins(first)[-1][0] == 2)
    assert sorted(example.uids("elastic")) == [first, "elastic-worker-1"]

    example.waits("it is done", lambda: example.shell.status("elastic") in ("SUCCEEDED", "FAILED"))
    assert example.shell.status("elastic") == "SUCCEEDED", example.log(first)
    assert example.saved("elastic") == pytest.approx(expected, abs=1e-4)
    # Each time it began where it had left off: no epoch was lost or trained twice.
    assert example.epochs(first) == list(range(1, epochs + 1))
    status = example.job("elastic")["status"]
    assert status["gangway"]["attempt"] == 1 and "restarts" not in status["gangway"]
    assert "PyTorchJobRestarting" not in [reason for reason, _ in example.events("elastic")]
