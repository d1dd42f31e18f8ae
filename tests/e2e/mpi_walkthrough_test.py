"""Priority and preemption for MPI jobs, as Arena's guide walks through it: one GPU, two jobs, the urgent one gets it.

In containers mpirun is real and reaches its worker; on simulated nodes an annotation stands for what it does.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.examples import EXAMPLES, nodes
from e2e.walkthrough import DASHES, FORMS, PEER_LOSS, Shell, a_shell, events_of, one_place, tells_its_story

NODES = nodes(EXAMPLES / "mpi-preemption" / "cluster.yaml")
PRIORITIES = (EXAMPLES / "mpi-preemption" / "pc.yaml").read_text()

TOP_NODE = f"""\
NAME          IPADDRESS     ROLE    STATUS  GPU(Total)  GPU(Allocated)
192.168.0.20  192.168.0.20  master  ready   0           0
192.168.0.21  192.168.0.21  master  ready   0           0
192.168.0.22  192.168.0.22  master  ready   0           0
192.168.0.23  192.168.0.23  <none>  ready   1           0
{DASHES}
Allocated/Total GPUs In Cluster:
0/1 (0%)
"""

DETAILS = f"""\

NAME:       192.168.0.23
IPADDRESS:  192.168.0.23
ROLE:       <none>

NAMESPACE  NAME  GPU REQUESTS  GPU LIMITS
default  NAMED-worker-0  1  1

Total GPUs In Node 192.168.0.23:      1
Allocated GPUs In Node 192.168.0.23:  1 (100%)
{DASHES}

Allocated/Total GPUs In Cluster:  1/1 (100%)
"""

RUNNING = """\
STATUS: RUNNING
NAMESPACE: default
PRIORITY: NAMED
TRAINING DURATION: 58s

NAME    STATUS   TRAINER  AGE  INSTANCE               NODE
NAMED  RUNNING  MPIJOB   58s  NAMED-launcher-sz5xj  192.168.0.23
NAMED  RUNNING  MPIJOB   58s  NAMED-worker-0        192.168.0.23
"""

FAILED = """\
STATUS: FAILED
NAMESPACE: default
PRIORITY: medium
TRAINING DURATION: 12m

NAME    STATUS  TRAINER  AGE  INSTANCE               NODE
medium  FAILED  MPIJOB   20m  medium-launcher-sz5xj  192.168.0.23
"""

IMAGE = "registry.aliyuncs.com/tensorflow-samples/horovod:0.13.11-tf1.10.0-torch0.4.0-py3.5"
TRAIN = """\
n=$(cat "$CHECKPOINT_DIR/n" 2>/dev/null || echo 0)
echo "goes on from $n"
cd "$CHECKPOINT_DIR"
while :; do n=$((n + 1)); echo $n > n.new; mv n.new n; sleep 0.2; done
"""


@pytest.fixture(params=FORMS)
def shell(request: pytest.FixtureRequest, kubectl: Path) -> Iterator[Shell]:
    with a_shell(request.param, kubectl, NODES, lambda: "" if shutil.which("mpirun") else "openmpi-bin") as typed:
        (typed.folder / "pc.yaml").write_text(PRIORITIES)
        yield typed


def submits(shell: Shell, name: str, more: str = "", command: str = "mpirun tail -f /dev/null") -> None:
    done = shell.tries(f"""\
arena submit mpi          \\
    --name={name}           \\
    --priority={name}       \\
    --gpus=1                \\
    --workers=1             \\
    --image={IMAGE}               \\
    {more if shell.is_real else more + " " + PEER_LOSS} "{command}"
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"configmap/{name}-mpijob created\nconfigmap/{name}-mpijob labeled\nmpijob.kubeflow.org/{name} created\n"
    )
    assert done.stderr == (
        f"INFO[0000] The Job {name} has been submitted successfully\n"
        f"INFO[0000] You can run `arena get {name} --type mpijob` to check the job status\n"
    )


def rank_runs(shell: Shell, name: str) -> bool:
    """What mpirun starts runs in the worker, not beside it."""
    return not shell.is_real or shell.is_in("tail -f /dev/null", f"kubectl exec {name}-worker-0 -- ps ax")


def test_the_urgent_job_takes_the_only_gpu_and_the_other_fails(shell: Shell) -> None:
    assert shell.types("kubectl create -f pc.yaml") == (
        "priorityclass.scheduling.k8s.io/critical created\npriorityclass.scheduling.k8s.io/medium created\n"
    )
    assert shell.types("arena top node") == TOP_NODE
    submits(shell, "medium")
    shell.sees("arena get medium", RUNNING.replace("NAMED", "medium"))
    shell.sees("arena top node -d", DETAILS.replace("NAMED", "medium"))
    shell.waits("its rank runs", lambda: rank_runs(shell, "medium"))

    submits(shell, "critical")
    shell.sees("arena get medium", FAILED)
    found = events_of(shell, "medium-worker-0")
    tells_its_story(
        shell, found,
        ("Scheduled", "Successfully assigned default/medium-worker-0 to 192.168.0.23"),
        ("Pulled", f'mage "{IMAGE}"'),
        ("Created", "Created container"),
        ("Started", "Started container mpi"),
        ("Preempted", "by default/critical-worker-0 on node 192.168.0.23"),
        ("Killing", "Stopping container mpi"),
    )  # fmt: skip
    assert "REASON: medium-worker-0 was preempted by default/critical-worker-0" in shell.types("arena get medium")

    shell.sees("arena get critical", RUNNING.replace("NAMED", "critical"))
    shell.waits("its rank runs", lambda: rank_runs(shell, "critical"))
    shell.sees("arena top node -d", DETAILS.replace("NAMED", "critical"))
    shell.sees("arena get medium", FAILED, seconds=5)
    duration, age = one_place(shell, "medium")
    shell.waits("time goes by", lambda: one_place(shell, "medium")[1] > age)
    assert one_place(shell, "medium")[0] == duration, "the duration stands still"


def test_with_requeue_it_waits_and_goes_on_from_its_checkpoint(shell: Shell) -> None:
    shell.types("kubectl create -f pc.yaml")
    kept = shell.folder / "checkpoints"
    kept.mkdir()
    (kept / "train.sh").write_text(TRAIN)
    more = f"--on-preempt=requeue --checkpoint-dir=/checkpoints --data-dir={kept}:/checkpoints"
    submits(shell, "medium", more, "mpirun sh /checkpoints/train.sh")
    shell.sees("arena get medium", RUNNING.replace("NAMED", "medium"))
    log = "kubectl logs -l mpi_role_type=launcher,mpi_job_name=medium --tail=-1"
    if shell.is_real:
        shell.waits("it trains", lambda: shell.is_in("goes on from 0", log) and (kept / "n").exists())

    submits(shell, "critical")
    shell.waits("it is queued", lambda: shell.status("medium") == "QUEUING")
    shell.sees("arena get critical", RUNNING.replace("NAMED", "critical"))
    shell.waits("it says for whom", lambda: shell.is_in("preempted by default/critical", "arena get medium"))
    done = int((kept / "n").read_text()) if shell.is_real else 0

    shell.types("arena delete critical")
    shell.sees("arena get medium", RUNNING.replace("NAMED", "medium"))
    if shell.is_real:
        shell.waits("it goes on", lambda: re.search(r"goes on from [1-9]", shell.tries(log).stdout) is not None)
        begun = re.search(r"goes on from (\d+)", shell.types(log))
        assert begun and int(begun[1]) >= done > 0
