"""MPIJobs with a real mpirun, which reaches its workers with nothing but what every container has."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from containers.cluster import Namespace
from containers.environment_test import config_map

needs_mpirun = pytest.mark.skipif(shutil.which("mpirun") is None, reason="openmpi-bin is not installed")
AS_ROOT = [{"name": f"OMPI_ALLOW_RUN_AS_ROOT{end}", "value": "1"} for end in ("", "_CONFIRM")]


def submits(space: Namespace, job: str, script: str, workers: int = 2) -> None:
    """A file that cannot be run lies where kubectl would be."""
    nothing = {"name": "nothing", "configMap": {"name": "nothing", "defaultMode": 0o444}}
    container = {
        "name": "mpi", "image": "i", "command": ["sh", "-c", script], "env": AS_ROOT,
        "volumeMounts": [{"name": "nothing", "mountPath": "/usr/bin/kubectl", "subPath": "kubectl"}],
    }  # fmt: skip
    template = {"spec": {"containers": [container], "volumes": [nothing], "terminationGracePeriodSeconds": 1}}
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
