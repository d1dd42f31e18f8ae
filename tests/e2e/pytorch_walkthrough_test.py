"""Preemption for PyTorch jobs, as Arena's guide walks through it: three pods fill the cluster, one urgent pod comes.

In containers three pods train together over gloo, with code from a git repository; on simulated nodes an annotation
stands for what they do when they lose one.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from containers.frameworks_test import has_torch
from e2e.mpi_walkthrough_test import PRIORITIES
from e2e.walkthrough import DASHES, FORMS, PEER_LOSS, Shell, a_shell, events_of, tells_its_story
from kube.harness.processes import Child, free_ports, wait_for
from kube.harness.real import REPOSITORY

WORKERS = ["172.16.0.208", "172.16.0.209", "172.16.0.210"]
NODES = """\
nodes:
- {name: cn-huhehaote.172.16.0.205, address: 172.16.0.205, roles: [master], capacity: {cpu: "4", memory: 8Gi}}
- {name: cn-huhehaote.172.16.0.206, address: 172.16.0.206, roles: [master], capacity: {cpu: "4", memory: 8Gi}}
- {name: cn-huhehaote.172.16.0.207, address: 172.16.0.207, roles: [master], capacity: {cpu: "4", memory: 8Gi}}
- {name: cn-huhehaote.172.16.0.208, address: 172.16.0.208, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
- {name: cn-huhehaote.172.16.0.209, address: 172.16.0.209, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
- {name: cn-huhehaote.172.16.0.210, address: 172.16.0.210, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
"""

TOP_NODE = f"""\
NAME                       IPADDRESS     ROLE    STATUS  GPU(Total)  GPU(Allocated)
cn-huhehaote.172.16.0.205  172.16.0.205  master  ready   0           0
cn-huhehaote.172.16.0.206  172.16.0.206  master  ready   0           0
cn-huhehaote.172.16.0.207  172.16.0.207  master  ready   0           0
cn-huhehaote.172.16.0.208  172.16.0.208  <none>  ready   4           USED
cn-huhehaote.172.16.0.209  172.16.0.209  <none>  ready   4           USED
cn-huhehaote.172.16.0.210  172.16.0.210  <none>  ready   4           USED
{DASHES}
Allocated/Total GPUs In Cluster:
"""

GET = """\
STATUS: <status>
NAMESPACE: default
PRIORITY: <priority>
TRAINING DURATION: 3m

NAME                     STATUS   TRAINER     AGE  INSTANCE                          NODE
"""

MEDIUM = "pytorch-priority-medium"
CRITICAL = "pytorch-priority-critical"
INSTANCES = ["master-0", "worker-0", "worker-1"]
IMAGE = "registry.cn-huhehaote.aliyuncs.com/lumo/pytorch-with-tensorboard:1.5.1-cuda10.1-cudnn7-runtime"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Training:
    """The walkthrough's commands, with the repository that they take their code from."""

    def __init__(self, shell: Shell, source: str) -> None:
        self.shell = shell
        self._source = source

    def submits(self, job: str, size: str, priority: str, epochs: int, more: str = "") -> None:
        extra = more if self.shell.is_real else f"{more} {PEER_LOSS}"
        if self.shell.is_real and shutil.which("python", path=PATH) is None:
            # The walkthrough's image has a python. Debian calls it python3; the repository brings the name.
            extra += f" --env=PATH=/root/code/mnist-pytorch/bin:{PATH}"
        done = self.shell.tries(f"""\
arena --loglevel info submit pytorch \\
    --name={job} \\
    {size} \\
    --image={IMAGE} \\
    --sync-mode=git \\
    --sync-source={self._source} \\
    --priority={priority} {extra} \\
    "python /root/code/mnist-pytorch/mnist.py --backend gloo --epochs {epochs}"
""")
        assert done.returncode == 0, done.stderr
        assert done.stdout == (
            f"configmap/{job}-pytorchjob created\n"
            f"configmap/{job}-pytorchjob labeled\n"
            f"pytorchjob.kubeflow.org/{job} created\n"
        )
        assert done.stderr == (
            f"INFO[0000] The Job {job} has been submitted successfully\n"
            f"INFO[0000] You can run `arena get {job} --type pytorchjob` to check the job status\n"
        )

    def fills_the_cluster(self, more: str = "") -> dict[str, str]:
        """The three pods run; where."""
        self.submits(MEDIUM, "--gpus=4 --workers=3", "medium", 200, more)
        self.shell.waits("it runs", lambda: len(self.rows(MEDIUM, "RUNNING")) == 3, seconds=90)
        places = self.rows(MEDIUM, "RUNNING")
        assert list(places) == [f"{MEDIUM}-{instance}" for instance in INSTANCES]
        assert sorted(places.values()) == WORKERS, "one on each node, shown by its address"
        self.shell.sees(f"arena get {MEDIUM}", shown("RUNNING", "medium", MEDIUM, places))
        self.shell.sees("arena top node", TOP_NODE.replace("USED", "4") + "12/12 (100%)\n")
        return places

    def needs_one(self) -> str:
        """The urgent pod runs; where."""
        self.submits(CRITICAL, "--gpus=1", "critical", 50)
        self.shell.waits("the urgent job runs", lambda: bool(self.rows(CRITICAL, "RUNNING")), seconds=30)
        places = self.rows(CRITICAL, "RUNNING")
        self.shell.sees(f"arena get {CRITICAL}", shown("RUNNING", "critical", CRITICAL, places))
        return places[f"{CRITICAL}-master-0"]

    def rows(self, job: str, status: str) -> dict[str, str]:
        """Instances that `arena get` shows with this status, and their NODE."""
        cells = [line.split() for line in self.shell.tries(f"arena get {job}").stdout.splitlines()]
        return {row[4]: row[5] for row in cells if row[:2] == [job, status] and len(row) == 6}

    def losses(self, instance: str) -> list[float]:
        log = self.shell.tries(f"kubectl logs {MEDIUM}-{instance} -c pytorch").stdout
        return [float(loss) for loss in re.findall(r"^epoch \d+ loss (\S+)$", log, re.MULTILINE)]

    def trains(self) -> bool:
        """All three go through the same epochs."""
        if not self.shell.is_real:
            return True
        per_rank = [self.losses(instance) for instance in INSTANCES]
        return min(map(len, per_rank)) >= 2 and len({tuple(losses[:2]) for losses in per_rank}) == 1


def shown(status: str, priority: str, job: str, places: dict[str, str]) -> str:
    head = GET.replace("<status>", status).replace("<priority>", priority)
    return head + "".join(f"{job}  {status}  PYTORCHJOB  3m  {pod}  {node}\n" for pod, node in places.items())


def a_repository(folder: Path) -> Path:
    """A folder with mnist-pytorch.git in it."""
    work = folder / "mnist-pytorch"
    (work / "bin").mkdir(parents=True)
    shutil.copy(REPOSITORY / "tests/testdata/walkthroughs/mnist.py", work)
    (work / "bin/python").symlink_to("/usr/bin/python3")
    git = ["git", "-C", str(work), "-c", "user.name=user", "-c", "user.email=user@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "mnist"]):
        subprocess.run([*git, *words], check=True)
    served = folder / "repositories"
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(served / "mnist-pytorch.git")], check=True)
    return served


def serves(shell: Shell, stack: ExitStack) -> str:
    """A repository at the machine's address on the network of pods, as a URL."""
    folder = a_repository(shell.folder)
    reached = json.loads(shell.types("kubectl get endpoints kubernetes -o json"))
    address, port = reached["subsets"][0]["addresses"][0]["ip"], free_ports(1)[0]
    daemon = Child("git daemon", ["git", "daemon", "--reuseaddr", f"--listen={address}", f"--port={port}",
                                  f"--base-path={folder}", "--export-all"], shell.folder / "git.log")  # fmt: skip
    stack.callback(daemon.stop)
    url = f"git://{address}:{port}/mnist-pytorch.git"
    wait_for("git daemon", lambda: subprocess.run(["git", "ls-remote", url], capture_output=True).returncode == 0)
    return url


def missing_framework() -> str:
    return "" if has_torch() else "python3-torch"


@pytest.fixture(params=FORMS)
def training(request: pytest.FixtureRequest, kubectl: Path) -> Iterator[Training]:
    with ExitStack() as stack:
        shell = stack.enter_context(a_shell(request.param, kubectl, NODES, missing_framework))
        beta = PRIORITIES.replace("scheduling.k8s.io/v1\n", "scheduling.k8s.io/v1beta1\n")
        (shell.folder / "priorityClass.yaml").write_text(beta)
        assert shell.types("kubectl create -f priorityClass.yaml") == (
            "priorityclass.scheduling.k8s.io/critical created\npriorityclass.scheduling.k8s.io/medium created\n"
        )
        source = serves(shell, stack) if shell.is_real else "https://code.aliyun.com/370272561/mnist-pytorch.git"
        yield Training(shell, source)


def test_the_urgent_job_takes_a_place_and_the_other_fails(training: Training) -> None:
    shell = training.shell
    shell.sees("arena top node", TOP_NODE.replace("USED", "0") + "0/12 (0%)\n")
    places = training.fills_the_cluster()
    shell.waits("it trains", training.trains)
    taken = training.needs_one()
    lost = next(pod for pod, node in places.items() if node == taken)
    assert lost != f"{MEDIUM}-master-0", "whom the others need is not the first to go"

    left = {pod: node for pod, node in places.items() if pod != lost}
    shell.sees(f"arena get {MEDIUM}", shown("FAILED", "medium", MEDIUM, left))
    if shell.is_real:
        log = shell.types(f"kubectl logs {MEDIUM}-master-0 -c pytorch")
        assert "rank 0 of 3" in log and "RuntimeError" in log, "it failed because it lost one"
    found = events_of(shell, lost)
    tells_its_story(
        shell, found,
        ("Scheduled", f"Successfully assigned default/{lost} to cn-huhehaote.{taken}"),
        ("Pulled", f'mage "{IMAGE}"'),
        ("Created", "Created container"),
        ("Started", "Started container pytorch"),
        ("Preempted", f"by default/{CRITICAL}-master-0 on node cn-huhehaote.{taken}"),
        ("Killing", "Stopping container pytorch"),
    )  # fmt: skip


@pytest.mark.parametrize("training", ["simulated", pytest.param("containers", marks=pytest.mark.soak)], indirect=True)
def test_with_requeue_it_comes_back_whole_from_its_checkpoint(training: Training) -> None:
    shell = training.shell
    kept = shell.folder / "checkpoints"
    kept.mkdir()
    training.fills_the_cluster(f"--on-preempt=requeue --checkpoint-dir=/checkpoints --data-dir={kept}:/checkpoints")
    shell.waits("it trains", training.trains)
    training.needs_one()
    shell.waits("it is queued", lambda: shell.status(MEDIUM) == "QUEUING")
    shell.waits("it says for whom", lambda: shell.is_in(f"preempted by default/{CRITICAL}", f"arena get {MEDIUM}"))
    assert not training.rows(MEDIUM, "RUNNING"), "two of three would have room, and are of no use"
    shell.types(f"arena delete {CRITICAL}")
    shell.waits("it runs again", lambda: len(training.rows(MEDIUM, "RUNNING")) == 3, seconds=90)
    if shell.is_real:
        begins = f"kubectl logs {MEDIUM}-worker-0 -c pytorch"
        shell.waits("it goes on", lambda: training.trains() and shell.is_in("goes on after epoch", begins))
        begun = re.search(r"goes on after epoch (\d+)", shell.types(begins))
        assert begun and int(begun[1]) >= 2
