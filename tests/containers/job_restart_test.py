"""The server is killed, or stopped for an upgrade, while trainings run: an MPI job, a torch job and a Ray job go on, and
come to their end. No pod is made again and no container is started again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from containers.cluster import ContainerCluster, Namespace
from containers.crash_test import crash
from containers.environment_test import config_map
from containers.frameworks_test import has_torch
from containers.ray_jobs import VENV, a_ray_job
from containers.training_jobs_test import job as a_torch_job
from containers.training_jobs_test import replica
from e2e.mpi_training_test import missing as missing_mpi

DEADLINE = 300.0
# Programs count their steps into a folder of this machine, and end when the test says so.
COUNT = """
import os, sys, time
folder = os.environ["MARKS"]
def has_to_go_on(name, step):
    with open(os.path.join(folder, name), "a") as file:
        file.write(f"{step}\\n")
    time.sleep(0.1)
    return not os.path.exists(os.path.join(folder, "enough"))
"""
MPI = COUNT + """
import numpy
from mpi4py import MPI
ranks = MPI.COMM_WORLD
step, goes_on = 0, True
while goes_on:
    step += 1
    votes = numpy.array([1 if has_to_go_on(f"mpi-{ranks.rank}", step) else 0])
    ranks.Allreduce(MPI.IN_PLACE, votes, op=MPI.MIN)
    goes_on = bool(votes[0])
"""
TORCH = COUNT + """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
step, goes_on = 0, True
while goes_on:
    step += 1
    votes = torch.tensor([1 if has_to_go_on(f"torch-{dist.get_rank()}", step) else 0])
    dist.all_reduce(votes, op=dist.ReduceOp.MIN)
    goes_on = bool(votes.item())
"""
RAY = COUNT + """
import ray
ray.init()
@ray.remote(num_cpus=1)
def work(step):
    return step
step = 1
while has_to_go_on("ray-0", ray.get(work.remote(step))):
    step += 1
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0", "MARKS": "/marks"}


@dataclass
class Running:
    """A job as this test looks at it."""

    counters: tuple[str, ...]
    state: Callable[[Namespace], str]
    good: str


def furnish(spec: dict[str, Any], marks: Path) -> None:
    """A pod sees the programs and the folder for counting."""
    spec["terminationGracePeriodSeconds"] = 2
    volumes = {each["name"]: each for each in spec.get("volumes", [])}
    volumes["code"] = {"name": "code", "configMap": {"name": "code"}}
    volumes["marks"] = {"name": "marks", "hostPath": {"path": str(marks)}}
    spec["volumes"] = list(volumes.values())
    for container in spec["containers"]:
        mounts = {each["name"]: each for each in container.get("volumeMounts", [])}
        mounts |= {name: {"name": name, "mountPath": f"/{name}"} for name in ("code", "marks")}
        container["volumeMounts"] = list(mounts.values())
        variables = {each["name"]: each["value"] for each in container.get("env", [])} | ONE_THREAD
        container["env"] = [{"name": key, "value": text} for key, text in variables.items()]


def field(job: str, path: str) -> Callable[[Namespace], str]:
    return lambda space: space.run("get", job, "-o", f"jsonpath={{{path}}}").stdout


def last_condition(job: str) -> Callable[[Namespace], str]:
    return field(job, ".status.conditions[-1:].type")


def starts_mpi(space: Namespace, marks: Path) -> Running:
    pod = {"containers": [{"name": "mpi", "image": "host", "command": ["mpirun", "/usr/bin/python3", "/code/mpi.py"]}]}
    furnish(pod, marks)
    space.apply({"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": {"name": "mpi"},
                 "spec": {"replicas": 2, "backoffLimit": 0, "template": {"spec": pod}}})  # fmt: skip
    return Running(("mpi-0", "mpi-1"), last_condition("mpijob/mpi"), "Succeeded")


