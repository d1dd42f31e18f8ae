"""MPIJobs with a real mpirun, which reaches its workers with nothing but what every container has; those of v2beta1 by
ssh."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from containers.cluster import Namespace
from containers.environment_test import config_map

needs_mpirun = pytest.mark.skipif(shutil.which("mpirun") is None, reason="openmpi-bin is not installed")
needs_sshd = pytest.mark.skipif(shutil.which("sshd", path="/usr/sbin") is None, reason="openssh-server is not installed")
AS_ROOT = [{"name": f"OMPI_ALLOW_RUN_AS_ROOT{end}", "value": "1"} for end in ("", "_CONFIRM")]


def submits(space: Namespace, job: str, script: str, workers: int = 2, marks: Path | None = None) -> None:
    """A file that cannot be run lies where kubectl would be. Where there is a folder for marks, pods have their time."""
    nothing = {"name": "nothing", "configMap": {"name": "nothing", "defaultMode": 0o444}}
    container = {
        "name": "mpi", "image": "i", "command": ["sh", "-c", script], "env": AS_ROOT,
        "volumeMounts": [{"name": "nothing", "mountPath": "/usr/bin/kubectl", "subPath": "kubectl"}],
    }  # fmt: skip
    volumes = [nothing]
    if marks:
        volumes.append({"name": "marks", "hostPath": {"path": str(marks)}})
        container["volumeMounts"].append({"name": "marks", "mountPath": "/marks"})
    template = {"spec": {"containers": [container], "volumes": volumes,
                         "terminationGracePeriodSeconds": 20 if marks else 1}}  # fmt: skip
    space.apply(config_map("nothing", {"kubectl": ""}), {
        "apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": {"name": job},
        "spec": {"replicas": workers, "backoffLimit": 0, "template": template},
    })  # fmt: skip


def status(space: Namespace, job: str) -> dict[str, Any]:
    found: dict[str, Any] = space.get("mpijob", job).get("status", {})
    return found


def wait_launcher(space: Namespace, job: str, *states: str) -> None:
    space.until(lambda: status(space, job).get("launcherStatus") in states, f"{job} is {states}", deadline=120)


def output(space: Namespace, job: str) -> str:
    return space.must("logs", f"job/{job}-launcher")


@needs_mpirun
def test_mpirun_starts_a_rank_in_each_worker(space: Namespace) -> None:
    submits(space, "pi", "mpirun -np 2 hostname")
    wait_launcher(space, "pi", "Succeeded", "Failed")
    said = output(space, "pi")
    assert status(space, "pi")["launcherStatus"] == "Succeeded", said
    assert sorted(line for line in said.splitlines() if line.startswith("pi-")) == ["pi-worker-0", "pi-worker-1"], said


def test_commands_bring_back_output_and_exit_code(space: Namespace) -> None:
    script = """
    run=/etc/mpi/kubexec.sh
    $run ex-worker-0 'hostname; echo to the other >&2; seq 20000 | tail -n 1; exit 7'; echo code $?
    $run ex-worker-0 true; echo code $?
    $run ex-launcher true; echo code $?
    cat /etc/mpi/hostfile; sh /etc/mpi/discover_hosts.sh
    """
    submits(space, "ex", script, workers=1)
    wait_launcher(space, "ex", "Succeeded", "Failed")
    said = output(space, "ex")
    lines = [line.strip() for line in said.splitlines()]
    assert [line for line in lines if line.startswith("code ")] == ["code 7", "code 0", "code 255"], said
    assert {"ex-worker-0", "to the other", "20000", "ex-worker-0 slots=1", "ex-worker-0:1"} <= set(lines), said
    assert "forbidden" in said and "kubectl" not in said


@needs_mpirun
def test_a_lost_worker_fails_the_launcher(space: Namespace) -> None:
    submits(space, "lost", "mpirun -np 2 sh -c 'echo it runs; exec sleep 600'")
    wait_launcher(space, "lost", "Active")
    space.until(lambda: output(space, "lost").count("it runs") == 2, "both ranks run", deadline=120)
    space.must("delete", "pod", "lost-worker-1", "--wait=false")
    wait_launcher(space, "lost", "Failed")
    space.wait_gone("pod", "lost-worker-0")
    assert status(space, "lost")["completionTime"]


SAVES = """
trap 'date +%s.%N > /marks/asked-$HOSTNAME; exit 0' TERM
touch /marks/began-$HOSTNAME
while :; do sleep 0.05; done
"""


@needs_mpirun
def test_what_runs_in_a_worker_is_asked_before_the_worker_ends(space: Namespace, tmp_path: Path) -> None:
    """It was started from outside: whoever stops the worker's own program does not reach it."""
    (tmp_path / "rank.sh").write_text(SAVES)
    submits(space, "asked", "mpirun -np 2 sh -c 'HOSTNAME=$(hostname) exec sh /marks/rank.sh'", marks=tmp_path)
    space.until(lambda: len(list(tmp_path.glob("began-*"))) == 2, "both ranks run", deadline=120)
    space.must("delete", "pod", "asked-worker-1", "--wait=false")
    space.until((tmp_path / "asked-asked-worker-1").exists, "its rank to be asked")
    wait_launcher(space, "asked", "Failed")


