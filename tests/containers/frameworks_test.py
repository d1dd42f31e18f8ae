"""Real frameworks in real containers: torch with gloo, Open MPI started through exec, and Ray as a RayJob."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from containers.cluster import Namespace, pod
from containers.environment_test import config_map
from containers.network_test import service
from containers.ray_jobs import DEADLINE, PROGRAM, a_ray_job, needs_ray, reaches, status

ALL_REDUCE = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(value)
print("rank", dist.get_rank(), "of", dist.get_world_size(), "sum", int(value.item()))
"""
KUBEXEC = """#!/bin/sh
host=$1; shift
exec kubectl exec "${host%%.*}" -- /bin/sh -c "$*"
"""


pytestmark = pytest.mark.soak


def has_torch() -> bool:
    return subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_torch(), reason="python3-torch is not installed")
def test_torch_trains_over_two_pods_with_gloo(space: Namespace) -> None:
    space.apply(service("ranks", {"app": "ranks"}, clusterIP="None", publishNotReadyAddresses=True),
                config_map("code", {"all_reduce.py": ALL_REDUCE}))  # fmt: skip
    for rank in (0, 1):
        env = {"MASTER_ADDR": "rank-0.ranks", "MASTER_PORT": "23456", "RANK": str(rank), "WORLD_SIZE": "2",
               "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"}  # fmt: skip
        container = {
            "command": ["sh", "-c", "until getent hosts rank-0.ranks; do sleep 0.2; done; exec python3 /code/all_reduce.py"],
            "env": [{"name": name, "value": value} for name, value in env.items()],
            "volumeMounts": [{"name": "code", "mountPath": "/code"}],
        }
        space.apply(pod(f"rank-{rank}", container=container, labels={"app": "ranks"}, hostname=f"rank-{rank}",
                        subdomain="ranks", restartPolicy="Never",
                        volumes=[{"name": "code", "configMap": {"name": "code"}}]))  # fmt: skip
    for rank in (0, 1):
        space.wait_phase(f"rank-{rank}", "Succeeded", deadline=120)
        assert f"rank {rank} of 2 sum 3" in space.logs(f"rank-{rank}")


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="openmpi-bin is not installed")
def test_mpirun_starts_its_ranks_through_exec(space: Namespace) -> None:
    space.must("create", "role", "launcher", "--verb=get,create", "--resource=pods,pods/exec")
    space.must("create", "rolebinding", "launcher", "--role=launcher", f"--serviceaccount={space.name}:default")
    space.apply(config_map("mpi", {"kubexec.sh": KUBEXEC, "hosts": "worker-0 slots=1\nworker-1 slots=1\n"}))
    # Daemons look for the script too, although they start no others here.
    volumes = [{"name": "mpi", "configMap": {"name": "mpi", "defaultMode": 0o755}}]
    mounts = {"volumeMounts": [{"name": "mpi", "mountPath": "/mpi"}]}
    for n in (0, 1):
        space.create_pod(f"worker-{n}", "sleep 600", hostname=f"worker-{n}", container=mounts, volumes=volumes)
    space.wait_ready("worker-0", "worker-1")
    container = {
        "command": ["mpirun", "--allow-run-as-root", "--hostfile", "/mpi/hosts", "-np", "2", "hostname"],
        "env": [{"name": "OMPI_MCA_plm_rsh_agent", "value": "/mpi/kubexec.sh"}],
        **mounts,
    }
    space.apply(pod("launcher", container=container, volumes=volumes, restartPolicy="Never"))
    space.wait_phase("launcher", "Succeeded", "Failed", deadline=120)
    output = space.logs("launcher")
    assert sorted(line for line in output.splitlines() if line.startswith("worker-")) == ["worker-0", "worker-1"], output


@needs_ray
def test_a_ray_job_is_suspended_resumed_and_succeeds(space: Namespace) -> None:
    space.apply(config_map("code", {"train.py": PROGRAM}), a_ray_job("K8sJobMode"))
    reaches(space, "jobStatus", "RUNNING")
    space.until(lambda: "attempt 1 begins" in space.run("logs", "job/train").stdout, "its output", DEADLINE)
    first = status(space)["rayClusterName"]
    space.must("patch", "rayjob", "train", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    reaches(space, "jobDeploymentStatus", "Suspended")
    assert not space.get("pods")["items"] and not space.get("rayclusters")["items"]

    space.must("patch", "rayjob", "train", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    reaches(space, "jobDeploymentStatus", "Running", "Complete")
    assert status(space)["rayClusterName"] != first
    reaches(space, "jobDeploymentStatus", "Complete", "Failed")
    said = space.run("logs", "job/train").stdout
    assert status(space)["jobStatus"] == "SUCCEEDED", f"{status(space)}\n{said}"
    assert "attempt 2 begins" in said and "sum 14" in said and "nodes 2" in said, said
    assert status(space)["rayJobInfo"]["endTime"] >= status(space)["rayJobInfo"]["startTime"]
    space.until(lambda: not space.get("rayclusters")["items"], "the cluster to go")


@needs_ray
def test_the_controller_hands_a_ray_job_over_and_says_how_it_failed(space: Namespace) -> None:
    wrong = "import sys\nprint('it goes wrong')\nsys.exit(3)\n"
    job = a_ray_job("HTTPMode")
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] = 0
    space.apply(config_map("code", {"train.py": wrong}), job)
    reaches(space, "jobDeploymentStatus", "Failed", "Complete")
    assert (status(space)["jobStatus"], status(space)["reason"]) == ("FAILED", "AppFailed")
    assert "exit code 3" in status(space)["message"]
    assert not space.get("jobs")["items"], "nobody else hands it over"


@needs_ray
def test_a_ray_job_is_handed_over_beside_its_head(space: Namespace) -> None:
    job = a_ray_job("SidecarMode")
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"] = []
    space.apply(config_map("code", {"train.py": "print('it', 'runs')"}), job)
    reaches(space, "jobDeploymentStatus", "Complete", "Failed")
    assert status(space)["jobStatus"] == "SUCCEEDED", status(space)