def starts_torch(space: Namespace, marks: Path) -> Running:
    roles = {role: replica(1, ["/usr/bin/python3", "/code/torch_job.py"], "Never") for role in ("Master", "Worker")}
    for role in roles.values():
        furnish(role["template"]["spec"], marks)
    space.apply(a_torch_job("torch", roles))
    return Running(("torch-0", "torch-1"), last_condition("pytorchjob/torch"), "Succeeded")


def starts_ray(space: Namespace, marks: Path) -> Running:
    job = a_ray_job("K8sJobMode")
    job["spec"]["entrypoint"] = "python /code/ray_job.py"
    cluster = job["spec"]["rayClusterSpec"]
    for template in (cluster["headGroupSpec"], cluster["workerGroupSpecs"][0]):
        furnish(template["template"]["spec"], marks)
    furnish(job["spec"]["submitterPodTemplate"]["spec"], marks)
    space.apply(job)
    return Running(("ray-0",), field("rayjob/train", ".status.jobDeploymentStatus"), "Complete")


def count(marks: Path, counter: str) -> int:
    """How many steps were done. They come one after the other, from the first."""
    file = marks / counter
    steps = [int(line) for line in file.read_text().splitlines()] if file.exists() else []
    assert steps == list(range(1, len(steps) + 1)), f"{counter} began again"
    return len(steps)


def go_on(space: Namespace, marks: Path, jobs: list[Running]) -> None:
    for counter in (each for job in jobs for each in job.counters):
        before = count(marks, counter)
        space.until(lambda: count(marks, counter) >= before + 5, f"steps of {counter}", DEADLINE)


def lives(space: Namespace) -> dict[str, tuple[str, list[int]]]:
    """Of each pod the uid, and how often its containers were started again."""
    pods = space.get("pods")["items"]
    return {pod["metadata"]["name"]: (pod["metadata"]["uid"],
                                      [each["restartCount"] for each in pod["status"]["containerStatuses"]])
            for pod in pods}  # fmt: skip


STARTS = {"mpi": starts_mpi, "torch": starts_torch, "ray": starts_ray}


def missing(kinds: tuple[str, ...]) -> str:
    lacking = {"mpi": missing_mpi, "torch": lambda: "" if has_torch() else "python3-torch",
               "ray": lambda: "" if VENV else "ray"}  # fmt: skip
    return ", ".join(filter(None, (lacking[kind]() for kind in kinds)))


def stops(cluster: ContainerCluster) -> None:
    done = cluster.gangway("down", "--keep-pods", "--data-dir", cluster.data)
    assert done.returncode == 0 and "and its pods go on" in done.stdout, done.stdout + done.stderr
    cluster.up()


@pytest.mark.parametrize("kinds", [("mpi",), pytest.param(("mpi", "torch", "ray"), marks=pytest.mark.soak)], ids="-".join)
def test_trainings_go_on_through_restarts_of_the_server(kinds: tuple[str, ...], tmp_path: Path) -> None:
    if lacking := missing(kinds):
        pytest.skip(f"not installed: {lacking}")
    with ContainerCluster() as cluster, Namespace(cluster, "work") as space:
        space.apply(config_map("code", {"mpi.py": MPI, "torch_job.py": TORCH, "ray_job.py": RAY}))
        jobs = [STARTS[kind](space, tmp_path) for kind in kinds]
        go_on(space, tmp_path, jobs)
        before = lives(space)
        assert all(sum(restarts) == 0 for _, restarts in before.values())

        for restart in (lambda: crash(cluster, ("server",)), lambda: crash(cluster, ("server", "agent")),
                        lambda: stops(cluster)):  # fmt: skip
            restart()
            go_on(space, tmp_path, jobs)
            assert lives(space) == before, "nothing is made or started again"

        (tmp_path / "enough").touch()
        for job in jobs:
            space.until(lambda: job.state(space) in (job.good, "Failed"), f"the end of {job.counters}", DEADLINE)
            assert job.state(space) == job.good, space.story()
            assert all(count(tmp_path, counter) > 0 for counter in job.counters), "each step was done once"
