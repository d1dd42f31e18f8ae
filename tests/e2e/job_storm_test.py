"""Training jobs of every kind, made, suspended, resumed, deleted and preempted at random while the server is killed in between.

In the end each of them has ended as its program does, and of what was deleted nothing is left. GANGWAY_STORM_JOBS is
their number, GANGWAY_STORM_SEED what is thrown.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.gpu_cluster import CLASSES
from e2e.training_jobs import a_job, a_replica
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster
from kube.harness.processes import wait_for

CLUSTER = """\
apiVersion: gangway.dev/v1alpha1
kind: Cluster
runtime: simulated
nodes:
- {name: gpu, count: 4, capacity: {cpu: "32", memory: 64Gi, nvidia.com/gpu: "4"}}
"""
KINDS = "pytorchjobs,tfjobs,mpijobs,rayjobs,rayclusters,jobs"
# What there is in a namespace in which nothing was ever done, and what tells of the past.
STANDING = {"ServiceAccount/default", "ConfigMap/kube-root-ca.crt", "Service/kubernetes", "Endpoints/kubernetes",
            "EndpointSlice/kubernetes"}  # fmt: skip
PAST = {"Event", "UsageRecord", "PodMetrics"}
# Of a storm with many jobs most wait: for all of them together it takes minutes.
PATIENCE = 900


@dataclass
class Sent:
    manifest: dict[str, Any]
    fails: bool  # its program does
    suspend_at: tuple[str, ...]
    is_suspended: bool = False

    @property
    def kind(self) -> str:
        return f"{self.manifest['kind'].lower()}.{self.manifest['apiVersion'].partition('/')[0]}"

    @property
    def name(self) -> str:
        return name(self.manifest)

    @property
    def comes_back(self) -> bool:
        return self.manifest["metadata"]["annotations"]["gangway.dev/on-preempt"] == "Requeue"


class Storm:
    """The dice, and the jobs that they have made."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.made = 0

    def job(self) -> Sent:
        self.made += 1
        fails = self.dice.random() < 0.25
        life = {"duration": f"{self.dice.randint(1, 4)}s", "exit_code": "3" if fails else "0"}
        priority = self.dice.choice(["", "medium", "critical"])
        manifest, suspend_at = self.dice.choice([self.torch, self.tf, self.early_mpi, self.mpi, self.ray, self.batch])(
            {"gpus": self.dice.randint(1, 3), "priority": priority}, life
        )
        manifest["metadata"] = {"name": f"job-{self.made}", "annotations": {
            "gangway.dev/on-preempt": self.dice.choice(["Fail", "Requeue"])}}  # fmt: skip
        return Sent(manifest, fails, suspend_at)

    def torch(self, wish: dict[str, Any], life: dict[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        worker = {"count": self.dice.randint(1, 3), "restart": "Never", **wish, **life}
        return a_job("PyTorchJob", "x", {"Worker": worker}), ("runPolicy", "suspend")

    def tf(self, wish: dict[str, Any], life: dict[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        roles = {"Worker": {"count": 1, "restart": "Never", **wish, **life}, "PS": {"count": 1, **wish, "gpus": 0}}
        return a_job("TFJob", "x", roles), ("runPolicy", "suspend")

    def early_mpi(self, wish: dict[str, Any], life: dict[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        pod = a_replica("mpi", 1, **wish, **life)["template"]
        spec = {"replicas": self.dice.randint(1, 2), "template": pod, "backoffLimit": 0,
                "launcherResources": {"requests": {"cpu": "1"}}}  # fmt: skip
        return {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "spec": spec}, ("runPolicy", "suspend")

    def mpi(self, wish: dict[str, Any], life: dict[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        version = self.dice.choice(["v1", "v2beta1"])
        roles = {"Launcher": {"count": 1, "restart": "Never", **wish, "gpus": 0, **life},
                 "Worker": {"count": self.dice.randint(1, 2), **wish}}  # fmt: skip
        return a_job("MPIJob", "x", roles, version=version, runPolicy={"backoffLimit": 0}), ("runPolicy", "suspend")

    def ray(self, wish: dict[str, Any], life: dict[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        head = a_replica("ray-head", 1, **{**wish, "gpus": 0}, **life)["template"]
        group = {"groupName": "w", "replicas": 1, "template": a_replica("ray-worker", 1, **wish)["template"]}
        spec = {"submissionMode": self.dice.choice(["K8sJobMode", "HTTPMode", "SidecarMode"]), "entrypoint": "x",
                "shutdownAfterJobFinishes": True,
                "rayClusterSpec": {"headGroupSpec": {"template": head}, "workerGroupSpecs": [group]}}  # fmt: skip
        return {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec}, ("suspend",)

    def batch(self, wish: dict[str, Any], life: dict[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        pod = a_replica("c", 1, **wish, **life)["template"]
        pod["spec"]["restartPolicy"] = "Never"
        spec = {"completions": 2, "parallelism": 2, "completionMode": "Indexed",
                "backoffLimit": 0 if life["exit_code"] != "0" else 100, "template": pod}  # fmt: skip
        return {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}, ("suspend",)


@pytest.fixture
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with GangwayCluster(CLUSTER) as started:
        User(kubectl, started, "default").does("create", "-f", "-", given=CLASSES)
        yield started


def sets_suspended(user: User, job: Sent, suspended: bool) -> None:
    value: Any = suspended
    for step in reversed(job.suspend_at):
        value = {step: value}
    user.does("patch", job.kind, job.name, "--type=merge", "-p", json.dumps({"spec": value}))
    job.is_suspended = suspended


def end_of(job: dict[str, Any]) -> str:
    """Succeeded, Failed, or nothing yet."""
    status = job.get("status", {})
    deployment = {"Complete": "Succeeded", "Failed": "Failed"}.get(status.get("jobDeploymentStatus", ""), "")
    held = {each["type"] for each in status.get("conditions", []) if each["status"] == "True"}
    return deployment or ("Succeeded" if held & {"Succeeded", "Complete"} else "Failed" if "Failed" in held else "")


def everything(user: User) -> set[str]:
    kinds = user.does("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    things = user.sees(",".join(kind for kind in kinds if not kind.startswith("pods.metrics")))
    return {f"{thing['kind']}/{name(thing)}" for thing in things if thing["kind"] not in PAST}


def test_every_job_ends_as_it_should_and_leaves_nothing(cluster: GangwayCluster, kubectl: Path) -> None:
    count = int(os.environ.get("GANGWAY_STORM_JOBS", "24"))
    storm = Storm(int(os.environ.get("GANGWAY_STORM_SEED", "1")))
    dice = storm.dice
    user = User(kubectl, cluster, "default")
    assert everything(user) == STANDING
    jobs: dict[str, Sent] = {}
    for turn in range(count):
        job = storm.job()
        user.does("create", "-f", "-", given=json.dumps(job.manifest))
        jobs[job.name] = job
        if dice.random() < 0.3:
            chosen = dice.choice(list(jobs.values()))
            sets_suspended(user, chosen, not chosen.is_suspended)
        if dice.random() < 0.15:
            gone = jobs.pop(dice.choice(list(jobs)))
            user.does("delete", gone.kind, gone.name, "--wait=false")
        if turn in (count // 4, count // 2, 3 * count // 4):
            cluster.kill()
            cluster.start()
    for job in jobs.values():
        if job.is_suspended:
            sets_suspended(user, job, False)

    def ends() -> dict[str, str]:
        return {name(each): end_of(each) for each in user.sees(KINDS) if "ownerReferences" not in each["metadata"]}

    wait_for("all jobs have ended", lambda: all(ends().values()), seconds=PATIENCE, pause=1)
    found = ends()
    assert set(found) == set(jobs)
    for job in jobs.values():
        if job.fails or job.comes_back:
            assert found[job.name] == ("Failed" if job.fails else "Succeeded"), job.manifest

    user.does("delete", KINDS, "--all", "--wait=true")
    wait_for("nothing is left behind", lambda: everything(user) == STANDING, seconds=PATIENCE, pause=1)
