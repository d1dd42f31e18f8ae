"""PyTorchJobs, TFJobs and MPIJobs (v1, v2beta1) for tests on simulated nodes, and what a user reads off them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from e2e.gpu_cluster import creates
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster

KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
    "TFJob": ("tfReplicaSpecs", "tensorflow"),
    "MPIJob": ("mpiReplicaSpecs", "mpi"),
}


def a_user_of_jobs(cluster: GangwayCluster, kubectl: Path) -> Iterator[User]:
    """For a fixture: whatever the test has made is gone before the next begins."""
    someone = User(kubectl, cluster, "default")
    yield someone
    someone.does("delete", "pytorchjobs,tfjobs,jobs", "--all", "--wait=true")
    someone.does("delete", "pods", "--all", "--force", "--grace-period=0")
    someone.waits("nothing is left behind", lambda: not someone.sees("pods,podgroups,allotments")
                  and [name(each) for each in someone.sees("services")] == ["kubernetes"])  # fmt: skip


def left_behind(user: User, kinds: str) -> list[str]:
    """Names of objects of these kinds, but for those that every namespace has."""
    ours = {"kube-root-ca.crt", "default", "kubernetes"}
    return [name(each) for each in user.sees(kinds) if name(each) not in ours]


def a_user_of(cluster: GangwayCluster, kubectl: Path, jobs: str, belongings: str) -> Iterator[User]:
    """For a fixture: jobs of these kinds, and whatever belonged to them, are gone before the next test begins."""
    someone = User(kubectl, cluster, "default")
    yield someone
    someone.does("delete", jobs, "--all", "--wait=true")
    someone.waits("nothing is left behind", lambda: not left_behind(someone, f"{jobs},{belongings},allotments"))


def a_replica(container: str, count: int, gpus: int, *, restart: str = "", priority: str = "",
              **simulated: str) -> dict[str, Any]:  # fmt: skip
    """`simulated`: duration="1s", exit_code="1", peer_loss="fail"."""
    amounts = {"nvidia.com/gpu": str(gpus), "cpu": "1"}
    notes = {f"gangway.dev/simulated-{key.replace('_', '-')}": value for key, value in simulated.items()}
    spec: dict[str, Any] = {
        "containers": [{"name": container, "image": "i", "resources": {"limits": amounts, "requests": amounts}}]
    }
    if priority:
        spec["priorityClassName"] = priority
    replica = {"replicas": count, "template": {"metadata": {"annotations": notes}, "spec": spec}}
    return replica | ({"restartPolicy": restart} if restart else {})


def a_job(kind: str, job: str, roles: dict[str, dict[str, Any]], *, annotations: dict[str, str] | None = None,
          version: str = "v1", **spec: Any) -> dict[str, Any]:  # fmt: skip
    """`roles`: {"Master": {"count": 1, "gpus": 4, …}}, as a_replica() takes them."""
    specs, container = KINDS[kind]
    replicas = {role: a_replica(container, **wish) for role, wish in roles.items()}
    notes = {f"gangway.dev/{key}": value for key, value in (annotations or {}).items()}
    return {"apiVersion": f"kubeflow.org/{version}", "kind": kind, "metadata": {"name": job, "annotations": notes},
            "spec": {specs: replicas, **spec}}  # fmt: skip


def submits(user: User, kind: str, job: str, roles: dict[str, dict[str, Any]], **more: Any) -> None:
    creates(user, a_job(kind, job, roles, **more))


def job_of(user: User, kind: str, job: str) -> dict[str, Any]:
    done = user.tries("get", kind.lower(), job, "-o", "json")
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def conditions(user: User, kind: str, job: str) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = job_of(user, kind, job).get("status", {}).get("conditions", [])
    return listed


def state(user: User, kind: str, job: str) -> str:
    """The last condition: what `kubectl get` shows as STATE."""
    listed = conditions(user, kind, job)
    return listed[-1]["type"] if listed else ""


def pods_of(user: User, job: str) -> dict[str, dict[str, Any]]:
    return {name(pod): pod for pod in user.sees("pods", "-l", f"training.kubeflow.org/job-name={job}")}


def running(user: User, job: str) -> int:
    pods = pods_of(user, job).values()
    return sum(pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"] for pod in pods)


def variables(pod: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in pod["spec"]["containers"][0].get("env", [])}


def events(user: User, of: str) -> list[tuple[str, str]]:
    found = user.sees("events", "--field-selector", f"involvedObject.name={of}")
    return [(event["reason"], event["message"]) for event in found]