def submits_roles(space: Namespace, job: str, version: str, launcher: dict[str, Any], worker: dict[str, Any],
                  workers: int = 2, **spec: Any) -> None:  # fmt: skip
    """Of v1 or v2beta1: a container for each role."""

    def role(count: int, container: dict[str, Any]) -> dict[str, Any]:
        pod = {"containers": [{"name": "c", "image": "i", **container}], "terminationGracePeriodSeconds": 1}
        return {"replicas": count, "restartPolicy": "Never", "template": {"spec": pod}}

    space.apply({
        "apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": job},
        "spec": {"mpiReplicaSpecs": {"Launcher": role(1, launcher), "Worker": role(workers, worker)},
                 "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 2}, **spec},
    })  # fmt: skip


def state(space: Namespace, job: str) -> str:
    conditions = status(space, job).get("conditions", [])
    return conditions[-1]["type"] if conditions else ""


def wait_state(space: Namespace, job: str, *states: str) -> None:
    space.until(lambda: state(space, job) in states, f"{job} is {states}", deadline=180)


def ranks(said: str) -> list[str]:
    return sorted(line for line in said.splitlines() if line.startswith("pi-worker-"))


@needs_mpirun
def test_a_launcher_of_v1_waits_for_its_workers_and_reaches_them_by_exec(space: Namespace) -> None:
    launcher = {"command": ["sh", "-c", "mpirun -np 4 hostname"]}
    submits_roles(space, "pi", "v1", launcher, {}, slotsPerWorker=2)
    wait_state(space, "pi", "Succeeded", "Failed")
    said = space.logs("pi-launcher")
    assert state(space, "pi") == "Succeeded", said
    assert ranks(said) == ["pi-worker-0", "pi-worker-0", "pi-worker-1", "pi-worker-1"], said
    space.wait_gone("pod", "pi-worker-0")


def test_the_list_of_hosts_is_current_within_a_second(space: Namespace) -> None:
    """What the launcher reads is what runs, as an elastic program needs it."""
    script = """
    while :; do sh /etc/mpi/discover_hosts.sh | wc -l > /tmp/now
      if ! cmp -s /tmp/now /tmp/before; then date +"%s.%N $(cat /tmp/now)"; cp /tmp/now /tmp/before; fi; sleep 0.05
    done
    """
    submits_roles(space, "wide", "v1", {"command": ["sh", "-c", script]}, {}, workers=1)
    wait_state(space, "wide", "Running")

    def changes() -> list[list[str]]:
        return [line.split() for line in space.logs("wide-launcher").splitlines()]

    def count() -> int:
        seen = changes()
        return int(seen[-1][1]) if seen else -1

    space.until(lambda: count() == 1, "one worker is seen")
    space.must("patch", "mpijob/wide", "--type=merge", "-p", '{"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":3}}}}')
    space.until(lambda: count() == 3, "three workers are seen")
    space.must("patch", "mpijob/wide", "--type=merge", "-p", '{"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":2}}}}')
    asked = time.time()
    space.until(lambda: count() == 2, "two workers are seen")
    # The clock of the container is this machine's. A worker is off the list when it is told to end.
    assert float(changes()[-1][0]) - asked < 1.0
    space.must("delete", "mpijob", "wide")


@needs_mpirun
@needs_sshd
def test_a_launcher_of_v2beta1_reaches_its_workers_by_ssh(space: Namespace) -> None:
    quiet = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectionAttempts=30"
    launcher = {
        "command": ["sh", "-c", "until mpirun -np 2 hostname; do sleep 1; done"],
        "env": [{"name": "OMPI_MCA_plm_rsh_args", "value": quiet}],
    }
    # The node's own settings, keys and accounts are not the containers'.
    serve = """
    mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f /tmp/host; echo 'root:*:1::::::' > /etc/shadow
    exec /usr/sbin/sshd -De -f /dev/null -h /tmp/host -o StrictModes=no
    """
    submits_roles(space, "pi", "v2beta1", launcher, {"command": ["sh", "-c", serve]})
    wait_state(space, "pi", "Succeeded", "Failed")
    said = output(space, "pi")
    assert state(space, "pi") == "Succeeded", said
    assert ranks(said) == ["pi-worker-0", "pi-worker-1"], said
    space.wait_gone("pod", "pi-worker-0")
